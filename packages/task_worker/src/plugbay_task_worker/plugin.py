"""The plugin: an engine that lives as long as the application, for all that is to be done later or again."""

from typing import TYPE_CHECKING, Any

from plugbay import BaseModule, Event

from plugbay_task_worker.embedded import EmbeddedEngine
from plugbay_task_worker.exposition import exposition
from plugbay_task_worker.pages import tasks_router
from plugbay_task_worker.settings import TaskWorkerSettings
from plugbay_task_worker.store_claims import StoreClaims

if TYPE_CHECKING:
    from plugbay import Plugbay

UNLOAD_GRACE_S = 5.0  # someone waits for the page that disables the plugin


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
    _host: "Plugbay"

    def on_load(self) -> None:
        self.module_router = tasks_router(lambda: self.engine, lambda: self._host)

    def on_load_complete(self, fast_pluggy: "Plugbay") -> None:
        self._host = fast_pluggy
        self.engine = EmbeddedEngine(fast_pluggy.clock, StoreClaims(fast_pluggy.store))
        self._apply_settings()
        fast_pluggy.metrics.add("task_worker", lambda: exposition(self.engine.stats()))
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
        self.engine.remove_owner(event.data["name"])

    def _when_stopping(self, event: Event) -> None:
        self.engine.stop(event.data["grace_s"])
