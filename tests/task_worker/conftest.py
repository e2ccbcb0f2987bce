import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeClock
from fastapi import FastAPI
from fastapi.testclient import TestClient
from plugbay import Plugbay, Store
from plugbay.plugins.discovery import find_installed
from plugbay_task_worker import embedded
from plugbay_task_worker.embedded import EmbeddedEngine
from plugbay_task_worker.engine import EngineStats, Job
from plugbay_task_worker.tick_claims import MemoryTickClaims
from task_worker.world import PATIENCE_S, wait_for_our_threads

PASSWORD = "correct horse battery staple"
MIGRATIONS = Path(__file__).parents[2] / "packages/task_worker/src/plugbay_task_worker/migrations"


@pytest.fixture(autouse=True)
def patient_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines that give no call up just because the machine is busy."""
    monkeypatch.setattr(embedded, "UNWIND_S", PATIENCE_S)


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store with the task worker's table in it, once on each database."""
    url = "" if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))
    yield from opened(url, tmp_path)


@pytest.fixture
def sqlite_store(tmp_path: Path) -> Iterator[Store]:
    yield from opened("", tmp_path)


def opened(url: str, folder: Path) -> Iterator[Store]:
    store = Store(url, folder / "data")
    store.migrate("task_worker", MIGRATIONS)
    yield store
    store.close()


@pytest.fixture
def make_host(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Plugbay]]:
    """Builds hosts with this one plugin, and those of `{tmp_path}/plugins`; no thread outlives them."""
    ours = [source for source in find_installed() if source.name == "task_worker"]
    monkeypatch.setattr("plugbay.plugins.manager.find_installed", lambda: ours)
    for variable in [name for name in os.environ if name.startswith(("PLUGBAY_", "TASK_WORKER_"))]:
        monkeypatch.delenv(variable)
    built: list[Plugbay] = []

    def make(**config: Any) -> Plugbay:
        config = {"data_dir": tmp_path / "data", "admin_password": PASSWORD, **config}
        built.append(Plugbay(FastAPI(), tmp_path, config=config, clock=clock))
        return built[-1]

    yield make
    for host in built:
        host.modules.unload_all()
        host.store.close()
    wait_for_our_threads()


@pytest.fixture
def host(make_host: Callable[..., Plugbay]) -> Plugbay:
    return make_host()


@pytest.fixture
def client_of() -> Iterator[Callable[..., TestClient]]:
    """A client of a running host, logged in by HTTP Basic; the engine is done with its own chores."""
    with ExitStack() as stack:

        def client(host: Plugbay, user: str = "admin") -> TestClient:
            client = stack.enter_context(TestClient(host.app, follow_redirects=False))
            client.auth = (user, PASSWORD) if user else None
            assert host.get_module("task_worker").engine.wait_idle(PATIENCE_S)
            return client

        yield client


@pytest.fixture
def admin(host: Plugbay, client_of: Callable[..., TestClient]) -> TestClient:
    return client_of(host)


@pytest.fixture
def stats(clock: FakeClock) -> EngineStats:
    """An engine with a past: a late task that failed, a job that went well."""
    engine = EmbeddedEngine(clock, MemoryTickClaims(), workers=3)

    def fail(job: Job) -> None:
        clock.advance(2)
        raise ValueError("no such table")

    engine.every(owner="shop", name="collect", seconds=60, call=fail)
    engine.handle(owner="shop", name="note", call=lambda job: None)
    engine.start()
    clock.advance(90)
    engine.run_due()
    assert engine.wait_idle(PATIENCE_S)
    engine.submit("shop", "note")
    assert engine.wait_idle(PATIENCE_S)
    engine.stop(0)
    engine.submit("shop", "note")
    return engine.stats()
