"""The plugin: an engine that lives as long as the application, for all that is to be done later or again."""

import asyncio
import logging
import signal
import sys
from pathlib import Path
from typing import Any

import click
from fastapi import FastAPI
from plugbay import BaseModule, Event, Plugbay
from pydantic import BaseModel, Field

from plugbay_task_worker import pages
from plugbay_task_worker.embedded import EmbeddedEngine
from plugbay_task_worker.metrics import metrics_text
from plugbay_task_worker.tick_claims import StoreTickClaims

UNLOAD_GRACE_S = 5.0  # someone waits for the page that disables the plugin
LOG_FORMAT = "%(asctime)s %(levelname)-7s %(name)s %(message)s"


class TaskWorkerSettings(BaseModel):
    """Each can be set by an environment variable `TASK_WORKER_<FIELD>`."""

    workers: int = Field(16, ge=1, le=256, description="Jobs that may run at the same time in one process.")
    task_workers: int = Field(
        16,
        ge=2,
        le=256,
        description="Tasks and timers that may run at the same time in one process.",
    )
    recent_jobs: int = Field(
        100,
        ge=0,
        le=1000,
        description="Finished jobs that the page shows, until the process ends.",
    )


class TaskWorker(BaseModule):
    """Periodic tasks and background jobs for the other plugins.

    Its `engine` is ready for use in the `on_load_complete` of every plugin that depends on this one.
    """

    module_name = "task_worker"
    module_version = "0.3.0"
    module_settings: Any = TaskWorkerSettings
    module_menu_name = "Tasks"
    module_menu_icon = "fas fa-gears"
    module_menu_type = "admin"

    engine: EmbeddedEngine
    describers: pages.Describers

    def describe(self, owner: str, name: str, describe: pages.Describe) -> None:
        """Has the page say what the jobs of that name are about: payloads in, titles with paths out."""
        self.describers.add(owner, name, describe)

    def on_load(self) -> None:
        self.module_router = pages.router
        self.describers = pages.Describers()

    def on_load_complete(self, fast_pluggy: Plugbay) -> None:
        self.engine = EmbeddedEngine(fast_pluggy.clock, StoreTickClaims(fast_pluggy.store))
        self._apply_settings()
        fast_pluggy.metrics.add("task_worker", lambda: metrics_text(self.engine.stats()))
        fast_pluggy.health.add("task_worker", self.engine.problem)
        listen = fast_pluggy.events.on
        listen("plugbay.settings_changed", self._when_settings_changed, owner="task_worker")
        listen("plugbay.plugin_unloaded", self._when_plugin_unloaded, owner="task_worker")
        listen("plugbay.stopping", self._when_stopping, owner="task_worker")
        listen("plugbay.ready", lambda _: self.engine.start(), owner="task_worker")

    def on_unload(self) -> None:
        if hasattr(self, "engine"):
            self.engine.stop(UNLOAD_GRACE_S)

    def _apply_settings(self) -> None:
        settings: TaskWorkerSettings = self.module_settings
        self.engine.resize(
            workers=settings.workers, task_workers=settings.task_workers, recent=settings.recent_jobs
        )

    def _when_settings_changed(self, event: Event) -> None:
        if event.data["name"] == "task_worker":
            self._apply_settings()

    def _when_plugin_unloaded(self, event: Event) -> None:
        self.describers.remove_owner(event.data["name"])
        self.engine.remove_owner(event.data["name"])

    def _when_stopping(self, event: Event) -> None:
        self.engine.stop(event.data["grace_s"])


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
    told_to_stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, told_to_stop.set)
    app = FastAPI()
    host = Plugbay(app, config={"data_dir": data_dir} if data_dir else None)
    async with app.router.lifespan_context(app):
        click.echo(f"  {host.config.app_name} is working on {host.store.place}\n  Stop with Ctrl+C\n")
        await told_to_stop.wait()
