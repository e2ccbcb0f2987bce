"""Runs the application with uvicorn on one socket, and starts the process anew in place."""

import ipaddress
import multiprocessing
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, Protocol

from fastapi import FastAPI

from plugbay.errors import InvalidConfig, OperatorError
from plugbay.logs import get_logger

PROXIES = "FORWARDED_ALLOW_IPS"  # uvicorn's own name for it, which operators know
ANY_PROXY = "*"
LISTEN_FD = "PLUGBAY_LISTEN_FD"  # the listening socket that the next life of the process takes over
RELOADER = (
    "This server was started with --reload, which starts it anew only when its code changes: "
    "save a file, or stop and start it by hand."
)
STOP_GRACE_S = 30.0  # how long running work may take to finish when the server stops
BACKLOG = 2048  # connections that wait while the process starts anew

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


class Served(Protocol):
    """The host, as far as its server is concerned."""

    restarter: Restarter

    def stop(self, grace_s: float = STOP_GRACE_S) -> None: ...


class PortTaken(OperatorError):
    """Cannot listen on {host}:{port}: {reason}."""


def listen(host: str, port: int) -> socket.socket:
    """The listening socket: the one that the process had before its restart, else a new one."""
    if inherited := _inherited():
        return inherited
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        raise PortTaken(host=host, port=port, reason=error.strerror or error) from None
    sock.listen(BACKLOG)
    return sock


def _inherited() -> socket.socket | None:
    try:
        sock = socket.socket(fileno=int(os.environ.pop(LISTEN_FD, "")))
    except (ValueError, OSError):
        return None  # none was left to us, or somebody's stale variable
    sock.set_inheritable(False)  # children have no use for it, and would keep the port
    return sock


def trusted_proxies(environment: Mapping[str, str]) -> str:
    """The addresses and networks whose `X-Forwarded-…` headers are believed: none that nobody named."""
    named = environment.get(PROXIES, "").strip()
    for each in named.split(",") if named not in ("", ANY_PROXY) else ():
        try:
            ipaddress.ip_network(each.strip())
        except ValueError as error:
            raise InvalidConfig(variable=PROXIES, value=named, rule=error) from None
    return named


def _protocol() -> Any:
    if find_spec("httptools") is None:
        return "h11"  # which has much the same limit of its own
    from plugbay.http_head import BoundedHead

    return BoundedHead


def run(app: FastAPI, sock: socket.socket, root_path: str = "", proxies: str = "") -> None:
    """Serves until told to stop; after a requested restart, replaces the process."""
    import uvicorn  # an application that is served by another server does without

    host: Served = app.state.plugbay
    config = uvicorn.Config(
        app,
        http=_protocol(),
        root_path=root_path,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=int(STOP_GRACE_S),
        proxy_headers=True,
        forwarded_allow_ips=proxies,  # left to uvicorn, it would believe everybody on this machine
    )
    server = uvicorn.Server(config)
    kept = os.dup(sock.fileno())  # uvicorn closes the socket that it is given

    def stop(force: bool) -> None:
        server.should_exit = True
        server.force_exit = server.force_exit or force

    host.restarter.stop_server = stop
    host.restarter.after_stop = lambda: None  # not within the event loop: here, once uvicorn has let go
    server.run(sockets=[sock])
    if host.restarter.is_forced:
        host.stop(grace_s=0)  # uvicorn skips the application's own stop then
    if host.restarter.is_requested:
        os.set_inheritable(kept, True)
        os.environ[LISTEN_FD] = str(kept)
        run_again()
    os.close(kept)
    if not server.started:
        sys.exit(3)
