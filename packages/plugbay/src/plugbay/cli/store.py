"""`plugbay backup`: a copy of the store while the server goes on."""

from pathlib import Path

import click

from plugbay.cli.options import config_with, data_dir_option


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@data_dir_option
def backup(file: Path, data_dir: Path | None) -> None:
    """Copy a SQLite store to FILE, consistent as of one moment, while servers go on writing."""
    from plugbay.store.backup import backup_store
    from plugbay.store.urls import store_url

    config = config_with(data_dir)
    url = config.database_url.get_secret_value() if config.database_url else ""
    backup_store(store_url(url, Path(config.data_dir or "data").absolute()), file)
    click.echo(f"The store was copied to {file}.", err=True)
