"""The host's own commands: serve, backup, secrets, plugins, check, plugin new."""

import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from plugbay.cli.options import config_with, data_dir_option, opened_host
from plugbay.errors import OperatorError
from plugbay.logs import start_logging

if TYPE_CHECKING:
    from plugbay.host import Plugbay


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="The port; 0: any."
)
@click.option("--root-path", default="", help="The path under which a reverse proxy serves us, such as /bay.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="How much to write to the log.",
)
@data_dir_option
def serve(host: str, port: int, root_path: str, log_level: str, data_dir: Path | None) -> None:
    """Serve Plugbay and all plugins that are found."""
    start_logging(log_level)
    gc.disable()  # a tenth of the start went into looking for garbage among what has just been made
    from plugbay import server
    from plugbay.application import create_app

    proxies = server.trusted_proxies(os.environ)
    sock = server.listen(host, port)
    app = create_app(config=config_with(data_dir))
    bay: Plugbay = app.state.plugbay
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{sock.getsockname()[1]}{root_path}"
    bay.events.on("plugbay.ready", lambda event: announce(bay, address))
    bay.events.on("plugbay.ready", lambda event: _collect_garbage())
    server.run(app, sock, root_path, proxies)


def _collect_garbage() -> None:
    """From now on; what the start made is there to stay, and need not be looked at again."""
    gc.freeze()
    gc.enable()


def announce(bay: "Plugbay", address: str) -> None:
    """Says where we are, once we are there."""
    loaded = ", ".join(f"{plugin.name} {plugin.version}" for plugin in bay.modules.loaded()) or "none"
    others = [plugin for plugin in bay.modules.all() if plugin.state in ("failed", "refused")]
    click.echo(f"  {bay.config.app_name} is running on {address}")
    click.echo(f"  Data: {bay.data_dir}")
    click.echo(f"  Store: {bay.store.place}")
    click.echo(f"  Plugins: {loaded}")
    for plugin in others:
        click.echo(f"  {plugin.name} is {plugin.state}: {plugin.reason}")
    click.echo("  Stop with Ctrl+C\n")


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@data_dir_option
def backup(file: Path, data_dir: Path | None) -> None:
    """Copy a SQLite store to FILE, consistent as of one moment, while servers go on writing."""
    from plugbay.store import backup_store
    from plugbay.store.engines import store_url

    config = config_with(data_dir)
    url = config.database_url.get_secret_value() if config.database_url else ""
    backup_store(store_url(url, Path(config.data_dir or "data").absolute()), file)
    click.echo(f"The store was copied to {file}.", err=True)


@click.group()
def secrets() -> None:
    """Manage what is stored encrypted."""


@secrets.command("rotate")
@data_dir_option
def secrets_rotate(data_dir: Path | None) -> None:
    """Encrypt every stored secret with the first of the keys; exit 1 if some were left out."""
    from plugbay.secrets import OUTCOMES, rotate

    with opened_host(data_dir) as host:
        found = rotate(host.store, host.secrets)
        absent = [plugin.name for plugin in host.modules.all() if not plugin.is_loaded]
    for part in found:
        told = ", ".join(f"{part.counts[outcome]} {outcome}" for outcome in OUTCOMES)
        click.echo(f"{part.kept.owner:<24} {part.kept.column.table.name:<24} {told}")
    _conclude(absent, any(part.counts["unreadable"] for part in found))


def _conclude(absent: list[str], has_unreadable: bool) -> None:
    if has_unreadable:
        click.echo("Some secrets fit none of the keys: enter them again.", err=True)
    if absent:
        click.echo(f"Not loaded, so not looked at: {', '.join(absent)}.", err=True)
    if absent or has_unreadable:
        raise SystemExit(1)
    click.echo("Every secret is encrypted with the first key: the others can be dropped.", err=True)


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


PLUGIN_FILE = '''"""{title}: a Plugbay plugin."""

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
PAGE_FILE = """{{% extends "plugbay/base.html.j2" %}}
{{% block title %}}{title}{{% endblock %}}
{{% block body %}}
<div class="card card-body">
  <p class="h2 m-0">{{{{ greeting }}}}, {{{{ user.name }}}}!</p>
</div>
{{% endblock %}}
"""
TEST_FILE = '''"""Run with: pytest {folder}"""

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
    (folder / "plugin.py").write_text(PLUGIN_FILE.format(**facts), encoding="utf-8")
    (folder / "templates" / name / "index.html.j2").write_text(PAGE_FILE.format(**facts), encoding="utf-8")
    (folder / f"test_{name}.py").write_text(TEST_FILE.format(**facts), encoding="utf-8")
    return folder
