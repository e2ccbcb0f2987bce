"""Many hands at once on two nodes: run, cancel, edit, delete, tick; in the end everything adds up."""

import random
import threading
from collections.abc import Callable
from dataclasses import replace

import pytest
import sqlalchemy as sa
from plugbay_scheduled_query import tables
from plugbay_scheduled_query.core.draft import draft_of
from plugbay_scheduled_query.core.model import MetricConfig, Status
from plugbay_scheduled_query.repository.definitions import VersionConflict
from plugbay_scheduled_query.repository.pruning import Housekeeping
from plugbay_scheduled_query.settings import Settings

COUNT_TO = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) SELECT COUNT(*) FROM n"
)
HANDS, DEEDS = 5, 60
KEPT = 15


class Hand:
    """Does one thing after another to queries that others lay hands on, too."""

    def __init__(
        self, seed: int, nodes, ids: list[int], sources: list[int], definitions, store, clock
    ) -> None:
        self.dice = random.Random(seed)
        self.nodes, self.ids, self.sources = nodes, ids, sources
        self.definitions, self.store, self.clock = definitions, store, clock
        self.failures: list[Exception] = []

    def work(self) -> None:
        deeds: list[Callable[[int], object]] = [self.run, self.run, self.cancel, self.edit, self.make_due]
        deeds += [self.make_due, self.tick, self.tick, self.delete]
        for _ in range(DEEDS):
            try:
                self.dice.choice(deeds)(self.dice.choice(self.ids))
            except VersionConflict:
                continue
            except Exception as error:
                self.failures.append(error)

    def run(self, query_id: int) -> None:
        self.dice.choice(self.nodes).service.begin_now(query_id, "ada")

    def cancel(self, query_id: int) -> None:
        self.dice.choice(self.nodes).service.cancel(query_id, "bob")

    def edit(self, query_id: int) -> None:
        if current := self.definitions.get(query_id):
            draft = replace(draft_of(current), enabled=not current.enabled)
            source = self.dice.choice(self.sources)
            self.definitions.update(query_id, draft, source, "ada", "UTC", current.version)

    def make_due(self, query_id: int) -> None:
        enabled = (tables.queries.c.id == query_id) & tables.queries.c.enabled
        with self.store.begin() as connection:
            update = sa.update(tables.queries).where(enabled).values(next_run_at=self.clock.now())
            connection.execute(update)

    def tick(self, query_id: int) -> None:
        self.clock.advance(0.5)
        self.dice.choice(self.nodes).service.tick()

    def delete(self, query_id: int) -> None:
        if self.dice.random() < 0.2:
            self.definitions.delete(query_id)
        Housekeeping(self.store, self.clock).purge_step()


@pytest.mark.parametrize("interval", [0, 1])
def test_whatever_is_done_at_the_same_time_everything_adds_up(
    world, add_query, add_source, source_id, definitions, store, clock, caplog, interval
):
    nodes = [world(), world()]
    for node in nodes:
        node.settings = Settings(interval=interval, max_parallel=3, limit_history=KEPT)
    sources = [source_id, add_source("other")]
    ids = [
        add_query(
            f"q{n}",
            sources[n % 2],
            query=COUNT_TO.format(10 ** (n % 7)),
            metrics=(MetricConfig(f"m{n}", {}),),
        ).id
        for n in range(12)
    ]
    hands = [Hand(seed, nodes, ids, sources, definitions, store, clock) for seed in range(HANDS)]
    threads = [threading.Thread(target=hand.work) for hand in hands]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.begin() as connection:
        connection.execute(sa.update(tables.queries).values(next_run_at=None))
    for node in nodes:
        node.settle()
    assert [error for hand in hands for error in hand.failures] == []
    assert "record_failed" not in caplog.text
    assert not any(node.service._claiming.admission._inside for node in nodes)
    check_tables(store)


def check_tables(store) -> None:
    with store.connect() as connection:
        assert connection.execute(sa.select(tables.runs)).all() == []
        assert set(connection.scalars(sa.select(tables.lanes.c.run_id))) == {None}
        live = sa.select(tables.states).join(tables.queries, tables.queries.c.id == tables.states.c.query_id)
        states = connection.execute(live.where(tables.queries.c.deleted_at.is_(None))).all()
        for state in states:
            check_numbers(connection, state)
        held = set(connection.scalars(sa.select(tables.history.c.result_id)))
        held |= set(connection.scalars(sa.select(tables.states.c.last_result_id)))
        assert set(connection.scalars(sa.select(tables.results.c.id))) <= held


def check_numbers(connection: sa.Connection, state) -> None:
    """The numbers of a query's history are dense, of all and of each status, and no more than are kept."""
    history = tables.history.c
    rows = connection.execute(sa.select(tables.history).where(history.query_id == state.query_id)).all()
    numbers = sorted(row.number for row in rows)
    assert numbers == list(range(state.first_number, state.last_number + 1))
    assert len(numbers) <= KEPT
    for status in Status:
        of_status = sorted(row.status_number for row in rows if row.status == status)
        first, last = state._mapping[f"first_{status}"], state._mapping[f"last_{status}"]
        assert of_status == list(range(first, last + 1))
