"""The service's own health on /metrics, in situations that are known."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from plugbay import EventBus
from plugbay_scheduled_query.assembly import slots_of
from plugbay_scheduled_query.metrics.health import LANES_FRESH_S, HealthMetrics, Slots
from plugbay_scheduled_query.repository.pruning import Keeping
from plugbay_scheduled_query.runs.disk import DiskRoom
from plugbay_scheduled_query.runs.telling import Notifications, Reports
from plugbay_scheduled_query.settings import Settings
from service_world import FOREVER, until

A_WHILE_S = 3600  # longer than any rest, and than a test takes by PostgreSQL's own clock


class Health:
    """The metrics of a process, one by one."""

    def __init__(self, store, clock) -> None:
        self.settings = Settings(interval=30)
        self.reports = Reports(EventBus())
        notifications = Notifications(lambda: self.settings, lambda: None)
        self.slots = Slots(busy=0, most=8)
        self.made = lambda: HealthMetrics(
            store,
            clock,
            lambda: self.settings,
            self.reports,
            notifications,
            lambda: self.slots,
            DiskRoom(clock, lambda: self.settings, None),
        )

    def __getitem__(self, name: str) -> float:
        """As a process shows it that has not looked before."""
        beginning = f"plugbay_scheduled_query_{name} "
        (line,) = [line for line in self.made().text().splitlines() if line.startswith(beginning)]
        return float(line.removeprefix(beginning))


@pytest.fixture
def health(store, clock) -> Health:
    return Health(store, clock)


@pytest.fixture
def tell(health, recording, clock) -> Callable[..., None]:
    """Records a finished run, and tells of it as the service does."""

    def record(item) -> None:
        (recorded,) = recording.record([item], clock.now(), Keeping())
        health.reports.count(item[1], recorded)

    return record


@pytest.fixture
def claim_due(claims, make_due) -> Callable:
    """A query comes due and is claimed."""

    def claim(query):
        make_due(query, 90)
        (claimed,) = claims.claim_batch(10, "UTC")
        return claimed

    return claim


def test_a_process_that_did_nothing_yet_counts_from_nought(health, source_id):
    for name in ("execution_seconds_total", "starts_total", "start_lateness_seconds_total", "missed_total"):
        assert health[name] == 0
    for name in ("backlog", "oldest_due_seconds", "lane_busy"):
        assert health[f'{name}{{source="shop"}}'] == 0


def test_the_time_of_executions_adds_up_however_they_end(health, tell, claims, finished, add_query):
    for status, duration_ms in (("success", 1500), ("failed", 250), ("timeout", 30_000)):
        claimed, _ = claims.start_now(add_query(status).id, "ada")
        tell(finished(claimed, status, duration_ms=duration_ms))
    assert health["execution_seconds_total"] == 31.75
    for status in ("success", "failed", "timeout"):
        assert health[f'executions_total{{status="{status}"}}'] == 1


def test_lateness_is_from_the_due_time_to_the_start(health, tell, claim_due, finished, add_query):
    for name, late_s in (("a", 2.5), ("b", 4.0)):
        claimed = claim_due(add_query(name))
        tell(finished(claimed, executed_at=claimed.due_at + timedelta(seconds=late_s)))
    assert (health["starts_total"], health["start_lateness_seconds_total"]) == (2, 6.5)


def test_a_start_by_a_clock_that_was_set_back_is_not_late(health, tell, claim_due, finished, add_query):
    claimed = claim_due(add_query())
    tell(finished(claimed, executed_at=claimed.due_at - timedelta(hours=1)))
    assert (health["starts_total"], health["start_lateness_seconds_total"]) == (1, 0)


def test_what_a_person_starts_is_neither_a_scheduled_start_nor_late(
    health, tell, claims, finished, add_query
):
    claimed, _ = claims.start_now(add_query().id, "ada")
    tell(finished(claimed))
    assert (health["starts_total"], health["start_lateness_seconds_total"]) == (0, 0)


def test_the_times_that_were_passed_over_add_up(health, tell, claim_due, finished, add_query):
    for name, missed in (("a", 3), ("b", 0), ("c", 4)):
        claimed = claim_due(add_query(name))
        tell(finished(replace(claimed, missed=missed)))
    assert health["missed_total"] == 7


def test_the_backlog_is_what_is_due_in_each_source_and_has_not_started(
    health, claims, add_source, add_query, make_due
):
    add_source("idle")
    make_due(add_query("a"), 90)
    make_due(add_query("b"), 30)
    make_due(add_query("later"), -A_WHILE_S)
    make_due(add_query("elsewhere", add_source("bank")), 10)
    assert [health[f'backlog{{source="{name}"}}'] for name in ("shop", "bank", "idle")] == [2, 1, 0]
    oldest = [health[f'oldest_due_seconds{{source="{name}"}}'] for name in ("shop", "bank", "idle")]
    assert oldest == [90, 10, 0]
    assert len(claims.claim_batch(10, "UTC")) == 3
    assert (health['backlog{source="shop"}'], health['oldest_due_seconds{source="shop"}']) == (0, 0)


def test_a_lane_is_busy_while_a_run_has_it_and_while_it_rests(
    health, tell, claims, finished, add_source, add_query, make_due, clock
):
    add_source("idle")
    make_due(add_query())
    assert health['lane_busy{source="shop"}'] == 0
    (claimed,) = claims.claim_paced("UTC", 30)
    assert (health['lane_busy{source="shop"}'], health['lane_busy{source="idle"}']) == (1, 0)
    tell(finished(claimed))
    assert health['lane_busy{source="shop"}'] == 1
    clock.advance(A_WHILE_S)
    assert health['lane_busy{source="shop"}'] == 0


def test_whoever_scrapes_again_at_once_sees_the_lanes_as_they_were(health, add_query, make_due, clock):
    metrics, line = health.made(), 'plugbay_scheduled_query_backlog{source="shop"} 1.0'
    assert line not in metrics.text()
    make_due(add_query())
    assert line not in metrics.text()
    clock.advance(LANES_FRESH_S)
    assert line in metrics.text()


def test_the_slots_of_a_process_are_shown_beside_its_lanes(health):
    health.slots = Slots(busy=3, most=8)
    assert (health["slots_busy"], health["slots"]) == (3, 8)


def test_without_a_pace_the_slots_tell_that_all_are_busy_though_no_lane_is(
    health, world, add_query, make_due
):
    node = world()
    node.settings = Settings(interval=0, max_parallel=2)
    for name in ("a", "b", "c"):
        make_due(add_query(name, query=FOREVER))
    node.service.tick()
    until(lambda: slots_of(node.engine, node.settings) == Slots(busy=2, most=2))
    assert health['lane_busy{source="shop"}'] == 0


@pytest.mark.parametrize(("interval", "max_parallel", "most"), [(0, 4, 4), (0, 64, 6), (30, 4, 6)])
def test_some_workers_are_never_slots_of_the_schedule(world, interval, max_parallel, most):
    settings = Settings(interval=interval, max_parallel=max_parallel)
    assert slots_of(world().engine, settings) == Slots(busy=0, most=most)
