import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import postgres
import pytest
import sqlalchemy as sa
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


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, data_dir: Path) -> Iterator[Store]:
    """A store with the host's tables in it, once on each database."""
    url = "" if request.param == "sqlite" else str(request.getfixturevalue("postgres_store_url"))
    with closing(open_store(url, data_dir)) as opened:
        yield opened


@pytest.fixture
def postgres_store_url(postgres_server: str, postgres_with_tables: str) -> Iterator[str]:
    """The URL of a database of its own with the host's tables in it."""
    with postgres.database(postgres_server, postgres_with_tables) as url:
        yield url


@pytest.fixture(scope="session")
def postgres_with_tables(
    postgres_server: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str | None]:
    """The name of a database with the host's tables in it, to be copied."""
    with postgres.database(postgres_server) as url:
        open_store(url, tmp_path_factory.mktemp("template")).close()
        yield sa.make_url(url).database


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
