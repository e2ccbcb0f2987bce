"""What a due query waits for, in words that say what to change."""

from datetime import UTC, datetime, timedelta

import pytest
from plugbay_scheduled_query.core.capacity import Pace
from plugbay_scheduled_query.core.model import Query
from plugbay_scheduled_query.core.standstill import Standstill, StandstillKind
from plugbay_scheduled_query.core.waiting import Situation, SourceState, is_due, waiting_for

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
PACED, UNPACED = Pace(30, 8), Pace(0, 2)
HELP = "set the pace of shop to 0, and its queries start when they are due"
ONE, TWO = "“shop” runs one at a time, 30 s apart", "“shop” runs 2 at a time"
PAUSED = "the data source “shop” is paused: its server has not ended a session"


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (
            SourceState(PACED, ended_at=NOW - timedelta(seconds=10)),
            f"the pace of its source: {ONE}, and the next starts at 2026-11-15 12:00:20 UTC; {HELP}",
        ),
        (
            SourceState(PACED, runs_now="Orders"),
            f"the run of “Orders”: {ONE}; {HELP}",
        ),
        (SourceState(PACED, ended_at=NOW - timedelta(seconds=30)), "its turn, which is next"),
        (SourceState(PACED), "its turn, which is next"),
        (
            SourceState(UNPACED, under_way=2),
            f"the other runs of its source: {TWO}, and 2 are under way; raise max_parallel of shop",
        ),
        (
            SourceState(UNPACED, under_way=1),
            "a free worker: if that takes long, raise the setting max_parallel, or run more processes",
        ),
    ],
)
def test_a_source_keeps_its_queries_waiting_for_one_reason(state: SourceState, expected: str):
    assert waiting_for("shop", Situation(now=NOW, sources={"shop": state})) == expected


def test_a_paused_source_and_a_pause_of_all_come_before_its_pace():
    sources = {"shop": SourceState(PACED, runs_now="Orders")}
    paused = Situation(now=NOW, pauses={"shop": PAUSED}, sources=sources)
    assert waiting_for("shop", paused) == f"its source to go on: {PAUSED}"
    hold = Standstill(StandstillKind.ALL, NOW - timedelta(hours=1), by="eve")
    held = Situation(now=NOW, hold=hold, pauses={"shop": PAUSED}, sources=sources)
    assert waiting_for("shop", held) == (
        "the end of a pause: eve paused all queries at 2026-11-15 11:00:00 UTC, and an admin can resume them"
    )


def test_a_source_that_nobody_knows_keeps_nobody_waiting():
    assert waiting_for("gone", Situation(now=NOW)) == "its start, which is due now"


@pytest.mark.parametrize(
    ("next_run_at", "running", "expected"),
    [
        (NOW, False, True),
        (NOW - timedelta(days=1), False, True),
        (NOW, True, False),
        (NOW + timedelta(seconds=1), False, False),
        (None, False, False),
    ],
)
def test_due_is_what_was_not_started_in_time(next_run_at: datetime | None, running: bool, expected: bool):
    query = Query(
        id=1,
        name="Orders",
        query="SELECT 1",
        cron_schedule="* * * * *",
        data_source="shop",
        next_run_at=next_run_at,
        running=running,
    )
    assert is_due(query, NOW) is expected
