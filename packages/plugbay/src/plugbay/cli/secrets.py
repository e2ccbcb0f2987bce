"""`plugbay secrets rotate`: the step between a new encryption key and the end of the old one."""

from pathlib import Path

import click

from plugbay.cli.options import data_dir_option, opened_host


@click.group()
def secrets() -> None:
    """Manage what is stored encrypted."""


@secrets.command("rotate")
@data_dir_option
def secrets_rotate(data_dir: Path | None) -> None:
    """Encrypt every stored secret with the first of the keys; exit 1 if some were left out."""
    from plugbay.rotation import OUTCOMES, rotate

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
