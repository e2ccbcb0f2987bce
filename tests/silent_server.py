"""Servers that misbehave: one that says nothing, and a line to a real one that can be cut."""

import contextlib
import socket
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def silent() -> Iterator[int]:
    """The port of a server that never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@contextlib.contextmanager
def unused_port() -> Iterator[int]:
    """A port on which nobody listens."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


class Relay:
    """Passes bytes on between clients and a Unix socket, until told to drop every line."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._server = socket.create_server(("127.0.0.1", 0))
        self._lines: list[socket.socket] = []
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._server.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(self._path)
                self._lines += [client, far]
                for source, sink in ((client, far), (far, client)):
                    threading.Thread(target=_pump, args=(source, sink), daemon=True).start()

    def drop(self) -> None:
        """Cut every line, as a network does."""
        lines, self._lines = self._lines, []
        for line in lines:
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
            line.close()

    def close(self) -> None:
        self.drop()
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def relay(path: str) -> Iterator[Relay]:
    """A relay to the server behind a Unix socket."""
    opened = Relay(path)
    try:
        yield opened
    finally:
        opened.close()
