"""A session that its server does not end pauses its source, is told everywhere, and nobody else notices."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pymysql
import pytest
import sqlalchemy as sa
from plugbay_scheduled_query.repository.pauses import Pauses, StuckSession
from plugbay_scheduled_query.tables import queries
from runner_kit import eventually

LONG = "SELECT count(*) FROM generate_series(1, 9000000) a, generate_series(1, 9000000) b"
EVERY_MINUTE = "* * * * *"
READING = """
    SELECT COUNT(*) FROM information_schema.processlist
    WHERE info LIKE 'SELECT LOAD_FILE%' AND id <> CONNECTION_ID()
"""


def add_source(service: Any, name: str, url: str) -> int:
    added = service.admin.post("/api/data-sources", json={"name": name, "url": url})
    assert added.status_code == 201, added.text
    number: int = added.json()["id"]
    return number


def paused(service: Any, name: str) -> dict[str, Any] | None:
    sources = service.viewer.get("/api/data-sources").json()["data"]
    found: dict[str, Any] | None = next(source for source in sources if source["name"] == name)["paused"]
    return found


def goes_on(service: Any, name: str) -> bool:
    """Whether a source is not paused, after the look that each minute brings."""
    service.parts.sessions.revisit()
    service.clock.advance(1)  # what was known of pauses a moment ago is read anew
    return paused(service, name) is None


def gauge(service: Any, name: str) -> float:
    lines = service.viewer.get("/metrics").text.splitlines()
    [line] = [line for line in lines if line.startswith(f'plugbay_source_paused{{source="{name}"}}')]
    return float(line.rpartition(" ")[2])


def executed(service: Any, query: dict[str, Any]) -> Any:
    return service.viewer.get(f"/api/scheduled-queries/{query['id']}").json()["last_executed"]


@contextmanager
def frozen_backend(postgres_url: str, sql: str) -> Iterator[None]:
    """The server's process that runs this statement is stopped: it hears neither cancel nor end."""
    select = "SELECT pid FROM pg_stat_activity WHERE query = %s AND state = 'active'"
    with closing(psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True)) as connection:
        [pid] = eventually(lambda: connection.execute(select, (sql,)).fetchone())
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_session_that_postgresql_does_not_end_pauses_its_source_until_it_is_gone(
    service: Any, postgres_url: str
):
    source_id = add_source(service, "frozen", postgres_url)
    stuck = service.create(LONG, data_source="frozen", timeout=1, name="Far too long")
    due = service.create("SELECT 1", data_source="frozen", cron_schedule=EVERY_MINUTE)
    other = service.create("SELECT 1", data_source="shop")
    run = threading.Thread(target=service.run, args=(stuck["id"],))
    run.start()
    with frozen_backend(postgres_url, LONG):
        run.join()
        reason = eventually(lambda: paused(service, "frozen"))["reason"]
        assert "“frozen” is paused" in reason
        assert "“Far too long”" in reason
        assert (gauge(service, "frozen"), gauge(service, "shop")) == (1, 0)

        refused = service.editor.post(f"/api/run-now/{stuck['id']}")
        assert refused.status_code == 409
        assert refused.json()["detail"].startswith("The data source “frozen” is paused")
        tried = service.editor.post("/api/try", json={"query": "SELECT 1", "data_source": "frozen"}).json()
        assert (tried["status"], tried["error_message"]) == ("failed", reason)

        service.clock.advance(120)
        service.parts.sessions.revisit()
        service.parts.service.tick()
        assert service.run(other["id"])["status"] == "success"
        assert executed(service, due) is None
        assert paused(service, "frozen")
    eventually(lambda: goes_on(service, "frozen"))
    assert gauge(service, "frozen") == 0
    eventually(lambda: executed(service, due))
    assert service.admin.post(f"/api/data-sources/{source_id}/resume").status_code == 409


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A pipe that nobody writes to, and that the server's account can find: opening it waits for ever."""
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(folder.stat().st_mode | 0o005)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "pipe").chmod(0o644)
    return tmp_path / "pipe"


def test_a_session_that_mariadb_does_not_end_pauses_its_source_until_it_is_gone(
    service: Any, mariadb_url: str, pipe: Path
):
    add_source(service, "waiting", mariadb_url)
    with service.settings(allowed_functions="load_file"):
        sql = f"SELECT LOAD_FILE('{pipe}') AS text"
        stuck = service.create(sql, data_source="waiting", timeout=1, name="Reads a pipe")
        assert service.run(stuck["id"])["status"] == "timeout"
        reason = eventually(lambda: paused(service, "waiting"))["reason"]
        assert "“Reads a pipe”" in reason
        assert service.editor.post(f"/api/run-now/{stuck['id']}").status_code == 409
        assert sessions_reading(mariadb_url) == 1
        with pipe.open("w"):
            eventually(lambda: sessions_reading(mariadb_url) == 0)
    eventually(lambda: goes_on(service, "waiting"))


def sessions_reading(mariadb_url: str) -> int:
    place = sa.make_url(mariadb_url)
    options: Any = {"user": place.username, "unix_socket": place.query["unix_socket"]}
    with closing(pymysql.connect(**options)) as connection, connection.cursor() as cursor:
        cursor.execute(READING)
        return int(cursor.fetchone()[0])


@pytest.fixture
def paused_source(service_on_both: Any) -> tuple[Any, int, str]:
    """A source that is paused for a session that its database has never heard of."""
    service = service_on_both
    name = service.unique("Source")
    source_id = add_source(service, name, f"sqlite:///{service.shop}")
    session = StuckSession(source_id, "17", "An old query", datetime(2026, 11, 15, 12, tzinfo=UTC))
    assert Pauses(service.host.store).add(session)
    assert not Pauses(service.host.store).add(session), "a session pauses its source once"
    service.clock.advance(1)
    return service, source_id, name


def test_an_admin_resumes_a_source(paused_source: Any):
    service, source_id, name = paused_source
    query = service.create("SELECT 1", data_source=name)
    assert service.editor.post(f"/api/run-now/{query['id']}").status_code == 409
    assert service.editor.post(f"/api/data-sources/{source_id}/resume").status_code == 403
    resumed = service.admin.post(f"/api/data-sources/{source_id}/resume")
    assert (resumed.status_code, resumed.json()["paused"]) == (200, None)
    assert service.run(query["id"])["status"] == "success"
    assert service.admin.post(f"/api/data-sources/{source_id}/resume").status_code == 409
    assert service.admin.post("/api/data-sources/9999/resume").status_code == 404


def test_nothing_scheduled_is_claimed_at_a_paused_source_and_all_of_it_after(paused_source: Any):
    service, source_id, name = paused_source
    query = service.create("SELECT 1", data_source=name, cron_schedule=EVERY_MINUTE)
    past = datetime.now(UTC) - timedelta(days=400)
    with service.host.store.begin() as connection:
        of_query = sa.update(queries).where(queries.c.id == query["id"])
        connection.execute(of_query.values(next_run_at=past))
    for interval in (30, 0):
        with service.settings(interval=interval):
            service.parts.service.tick()
            assert executed(service, query) is None
    service.admin.post(f"/api/data-sources/{source_id}/resume")
    eventually(lambda: executed(service, query))


def test_the_link_and_the_pages_tell_why_a_source_is_paused(paused_source: Any):
    service, source_id, name = paused_source
    query = service.create("SELECT 1", data_source=name)
    assert service.editor.get(f"/api/run-now/{query['id']}").status_code == 303
    sentence = f"The data source “{name}” is paused: its server has not ended the session of “An old query”"
    for page in ("/scheduled_query/", f"/scheduled_query/query/{query['id']}"):
        assert sentence in service.editor.get(page).text
    listed = service.admin.get("/scheduled_query/sources").text
    assert sentence in listed
    assert f"/scheduled_query/sources/{source_id}/resume" in listed
    assert service.admin.post(f"/scheduled_query/sources/{source_id}/resume").status_code == 303
    assert sentence not in service.editor.get("/scheduled_query/").text
    assert executed(service, query) is None


def test_a_deleted_source_takes_its_pause_along(paused_source: Any):
    service, source_id, _ = paused_source
    assert service.admin.delete(f"/api/data-sources/{source_id}").status_code == 204
    assert source_id not in Pauses(service.host.store).by_source()


def test_a_paused_source_whose_session_nobody_knows_goes_on_by_itself(paused_source: Any):
    service, _, name = paused_source
    eventually(lambda: goes_on(service, name))
