"""The service when something around it breaks: nothing is lost, nothing is stuck, it mends itself."""

import pytest
import sqlalchemy as sa
from plugbay_scheduled_query import tables
from plugbay_scheduled_query.core.model import Result
from plugbay_scheduled_query.repository.recording import Keeping
from plugbay_scheduled_query.settings import Settings
from service_world import executions


@pytest.fixture
def set_query(store):
    """Writes columns of a definition past all checks."""

    def write(query, **values):
        with store.begin() as connection:
            connection.execute(
                sa.update(tables.queries).where(tables.queries.c.id == query.id).values(values)
            )

    return write


def live_runs(store) -> int:
    with store.connect() as connection:
        return connection.scalar(sa.select(sa.func.count()).select_from(tables.runs))


def test_who_is_told_of_an_execution_may_fail_and_no_run_stays_behind(world, add_query, histories, make_due):
    here, queries = world(), [add_query(f"q{n}") for n in range(3)]

    def after(finished, recorded):
        raise RuntimeError("the gauges cannot be read")

    here.service._after = after
    for query in queries:
        make_due(query)
    here.service.tick()
    here.settle()
    assert [len(executions(histories, query)) for query in queries] == [1, 1, 1]


@pytest.mark.parametrize("name", ["\x00", "\ud800"])
def test_a_result_that_no_store_takes_fails_alone(
    store, claims, recording, add_query, finished, clock, histories, name
):
    odd, good = add_query("odd"), add_query("good")
    runs = [claims.start_now(query.id, "ada")[0] for query in (odd, good)]
    bad = finished(runs[0], result=Result(columns=("n",), text=f"[[{name!r}{name}]]", row_count=1))
    if store.dialect == "sqlite" and name == "\x00":
        pytest.skip("SQLite takes it")
    recorded = recording.record([bad, finished(runs[1])], clock.now(), Keeping())
    assert [item.execution.status for item in recorded] == ["failed", "success"]
    assert "could not be stored" in executions(histories, odd)[0].error_message
    assert len(executions(histories, good)) == 1
    assert live_runs(store) == 0


def test_an_execution_that_stumbles_frees_its_place(world, add_query, histories, make_due, monkeypatch):
    here, query = world(), add_query()
    here.settings = Settings(interval=0, max_parallel=1)

    def stumble(*args):
        raise RuntimeError("nobody thought of this")

    monkeypatch.setattr("plugbay_scheduled_query.execution.finish", stumble)
    make_due(query)
    here.service.tick()
    here.settle()
    monkeypatch.undo()
    assert executions(histories, query)[0].error_message == "internal error: RuntimeError"
    make_due(query, 0)
    here.service.tick()
    here.settle()
    assert executions(histories, query)[0].status == "success"


@pytest.mark.parametrize("broken", [{"timezone": "Mars/Olympus"}, {"cron_schedule": "61 * * * *"}])
@pytest.mark.parametrize("interval", [0, 30])
def test_a_schedule_that_cannot_be_read_any_more_stops_nobody_else(
    world, add_query, add_source, set_query, histories, make_due, definitions, broken, interval
):
    here = world()
    here.settings = Settings(interval=interval)
    good, bad = add_query("good", add_source("other")), add_query("bad")
    set_query(bad, **broken)
    make_due(bad, 5)
    make_due(good, 1)
    here.service.tick()
    here.settle()
    assert executions(histories, good)[0].status == "success"
    (item,) = executions(histories, bad)
    assert item.status == "failed"
    assert "schedule cannot be read" in item.error_message
    assert definitions.get(bad.id).next_run_at > item.executed_at
