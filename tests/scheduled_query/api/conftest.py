"""A real host with the three plugins, a real SQLite source and real runners, behind HTTP."""

import itertools
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import postgres
import pytest
from fakes import FakeClock
from fastapi import FastAPI
from fastapi.testclient import TestClient
from plugbay import Plugbay
from plugbay.auth import add_user, create_token
from plugbay.auth.passwords import Costs, Passwords
from plugbay_scheduled_query.core.model import Outcome, Status
from plugbay_scheduled_query.repository.claims import Claims
from plugbay_scheduled_query.repository.pruning import Keeping
from plugbay_scheduled_query.repository.recording import Recording
from plugbay_scheduled_query.web.dependencies import Parts

PASSWORD = "correct horse battery staple"
YEARLY = "0 0 1 1 *"  # never due while a test looks
FOREVER = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1e15) SELECT COUNT(*) FROM n"
)
PLUGINS = ("PLUGBAY_", "SCHEDULED_QUERY_", "TASK_WORKER_", "UI_TOOLS_")


class Service:
    """The running service as a test sees it: clients by role, and the parts behind them."""

    def __init__(self, host: Plugbay, entered: TestClient, clock: FakeClock, shop: Path) -> None:
        self.host = host
        self._portal = entered.portal
        self.clock = clock
        self.shop = shop
        self._numbers = itertools.count(1)
        for role in ("admin", "editor", "viewer"):
            if role != "admin":
                add_user(host.store, role, PASSWORD, role)
            setattr(self, role, self.client(create_token(host.store, role, "tests")))

    admin: TestClient
    editor: TestClient
    viewer: TestClient

    def client(self, token: str | None = None, **options: Any) -> TestClient:
        """A client on the server's own event loop, as all clients of a real server are."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        client = TestClient(self.host.app, headers=headers, follow_redirects=False, **options)
        client.portal = self._portal
        return client

    @property
    def parts(self) -> Parts:
        module: Any = self.host.get_module("scheduled_query")
        found: Parts = module.parts
        return found

    def unique(self, word: str = "Query") -> str:
        return f"{word} {next(self._numbers)}"

    def create(self, query: str = "SELECT 1 AS one", **fields: Any) -> dict[str, Any]:
        """A new query, made over HTTP."""
        given = {"name": self.unique(), "query": query, "cron_schedule": YEARLY, **fields}
        answer = self.editor.post("/api/scheduled-queries", json=given)
        assert answer.status_code == 201, answer.text
        created: dict[str, Any] = answer.json()
        return created

    def run(self, query_id: int, **params: Any) -> dict[str, Any]:
        """Run Now, to its end."""
        answer = self.editor.post(f"/api/run-now/{query_id}", params={"wait": 60, **params})
        assert answer.status_code == 200, answer.text
        ran: dict[str, Any] = answer.json()
        return ran

    def record(
        self, query_id: int, status: str = "success", result: dict[str, Any] | None = None, **fields: Any
    ) -> None:
        """An execution of the past, as if the query had run now and ended so."""
        claims = Claims(self.host.store, self.clock, "a-node-of-the-test")
        run, _ = claims.start_now(query_id, "editor")
        assert run
        if status == "success" and result is None:
            result = {"columns": ("n",), "result_json": "[[1]]", "row_count": 1}
        error = None if status == "success" else "it broke"
        given = {
            "executed_at": self.clock.now(),
            "duration_ms": 5,
            "error": error,
            **(result or {}),
            **fields,
        }
        outcome = Outcome(Status(status), **given)
        Recording(self.host.store).record([(run, outcome)], self.clock.now(), Keeping())

    @contextmanager
    def settings(self, **values: Any) -> Iterator[None]:
        """Other settings for a while."""
        self.host.modules.save_settings("scheduled_query", values)
        try:
            yield
        finally:
            self.host.modules.save_settings("scheduled_query", {}, list(values))


def make_shop(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE orders (region TEXT, total REAL, deleted_at TEXT)")
        rows = [("eu", 1.5, None), ("eu", 2.5, None), ("us", 4.25, None)]
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)
    return path


@contextmanager
def running_service(folder: Path, clock: FakeClock | None = None, **config: Any) -> Iterator[Service]:
    folder.mkdir(parents=True, exist_ok=True)
    clock = clock or FakeClock()
    config = {"data_dir": folder / "data", "admin_password": PASSWORD, **config}
    host = Plugbay(FastAPI(), folder, config=config, clock=clock)
    states = {plugin.name: (plugin.state, plugin.reason) for plugin in host.modules.all()}
    assert host.get_module("scheduled_query"), states
    with TestClient(host.app) as entered:
        service = Service(host, entered, clock, make_shop(folder / "shop.db"))
        added = service.admin.post(
            "/api/data-sources", json={"name": "shop", "url": f"sqlite:///{service.shop}"}
        )
        assert added.status_code == 201, added.text
        yield service


@pytest.fixture(scope="module")
def quiet() -> Iterator[None]:
    """No variable of the machine counts, passwords cost little, and a store may take its time."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(PLUGINS)]:
            patch.delenv(name)
        patch.setattr(Passwords, "costs", Costs(passes=1, memory_kib=64, lanes=1))
        patch.setattr("plugbay.store.engines.WAIT_S", 120)
        yield


@pytest.fixture(scope="module")
def service(quiet: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One service for all tests of a file; each makes queries of its own."""
    with running_service(tmp_path_factory.mktemp("service")) as running:
        yield running


@pytest.fixture(scope="module")
def run_service(quiet: None) -> Callable[..., Any]:
    """Runs a service of one's own in a folder."""
    return running_service


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def service_on_both(
    request: pytest.FixtureRequest, quiet: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """The same, once with its store on each database."""
    with ExitStack() as stack:
        config: dict[str, Any] = {}
        if request.param == "postgresql":
            server = request.getfixturevalue("postgres_server")
            config["database_url"] = stack.enter_context(postgres.database(server))
            # of the same day as PostgreSQL's own: what is due next year is not due today
            config["clock"] = FakeClock(datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0))
        yield stack.enter_context(running_service(tmp_path_factory.mktemp("service"), **config))
