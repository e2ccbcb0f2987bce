"""`plugbay move`: onto PostgreSQL when one machine is no longer enough, and back."""

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from plugbay.cli.options import data_dir_option, opened_host

if TYPE_CHECKING:
    from plugbay.host import Plugbay
    from plugbay.store import Store


@click.command()
@click.option("--to", "target", required=True, help="sqlite:///PATH or postgresql://USER:PASSWORD@HOST/NAME.")
@data_dir_option
def move(target: str, data_dir: Path | None) -> None:
    """Copy the whole store into an empty one of the other kind, and compare the two.

    Stop every server first. If it is cut off, the same command goes on. The old store stays as it is.
    """
    from plugbay.store import Store
    from plugbay.store.moving import Move

    with opened_host(data_dir) as host, closing(Store(target, host.data_dir)) as empty:
        moving = Move(host.store, empty, lambda: _make_tables(host, empty))
        moved = moving.run(_tell if sys.stderr.isatty() else lambda table, done, rows: None)
        for table in moved.tables:
            click.echo(f"{table.name:<36} {table.rows:>10,} rows  {table.checksum}")
        if moved.left:
            click.echo(f"Left behind, because no plugin here knows them: {', '.join(moved.left)}.", err=True)
        rows = sum(table.rows for table in moved.tables)
        click.echo(f"{rows:,} rows in {len(moved.tables)} tables are the same in both stores now.", err=True)
        click.echo("From now on start every server with that URL in PLUGBAY_DATABASE_URL.", err=True)


def _make_tables(host: "Plugbay", empty: "Store") -> None:
    """As every server does at its start: those of the host, then those of each plugin."""
    from plugbay.store import HOST_MIGRATIONS, HOST_MODULE

    empty.migrate(HOST_MODULE, HOST_MIGRATIONS)
    for plugin in host.modules.all():
        if plugin.folder and (plugin.folder / "migrations").is_dir():
            empty.migrate(plugin.name, plugin.folder / "migrations")


def _tell(table: str, done: int, rows: int) -> None:
    """One line that counts up, for who looks on."""
    click.echo(f"\r{table:<36} {done:>10,} of {rows:,}\x1b[K", nl=done >= rows, err=True)
