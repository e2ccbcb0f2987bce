"""Recording on real stores: history, latest result, counts, lanes, pruning, fencing."""

from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa
from plugbay_scheduled_query import tables
from plugbay_scheduled_query.core.draft import draft_of
from plugbay_scheduled_query.core.model import MetricConfig
from plugbay_scheduled_query.repository.gauges import StoredGauges
from plugbay_scheduled_query.repository.history import HistoryFilter
from plugbay_scheduled_query.repository.pruning import Housekeeping, Keeping
from plugbay_scheduled_query.repository.takeover import Ownership

KEEP_ALL = Keeping()


@pytest.fixture
def run(claims, recording, finished, clock):
    """Runs a query once from claim to record."""

    def once(query, status="success", keeping=KEEP_ALL, **fields):
        claimed, _ = claims.start_now(query.id, "ada")
        (recorded,) = recording.record([finished(claimed, status, **fields)], clock.now(), keeping)
        clock.advance(1)
        return recorded

    return once


def count(store, table) -> int:
    with store.connect() as connection:
        return connection.scalar(sa.select(sa.func.count()).select_from(table))


def test_a_success_is_kept_on_the_query_and_in_its_history(run, add_query, definitions, histories):
    query = add_query()
    recorded = run(query, columns=("a", "a"), result_json='[[1,"x"]]', truncated=True)
    after = definitions.get(query.id, with_result=True)
    assert (after.last_result, after.last_result_key) == ('[[1,"x"]]', ("a", "a"))
    assert (after.last_status, after.last_duration_ms, after.last_error) == ("success", 5, None)
    assert not after.running
    (item,), total = histories.page(query.id, HistoryFilter(), 1, 50)
    assert total == 1
    assert item == recorded
    assert item.truncated


def test_a_failure_does_not_wipe_the_last_good_result(run, add_query, definitions):
    query = add_query()
    run(query)
    run(query, "failed")
    after = definitions.get(query.id, with_result=True)
    assert (after.last_result, after.last_status, after.last_error) == ("[[1]]", "failed", "it broke")


def test_what_another_attempt_took_over_is_dropped(
    store, run, claims, recording, finished, add_query, clock, caplog
):
    query = add_query()
    claimed, _ = claims.start_now(query.id, "ada")
    Ownership(store, clock, "node-2").take_over(["node-1"])
    (recorded,) = recording.record([finished(claimed)], clock.now(), Keeping())
    assert recorded is None
    assert count(store, tables.history) == 0
    assert count(store, tables.runs) == 1
    assert "result_dropped" in caplog.text


def test_a_group_is_recorded_in_the_order_it_came(
    store, claims, recording, finished, add_query, make_due, clock
):
    for number in range(20):
        make_due(add_query(f"q{number}"), 100 - number)
    batch = [finished(claimed) for claimed in claims.claim_batch(50, "UTC")]
    recorded = recording.record(batch, clock.now(), Keeping())
    ids = [item.id for item in recorded]
    assert ids == sorted(ids)
    assert count(store, tables.runs) == 0
    assert count(store, tables.history) == 20


def test_one_that_cannot_be_recorded_does_not_hold_up_the_others(
    store, claims, recording, finished, add_query, make_due, clock
):
    first, second = add_query("first"), add_query("second")
    due_at = make_due(first, 10)
    make_due(second, 5)
    batch = [finished(claimed) for claimed in claims.claim_batch(2, "UTC")]
    recording.record(batch[:1], clock.now(), Keeping())
    with store.begin() as connection:
        values = {"query_id": first.id, "source_id": 1, "trigger": "schedule", "node": "x", "due_at": due_at}
        connection.execute(
            sa.insert(tables.runs).values(values | {"id": batch[0][0].id, "claimed_at": due_at})
        )
    bad, good = recording.record(batch, clock.now(), Keeping())
    assert bad is None
    assert good
    assert count(store, tables.runs) == 0


def test_numbers_are_dense_for_all_and_for_each_status(store, run, add_query):
    query = add_query()
    for status in ("success", "failed", "success", "timeout", "failed"):
        run(query, status)
    with store.connect() as connection:
        columns = (tables.history.c.number, tables.history.c.status, tables.history.c.status_number)
        rows = connection.execute(sa.select(*columns).order_by(tables.history.c.id)).all()
    assert [tuple(row) for row in rows] == [
        (1, "success", 1), (2, "failed", 1), (3, "success", 2), (4, "timeout", 1), (5, "failed", 2),
    ]  # fmt: skip


@pytest.mark.parametrize(("limit", "kept"), [(-1, 10), (3, 3), (1, 1), (0, 0)])
def test_limit_history_counts_per_query(store, run, add_query, histories, definitions, limit: int, kept: int):
    query, other = add_query("one"), add_query("other")
    run(other)
    for status in ("success", "failed") * 5:
        run(query, status, Keeping(limit_history=limit))
    items, total = histories.page(query.id, HistoryFilter(), 1, 50)
    assert len(items) == total == kept
    assert histories.page(other.id, HistoryFilter(), 1, 50)[1] == 1
    assert definitions.get(query.id, with_result=True).last_result == "[[1]]"
    for status in ("success", "failed"):
        found, of_status = histories.page(query.id, HistoryFilter(status), 1, 50)
        assert len(found) == of_status == sum(item.status == status for item in items)


def test_results_go_with_their_history_but_the_latest_stays(store, run, add_query):
    query = add_query()
    for _ in range(5):
        run(query, keeping=Keeping(limit_history=2))
    assert count(store, tables.results) == 2
    run(query, keeping=Keeping(enable_history=False))
    run(query, keeping=Keeping(enable_history=False))
    assert count(store, tables.results) == 3


def test_without_history_the_record_is_still_up_to_date(store, run, add_query, definitions):
    query = add_query()
    recorded = run(query, keeping=Keeping(enable_history=False))
    assert recorded.id is None
    assert definitions.get(query.id).last_status == "success"
    assert count(store, tables.history) == 0


def test_history_days_prunes_what_is_older(run, add_query, histories, clock):
    query = add_query()
    run(query, executed_at=clock.now() - timedelta(days=10))
    run(query, executed_at=clock.now() - timedelta(days=2))
    run(query, keeping=Keeping(history_days=7))
    assert histories.page(query.id, HistoryFilter(), 1, 50)[1] == 2


@pytest.mark.parametrize(
    ("page", "limit", "expected"),
    [(1, 3, [10, 9, 8]), (2, 3, [7, 6, 5]), (4, 3, [1]), (5, 3, []), (1, 200, list(range(10, 0, -1)))],
)
def test_pages_are_newest_first_and_a_page_past_the_end_is_empty(
    run, add_query, histories, page: int, limit: int, expected: list[int]
):
    query = add_query()
    ids = [run(query).id for _ in range(10)]
    items, total = histories.page(query.id, HistoryFilter(), page, limit)
    assert [ids.index(item.id) + 1 for item in items] == expected
    assert total == 10


def test_date_and_status_filters_go_together(run, add_query, histories, clock):
    query = add_query()
    start = clock.now()
    for minute in range(10):
        run(query, "success" if minute % 2 else "failed", executed_at=start + timedelta(minutes=minute))
    between = {"since": start + timedelta(minutes=2), "until": start + timedelta(minutes=7)}
    items, total = histories.page(query.id, HistoryFilter(**between), 1, 4)
    assert (len(items), total) == (4, 6)
    items, total = histories.page(query.id, HistoryFilter("failed", **between), 1, 50)
    assert [item.executed_at - start for item in items] == [timedelta(minutes=m) for m in (6, 4, 2)]
    assert total == 3
    nothing = HistoryFilter(since=start + timedelta(days=1))
    assert histories.page(query.id, nothing, 1, 50) == ([], 0)


def test_a_gauge_keeps_its_last_value_over_failures_and_results_without_a_number(store, run, add_query):
    query = add_query(metrics=(MetricConfig("orders", {}),))
    run(query, value=7.0)
    run(query, "failed")
    run(query, value=None)
    with store.connect() as connection:
        assert connection.scalar(sa.select(tables.states.c.metric_value)) == 7.0


def test_the_last_thirty_values_and_durations_are_kept(run, add_query, definitions):
    query = add_query()
    for number in range(35):
        run(query, value=float(number), duration_ms=number, keeping=Keeping(enable_history=False))
    after = definitions.get(query.id)
    assert after.recent_values == tuple(float(n) for n in range(5, 35))
    assert after.recent_durations_ms == tuple(range(5, 35))


def test_an_edit_and_a_run_that_finishes_meanwhile_do_not_touch_each_other(
    claims, recording, finished, add_query, definitions, clock
):
    from dataclasses import replace

    from plugbay_scheduled_query.core.draft import draft_of

    query = add_query()
    claimed, _ = claims.start_now(query.id, "ada")
    edited = replace(draft_of(query), name="Renamed", query="SELECT 2")
    definitions.update(query.id, edited, 1, "bob", "UTC", query.version)
    recording.record([finished(claimed)], clock.now(), Keeping())
    after = definitions.get(query.id, with_result=True)
    assert (after.name, after.query, after.last_result, after.version) == ("Renamed", "SELECT 2", "[[1]]", 2)


def test_a_value_of_the_old_gauge_is_not_shown_as_the_new_ones(
    store, claims, recording, finished, add_query, definitions, clock
):
    query = add_query(metrics=(MetricConfig("orders", {}),))
    claimed, _ = claims.start_now(query.id, "ada")
    edited = replace(draft_of(query), metrics=(MetricConfig("visitors", {}),))
    source_id = claimed.source_id
    definitions.update(query.id, edited, source_id, "bob", "UTC", None)
    recording.record([finished(claimed)], clock.now(), KEEP_ALL)
    (reading,) = StoredGauges(store).all()
    shown = reading.publication
    assert (shown.metrics[0].metric_name, shown.value, shown.is_up) == ("visitors", None, True)


def test_a_clock_that_was_set_back_hides_nothing_from_a_date_filter(run, add_query, histories, clock):
    query, noon = add_query(), clock.now()
    for _ in range(5):
        run(query)
    clock.jump(-600)
    for _ in range(5):
        run(query)
    wanted = HistoryFilter("all", noon - timedelta(hours=1), noon + timedelta(hours=1))
    found, total = histories.page(query.id, wanted, 1, 50)
    assert (len(found), total) == (10, 10)


@pytest.mark.parametrize(("keep", "left"), [(-1, 10), (0, 0), (4, 4), (10, 10), (99, 10)])
def test_pruning_takes_the_oldest_beyond_the_limit(run, add_query, histories, store, clock, keep, left):
    query = add_query()
    ids = [run(query).id for _ in range(10)]
    Housekeeping(store, clock).prune_step(Keeping(limit_history=keep))
    found, _ = histories.page(query.id, HistoryFilter(), 1, 50)
    assert [item.id for item in found] == ids[::-1][:left]
