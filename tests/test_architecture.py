"""The arrows: which part may import which, in every package."""

import ast
import re
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


LAYERS_OF_THE_HOST = [
    {"errors", "logs", "clock", "private_files"},
    {"events", "settings", "store", "web"},
    {"menu", "metrics", "health", "secrets"},
    {"base_module", "server", "http_head"},
    {"auth"},
    {"plugins"},
    {"admin"},
    {"host"},
    {"application"},
    {"cli"},
]


def test_every_part_of_the_host_has_its_layer_and_imports_only_downwards():
    level = {part: number for number, layer in enumerate(LAYERS_OF_THE_HOST) for part in layer}
    for name, path in modules("plugbay"):
        part = name.removeprefix("plugbay").removeprefix(".").split(".")[0]
        if not part:
            continue
        assert part in level, f"{part} has no layer"
        for other in imports(name, path):
            target = other.removeprefix("plugbay.").split(".")[0] if other.startswith("plugbay.") else ""
            if target in level:
                assert level[target] <= level[part], f"{name} imports {other}"


def test_the_layers_of_the_host_are_drawn_in_the_documents():
    drawn = (ROOT / "docs/architecture.md").read_text().split("## The host")[1].split("```")[1]
    assert set(re.findall(r"\w+", drawn)) == set().union(*LAYERS_OF_THE_HOST)


# of each plugin: the section of docs/architecture.md that draws it, and its parts from the ground up
LAYERS_OF_THE_PLUGINS: dict[str, tuple[str, list[set[str]]]] = {
    "plugbay_ui_tools": (
        "## The UI tools",
        [{"cron_words", "gallery"}, {"filters"}, {"cells", "figures"}, {"macros"}, {"plugin"}],
    ),
    "plugbay_task_worker": (
        "## The task worker",
        [
            {"engine", "timetable", "tick_claims"},
            {"worker_pool", "metrics", "pages"},
            {"ticker"},
            {"embedded"},
            {"plugin"},
        ],
    ),
}


def upward_imports(package: str, layers: list[set[str]]) -> list[str]:
    """The imports of a part in its own layer or above, and the parts that have no layer."""
    level = {part: number for number, layer in enumerate(layers) for part in layer}
    found = []
    for name, others in graph(package).items():
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


@pytest.mark.parametrize("package", LAYERS_OF_THE_PLUGINS)
def test_every_part_of_a_plugin_has_its_layer_and_imports_only_downwards(package: str):
    assert upward_imports(package, LAYERS_OF_THE_PLUGINS[package][1]) == []


def test_an_import_upwards_is_found():
    _, layers = LAYERS_OF_THE_PLUGINS["plugbay_ui_tools"]
    assert "plugbay_ui_tools.cells imports plugbay_ui_tools.filters" in upward_imports(
        "plugbay_ui_tools", layers[::-1]
    )


@pytest.mark.parametrize("package", LAYERS_OF_THE_PLUGINS)
def test_the_layers_of_a_plugin_are_drawn_in_the_documents(package: str):
    section, layers = LAYERS_OF_THE_PLUGINS[package]
    drawn = (ROOT / "docs/architecture.md").read_text().split(f"{section}\n")[1].split("```")[1]
    assert set(re.findall(r"\w+", drawn)) == set().union(*layers)


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
