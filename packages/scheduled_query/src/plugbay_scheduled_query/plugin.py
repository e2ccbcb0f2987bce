"""The plugin: the only file that knows all the others."""

from collections.abc import Mapping
from typing import Any

from plugbay import BaseModule, Event, Plugbay

from plugbay_scheduled_query import samples
from plugbay_scheduled_query.api import api_router
from plugbay_scheduled_query.assembly import Assembly, assemble
from plugbay_scheduled_query.pages import pages_router
from plugbay_scheduled_query.parts import Parts
from plugbay_scheduled_query.service import JOB, OWNER, PERIOD_S, TASK
from plugbay_scheduled_query.settings import Settings

NOTIFY = "notify"


class ScheduledQueryPlugin(BaseModule):
    """SQL queries on a CRON schedule, with history, pages and Prometheus gauges."""

    module_name = OWNER
    module_version = "0.1.48"
    module_settings: Any = Settings
    depends_on = {"task_worker": ">=0.3.0", "ui_tools": ">=0.0.4"}  # noqa: RUF012 - read, never changed
    module_menu_name = "Scheduled Queries"
    module_menu_icon = "fas fa-list-check"
    module_mount_url = ""

    _assembly: Assembly | None = None

    @property
    def parts(self) -> Parts:
        """The service at work; there is one from `on_load_complete` on."""
        assert self._assembly
        return self._assembly.parts

    def on_load(self) -> None:
        self.module_router = pages_router(lambda: self.parts)
        self.module_router.include_router(api_router(lambda: self.parts))

    def on_load_complete(self, fast_pluggy: Plugbay) -> None:
        engine = fast_pluggy.get_module("task_worker").engine  # type: ignore[union-attr]
        self._assembly = made = assemble(fast_pluggy, engine, lambda: self.module_settings)
        service = made.parts.service
        engine.handle(owner=OWNER, name=JOB, call=service.execute, returned=service.returned)
        engine.handle(owner=OWNER, name=NOTIFY, call=lambda job: made.notifications.send(job.payload))
        engine.every(owner=OWNER, name=TASK, seconds=PERIOD_S, call=made.cycle, at_start=True)
        fast_pluggy.menu.add(OWNER, "Dashboard", "/scheduled_query/dashboard", icon="fas fa-chart-line")
        fast_pluggy.menu.add(OWNER, "Results Widgets", "/scheduled_query/results-widgets", icon="fas fa-table-cells-large")
        fast_pluggy.metrics.add(OWNER, made.metrics_text)
        fast_pluggy.events.on("plugbay.ready", self._when_ready, owner=OWNER)
        fast_pluggy.events.on("plugbay.stopping", lambda event: made.close(), owner=OWNER)

    def on_unload(self) -> None:
        if self._assembly:
            self._assembly.close()

    def _when_ready(self, event: Event) -> None:
        """A first start brings samples, unless somebody said not to."""
        host = self.parts.host
        if host.config.samples:
            samples.make_once(self.parts)
