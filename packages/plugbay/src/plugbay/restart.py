"""Starts the process anew in place: same process id, same port, nothing lost."""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable

from plugbay.logs import get_logger

LISTEN_FD = "PLUGBAY_LISTEN_FD"  # the listening socket that the next life of the process takes over

log = get_logger(__name__)


class Restarter:
    """Remembers that a restart was asked for, and has the server stop for it."""

    def __init__(self) -> None:
        self.is_requested = False
        self.is_forced = False
        self.stop_server: Callable[[bool], None] = _stop_by_signal
        """How to make the server stop; whoever runs the server puts its own way here."""
        self.after_stop: Callable[[], None] = _run_again_unless_supervised
        """What to do when everything has stopped, if a restart was asked for."""

    def request(self, force: bool = False) -> None:
        """Notes that the process is to start anew; a forced restart waits for nothing."""
        self.is_requested, self.is_forced = True, self.is_forced or force
        log.warning("restart_requested", force=force)

    def stop(self) -> None:
        """Stops the server: to be called once whoever asked for the restart has the answer."""
        self.stop_server(self.is_forced)


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


def _stop_by_signal(force: bool) -> None:
    os.kill(os.getpid(), signal.SIGINT if force else signal.SIGTERM)
