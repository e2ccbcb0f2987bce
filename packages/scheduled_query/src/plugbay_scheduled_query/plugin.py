"""The plugin: what the host sees of the service."""

from typing import Any
from zoneinfo import available_timezones

from plugbay import BaseModule, Event, Plugbay

from plugbay_scheduled_query import demo
from plugbay_scheduled_query.assembly import Assembly, assemble
from plugbay_scheduled_query.runs.claiming import OWNER
from plugbay_scheduled_query.runs.cluster import RUN_NOW
from plugbay_scheduled_query.runs.service import JOB
from plugbay_scheduled_query.settings import Settings
from plugbay_scheduled_query.tables import channels, data_sources
from plugbay_scheduled_query.web import router
from plugbay_scheduled_query.web.dependencies import Parts

UNLOAD_GRACE_S = 5.0  # someone waits for the page that disables the plugin


class ScheduledQueryPlugin(BaseModule):
    """SQL queries on a CRON schedule, with history, pages and Prometheus gauges."""

    module_name = OWNER
    module_version = "0.1.48"
    module_settings: Any = Settings
    depends_on = {"task_worker": ">=0.3.0", "ui_tools": ">=0.0.4"}  # noqa: RUF012 - read, never changed
    module_menu_name = "Scheduled Queries"
    module_menu_icon = "fas fa-list-check"
    module_mount_url = ""
    extra_css_files = ["bell.css"]  # noqa: RUF012 - read, never changed

    _host: Plugbay
    _assembly: Assembly | None = None

    @property
    def parts(self) -> Parts:
        """The service at work: from the server's start to its stop."""
        assert self._assembly, "the service is not running"
        return self._assembly.parts

    def on_load(self) -> None:
        self.module_router = router

    def on_load_complete(self, fast_pluggy: Plugbay) -> None:
        self._host = fast_pluggy
        menu, events = fast_pluggy.menu, fast_pluggy.events
        menu.add(OWNER, "Dashboard", "/scheduled_query/dashboard", icon="fas fa-chart-line")
        menu.add(
            OWNER, "Results Widgets", "/scheduled_query/results-widgets", icon="fas fa-table-cells-large"
        )
        menu.add(OWNER, "Boards", "/scheduled_query/boards", icon="fas fa-layer-group")
        menu.add(OWNER, "Alerts", "/scheduled_query/alerts", icon="fas fa-bell")
        menu.add(
            OWNER,
            "Channels",
            "/scheduled_query/channels",
            icon="fas fa-paper-plane",
            menu_type="admin",
            role="admin",
        )
        menu.add(
            OWNER,
            "Data sources",
            "/scheduled_query/sources",
            icon="fas fa-database",
            menu_type="admin",
            role="admin",
        )
        for column in (data_sources.c.secret_url, channels.c.secret_url):
            fast_pluggy.secrets.add(OWNER, column)
        fast_pluggy.metrics.add(OWNER, lambda: self._assembly.gauges_text() if self._assembly else b"")
        fast_pluggy.metrics.add(OWNER, lambda: self._assembly.own_text() if self._assembly else "")
        fast_pluggy.health.add(OWNER, lambda: None if self._assembly else "the service is not running")
        fast_pluggy.health.add_warning(
            OWNER, lambda: self._assembly.parts.disk.problem() if self._assembly else None
        )
        fast_pluggy.templates.add_global(OWNER, "firing_alerts", self._firing_alerts)
        fast_pluggy.templates.add_to_header(OWNER, "scheduled_query/bell.html.j2")
        events.on("plugbay.ready", self._start, owner=OWNER)
        events.on("plugbay.settings_changed", self._when_settings_changed, owner=OWNER)
        events.on("plugbay.stopping", lambda event: self._stop(0.0), owner=OWNER)

    def time_zones(self) -> list[str]:
        """What the setting `timezone` can be."""
        return sorted(available_timezones())

    def source_names(self) -> list[str]:
        """What the setting `default_data_source` can be; empty: the only one, if there is one."""
        return ["", *(source.name for source in self.parts.catalogue.all())] if self._assembly else []

    def _firing_alerts(self) -> int:
        return self._assembly.parts.alerts.alerts.firing() if self._assembly else 0

    def on_unload(self) -> None:
        self._stop(UNLOAD_GRACE_S)

    def _start(self, event: Event) -> None:
        worker: Any = self._host.get_module("task_worker")
        self._assembly = assemble(self._host, worker.engine, lambda: self.module_settings)
        try:
            self._follow_settings()
        finally:  # a source that cannot be adopted now must not keep the others from being asked
            self._assembly.enter_engine()
            for name in (JOB, RUN_NOW):
                worker.describe(OWNER, name, self._assembly.subjects_of)
        if self._host.config.samples:
            demo.make_once(self.parts)

    def _when_settings_changed(self, event: Event) -> None:
        if event.data["name"] in (OWNER, "task_worker") and self._assembly:  # whose workers are counted, too
            self._follow_settings()
            self.parts.service.refill()  # another pace counts at once

    def _follow_settings(self) -> None:
        assert self._assembly
        self._assembly.follow(self.module_settings)

    def _stop(self, grace_s: float) -> None:
        # the task worker, which was told before us, has given what runs its time
        if self._assembly:
            self._assembly.close(grace_s)
            self._assembly = None
