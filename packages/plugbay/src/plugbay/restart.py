"""Starts the process anew in place: same process id, same port, nothing lost."""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable

from plugbay.logs import get_logger

LISTEN_FD = "PLUGBAY_LISTEN_FD"  # the listening socket that the next life of the process takes over
RELOADER = (
    "This server was started with --reload, which starts it anew only when its code changes: "
    "save a file, or stop and start it by hand."
)

log = get_logger(__name__)


class Restarter:
    """Remembers that a restart was asked for, and has the server stop for it."""

    def __init__(self, stop_plugins: Callable[[], None] = lambda: None) -> None:
        self.is_requested = False
        self.is_forced = False
        self._stop_plugins = stop_plugins
        self.stop_server: Callable[[bool], None] = self._stop_any_server
        """How to make the server stop; whoever runs the server puts its own way here."""
        self.after_stop: Callable[[], None] = _run_again_unless_supervised
        """What to do when everything has stopped, if a restart was asked for."""

    @property
    def obstacle(self) -> str:
        """Why this process would not come back; empty if it would."""
        return RELOADER if _has_reloader() else ""

    def request(self, force: bool = False) -> None:
        """Notes that the process is to start anew; a forced restart waits for nothing."""
        self.is_requested, self.is_forced = True, self.is_forced or force
        log.warning("restart_requested", force=force)

    def stop(self) -> None:
        """Stops the server: to be called once whoever asked for the restart has the answer."""
        self.stop_server(self.is_forced)

    def _stop_any_server(self, force: bool) -> None:
        if not force:
            os.kill(os.getpid(), signal.SIGTERM)
            return
        # asked by a signal, a server waits for open requests, and then lets nobody run again
        try:
            self._stop_plugins()
        finally:
            self.after_stop()
            os._exit(0)


def run_again() -> None:
    """Replaces this process by a fresh one with the same arguments."""
    log.warning("restarting", argv=" ".join(sys.orig_argv))
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - the very command we were started with


def _run_again_unless_supervised() -> None:
    # a parent such as uvicorn with several workers starts a worker anew when it ends
    if multiprocessing.parent_process() is None:
        run_again()


def _has_reloader() -> bool:
    # uvicorn's reloader looks at files and never at its child, whom alone it tells that it is one
    config = getattr(multiprocessing.current_process(), "_kwargs", {}).get("config")
    return bool(getattr(config, "should_reload", False))
