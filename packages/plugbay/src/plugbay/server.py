"""Runs the application with uvicorn on one socket that outlives a restart."""

import os
import socket
import sys

import uvicorn
from fastapi import FastAPI

from plugbay.errors import OperatorError
from plugbay.host import STOP_GRACE_S, Plugbay
from plugbay.restart import LISTEN_FD, run_again

BACKLOG = 2048  # connections that wait while the process starts anew


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


def run(app: FastAPI, sock: socket.socket, root_path: str = "") -> None:
    """Serves until told to stop; after a requested restart, replaces the process."""
    host: Plugbay = app.state.plugbay
    config = uvicorn.Config(
        app,
        root_path=root_path,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=int(STOP_GRACE_S),
        proxy_headers=True,
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
