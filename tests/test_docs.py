"""The documentation keeps its promises: settings, routes, hooks, events, commands, options are all in it."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from plugbay import BaseModule, HostConfig
from plugbay.application import create_app
from plugbay.cli import BROUGHT_BY, root
from plugbay_scheduled_query.settings import Settings
from plugbay_task_worker.plugin import TaskWorkerSettings

ROOT = Path(__file__).parents[1]
DOCS = {path.name: path.read_text() for path in (ROOT / "docs").glob("*.md")}
EVERYTHING = "\n".join(DOCS.values())
SOURCE = "\n".join(path.read_text() for path in (ROOT / "packages").glob("*/src/**/*.py"))


def missing(words: list[str], text: str = EVERYTHING) -> list[str]:
    return [word for word in words if not re.search(rf"(?<![\w/.-]){re.escape(word)}(?![\w-])", text)]


def test_every_host_setting_and_its_variable_is_documented():
    fields = list(HostConfig.model_fields)
    assert missing(fields, DOCS["settings.md"]) == []
    assert missing([f"PLUGBAY_{field.upper()}" for field in fields], DOCS["settings.md"]) == []


@pytest.mark.parametrize(
    ("name", "model"), [("scheduled_query", Settings), ("task_worker", TaskWorkerSettings)]
)
def test_every_setting_of_our_plugins_and_its_variable_is_documented(name: str, model):
    fields = list(model.model_fields)
    assert missing(fields, DOCS["settings.md"]) == []
    assert missing([f"{name}_{field}".upper() for field in fields], DOCS["settings.md"]) == []


def test_every_field_and_hook_of_the_base_class_is_documented():
    names = [name for name in vars(BaseModule) if not name.startswith("_")]
    assert missing(names, DOCS["plugins.md"]) == []


def test_every_event_is_documented():
    emitted = re.findall(r'(?:emit|post)\(\s*"([\w.]+)"', SOURCE)
    lifecycle = [f"plugbay.{name}" for name in re.findall(r'emit_lifecycle\(\s*"(\w+)"', SOURCE)]
    assert len(set(emitted)) >= 6
    assert missing(sorted({*emitted, *lifecycle})) == []


def commands_below(path: str, command: click.Command | None) -> Iterator[tuple[str, click.Command]]:
    """The commands that do something, each as one types it."""
    assert command
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        yield from commands_below(f"{path} {name}", command.get_command(context, name))


def test_every_command_and_sub_command_is_documented():
    typed = [path for path, _ in commands_below("plugbay", root)]
    assert {path.split()[1] for path in typed} == {*root.commands, *BROUGHT_BY}
    assert {"plugbay user add", "plugbay queries export"} <= set(typed)
    assert missing(typed) == []


def test_every_option_of_a_command_is_documented():
    commands = [command for _, command in commands_below("plugbay", root)]
    options = {
        name
        for command in commands
        for option in command.params
        if isinstance(option, click.Option)
        for name in option.opts
    }
    assert len(options) > 10
    assert missing(sorted(options)) == []


def test_every_route_of_the_served_host_and_its_plugins_is_documented(tmp_path: Path):
    app = create_app(tmp_path, {"data_dir": tmp_path / "data", "admin_password": "only for this test"})
    host = app.state.plugbay
    owners = {item.owner for item in host._routes.contributions}
    paths = sorted(
        {re.sub(r":\w+}", "}", str(route.path)) for owner in owners for route in host._routes.of_owner(owner)}
    )
    host.store.close()
    assert len(paths) > 40
    assert {"/docs", "/openapi.json"} <= set(paths)
    assert missing(paths, "\n".join((DOCS["routes.md"], DOCS["api.md"]))) == []


def test_every_metric_of_our_own_is_documented():
    health = (ROOT / "packages/scheduled_query/src/plugbay_scheduled_query/metrics/health.py").read_text()
    of_service = [
        f"plugbay_scheduled_query_{name}" for name in re.findall(r'_(?:single|family)\(\s*"(\w+)"', health)
    ]
    others = re.findall(r'"(plugbay_(?:task|job|query)_\w+)"', SOURCE)
    assert len(of_service) > 5
    assert len(others) > 5
    assert missing(sorted({*of_service, *others})) == []


def test_every_link_between_documents_leads_somewhere():
    for name, text in {**DOCS, "README.md": (ROOT / "README.md").read_text()}.items():
        folder = ROOT if name == "README.md" else ROOT / "docs"
        for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", text):
            assert (folder / target).exists(), f"{name} links to {target}"
