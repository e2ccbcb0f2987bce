"""The plugin: an engine that lives as long as the application, for all that is to be done later or again."""

import asyncio
import logging
import signal
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import click
from fastapi import FastAPI
from plugbay import BaseModule, Event, InvalidConfig, Plugbay, get_logger
from pydantic import BaseModel, Field

from plugbay_task_worker import pages
from plugbay_task_worker.embedded import EmbeddedEngine
from plugbay_task_worker.metrics import metrics_text
from plugbay_task_worker.tick_claims import StoreTickClaims

UNLOAD_GRACE_S = 5.0  # someone waits for the page that disables the plugin
VARIABLE = "TASK_WORKER_ENGINE"
ROLE = "task_worker_role"  # where the application says what this process is for
LOG_FORMAT = "%(asctime)s %(levelname)-7s %(name)s %(message)s"


log = get_logger(__name__)


@dataclass(frozen=True)
class Role:
    """What this process is for, said by the command that made its application."""

    is_worker: bool
    concurrency: int | None = None


class TaskWorkerSettings(BaseModel):
    """Each can be set by an environment variable `TASK_WORKER_<FIELD>`."""

    engine: Literal["auto", "embedded", "procrastinate"] = Field(
        "auto",
        description="Who does jobs: each process its own (embedded), or any process on the same PostgreSQL"
        " (procrastinate); auto: that on PostgreSQL, else embedded. From the next start.",
    )
    server_works: bool = Field(
        True,
        description="Whether plugbay serve calls tasks and does jobs, or leaves both to plugbay worker."
        " From the next start.",
    )
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
    _concurrency: int | None = None

    def describe(self, owner: str, name: str, describe: pages.Describe) -> None:
        """Has the page say what the jobs of that name are about: payloads in, titles with paths out."""
        self.describers.add(owner, name, describe)

    def on_load(self) -> None:
        self.module_router = pages.router
        self.describers = pages.Describers()

    def on_load_complete(self, fast_pluggy: Plugbay) -> None:
        role: Role = getattr(fast_pluggy.app.state, ROLE, Role(is_worker=False))
        self._concurrency = role.concurrency
        works = role.is_worker or self.module_settings.server_works
        self.engine = engine_for(fast_pluggy, self.module_settings.engine, works)
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
            workers=self._concurrency or settings.workers,
            task_workers=settings.task_workers,
            recent=settings.recent_jobs,
        )

    def _when_settings_changed(self, event: Event) -> None:
        if event.data["name"] == "task_worker":
            self._apply_settings()

    def _when_plugin_unloaded(self, event: Event) -> None:
        self.describers.remove_owner(event.data["name"])
        self.engine.remove_owner(event.data["name"])

    def _when_stopping(self, event: Event) -> None:
        self.engine.stop(event.data["grace_s"])


def engine_for(host: Plugbay, wanted: str, works: bool) -> EmbeddedEngine:
    """The engine that was chosen; what cannot be is the operator's error if the environment says it."""
    problem = _problem(host, wanted)
    if problem and wanted == "procrastinate":
        if VARIABLE in host.environment:
            raise InvalidConfig(variable=VARIABLE, value=wanted, rule=problem)
        log.error("engine_not_possible", wanted=wanted, reason=problem)
    elif problem and host.store.dialect == "postgresql" and wanted == "auto":
        log.warning("jobs_stay_in_their_process", reason=problem)
    if problem or wanted == "embedded":
        return EmbeddedEngine(host.clock, StoreTickClaims(host.store), works=works)
    from plugbay_task_worker.procrastinate import ProcrastinateEngine  # what SQLite does without

    return ProcrastinateEngine(host.clock, host.store, works=works)


def _problem(host: Plugbay, wanted: str) -> str | None:
    """Why the engine on Procrastinate is not possible, if so."""
    if host.store.dialect != "postgresql":
        return "it needs a PostgreSQL store, which PLUGBAY_DATABASE_URL names"
    if find_spec("procrastinate") is None:
        return "it needs the package procrastinate: pip install 'plugbay-task-worker[procrastinate]'"
    return None


@click.command()
@click.option(
    "--concurrency",
    type=click.IntRange(1, 256),
    help="Jobs that this process does at the same time; by default the setting workers.",
)
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
def worker(concurrency: int | None, data_dir: Path | None, log_level: str) -> None:
    """Run periodic tasks and jobs in a process of their own, without serving pages."""
    logging.basicConfig(level=log_level.upper(), format=LOG_FORMAT, stream=sys.stderr)
    logging.getLogger("alembic").setLevel(logging.WARNING)  # the store reports each migration itself
    asyncio.run(work(data_dir, concurrency))


async def work(data_dir: Path | None, concurrency: int | None = None) -> None:
    """Lives as a server does, from start to the signal to stop, but listens on no port."""
    told_to_stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, told_to_stop.set)
    app = FastAPI()
    setattr(app.state, ROLE, Role(is_worker=True, concurrency=concurrency))
    host = Plugbay(app, config={"data_dir": data_dir} if data_dir else None)
    async with app.router.lifespan_context(app):
        click.echo(f"  {host.config.app_name} is working on {host.store.place}\n  Stop with Ctrl+C\n")
        await told_to_stop.wait()
