"""`plugbay sources list` and `test`, as a person would call them."""

import json
import sqlite3
from contextlib import closing

import pytest
from click.testing import CliRunner
from plugbay import SystemClock, opened_host
from plugbay.cli import root
from plugbay_scheduled_query.cli import sources
from plugbay_scheduled_query.core.source import Source
from plugbay_scheduled_query.repository.sources import SourceRepository

AWAY = "postgresql://reader:s3cret@127.0.0.1:1/shop"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A data directory with two sources, of which one can be reached, and a third from the settings."""
    monkeypatch.chdir(tmp_path)
    for name in ("PLUGBAY_DATABASE_URL", "PLUGBAY_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection, connection:
        connection.execute("CREATE TABLE orders (total REAL)")
    setting = {"set": {"url": f"sqlite:///{tmp_path / 'shop.db'}", "pace_s": 45}}
    monkeypatch.setenv("SCHEDULED_QUERY_SOURCES", json.dumps(setting))
    with opened_host(tmp_path / "data") as host:
        stored = SourceRepository(host.store, host.secrets, SystemClock())
        stored.add(Source("shop", f"sqlite:///{tmp_path / 'shop.db'}", pace_s=0), "sqlite")
        stored.add(Source("away", AWAY), "postgresql")
    return tmp_path


def run(*args):
    return CliRunner().invoke(sources, args)


def test_the_commands_are_found_by_their_entry_point():
    found = CliRunner().invoke(root, ["sources", "--help"])
    assert found.exit_code == 0
    assert "list" in found.output
    assert "test" in found.output


def test_sources_are_listed_with_kind_pace_and_masked_url(folder):
    found = run("list")
    assert found.exit_code == 0
    assert [line.split() for line in found.stdout.splitlines()] == [
        ["away", "postgresql", "-", "postgresql://reader:***@127.0.0.1:1/shop"],
        ["set", "sqlite", "45", f"sqlite:///{folder / 'shop.db'}"],
        ["shop", "sqlite", "0", f"sqlite:///{folder / 'shop.db'}"],
    ]


def test_a_source_that_answers_passes_and_one_that_does_not_fails():
    passed = run("test", "shop", "set")
    assert passed.exit_code == 0
    assert passed.stdout.startswith("ok      shop: SQLite ")
    everything = run("test")
    assert everything.exit_code == 1
    lines = everything.stdout.splitlines()
    assert [line.split()[1] for line in lines if line.startswith(("ok", "failed"))] == [
        "away:",
        "set:",
        "shop:",
    ]
    assert lines[0].startswith("failed  away: ")
    assert "s3cret" not in everything.output


def test_a_source_that_is_not_there_fails():
    found = run("test", "nowhere")
    assert found.exit_code == 1
    assert "there is no such data source" in found.stdout
