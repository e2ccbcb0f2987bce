"""The core knows no web and no database: values in, values out."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import plugbay_scheduled_query.core as core
import pytest

ALLOWED = {*sys.stdlib_module_names, "cronsim", "sqlglot"}
TALKERS = {"socket", "sqlite3", "subprocess", "urllib.request", "http", "asyncio", "logging"}
OURS = "plugbay_scheduled_query.core"
FILES = sorted(Path(str(core.__file__)).parent.rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield f"{OURS}.{node.module}" if node.level else str(node.module)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_of_the_core_imports_only_what_thinks(path: Path) -> None:
    for name in imported(path):
        if not name.startswith(OURS):
            assert {name, name.split(".")[0]}.isdisjoint(TALKERS)
            assert name.split(".")[0] in ALLOWED, f"{path.name} imports {name}"


def test_there_is_something_to_look_at() -> None:
    assert len(FILES) > 15
