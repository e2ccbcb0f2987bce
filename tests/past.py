"""A past for queries: executions of the last days, recorded as the service records them."""

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from plugbay import Store, SystemClock
from plugbay.store import open_store
from plugbay_scheduled_query.core.metric import gauge_value
from plugbay_scheduled_query.core.model import Outcome, Query, Status, Trigger
from plugbay_scheduled_query.core.results import read_rows
from plugbay_scheduled_query.core.schedule import parse
from plugbay_scheduled_query.demo import _level
from plugbay_scheduled_query.repository.claims import Claims
from plugbay_scheduled_query.repository.definitions import Definitions
from plugbay_scheduled_query.repository.overview import Latest, Overview
from plugbay_scheduled_query.repository.pruning import Keeping
from plugbay_scheduled_query.repository.recording import Recording
from plugbay_scheduled_query.runs.node import Node

MOST = 420  # executions of one query


class Past:
    """Writes history into a store, of the time before its queries were made."""

    def __init__(self, store: Store, data_dir: Path, days: float) -> None:
        self.clock = SystemClock()
        self.since = self.clock.now() - timedelta(days=days)
        self.node = Node(data_dir)  # a server that runs meanwhile would take over what a dead node left
        self.claims = Claims(store, self.clock, self.node.id)
        self.recording = Recording(store)
        self.definitions = Definitions(store, self.clock)
        self.overview = Overview(store)
        self.dice = random.Random(7)

    def live(self) -> None:
        for query in self.definitions.all():
            latest = self.overview.latest([query.id]).get(query.id)
            for at in self.times(query):
                self.execute(query, latest, at)
        self.node.close()

    def times(self, query: Query) -> Iterator[datetime]:
        """The cron times of the past, the most recent ones if there are too many; what came after is real."""
        assert query.created_at
        found, at = [], parse(query.cron_schedule).next_after(self.since)
        while at < query.created_at:
            found.append(at)
            at = parse(query.cron_schedule).next_after(at)
        yield from found[-MOST:]

    def execute(self, query: Query, latest: Latest | None, due: datetime) -> None:
        run, _ = self.claims.start_now(query.id, "plugbay")
        if run is None:  # a server runs it at this very moment
            return
        run = replace(run, trigger=Trigger.SCHEDULE, triggered_by=None, due_at=due)
        outcome = self.ending(latest, due)
        started_at = due + timedelta(milliseconds=self.dice.lognormvariate(5, 1))
        self.recording.record([(run, replace(outcome, executed_at=started_at))], started_at, Keeping())

    def ending(self, latest: Latest | None, at: datetime) -> Outcome:
        chance = self.dice.random()
        if latest is None:
            error = "no such table: warehouse"
            return Outcome(Status.FAILED, error=error, duration_ms=self.dice.randint(2, 9))
        if chance < 0.006:
            error = "the query took longer than its time limit of 30 s"
            return Outcome(Status.TIMEOUT, error=error, duration_ms=30_000)
        if chance < 0.02:
            return Outcome(Status.FAILED, error="database is locked", duration_ms=5_012)
        return self.success(latest, at)

    def success(self, latest: Latest, at: datetime) -> Outcome:
        rows = [[self.varied(cell, at) for cell in row] for row in read_rows(latest.text)]
        text = json.dumps(rows, default=str)
        took = int(self.dice.lognormvariate(3.6, 0.35))
        outcome = Outcome(Status.SUCCESS, latest.columns, text, len(rows), duration_ms=took)
        return replace(outcome, value=gauge_value(rows))

    def varied(self, cell: Any, at: datetime) -> Any:
        """A number as it may have been then: busy in the evening, quiet at night."""
        if isinstance(cell, bool) or not isinstance(cell, int | float | Decimal):
            return cell
        busy = _level(at.hour * 60 + at.minute) / 0.55 * (0.9 + self.dice.random() * 0.2)
        value = float(cell) * (0.4 + busy)
        return round(value) if isinstance(cell, int) else round(value, 2)


def live_through(data_dir: Path, days: float = 3) -> None:
    """Gives all queries of a data directory a past."""
    store = open_store("", data_dir)
    try:
        Past(store, data_dir, days).live()
    finally:
        store.close()
