"""Who is told: a receiver of JSON over HTTP, and a mail server, both real and on loopback."""

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Receiver(ThreadingHTTPServer):
    """Takes messages as JSON, or answers with another status."""

    def __init__(self) -> None:
        self.received: list[dict[str, Any]] = []
        self.status = 200
        super().__init__(("127.0.0.1", 0), _Post)

    @property
    def url(self) -> str:
        return f"json://someone:hunter2@127.0.0.1:{self.server_port}/T0KEN-one?cto=60&rto=60"

    @property
    def titles(self) -> list[str]:
        return [message["title"] for message in self.received]


class _Post(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.server.status == 200:
            self.server.received.append(body)
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


class MailServer(socketserver.ThreadingTCPServer):
    """Speaks as much SMTP as it takes to be sent a mail."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        self.received: list[EmailMessage] = []
        super().__init__(("127.0.0.1", 0), _Smtp)

    @property
    def url(self) -> str:
        port = self.server_address[1]
        return f"mailto://127.0.0.1:{port}/ops@example.org?from=plugbay@example.org&mode=insecure"


class _Smtp(socketserver.StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        self._say("220 ready")
        while line := self.rfile.readline():
            word = line.strip().upper()[:4]
            if word == b"DATA":
                self._take()
            else:
                self._say("221 bye" if word == b"QUIT" else "250 fine")

    def _take(self) -> None:
        self._say("354 go on")
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            lines.append(line)
        found = message_from_bytes(b"".join(lines), policy=policy.default)
        assert isinstance(found, EmailMessage)
        self.server.received.append(found)
        self._say("250 taken")

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@contextmanager
def running(server: Any) -> Iterator[Any]:
    """The server at work, in a thread of its own."""
    with server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
