import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeClock
from fastapi import FastAPI
from fastapi.testclient import TestClient
from plugbay import Plugbay
from plugbay.store import Store, open_store

PASSWORD = "correct horse battery staple"
SAMPLES = Path(__file__).parents[1] / "plugins"


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A data directory that does not exist yet."""
    return tmp_path / "data"


@pytest.fixture(params=["sqlite", "postgresql"])
def any_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty store, once on each database."""
    return "" if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def store(any_url: str, data_dir: Path) -> Iterator[Store]:
    """A store with the host's tables in it, once on each database."""
    opened = open_store(any_url, data_dir)
    yield opened
    opened.close()


@pytest.fixture
def sqlite_store(data_dir: Path) -> Iterator[Store]:
    opened = open_store("", data_dir)
    yield opened
    opened.close()


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host without the plugins that are installed beside it."""
    monkeypatch.setattr("plugbay.plugins.manager.find_installed", list)
    for variable in [name for name in os.environ if name.startswith(("PLUGBAY_", "GREETER_"))]:
        monkeypatch.delenv(variable)


@pytest.fixture
def make_host(alone: None, tmp_path: Path, clock: FakeClock) -> Iterator[Callable[..., Plugbay]]:
    """Builds hosts on a store of their own; `plugins` names a folder of tests/plugins, copied first."""
    built: list[Plugbay] = []

    def make(plugins: str | None = None, app: FastAPI | None = None, **options: Any) -> Plugbay:
        config = {"data_dir": tmp_path / "data", "admin_password": PASSWORD, **options.pop("config", {})}
        if plugins:
            shutil.copytree(SAMPLES / plugins, tmp_path / "plugins", dirs_exist_ok=True)
        host = Plugbay(app or FastAPI(), tmp_path, config=config, clock=clock, **options)
        built.append(host)
        return host

    yield make
    for host in built:
        host.modules.unload_all()
        host.store.close()


@pytest.fixture
def client_of() -> Iterator[Callable[..., TestClient]]:
    """A client of a host, logged in as its admin by HTTP Basic unless told otherwise."""
    with ExitStack() as stack:

        def client(host: Plugbay, anonymous: bool = False) -> TestClient:
            client = stack.enter_context(TestClient(host.app, follow_redirects=False))
            if not anonymous:
                client.auth = ("admin", PASSWORD)
            return client

        yield client
