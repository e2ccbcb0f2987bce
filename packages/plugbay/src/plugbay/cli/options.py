"""Options that several commands take, and what they open."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from plugbay.host import Plugbay
    from plugbay.settings import HostConfig
    from plugbay.store import Store

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

data_dir_option: Decorator = click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where Plugbay keeps its files; by default $PLUGBAY_DATA_DIR, else ./data.",
)


def config_with(data_dir: Path | None) -> "HostConfig":
    """The configuration, with the data directory of the command line if one was given."""
    from plugbay.settings import load_config

    return load_config({"data_dir": data_dir} if data_dir else None)


@contextmanager
def opened_store(data_dir: Path | None) -> Iterator["Store"]:
    """The store that a server with the same options would use."""
    from plugbay.store import open_store

    config = config_with(data_dir)
    _tell_of_a_new_store(config)
    store = open_store(*_place(config))
    try:
        yield store
    finally:
        store.close()


@contextmanager
def opened_host(data_dir: Path | None) -> Iterator["Plugbay"]:
    """The host with all its plugins, loaded as `serve` would and not served; what they started is stopped."""
    from plugbay.application import create_app

    config = config_with(data_dir)
    _tell_of_a_new_store(config)
    host: Plugbay = create_app(config=config).state.plugbay
    try:
        yield host
    finally:
        host.stop(grace_s=0)  # a plugin's thread must not hold up the command


def _tell_of_a_new_store(config: "HostConfig") -> None:
    """Who is in the wrong folder shall not believe that it was the server's store."""
    from plugbay.store.engines import store_url

    url = store_url(*_place(config))
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").exists():
        told = f"There was no store at {url.database}: a new one is made. --data-dir names the server's."
        click.echo(told, err=True)


def _place(config: "HostConfig") -> tuple[str, Path]:
    """What says where the store is: its URL, if there is one, and the data directory."""
    url = config.database_url.get_secret_value() if config.database_url else ""
    return url, Path(config.data_dir or "data").absolute()
