"""The plugin is switched off and on again while queries run: nothing is lost, and nothing stays behind."""

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from plugbay.errors import StoreUnavailable
from plugbay_scheduled_query.tables import queries, runs
from service_world import FOREVER, until

NAME = "scheduled_query"


@pytest.fixture
def others() -> set[threading.Thread]:
    """The threads that were there before."""
    return set(threading.enumerate())


@pytest.fixture
def service(run_service: Callable[..., Any], tmp_path, others) -> Iterator[Any]:
    with run_service(tmp_path / "one") as running:
        yield running


def switch(service, enabled: bool) -> None:
    answer = service.admin.post(f"/admin/plugins/{NAME}/toggle")
    assert answer.status_code == 303
    assert bool(service.host.modules.is_module_loaded(NAME)) is enabled


def make_due(service, query_id: int) -> None:
    at = service.clock.now() - timedelta(seconds=1)
    with service.host.store.begin() as connection:
        connection.execute(sa.update(queries).where(queries.c.id == query_id).values(next_run_at=at))


def history(service, query_id: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = service.viewer.get(f"/api/execution-history/{query_id}").json()["data"]
    return found


@pytest.fixture
def own_threads(others) -> Callable[[], list[str]]:
    """Tells the names of the plugin's threads."""

    def names() -> list[str]:
        found = (thread.name for thread in set(threading.enumerate()) - others)
        return sorted(name for name in found if name.startswith("scheduled-query"))

    return names


def test_what_ran_when_it_was_switched_off_runs_when_it_is_on_again(service, own_threads, monkeypatch):
    monkeypatch.setattr("plugbay_scheduled_query.plugin.UNLOAD_GRACE_S", 0.1)
    slow, quick = service.create(FOREVER, timeout=300)["id"], service.create()["id"]
    with service.settings(interval=0):
        make_due(service, slow)
        service.parts.service.tick()
        until(lambda: any(runner.is_busy for runner in service.parts.executor.runners()))
        switch(service, False)
        assert own_threads() == []
        make_due(service, quick)
        service.host.store.ping()
        switch(service, True)
        until(lambda: history(service, quick))
        assert service.editor.post(f"/api/cancel/{slow}").status_code == 202
        until(lambda: history(service, slow))
    (item,) = history(service, slow)
    assert (item["attempt"], item["error_message"]) == (2, "cancelled by editor")
    with service.host.store.connect() as connection:
        assert connection.execute(sa.select(runs)).all() == []


def test_switching_it_on_and_off_leaves_no_thread_and_no_file_behind(service, own_threads):
    before = len(own_threads())
    for _ in range(3):
        switch(service, False)
        switch(service, True)
    until(lambda: len(own_threads()) == before)  # one that looks after a session may be about to end
    assert len(list((service.host.data_dir / "nodes").iterdir())) == 1


def test_other_settings_count_at_once(service):
    query = service.create(cron_schedule="0 20 * * *")["id"]
    assert service.parts.definitions.get(query).next_run_at.hour == 20
    claiming = service.parts.service._claiming
    with service.settings(interval=0, max_parallel=3, timezone="Europe/Berlin"):
        assert claiming.places().total == 3
        assert service.parts.definitions.get(query).next_run_at.hour == 19
    assert service.parts.definitions.get(query).next_run_at.hour == 20


def test_hosts_of_one_process_share_their_handlers_but_not_their_queries(service, run_service, tmp_path):
    mine = service.create(name="Mine")
    with run_service(tmp_path / "two") as other:
        theirs = other.create(name="Theirs")
        assert mine["id"] == theirs["id"]
        for asked, name in ((service, "Mine"), (other, "Theirs")):
            assert asked.viewer.get(f"/api/scheduled-queries/{mine['id']}").json()["name"] == name
            assert name in asked.viewer.get(f"/scheduled_query/query/{mine['id']}").text
    assert service.viewer.get("/api/scheduled-queries").json()["pagination"]["total_count"] == 1


def test_a_store_that_is_away_keeps_it_from_neither_starting_nor_ending(service, own_threads, monkeypatch):
    def away(*args: object, **options: object) -> None:
        raise StoreUnavailable(where="there", reason="away")

    for name in ("note_alive", "note_stop"):
        monkeypatch.setattr(f"plugbay_scheduled_query.repository.standstills.Standstills.{name}", away)
    switch(service, False)
    assert own_threads() == []
    switch(service, True)
    query = service.create()["id"]
    with service.settings(interval=0):
        make_due(service, query)
        service.host.modules.get("scheduled_query").module._assembly.cycle()
        until(lambda: history(service, query))
