import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import postgres
import pytest
import sqlalchemy as sa
from fakes import FakeClock
from plugbay import Store
from plugbay.store import open_store
from plugbay_scheduled_query import tables
from plugbay_scheduled_query.core.draft import Draft
from plugbay_scheduled_query.core.model import Outcome, Query, Run, Status
from plugbay_scheduled_query.repository.claims import Claims
from plugbay_scheduled_query.repository.definitions import Definitions
from plugbay_scheduled_query.repository.history import Histories
from plugbay_scheduled_query.repository.recording import Ended, Recording
from plugbay_scheduled_query.repository.takeover import Ownership
from plugbay_task_worker.tick_claims import MemoryTickClaims
from service_world import World

MIGRATIONS = Path(tables.__file__).parent / "migrations"
YEARLY = "0 0 1 1 *"


@pytest.fixture(autouse=True)
def patient_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many hands at one store wait for each other longer on a machine that does much else."""
    monkeypatch.setattr("plugbay.store.engines.WAIT_S", 120)


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store of the service, once on each database."""
    url = "" if request.param == "sqlite" else str(request.getfixturevalue("postgres_store_url"))
    with closing(open_service_store(url, tmp_path)) as opened:
        yield opened


@pytest.fixture
def postgres_store_url(postgres_server: str, postgres_with_tables: str) -> Iterator[str]:
    """The URL of an empty store of its own, on PostgreSQL."""
    with postgres.database(postgres_server, postgres_with_tables) as url:
        yield url


@pytest.fixture(scope="session")
def postgres_with_tables(
    postgres_server: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str | None]:
    """The name of a database with the service's tables in it, to be copied."""
    with postgres.database(postgres_server) as url:
        open_service_store(url, tmp_path_factory.mktemp("template")).close()
        yield sa.make_url(url).database


def open_service_store(url: str, folder: Path) -> Store:
    opened = open_store(url, folder / "data")
    opened.migrate("scheduled_query", MIGRATIONS)
    return opened


@pytest.fixture
def clock() -> FakeClock:
    """Stands at the machine's own time, because PostgreSQL brings its own "now"."""
    return FakeClock(datetime.now(UTC))


@pytest.fixture
def add_source(store: Store, clock: FakeClock) -> Callable[..., int]:
    def add(name: str, **pace: int) -> int:
        values = {"name": name, "dialect": "sqlite", "secret_url": "x", "origin": "admin", **pace}
        values |= {"created_at": clock.now(), "updated_at": clock.now()}
        with store.begin() as connection:
            insert = sa.insert(tables.data_sources).values(values).returning(tables.data_sources.c.id)
            source_id = connection.execute(insert).scalar_one()
            connection.execute(sa.insert(tables.lanes).values(source_id=source_id))
        return source_id

    return add


@pytest.fixture
def source_id(add_source: Callable[..., int]) -> int:
    return add_source("shop")


@pytest.fixture
def definitions(store: Store, clock: FakeClock) -> Definitions:
    return Definitions(store, clock)


@pytest.fixture
def claims(store: Store, clock: FakeClock) -> Claims:
    return Claims(store, clock, "node-1")


@pytest.fixture
def ownership(store: Store, clock: FakeClock) -> Ownership:
    return Ownership(store, clock, "node-1")


@pytest.fixture
def recording(store: Store) -> Recording:
    return Recording(store)


@pytest.fixture
def cron_schedule() -> str:
    """Never due by itself while a test looks: PostgreSQL's own "now" may pass a minute at any moment."""
    return YEARLY


@pytest.fixture
def add_query(definitions: Definitions, source_id: int, cron_schedule: str) -> Callable[..., Query]:
    def add(name: str = "Orders", source: int | None = None, **fields: Any) -> Query:
        given = {
            "name": name,
            "query": "SELECT 1",
            "cron_schedule": cron_schedule,
            "data_source": "shop",
            **fields,
        }
        return definitions.create(Draft(**given), source or source_id, "ada", "UTC")

    return add


@pytest.fixture
def make_due(store: Store, clock: FakeClock) -> Callable[..., datetime]:
    """Sets the next run of a query to so many seconds ago, on a full minute or not."""

    def due(query: Query, seconds_ago: float = 1) -> datetime:
        at = clock.now() - timedelta(seconds=seconds_ago)
        with store.begin() as connection:
            connection.execute(
                sa.update(tables.queries).where(tables.queries.c.id == query.id).values(next_run_at=at)
            )
        return at

    return due


@pytest.fixture
def finished(clock: FakeClock) -> Callable[..., Ended]:
    """A run with what came back of it, by default a success with one number."""

    def finish(run: Run, status: str = "success", **fields: Any) -> Ended:
        given = {"executed_at": clock.now(), "duration_ms": 5}
        if status == "success":
            given |= {"columns": ("n",), "result_json": "[[1]]", "row_count": 1, "value": 1.0}
        else:
            given |= {"error": "it broke"}
        return run, Outcome(Status(status), **{**given, **fields})

    return finish


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE orders (total REAL)")
        connection.executemany("INSERT INTO orders VALUES (?)", [(1.5,), (2.5,)])
    return path


@pytest.fixture
def world(store: Store, clock: FakeClock, shop: Path, tmp_path: Path) -> Iterator[Callable[[], World]]:
    """Nodes of the service on one store, as many as a test asks for."""
    made: list[World] = []
    claims = MemoryTickClaims()

    def make() -> World:
        made.append(World(store, clock, shop, tmp_path / "data", claims))
        return made[-1]

    yield make
    for each in made:
        each.stop(0)


@pytest.fixture
def histories(store: Store) -> Histories:
    return Histories(store)
