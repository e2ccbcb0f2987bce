"""`plugbay plugins`, `plugbay plugin new` and `plugbay check`: what is found, and whether it works."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from plugbay.cli.options import data_dir_option, opened_host

if TYPE_CHECKING:
    from plugbay.host import Plugbay


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
    from plugbay.scaffold import write_plugin

    folder = write_plugin(name, into)
    click.echo(
        f"Wrote {folder}. Start or reload Plugbay to see it at /{name}/; try its test: pytest {folder}"
    )


def _misspelt(host: "Plugbay") -> dict[str, str]:
    from plugbay.misspelt import misspelt

    settings = {
        plugin.name: plugin.module.module_settings for plugin in host.modules.loaded() if plugin.module
    }
    fields = {name: type(values).model_fields for name, values in settings.items() if values}
    return misspelt(host.environment, fields)
