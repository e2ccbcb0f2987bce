"""Why a query ran or did not at a time, from the facts."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from plugbay_scheduled_query.core.capacity import Pace
from plugbay_scheduled_query.core.model import Execution, Query, Status, Trigger
from plugbay_scheduled_query.core.standstill import Standstill, StandstillKind
from plugbay_scheduled_query.core.why import (
    Answer,
    Facts,
    LiveRun,
    Reason,
    Switch,
    duration,
    explain,
    lateness_of,
)

NINE = datetime(2026, 11, 15, 9, tzinfo=UTC)
NOON = NINE.replace(hour=12)
YEAR_BEFORE = NINE.replace(year=2025)
PACED, UNPACED = Pace(30, 8), Pace(0, 8)


def query(**fields: Any) -> Query:
    known: dict[str, Any] = {"id": 1, "name": "Orders", "query": "SELECT 1", "cron_schedule": "0 * * * *"}
    known |= {"data_source": "shop", "created_at": YEAR_BEFORE, "created_by": "ada", "next_run_at": NOON}
    return Query(**known | fields)


def ran(due: datetime | None, late_s: float = 0, **fields: Any) -> Execution:
    began = (due or fields.pop("began")) + timedelta(seconds=late_s)
    known: dict[str, Any] = {"id": 17, "scheduled_query_id": 1, "executed_at": began, "duration_ms": 12}
    known |= {"status": Status.SUCCESS, "due_at": due}
    return Execution(**known | fields)


def asked(at: datetime = NINE, **known: Any) -> Answer:
    facts: dict[str, Any] = {"query": query(), "timezone": "UTC", "words": "every hour", "pace": PACED}
    return explain(Facts(**{"at": at, "now": NOON - timedelta(minutes=5)} | facts | known))


def at(hour: int, minute: int = 0) -> datetime:
    return NINE.replace(hour=hour, minute=minute)


DOWN = Standstill(StandstillKind.DOWN, at(8, 50), at(10, 30))
ALL = Standstill(StandstillKind.ALL, at(8, 50), at(10, 30), "eve")
SOURCE = Standstill(StandstillKind.SOURCE, at(8, 50), at(10, 30))
LATE_RUN = ran(at(8), late_s=2 * 3600, missed=2)

CASES: list[tuple[str, dict[str, Any], Reason, int | None, str]] = [
    ("in time", {"due_then": ran(NINE)}, Reason.RAN, 17, "It ran at 2026-11-15 09:00:00 UTC and took 12 ms."),
    (
        "late by its pace",
        {"due_then": ran(NINE, 45)},
        Reason.RAN_LATE,
        17,
        "45 s late: it waited for its source, “shop”, which runs one at a time, 30 s apart; set the pace of",
    ),
    (
        "late by the workers",
        {"due_then": ran(NINE, 45), "pace": UNPACED},
        Reason.RAN_LATE,
        17,
        "a free worker",
    ),
    (
        "late by itself",
        {"due_then": ran(NINE, 45), "before": ran(at(8), duration_ms=3_630_000)},
        Reason.RAN_LATE,
        17,
        "its own run before took until 2026-11-15 09:00:30 UTC",
    ),
    (
        "late by an outage",
        {"due_then": ran(NINE, 5400), "standstills": [DOWN]},
        Reason.RAN_LATE,
        17,
        "90 min late: no server was at work from 2026-11-15 08:50:00 to 2026-11-15 10:30:00 UTC",
    ),
    (
        "interrupted",
        {"due_then": ran(NINE, 45, attempt=2)},
        Reason.RAN_LATE,
        17,
        "a server ended in the middle",
    ),
    (
        "failed",
        {"due_then": ran(NINE, status=Status.FAILED, error_message="no such table: x")},
        Reason.FAILED,
        17,
        "It ran at 2026-11-15 09:00:00 UTC and failed: no such table: x.",
    ),
    (
        "cut off",
        {"due_then": ran(NINE, status=Status.TIMEOUT, error_message="it took longer than 30 s")},
        Reason.TIMEOUT,
        17,
        "took too long: it took longer than 30 s.",
    ),
    (
        "by hand",
        {"begun_then": ran(None, 20, began=NINE, trigger=Trigger.MANUAL, triggered_by="ada")},
        Reason.RAN,
        17,
        "at 2026-11-15 09:00:20 UTC, by hand (ada)",
    ),
    (
        "at work",
        {"run": LiveRun(NINE, NINE)},
        Reason.RUNNING,
        None,
        "It runs, since 2026-11-15 09:00:00",
    ),
    ("by hand, at work", {"run": LiveRun(at(9), None)}, Reason.RUNNING, None, "It runs"),
    (
        "claimed, not begun",
        {"run": LiveRun(NINE, NINE), "waiting_for": "a free worker"},
        Reason.WAITING,
        None,
        "It waits for a free worker.",
    ),
    (
        "due",
        {"query": query(next_run_at=NINE), "waiting_for": "the pace of its source"},
        Reason.WAITING,
        None,
        "It waits for the pace of its source.",
    ),
    ("due a moment ago", {"query": query(next_run_at=NINE)}, Reason.WAITING, None, "its turn"),
    (
        "passed over by the pace",
        {"before": LATE_RUN},
        Reason.MISSED,
        17,
        "start when they are due. The run that began at 2026-11-15 10:00:00 UTC stands for it.",
    ),
    (
        "passed over by itself",
        {"before": LATE_RUN, "earlier": ran(at(7), duration_ms=3 * 3_600_000)},
        Reason.MISSED,
        17,
        "its own run before took until 2026-11-15 10:00:00 UTC",
    ),
    (
        "passed by an outage",
        {"before": LATE_RUN, "standstills": [DOWN]},
        Reason.MISSED,
        17,
        "no server was",
    ),
    ("an outage alone", {"standstills": [DOWN]}, Reason.MISSED, None, "It was missed: no server was at work"),
    (
        "a run stands for it",
        {"run": LiveRun(at(9, 1), at(8))},
        Reason.MISSED,
        None,
        "the run that is under way since 2026-11-15 09:01:00 UTC stands for it",
    ),
    (
        "all paused",
        {"standstills": [ALL], "before": LATE_RUN},
        Reason.PAUSED,
        17,
        "All queries were paused by eve from 2026-11-15 08:50:00 to 2026-11-15 10:30:00 UTC. The run that",
    ),
    (
        "all still paused",
        {"standstills": [Standstill(StandstillKind.ALL, at(8))], "query": query(next_run_at=NINE)},
        Reason.PAUSED,
        None,
        "All queries were paused by somebody from 2026-11-15 08:00:00 UTC on, and it lasts.",
    ),
    (
        "its source paused",
        {"standstills": [SOURCE]},
        Reason.PAUSED,
        None,
        "The data source “shop” was paused",
    ),
    (
        "disabled",
        {"query": query(enabled=False), "switches": [Switch(at(8), False, "ada")]},
        Reason.DISABLED,
        None,
        "It was disabled by ada at 2026-11-15 08:00:00 UTC.",
    ),
    (
        "disabled for a while",
        {"switches": [Switch(at(8), False, "ada"), Switch(at(10), True, "bob")]},
        Reason.DISABLED,
        None,
        "by ada at 2026-11-15 08:00:00 UTC; it was enabled by bob at 2026-11-15 10:00:00 UTC.",
    ),
    (
        "made disabled",
        {"switches": [Switch(at(10), True, None)]},
        Reason.DISABLED,
        None,
        "It was disabled; it was enabled by somebody at 2026",
    ),
    (
        "disabled before we kept it",
        {"query": query(enabled=False)},
        Reason.DISABLED,
        None,
        "It was disabled.",
    ),
    ("disabled since", {"switches": [Switch(at(10), False, "ada")]}, Reason.UNKNOWN, None, "not kept"),
    (
        "edited since",
        {"query": query(version=2, updated_at=at(10), updated_by="bob")},
        Reason.UNKNOWN,
        None,
        "The query was saved by bob at 2026-11-15 10:00:00 UTC, later than that",
    ),
    (
        "later than it was made",
        {"query": query(created_at=at(9, 30))},
        Reason.NOT_THERE_YET,
        None,
        "The query was made by ada at 2026-11-15 09:30:00 UTC, later than that.",
    ),
]


@pytest.mark.parametrize(
    ("known", "reason", "execution_id", "words"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_what_came_of_a_time_is_told_with_its_reason(
    known: dict[str, Any], reason: Reason, execution_id: int | None, words: str
):
    answer = asked(**known)
    assert (answer.reason, answer.execution_id) == (reason, execution_id)
    assert words in answer.answer
    assert answer.answer.endswith(".")


@pytest.mark.parametrize("second", [0, 1, 59])
def test_seconds_belong_to_their_minute(second: int):
    assert asked(NINE.replace(second=second), due_then=ran(NINE)).reason is Reason.RAN


def test_a_time_that_is_not_on_the_schedule_is_told_with_the_next():
    answer = asked(at(9, 7))
    assert answer.reason is Reason.NOT_SCHEDULED
    assert answer.answer == (
        "The schedule (every hour, UTC) has no such time; the next one after it is 2026-11-15 10:00:00 UTC."
    )


def test_what_happened_in_the_minute_itself_counts():
    at_work = NINE.replace(second=45)
    off = [Switch(NINE.replace(second=30), False, "ada")]
    assert asked(at_work, query=query(enabled=False), switches=off).reason is Reason.DISABLED
    assert asked(at_work, standstills=[Standstill(StandstillKind.ALL, off[0].at)]).reason is Reason.PAUSED
    assert asked(at_work, query=query(created_at=off[0].at)).reason is Reason.NOT_THERE_YET
    made_off = query(created_at=off[0].at, enabled=False)
    assert asked(at_work, query=made_off).reason is Reason.DISABLED


def test_who_is_disabled_is_told_so_at_whatever_time():
    assert asked(at(9, 7), query=query(enabled=False)).reason is Reason.DISABLED


def test_a_run_that_is_late_for_an_earlier_time_does_not_answer_for_this_one():
    late = ran(at(8), late_s=3605, missed=1)
    assert asked(begun_then=late, before=late).reason is Reason.MISSED
    assert asked(at(9, 7), begun_then=ran(NINE, 430)).reason is Reason.RAN_LATE


@pytest.mark.parametrize(("moment", "has"), [(at(13), "has that time"), (at(13, 7), "has no such time")])
def test_what_is_to_come_is_no_matter_of_the_past(moment: datetime, has: str):
    answer = asked(moment)
    assert answer.reason is Reason.FUTURE
    assert has in answer.answer


@pytest.mark.parametrize("year", [1, 9999])
def test_the_ends_of_the_calendar_have_an_answer(year: int):
    assert asked(NINE.replace(year=year)).answer


def test_a_zone_that_left_the_machine_is_no_fault_of_who_asks():
    assert asked(timezone="Mars/Olympus").reason is Reason.NOT_SCHEDULED


def test_the_reasons_are_those_of_the_contract():
    told = {reason for _, _, reason, _, _ in CASES} | {Reason.NOT_SCHEDULED, Reason.FUTURE}
    assert told == set(Reason)
    assert len(Reason) == 13


def test_a_run_in_time_has_nothing_to_explain():
    facts = Facts(at=NINE, now=NOON, query=query(), timezone="UTC", words="", pace=PACED)
    assert lateness_of(ran(NINE, 5), facts) is None
    assert lateness_of(ran(None, began=NINE), facts) is None
    assert str(lateness_of(ran(NINE, missed=1), facts)).startswith(
        "0 s late and stands for 1 time that passed"
    )


@pytest.mark.parametrize(
    ("seconds", "words"), [(-1, "0 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h"), (172_800, "2 d")]
)
def test_spans_are_told_as_people_say_them(seconds: int, words: str):
    assert duration(timedelta(seconds=seconds)) == words
