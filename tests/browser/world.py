"""A running service to look at: its server, what is in it, and where things are on its pages."""

import re
from datetime import timedelta
from typing import Any

import sqlalchemy as sa
from playwright.sync_api import Locator, Page
from plugbay_scheduled_query.core.model import Query
from plugbay_scheduled_query.queries.editing import Saved
from plugbay_scheduled_query.tables import lanes, queries
from plugbay_scheduled_query.web.dependencies import Parts
from service_world import run_now, until

PASSWORD = "correct horse battery staple"
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 375, "height": 780}
NEVER = "0 0 29 2 *"  # as good as: what a test made does not run by itself
SLOW = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1e15) SELECT COUNT(*) FROM n"


class World:
    """A running server with samples and a past, and what is in it."""

    def __init__(self, url: str, parts: Parts) -> None:
        self.url = url
        self.parts = parts

    def create(self, name: str, query: str = "SELECT 1 AS one", **fields: Any) -> Query:
        given = {"name": name, "query": query, "cron_schedule": NEVER, "data_source": "samples"}
        saved = self.parts.editing.create(given | fields, "ada")
        assert isinstance(saved, Saved), saved
        return saved.query

    def run(self, query: Query) -> None:
        ran = run_now(self.parts.service, query.id)
        assert ran
        assert ran.execution

    def rest(self) -> None:
        """Puts off every schedule, and lets end what runs: nothing runs but what a test runs."""
        tomorrow = self.parts.clock.now() + timedelta(days=1)
        with self.parts.host.store.begin() as connection:
            connection.execute(sa.update(queries).values(next_run_at=tomorrow))
        until(lambda: self.parts.service.is_at_rest)

    def make_due(self, query: Query) -> None:
        """The schedule's time has come, and the lane has rested from what the samples did."""
        due = sa.update(queries).where(queries.c.id == query.id).values(next_run_at=self.parts.clock.now())
        with self.parts.host.store.begin() as connection:
            connection.execute(due)
            connection.execute(sa.update(lanes).values(ended_at=None))
        self.parts.service.tick()


def row(page: Page, query: Query) -> Locator:
    return page.locator(f"#q-{query.id}")


def message(page: Page, text: str | re.Pattern[str]) -> Locator:
    return page.locator("#messages").get_by_text(text).first
