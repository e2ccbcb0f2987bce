"""`plugbay worker`: the plugins at work without a web server, beside a server on the same store."""

import asyncio
import logging
import signal
import sys
from pathlib import Path

import click

LOG_FORMAT = "%(asctime)s %(levelname)-7s %(name)s %(message)s"


@click.command()
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where Plugbay keeps its files; by default $PLUGBAY_DATA_DIR, else ./data.",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="How much to write to the log.",
)
def worker(data_dir: Path | None, log_level: str) -> None:
    """Run periodic tasks and jobs in a process of their own, without serving pages."""
    logging.basicConfig(level=log_level.upper(), format=LOG_FORMAT, stream=sys.stderr)
    logging.getLogger("alembic").setLevel(logging.WARNING)  # the store reports each migration itself
    asyncio.run(work(data_dir))


async def work(data_dir: Path | None) -> None:
    """Lives as a server does, from start to the signal to stop, but listens on no port."""
    from fastapi import FastAPI
    from plugbay import Plugbay

    told_to_stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, told_to_stop.set)
    app = FastAPI()
    host = Plugbay(app, config={"data_dir": data_dir} if data_dir else None)
    async with app.router.lifespan_context(app):
        click.echo(f"  {host.config.app_name} is working on {host.store.place}\n  Stop with Ctrl+C\n")
        await told_to_stop.wait()
