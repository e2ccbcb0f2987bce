"""The list of dialects: each is known by its names, and loads only what is asked of it."""

import subprocess
import sys

import pytest
from plugbay_scheduled_query.dialects import DIALECTS, dialect_named, dialect_of, editor_name
from plugbay_scheduled_query.dialects.contract import Dialect
from plugbay_scheduled_query.dialects.unguarded import UNGUARDED

DRIVERS = {dialect.driver for dialect in DIALECTS} - {""}


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_a_dialect_is_known_by_its_name_its_schemes_and_its_example(dialect: Dialect):
    assert dialect_named(dialect.name) is dialect
    assert dialect.name in dialect.schemes
    for scheme in (*dialect.schemes, dialect.example_url.partition(":")[0]):
        assert dialect_of(scheme) is dialect
        assert dialect_of(f"{scheme}+any_driver") is dialect


def test_no_two_dialects_share_a_scheme():
    schemes = [scheme for dialect in DIALECTS for scheme in dialect.schemes]
    assert len(schemes) == len(set(schemes))


def test_any_other_database_has_no_proven_guard_and_keeps_its_name_in_the_editor():
    assert dialect_of("mssql+pyodbc") is UNGUARDED
    assert dialect_named("unguarded") is UNGUARDED
    assert editor_name("mssql") == "mssql"


def test_the_editor_knows_a_dialect_by_any_of_its_names():
    assert [editor_name(name) for name in ("mariadb", "postgres", "sqlite")] == [
        "mysql",
        "postgresql",
        "sqlite",
    ]


def loaded(code: str) -> set[str]:
    """What a process has loaded after this."""
    program = f"import sys\n{code}\nprint(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(found.stdout.split())


def test_the_server_loads_no_driver_not_even_to_judge():
    judges = "from plugbay_scheduled_query.dialects import DIALECTS, check\n"
    judges += "[check('SELECT 1', dialect.name) for dialect in DIALECTS]"
    modules = loaded(f"import plugbay_scheduled_query.plugin, plugbay_scheduled_query.assembly\n{judges}")
    assert "sqlglot" in modules
    assert not modules & DRIVERS


def test_a_runner_loads_no_parser():
    names = [*(dialect.name for dialect in DIALECTS), UNGUARDED.name]
    sessions = ", ".join(f"plugbay_scheduled_query.dialects.{name}.session" for name in names)
    modules = loaded(f"import plugbay_scheduled_query.runner.program\nimport {sessions}")
    assert modules >= DRIVERS
    assert "sqlglot" not in modules


def test_a_runner_that_was_asked_nothing_has_loaded_little():
    modules = loaded("import plugbay_scheduled_query.runner.program")
    assert not modules & {*DRIVERS, "sqlite3", "sqlalchemy", "hashlib"}
    room = "plugbay_scheduled_query.core"
    assert {name for name in modules if name.startswith(room)} == {room, f"{room}.errors"}
