"""Follows what other processes on the same store change about plugins: switches, settings, reloads."""

import threading
from typing import TYPE_CHECKING

from plugbay.errors import StoreError
from plugbay.logs import get_logger

if TYPE_CHECKING:
    from plugbay.host import Plugbay

LOOK_EVERY_S = 2.0  # no sooner does an admin who pressed a button look at another process

log = get_logger(__name__)


class Follower:
    """A thread that looks at one small table; only when a number in it has grown is anything compared."""

    def __init__(self, host: "Plugbay") -> None:
        self._host = host
        self._seen = host.records.changes()
        self._is_blind = False
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._stopped.clear()
        self._thread = threading.Thread(target=self._watch, name="plugbay-follower", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread and self._thread is not threading.current_thread():
            self._thread.join(LOOK_EVERY_S)

    def reload(self) -> dict[str, str]:
        """Loads all plugins anew, here and in the other processes."""
        modules = self._host.modules
        with modules.lock:
            states = modules.reload(self._host.path_plugins, self._host.path_modules)
            self._seen["reload"] = self._host.records.note_reload()
            return states

    def look(self) -> None:
        """Puts into effect what changed since the last look; a store that is away is asked again."""
        try:
            if self._host.records.changes() != self._seen:
                self._follow()
            self._is_blind = False
        except StoreError as error:
            if not self._is_blind:
                log.warning("changes_not_seen", reason=error)
            self._is_blind = True

    def _follow(self) -> None:
        with self._host.modules.lock:
            if self._stopped.is_set():
                return  # while we waited for the lock, all plugins were unloaded for good
            before, self._seen = self._seen, self._host.records.changes()
            try:
                changed = self._catch_up(self._seen["reload"] != before["reload"])
            except StoreError:
                self._seen = before
                raise
        for name in changed:
            log.info("settings_followed", plugin=name)
            self._host.events.emit_lifecycle("settings_changed", name=name)

    def _catch_up(self, was_reloaded: bool) -> list[str]:
        """Does to the plugins here what was done to them elsewhere; returns whose settings are new."""
        modules = self._host.modules
        if was_reloaded:
            log.info("reload_followed")
            modules.reload(self._host.path_plugins, self._host.path_modules)
        modules.follow_switches(self._host.records.switches())
        return modules.follow_settings()

    def _watch(self) -> None:
        while not self._stopped.wait(LOOK_EVERY_S):
            try:
                self.look()
            except Exception:
                log.exception("following_failed")
