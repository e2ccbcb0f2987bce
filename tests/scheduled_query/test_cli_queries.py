"""`plugbay queries export` and `import`, as a person would call them."""

import json
import sqlite3
from contextlib import closing

import pytest
from click.testing import CliRunner
from plugbay.cli import root
from plugbay_scheduled_query.cli import queries
from plugbay_scheduled_query.core.source import Source
from plugbay_scheduled_query.repository.definitions import Definitions
from plugbay_scheduled_query.repository.sources import SourceRepository

ORDERS = {"name": "Orders", "query": "SELECT 1", "cron_schedule": "@daily"}
SALES = {
    "name": "Sales",
    "query": "SELECT 'ünï' AS \"🚢\"",
    "cron_schedule": "*/5 * * * *",
    "enabled": False,
    "render_type": "counter",
    "chart": {"kind": "bar", "x": "region", "y": ["n"]},
    "monitor_metric_config": {"metric_name": "sales", "labels": {"region": "eu"}},
    "data_source": "shop",
    "timezone": "Europe/Berlin",
    "timeout": 9,
    "description": "All of them.",
    "tags": ["a", "b"],
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty data directory, and no setting of the machine."""
    monkeypatch.chdir(tmp_path)
    for name in ("PLUGBAY_DATABASE_URL", "PLUGBAY_DATA_DIR", "SCHEDULED_QUERY_FORBIDDEN_KEYWORDS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "data"


@pytest.fixture
def look(folder):
    """Looks into the store beside the command."""
    from plugbay import SystemClock, opened_host

    def looking(do):
        with opened_host(folder) as host:
            sources = SourceRepository(host.store, host.secrets, SystemClock())
            return do(sources, Definitions(host.store, SystemClock()))

    return looking


@pytest.fixture
def shop(look):
    look(lambda sources, definitions: sources.add(Source("shop", "sqlite:////shop.db"), "sqlite"))


def run(*args, given=None):
    text = None if given is None else given if isinstance(given, str) else json.dumps(given)
    return CliRunner().invoke(queries, args, input=text)


def import_(given, *args):
    return run("import", "-", *args, given=given)


def exported():
    return json.loads(run("export").stdout)


def test_the_commands_are_found_by_their_entry_point():
    found = CliRunner().invoke(root, ["queries", "--help"])
    assert found.exit_code == 0
    assert "export" in found.output
    assert "import" in found.output


def test_an_empty_store_exports_an_empty_list(folder):
    assert "There was no store" in run("export", "--data-dir", str(folder)).stderr
    found = run("export", "--data-dir", str(folder))
    assert (found.exit_code, found.stderr) == (0, "0 queries were exported.\n")
    assert json.loads(found.stdout) == {"plugbay_queries": 1, "queries": []}


def test_what_is_imported_is_exported_again(shop):
    found = import_({"plugbay_queries": 1, "queries": [ORDERS, SALES]})
    assert (found.exit_code, found.stdout) == (0, "")
    assert found.stderr.splitlines() == ["created   Orders", "created   Sales", "2 created."]
    first, second = exported()["queries"]
    assert second == {**SALES, "metrics": [SALES["monitor_metric_config"]]}
    assert first == {
        **ORDERS,
        "enabled": True,
        "render_type": "auto",
        "monitor_metric_config": None,
        "metrics": [],
        "chart": None,
        "data_source": "shop",
        "timezone": None,
        "timeout": None,
        "description": "",
        "tags": [],
    }


def test_importing_twice_changes_nothing(shop, look):
    import_([ORDERS, SALES])
    document = exported()
    before = look(lambda sources, definitions: list(definitions.all()))
    again = import_(document)
    assert (again.exit_code, again.stderr) == (0, "2 unchanged.\n")
    assert look(lambda sources, definitions: list(definitions.all())) == before


def test_many_are_stored_in_one_transaction_and_each_as_if_it_were_alone(shop, look):
    many = [ORDERS | {"name": f"Orders {n}", "cron_schedule": f"{n % 60} * * * *"} for n in range(1_200)]
    assert "1200 created" in run("import", "-", given=many).stderr
    found = look(lambda _, definitions: list(definitions.all()))
    assert [query.name for query in found] == [item["name"] for item in many]
    assert len({query.created_at for query in found}) == 1
    assert all(query.next_run_at and query.version == 1 and query.created_by for query in found)
    assert "1200 unchanged" in run("import", "-", given=many).stderr


def test_of_two_new_ones_that_would_feed_one_series_the_second_is_refused(shop, look):
    other = SALES | {"name": "Other sales"}
    done = run("import", "-", given=[ORDERS, SALES, other])
    assert "2 created, 1 refused" in done.stderr
    assert "Other sales: monitor_metric_config" in done.stderr
    assert {query.name for query in look(lambda _, definitions: list(definitions.all()))} == {
        "Orders",
        "Sales",
    }


def test_a_query_is_known_by_its_name_and_changed(shop, look):
    import_([ORDERS])
    found = import_([{**ORDERS, "cron_schedule": "@hourly", "tags": ["new"]}])
    assert found.stderr.splitlines() == ["changed   Orders: cron_schedule, tags", "1 changed."]
    [query] = look(lambda sources, definitions: list(definitions.all()))
    assert (query.cron_schedule, query.tags, query.version, query.updated_by) == (
        "@hourly",
        ("new",),
        2,
        "command line",
    )


def test_two_of_one_name_stay_two(shop):
    both = [ORDERS, {**ORDERS, "query": "SELECT 2"}]
    import_(both)
    assert import_(exported()).stderr == "2 unchanged.\n"
    changed = import_([ORDERS, {**ORDERS, "query": "SELECT 3"}])
    assert changed.stderr.splitlines() == ["changed   Orders: query", "1 changed, 1 unchanged."]
    assert [query["query"] for query in exported()["queries"]] == ["SELECT 1", "SELECT 3"]


def test_one_bad_definition_and_none_is_stored(shop):
    found = import_([ORDERS, {**SALES, "query": "DROP TABLE x", "timeout": -1}, {"name": "Bare"}])
    assert found.exit_code == 1
    lines = found.stderr.splitlines()
    assert lines[0] == "created   Orders"
    assert lines[1].startswith(
        "refused   Sales: timeout: must be from 1 to 300 seconds; query: The word “DROP”"
    )
    assert lines[2].startswith("refused   Bare: query: ")
    assert lines[-1] == "1 created, 2 refused. Nothing was stored."
    assert exported()["queries"] == []


def test_a_dry_run_only_tells(shop):
    found = import_([ORDERS], "--dry-run")
    assert (found.exit_code, found.stderr) == (0, "created   Orders\n1 created. Nothing was stored.\n")
    assert exported()["queries"] == []


def test_sources_that_cannot_keep_up_are_named_once(shop):
    every_minute = [
        {**SALES, "name": f"Sales {n}", "enabled": True, "cron_schedule": "* * * * *"} for n in (1, 2, 3)
    ]
    told = import_([{**query, "monitor_metric_config": None} for query in every_minute]).stderr
    assert told.count("“shop” cannot keep up") == 1


def test_the_settings_of_the_environment_count(shop, monkeypatch):
    monkeypatch.setenv("SCHEDULED_QUERY_FORBIDDEN_KEYWORDS", "select")
    assert import_([ORDERS]).exit_code == 1


def test_a_source_that_is_not_there_is_named(look):
    found = import_([SALES])
    assert found.exit_code == 1
    assert "data_source: no data source is called “shop”" in found.stderr


def test_export_writes_a_file_and_no_secret(shop, tmp_path, look):
    look(lambda sources, definitions: sources.add(Source("pg", "postgresql://u:s3cret@h/d"), "postgresql"))
    import_([{**ORDERS, "data_source": "pg"}])
    assert run("export", str(tmp_path / "queries.json")).exit_code == 0
    text = (tmp_path / "queries.json").read_text()
    assert json.loads(text)["queries"][0]["data_source"] == "pg"
    assert "s3cret" not in text


def test_import_reads_a_file(shop, tmp_path):
    (tmp_path / "queries.json").write_text(json.dumps([ORDERS]))
    assert run("import", str(tmp_path / "queries.json")).stderr.endswith("1 created.\n")


@pytest.mark.parametrize(
    "given",
    [
        "",
        "{",
        "null",
        "7",
        '"x"',
        "{}",
        '{"queries": 5}',
        '{"queries": [5]}',
        "[[]]",
        '{"plugbay_queries": 2, "queries": []}',
        "[" * 100_000,
    ],
)
def test_what_is_no_export_is_refused_with_status_2(given):
    found = run("import", "-", given=given)
    assert found.exit_code == 2
    assert "FILE" in found.stderr


@pytest.mark.parametrize("name", [None, 7, " "])
def test_a_definition_without_a_name_is_refused(shop, name):
    found = import_([{**ORDERS, "name": name}])
    assert found.exit_code == 1
    assert "refused   (no name): name: " in found.stderr


def test_a_missing_file_is_status_2(tmp_path):
    assert run("import", str(tmp_path / "none.json")).exit_code == 2


def test_a_plugin_that_is_switched_off_says_so(shop, folder):
    from plugbay import opened_host

    with opened_host(folder) as host:
        host.modules.disable("scheduled_query")
    found = run("export")
    assert found.exit_code == 1
    assert "the plugin scheduled_query is disabled" in found.stderr


def test_a_source_of_the_environment_is_there_before_the_first_server(monkeypatch):
    monkeypatch.setenv("SCHEDULED_QUERY_SOURCES", '{"shop": "sqlite:////shop.db"}')
    assert import_([ORDERS]).exit_code == 0
    assert [query["data_source"] for query in exported()["queries"]] == ["shop"]


def test_no_command_disturbs_the_sources_of_a_servers_setting(folder, monkeypatch, look):
    """A server may have them in its environment, and the shell that calls the command may not."""
    monkeypatch.setenv("SCHEDULED_QUERY_SOURCES", '{"set": "sqlite:////set.db"}')
    from plugbay_scheduled_query.catalogue import adopt_setting

    look(lambda sources, _: adopt_setting(sources, [Source("set", "sqlite:////set.db")], lambda _: "sqlite"))
    monkeypatch.delenv("SCHEDULED_QUERY_SOURCES")
    run("export")
    with closing(sqlite3.connect(folder / "plugbay.db")) as connection:
        assert connection.execute("SELECT origin FROM scheduled_query_sources").fetchall() == [("settings",)]


ALERT = {"name": "Too many", "condition": {"kind": "rows", "op": ">", "value": 5}, "severity": "critical"}


def test_alerts_go_out_and_in_with_their_queries(shop):
    assert import_([{**ORDERS, "alerts": [ALERT]}]).exit_code == 0
    (query,) = exported()["queries"]
    (alert,) = query["alerts"]
    assert (alert["name"], alert["condition"], alert["severity"]) == tuple(ALERT.values())
    again = import_([query])
    assert (again.exit_code, again.stderr) == (0, "1 unchanged.\n")
    changed = import_([{**query, "alerts": [{**alert, "for_runs": 3}, {**ALERT, "name": "Another"}]}])
    assert "changed   Orders: alerts" in changed.stderr
    found = exported()["queries"][0]["alerts"]
    assert [(each["name"], each["for_runs"]) for each in found] == [("Too many", 3), ("Another", 1)]
    assert import_([ORDERS]).stderr == "1 unchanged.\n"  # what a document does not name stays
    assert len(exported()["queries"][0]["alerts"]) == 2


@pytest.mark.parametrize(
    ("alerts", "why"),
    [
        ("none", "must be a list of alerts"),
        ([{"condition": {"kind": "surprise"}}], "kind must be one of"),
        ([{**ALERT, "channels": ["ops"]}], "no channel is called “ops”"),
    ],
)
def test_a_bad_alert_keeps_everything_out(shop, alerts, why):
    answer = import_([ORDERS | {"name": "Good"}, {**ORDERS, "alerts": alerts}])
    assert answer.exit_code == 1
    assert why in answer.stderr
    assert exported()["queries"] == []
