"""`plugbay serve`: the whole product on one port."""

import gc
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from plugbay.cli.options import config_with, data_dir_option

if TYPE_CHECKING:
    from plugbay.host import Plugbay

LOG_FORMAT = "%(asctime)s %(levelname)-7s %(name)s %(message)s"


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
    logging.basicConfig(level=log_level.upper(), format=LOG_FORMAT, stream=sys.stderr)
    logging.getLogger("alembic").setLevel(logging.WARNING)  # the store reports each migration itself
    gc.disable()  # a tenth of the start went into looking for garbage among what has just been made
    from plugbay import server
    from plugbay.application import create_app

    sock = server.listen(host, port)
    app = create_app(config=config_with(data_dir))
    bay: Plugbay = app.state.plugbay
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{sock.getsockname()[1]}{root_path}"
    bay.events.on("plugbay.ready", lambda event: announce(bay, address))
    bay.events.on("plugbay.ready", lambda event: _collect_garbage())
    server.run(app, sock, root_path)


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
