"""`plugbay plugins`, `plugbay check` and `plugbay plugin new`: what is found, and whether it works."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from plugbay.cli.options import data_dir_option, opened_host
from plugbay.errors import OperatorError

if TYPE_CHECKING:
    from plugbay.host import Plugbay

PLUGIN = '''"""{title}: a Plugbay plugin."""

from fastapi import APIRouter, Request, Response
from plugbay import BaseModule, Plugbay
from pydantic import BaseModel, Field


class Settings(BaseModel):
    """Set on the plugin's settings page, or by {variable}."""

    greeting: str = Field("Hello", min_length=1, max_length=80, description="What the page says.")


class {class_name}(BaseModule):
    module_name = "{name}"
    module_version = "0.1.0"
    module_menu_name = "{title}"
    module_menu_icon = "fas fa-hand"
    module_settings = Settings

    def on_load(self) -> None:
        self.module_router = APIRouter()
        self.module_router.add_api_route("/", self.index, methods=["GET"])

    def on_load_complete(self, fast_pluggy: Plugbay) -> None:
        self.host = fast_pluggy

    def index(self, request: Request) -> Response:
        context = {{"greeting": self.module_settings.greeting}}
        return self.host.templates.response(request, "{name}/index.html.j2", context)
'''
PAGE = """{{% extends "plugbay/base.html.j2" %}}
{{% block title %}}{title}{{% endblock %}}
{{% block body %}}
<div class="card card-body">
  <p class="h2 m-0">{{{{ greeting }}}}, {{{{ user.name }}}}!</p>
</div>
{{% endblock %}}
"""
TEST = '''"""Run with: pytest {folder}"""

from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from plugbay import Plugbay


@pytest.fixture
def client(tmp_path: Path):
    app = FastAPI()
    config = {{"data_dir": tmp_path, "admin_password": "only for this test"}}
    Plugbay(app, app_root_dir=tmp_path, path_plugins=Path(__file__).parents[1], config=config)
    with TestClient(app, follow_redirects=False) as client:
        yield client


def test_the_page_greets_who_is_logged_in(client: TestClient):
    page = client.get("/{name}/", auth=("admin", "only for this test"))
    assert page.status_code == 200
    assert "Hello, admin!" in page.text


def test_a_stranger_is_sent_to_the_login(client: TestClient):
    assert client.get("/{name}/").headers["location"].startswith("/login")
'''


@click.command()
@data_dir_option
def plugins(data_dir: Path | None) -> None:
    """List the plugins that are found, with version and state."""
    with opened_host(data_dir) as host:
        for found in host.modules.all():
            click.echo(f"{found.name:<24} {found.version:<10} {found.state:<9} {found.reason}".rstrip())


@click.command()
@data_dir_option
def check(data_dir: Path | None) -> None:
    """Load everything as `serve` would, without serving; exit 1 if a plugin is not in order."""
    with opened_host(data_dir) as host:
        click.echo(f"store      {host.store.dialect}, reachable")
        broken = [plugin for plugin in host.modules.all() if plugin.state in ("failed", "refused")]
        for found in host.modules.all():
            click.echo(f"{found.state:<10} {found.name} {found.version} {found.reason}".rstrip())
        for variable, meant in _misspelt(host).items():
            click.echo(f"{'unknown':<10} {variable} sets nothing; is {meant} meant?")
    if broken:
        raise SystemExit(1)


@click.group()
def plugin() -> None:
    """Work on plugins of your own."""


@plugin.command("new")
@click.argument("name")
@click.option(
    "--into", type=click.Path(file_okay=False, path_type=Path), default=Path("plugins"), show_default=True
)
def plugin_new(name: str, into: Path) -> None:
    """Write a small, working plugin with a page, a setting and a test."""
    # rehoused

    folder = write_plugin(name, into)
    click.echo(
        f"Wrote {folder}. Start or reload Plugbay to see it at /{name}/; try its test: pytest {folder}"
    )


def _misspelt(host: "Plugbay") -> dict[str, str]:
    from plugbay.settings import misspelt

    settings = {
        plugin.name: plugin.module.module_settings for plugin in host.modules.loaded() if plugin.module
    }
    fields = {name: type(values).model_fields for name, values in settings.items() if values}
    return misspelt(host.environment, fields)


class BadPluginName(OperatorError):
    """{name!r} cannot be a plugin's name: {rule}."""


class FolderExists(OperatorError):
    """{folder} already exists; nothing was written."""


def write_plugin(name: str, into: Path) -> Path:
    """Writes the folder `into/name` and returns it."""
    from plugbay.plugins.discovery import NAME_RULE, is_valid_name

    if not is_valid_name(name):
        raise BadPluginName(name=name, rule=NAME_RULE)
    folder = into / name
    if folder.exists():
        raise FolderExists(folder=folder)
    words = name.split("_")
    facts = {
        "name": name,
        "title": " ".join(words).capitalize(),
        "class_name": "".join(word.capitalize() for word in words) + "Plugin",
        "variable": f"{name.upper()}_GREETING",
        "folder": folder,
    }
    (folder / "templates" / name).mkdir(parents=True)
    (folder / "plugin.py").write_text(PLUGIN.format(**facts), encoding="utf-8")
    (folder / "templates" / name / "index.html.j2").write_text(PAGE.format(**facts), encoding="utf-8")
    (folder / f"test_{name}.py").write_text(TEST.format(**facts), encoding="utf-8")
    return folder
