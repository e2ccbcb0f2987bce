"""`plugbay backup`: a copy of the store while the server goes on."""

from pathlib import Path

import click

from plugbay.cli.options import data_dir_option, opened_store


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@data_dir_option
def backup(file: Path, data_dir: Path | None) -> None:
    """Copy a SQLite store to FILE, consistent as of one moment, while servers go on writing."""
    with opened_store(data_dir) as store:
        store.backup(file)
    click.echo(f"The store was copied to {file}.", err=True)
