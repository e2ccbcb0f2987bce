"""A throw-away database without any guard: it runs whatever it is told, and tells what became of it."""

import socket
import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MARKER = "secret"  # in the files that no query may read, and in their names


@dataclass
class Outcome:
    """What came back: rows and columns of the last result, the error if there was one, the seconds."""

    rows: Sequence[Any] = field(default_factory=list)
    error: str = ""
    seconds: float = 0.0
    columns: Sequence[str] = ()


class World(ABC):
    """One database with the schema of its bank, a folder with secrets, and a port that notices visitors."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="world-"))
        self.folder.chmod(0o777)  # the servers run as another user
        for name, text in (
            ("secret.txt", MARKER),
            ("secret.csv", f"{MARKER}\n{MARKER}\n"),
            ("number.txt", "99\n"),
        ):
            self.put(name, text)
        self.put("secret.json", f'{{"{MARKER}": 1}}')
        self.put("number.csv", "99\n")
        self.door = Door()

    def put(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o644)

    def fill(self, sql: str) -> str:
        """The statement with the names of this world in it."""
        for name, value in self.names().items():
            sql = sql.replace("{" + name + "}", value)
        return sql

    def names(self) -> dict[str, str]:
        return {"dir": str(self.folder), "port": str(self.door.port)}

    @property
    def made(self) -> Path:
        """The file that hostile statements make."""
        return self.folder / "made"

    @abstractmethod
    def run(self, sql: str, limit_s: float | None = None) -> Outcome:
        """Runs the text as a careless client would: as many statements as there are, and all is kept."""

    def run_unlocked(self, sql: str) -> Outcome:
        """Runs the text in a database that may load libraries."""
        return self.run(sql)

    @abstractmethod
    def data(self) -> object:
        """All rows of all tables."""

    @abstractmethod
    def schema(self) -> object:
        """All that is defined in the database."""

    @abstractmethod
    def session(self) -> object:
        """All that the session remembers."""

    def server(self) -> object:
        """What other sessions and databases depend on."""
        return None

    def is_locked(self) -> bool:
        """Is somebody else kept from writing?"""
        return False

    def begin(self) -> None:
        """From now on locks stay until the end; where each statement keeps its own, nothing is to be done."""
        return

    def was_reached(self) -> bool:
        """Did anyone outside of the session notice?"""
        return self.door.was_opened()

    def close(self) -> None:
        self.door.close()
        for path in sorted(self.folder.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        self.folder.rmdir()


class Door:
    """A port on the loopback address that remembers whether anyone came."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._opened = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while True:
            try:
                visitor, _ = self._socket.accept()
            except OSError:
                return
            self._opened.set()
            visitor.close()

    @property
    def is_open(self) -> bool:
        return self._opened.is_set()

    def was_opened(self) -> bool:
        return self._opened.wait(timeout=60)

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()
