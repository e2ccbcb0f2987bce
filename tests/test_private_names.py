"""Names of other libraries that are not promised to stay: each is listed, and bounded by a version."""

import ast
import importlib
import inspect
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]

# (distribution, its bound, our package, the names as module:Class.name)
PRIVATE_NAMES: list[tuple[str, str, str, tuple[str, ...]]] = [
    (
        "pymysql",
        "<1.3",
        "scheduled_query",
        (
            "pymysql.connections:Connection._execute_command",
            "pymysql.connections:Connection._force_close",
            "pymysql.connections:Connection._read_ok_packet",
            "pymysql.connections:Connection._read_packet",
            "pymysql.connections:Connection._read_timeout",
            "pymysql.connections:MySQLResult.unbuffered_active",
            "pymysql.cursors:SSCursor._result",
        ),
    ),
    (
        "sqlglot",
        "<31",
        "scheduled_query",
        ("sqlglot:Dialect.parser_class", "sqlglot.parser:Parser._advance", "sqlglot.parser:logger"),
    ),
    (
        "psycopg",
        "<4",
        "scheduled_query",
        ("psycopg.generators:fetch", "psycopg.generators:fetch_many", "psycopg.generators:send"),
    ),
]
EVERY_NAME = [(distribution, name) for distribution, _, _, names in PRIVATE_NAMES for name in names]
DOCUMENTED = {"_exit", "_make", "_mapping", "_replace"}  # in spite of the underscore


@pytest.mark.parametrize(("distribution", "name"), EVERY_NAME, ids=[name for _, name in EVERY_NAME])
def test_a_private_name_that_we_use_is_there(distribution: str, name: str):
    module, _, path = name.partition(":")
    owner, attribute = importlib.import_module(module), path
    if "." in path:
        class_name, attribute = path.split(".")
        owner = getattr(owner, class_name)
    assert hasattr(owner, attribute) or attribute in _set_on_instances(owner)


def _set_on_instances(owner: Any) -> set[str]:
    members = [member for base in owner.__mro__ for member in vars(base).values()]
    return {name for method in filter(inspect.isfunction, members) for name in method.__code__.co_names}


@pytest.mark.parametrize(("distribution", "bound", "package"), [entry[:3] for entry in PRIVATE_NAMES])
def test_its_distribution_is_bounded(distribution: str, bound: str, package: str):
    project = tomllib.loads((ROOT / f"packages/{package}/pyproject.toml").read_text())["project"]
    extras = project.get("optional-dependencies", {}).values()
    wanted = [*project["dependencies"], *(entry for extra in extras for entry in extra)]
    [requirement] = [entry for entry in wanted if entry.replace("[", ">").startswith(f"{distribution}>")]
    assert requirement.endswith(f",{bound}"), requirement


@pytest.mark.parametrize("package", sorted({entry[2] for entry in PRIVATE_NAMES}))
def test_no_other_private_name_is_used(package: str):
    listed = {name.rpartition(".")[2].rpartition(":")[2] for *_, names in PRIVATE_NAMES for name in names}
    for path in sorted((ROOT / f"packages/{package}/src").rglob("*.py")):
        for name in _strangers_private_names(ast.parse(path.read_text())):
            assert name in listed | DOCUMENTED, f"{path.name} uses {name}"


def _strangers_private_names(tree: ast.Module) -> Iterator[str]:
    """Names with an underscore of what is not of the same file; classes of a file may know each other."""
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    own |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and _is_self(node.value)}
    for node in ast.walk(tree):
        is_private = isinstance(node, ast.Attribute) and node.attr.startswith("_") and node.attr[:2] != "__"
        if is_private and not _is_self(node.value) and node.attr not in own:
            yield node.attr


def _is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")
