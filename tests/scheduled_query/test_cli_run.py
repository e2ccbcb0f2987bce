"""`plugbay queries run`: one run from the shell, recorded as every run is."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from own_thread import in_own_thread
from plugbay import SystemClock, opened_host
from plugbay.cli import root
from plugbay_scheduled_query.core.draft import Draft
from plugbay_scheduled_query.core.source import Source
from plugbay_scheduled_query.repository.definitions import Definitions
from plugbay_scheduled_query.repository.history import Histories, HistoryFilter
from plugbay_scheduled_query.repository.sources import SourceRepository

QUERIES = {
    "Orders": "SELECT region, total FROM orders ORDER BY total",
    "Nothing": "SELECT region FROM orders WHERE total < 0",
    "Broken": "SELECT * FROM nowhere",
    "Twice": "SELECT 1",
}
EXACT = "SELECT 0.1 + 0.2 AS n, '1.10' AS t, char(27) || ']0;' AS c"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a source and some queries, one of which is due."""
    home = tmp_path_factory.mktemp("home")
    with closing(sqlite3.connect(home / "shop.db")) as shop, shop:
        shop.execute("CREATE TABLE orders (region TEXT, total REAL)")
        shop.executemany("INSERT INTO orders VALUES (?, ?)", [("eu", 1.5), (None, 20)])
    with opened_host(home / "data") as host:
        definitions = Definitions(host.store, SystemClock())
        source = SourceRepository(host.store, host.secrets, SystemClock()).add(
            Source("shop", f"sqlite:///{home / 'shop.db'}"), "sqlite"
        )
        for name, sql in [*QUERIES.items(), ("Twice", "SELECT 2"), ("Exact", EXACT)]:
            draft = Draft(name=name, query=sql, cron_schedule="* * * * *", data_source="shop")
            definitions.create(draft, source.id, "ada", "UTC")
    return home / "data"


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLUGBAY_DATABASE_URL", raising=False)


def run(folder: Path, *args: str) -> Result:
    return in_own_thread(CliRunner().invoke, root, ["queries", "run", *args, "--data-dir", str(folder)])


def test_the_result_is_printed_as_a_table(folder: Path):
    done = run(folder, "Orders")
    assert done.stdout == "region  total\neu      1.5\nNULL    20.0\n"
    assert done.stderr.startswith("success in ")
    assert done.exit_code == 0


def test_no_rows_are_a_success_with_a_head(folder: Path):
    done = run(folder, "Nothing")
    assert (done.stdout, done.exit_code) == ("region\n", 0)


def test_json_is_the_execution_as_the_api_tells_it_and_it_is_recorded(folder: Path):
    told = json.loads(run(folder, "Orders", "--json").stdout)
    assert (told["status"], told["trigger"], told["triggered_by"]) == ("success", "manual", "command line")
    with opened_host(folder) as host:
        kept = Histories(host.store).page(1, HistoryFilter(), 1, 50)[0]
    assert told["id"] in [one.id for one in kept]


def test_a_failure_says_why_and_exits_with_1(folder: Path):
    done = run(folder, "Broken")
    assert "no such table: nowhere" in done.stderr
    assert (done.stdout, done.exit_code) == ("", 1)


def test_what_is_due_is_left_to_the_servers(folder: Path):
    run(folder, "3")
    with opened_host(folder) as host:
        found = Histories(host.store).page(3, HistoryFilter(), 1, 50)[0]
        never = Histories(host.store).page(4, HistoryFilter(), 1, 50)[0]
    assert {one.trigger.value for one in found} == {"manual"}
    assert never == []


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nothing at all", "there is no query called nothing at all"),
        ("99", "there is no query called 99"),
        ("9" * 40, "there is no query called"),
        ("Twice", "several queries are called Twice: 4, 5"),
    ],
)
def test_a_name_that_leads_nowhere_is_told(folder: Path, name: str, sentence: str):
    done = run(folder, name)
    assert sentence in done.stderr
    assert done.exit_code == 1


def test_numbers_are_as_they_were_and_nothing_reaches_the_terminal_but_text(folder: Path):
    [head, line] = run(folder, "Exact").stdout.splitlines()
    assert head.split() == ["n", "t", "c"]
    assert line.split() == ["0.30000000000000004", "1.10", "\N{REPLACEMENT CHARACTER}]0;"]
