"""The arrows: which part may import which, in every package."""

import ast
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = {
    "plugbay": ROOT / "packages/plugbay/src/plugbay",
    "plugbay_ui_tools": ROOT / "packages/ui_tools/src/plugbay_ui_tools",
    "plugbay_task_worker": ROOT / "packages/task_worker/src/plugbay_task_worker",
    "plugbay_scheduled_query": ROOT / "packages/scheduled_query/src/plugbay_scheduled_query",
}
PLUGINS = [name for name in SOURCES if name != "plugbay"]


def modules(package: str) -> Iterator[tuple[str, Path]]:
    for path in sorted(SOURCES[package].rglob("*.py")):
        parts = path.relative_to(SOURCES[package]).with_suffix("").parts
        yield ".".join([package, *parts]).removesuffix(".__init__"), path


@cache
def every_module() -> set[str]:
    return {name for package in SOURCES for name, _ in modules(package)}


def imports(name: str, path: Path) -> set[str]:
    """What a module imports when it runs; what only the type checker reads does not count."""
    found: set[str] = set()
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in _running_nodes(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join(
                    [*package.split(".")[: len(package.split(".")) - node.level + 1], *filter(None, [base])]
                )
            names = {f"{base}.{alias.name}" for alias in node.names}
            found |= names if names <= every_module() else {base, *names}
    return found


def _running_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from _running_nodes(node)


def graph(package: str) -> dict[str, set[str]]:
    known = dict(modules(package))
    return {
        name: {other for other in imports(name, path) if other in known and other != name}
        for name, path in known.items()
    }


@pytest.mark.parametrize("package", SOURCES)
def test_no_module_imports_itself_in_a_circle(package: str):
    arrows = graph(package)
    done: set[str] = set()

    def walk(name: str, path: list[str]) -> None:
        assert name not in path, " → ".join([*path[path.index(name) :], name])
        if name not in done:
            for other in arrows[name]:
                walk(other, [*path, name])
            done.add(name)

    for name in arrows:
        walk(name, [])


def test_the_host_knows_no_plugin():
    for name, path in modules("plugbay"):
        assert not [other for other in imports(name, path) if other.split(".")[0] in PLUGINS], name


def public_names() -> set[str]:
    """What a plugin may import of the host: `plugbay` and `plugbay.web`, and what their `__all__` names."""
    import plugbay
    import plugbay.web

    rooms = {"plugbay": plugbay, "plugbay.web": plugbay.web}
    return {*rooms, *(f"{room}.{name}" for room, module in rooms.items() for name in module.__all__)}


@pytest.mark.parametrize("package", PLUGINS)
def test_a_plugin_imports_public_names_of_the_host_alone(package: str):
    for name, path in modules(package):
        foreign = {other for other in imports(name, path) if other.split(".")[0] == "plugbay"}
        assert foreign <= public_names(), f"{name} imports {sorted(foreign - public_names())}"


@pytest.mark.parametrize("package", PLUGINS)
def test_plugins_do_not_import_each_other(package: str):
    for name, path in modules(package):
        others = {other.split(".")[0] for other in imports(name, path)}
        assert not others & (set(PLUGINS) - {package}), name


# of each package: the section of docs/architecture.md that draws it, and its parts from the ground up
LAYERS: dict[str, tuple[str, list[set[str]]]] = {
    "plugbay": (
        "## The host",
        [
            {"errors", "logs", "clock", "http_head"},
            {"private_files"},
            {"events", "settings", "store", "web"},
            {"menu", "metrics", "health", "secrets"},
            {"base_module", "server"},
            {"auth"},
            {"plugins"},
            {"admin"},
            {"host"},
            {"application"},
            {"cli"},
        ],
    ),
    "plugbay_ui_tools": (
        "## The UI tools",
        [{"cron_words", "gallery"}, {"filters"}, {"cells", "figures", "sql_colours"}, {"macros"}, {"plugin"}],
    ),
    "plugbay_task_worker": (
        "## The task worker",
        [
            {"engine", "timetable", "tick_claims"},
            {"worker_pool", "handlers", "metrics", "pages", "shared_queue", "steady_manager"},
            {"ticker", "cluster", "shared_worker"},
            {"embedded"},
            {"procrastinate"},
            {"plugin"},
        ],
    ),
    "plugbay_scheduled_query": (
        "## The service",
        [
            {"core", "tables"},
            {"repository", "dialects"},
            {"runner"},
            {"executor"},
            {"catalogue"},
            {"settings", "messaging"},
            {"runs", "alerts"},
            {"queries", "metrics", "boards"},
            {"web"},
            {"assembly", "demo"},
            {"one_run"},
            {"plugin", "cli"},
        ],
    ),
}


def upward_imports(package: str, layers: list[set[str]], arrows: dict[str, set[str]]) -> list[str]:
    """The imports of a part in its own layer or above, and the parts that have no layer."""
    level = {part: number for number, layer in enumerate(layers) for part in layer}
    found = []
    for name, others in arrows.items():
        part = _part(name)
        if part in ("", "migrations"):
            continue
        if part not in level:
            found.append(f"{part} has no layer")
            continue
        above = [other for other in others if _part(other) != part and level[_part(other)] >= level[part]]
        found += [f"{name} imports {other}" for other in above]
    return found


def _part(name: str) -> str:
    return name.partition(".")[2].split(".")[0]


@pytest.mark.parametrize("package", LAYERS)
def test_every_part_has_its_layer_and_imports_only_downwards(package: str):
    assert upward_imports(package, LAYERS[package][1], graph(package)) == []


@pytest.mark.parametrize("package", LAYERS)
def test_a_forbidden_import_is_found(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A copy of the package, in which one file of the ground floor asks for the attic."""
    layers = LAYERS[package][1]
    ground, attic = min(layers[0]), min(layers[-1])
    shutil.copytree(
        SOURCES[package], tmp_path / package, ignore=shutil.ignore_patterns("static", "templates")
    )
    monkeypatch.setitem(SOURCES, package, tmp_path / package)
    file = tmp_path / package / f"{ground}.py"
    file = file if file.exists() else tmp_path / package / ground / "__init__.py"
    file.write_text(f"{file.read_text()}\nfrom {package} import {attic}\n")
    assert upward_imports(package, layers, graph(package)) == [
        f"{package}.{ground} imports {package}.{attic}"
    ]


@pytest.mark.parametrize("package", LAYERS)
def test_the_layers_are_drawn_in_the_documents(package: str):
    section, layers = LAYERS[package]
    drawn = (ROOT / "docs/architecture.md").read_text().split(f"{section}\n")[1].split("```")[1]
    assert set(re.findall(r"\w+", drawn)) == set().union(*layers)


def test_every_file_that_the_architecture_names_is_there():
    text = (ROOT / "docs/architecture.md").read_text()
    named = set(re.findall(r"`((?:[\w/]+/)?\w+\.py)`", text))
    files = {str(path) for root in [*SOURCES.values(), ROOT / "tests"] for path in root.rglob("*.py")}
    gone = [name for name in named if not any(path.endswith(f"/{name}") for path in files)]
    assert len(named) > 20
    assert gone == []


ABOVE_THE_HOST = ("plugbay", "plugbay.application", "plugbay.cli", "plugbay.host")


def test_nothing_below_the_host_knows_it_not_even_for_its_types():
    for name, path in modules("plugbay"):
        if name not in ABOVE_THE_HOST and not name.startswith("plugbay.cli."):
            assert not re.search(r"\bplugbay\.host\b|\bimport .*\bPlugbay\b", path.read_text()), name


ALLOWED_IN_THE_CORE = {"cronsim", "sqlglot"}


def test_the_core_of_the_service_does_no_input_or_output():
    import sys

    for name, path in modules("plugbay_scheduled_query"):
        if not name.startswith("plugbay_scheduled_query.core"):
            continue
        for other in imports(name, path):
            top = other.split(".")[0]
            is_own = other.startswith("plugbay_scheduled_query.core") or other == "plugbay_scheduled_query"
            assert is_own or top in ALLOWED_IN_THE_CORE or top in sys.stdlib_module_names, (
                f"{name} imports {other}"
            )


def test_the_runner_knows_nothing_of_the_web():
    arrows = graph("plugbay_scheduled_query")
    seen, waiting = set(), ["plugbay_scheduled_query.runner.program"]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += arrows[name]
    outside = {
        other.split(".")[0]
        for name, path in modules("plugbay_scheduled_query")
        if name in seen
        for other in imports(name, path)
    }
    assert not outside & {"fastapi", "starlette", "jinja2", "plugbay", "alembic"}
