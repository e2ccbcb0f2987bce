"""Real servers for tests: in a process of its own, on a port that the system chooses."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

PASSWORD = "correct horse battery staple"
PLUGBAY = Path(sys.executable).with_name("plugbay")
SERVE = (str(PLUGBAY), "serve")
UVICORN = (sys.executable, "-m", "uvicorn")
START_S = 120  # a generous bound: the machine may be busy
NO_TLS = {"verify": False}  # for plain addresses: reading the machine's certificates takes 50 ms each time


class Server:
    """One `plugbay serve`, or another such program; its output is kept."""

    def __init__(self, folder: Path, *args: str, program: tuple[str, ...] = SERVE, **variables: str) -> None:
        self.folder = folder
        self.output: list[str] = []
        self._running = threading.Event()
        self._changed = threading.Condition()
        command = [*program, "--port", "0", *args]
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(**{"PLUGBAY_ADMIN_PASSWORD": PASSWORD, "PLUGBAY_SAMPLES": "false", **variables}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def text(self) -> str:
        return "".join(self.output)

    @property
    def url(self) -> str:
        """Where it listens, once it does."""
        if not self._running.wait(START_S) or self.process.poll() is not None:
            raise AssertionError(f"the server did not start:\n{self.text}")
        return str(re.findall(r"running on (http://\S+)", self.text)[-1])

    def wait_for(self, text: str, times: int = 1) -> None:
        """Until the output has said it so many times."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.text.count(text) >= times, START_S):
                raise AssertionError(f"the server never said {text!r}:\n{self.text}")

    def stop(self) -> int:
        self.process.terminate()
        status = self.process.wait(START_S)
        self._close()
        return status

    def kill(self) -> None:
        """As a power cut would end it."""
        self.process.kill()
        self.process.wait(START_S)
        self._close()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            with self._changed:
                self.output.append(line)
                self._changed.notify_all()
            if "running on http" in line:
                self._running.set()
        self._running.set()

    def _close(self) -> None:
        self._reader.join(START_S)
        assert self.process.stdout
        self.process.stdout.close()


@contextmanager
def serving(folder: Path, *args: str, program: tuple[str, ...] = SERVE, **variables: str) -> Iterator[Server]:
    """A server that is stopped at the end, whatever happens."""
    server = Server(folder, *args, program=program, **variables)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.stop()
        else:
            server._close()


def get(url: str, **options: Any) -> httpx2.Response:
    """One request, with all the time that a busy machine takes to answer it."""
    return httpx2.get(url, timeout=START_S, **NO_TLS, **options)


def environment(**variables: str) -> dict[str, str]:
    """This process's environment without anything of ours, and with these."""
    ours = ("PLUGBAY_", "SCHEDULED_QUERY_", "TASK_WORKER_", "UI_TOOLS_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "PYTHONUNBUFFERED": "1", **variables}


def plugbay(folder: Path, *args: str, text: str = "", **variables: str) -> "subprocess.CompletedProcess[str]":
    """Runs one command to its end."""
    return subprocess.run(
        [str(PLUGBAY), *args],
        cwd=folder,
        input=text,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=START_S,
    )
