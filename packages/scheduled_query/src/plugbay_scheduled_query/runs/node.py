"""Who is alive: each process is a node with a lock and a heartbeat; the runs of a dead one are taken over."""

import fcntl
import os
import threading
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path

from plugbay import get_logger

BEAT_S = 0.5  # how soon a cancel from another node is seen

log = get_logger(__name__)


class Node:
    """This process, for as long as it holds the lock on a file of its own; the system frees a dead one's."""

    def __init__(self, data_dir: Path, known_as: str | None = None) -> None:
        self._folder = data_dir / "nodes"
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.id = known_as or uuid.uuid4().hex
        self._file = self._locked()
        self.dead(path.stem for path in self._folder.glob("*.lock"))  # whose files go

    def dead(self, nodes: Iterable[str]) -> list[str]:
        """Those whose lock nobody holds."""
        return [node for node in nodes if node != self.id and not self._is_alive(node)]

    def close(self) -> None:
        """Leaves: from now on others may take this node's runs over."""
        if self._path(self.id).exists():
            self._path(self.id).unlink()
            os.close(self._file)

    def _locked(self) -> int:
        """The file, locked and in its place: another node may just have taken it for a dead one's."""
        while True:
            file = os.open(self._path(self.id), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            fcntl.flock(file, fcntl.LOCK_EX)
            if self._path(self.id).exists():
                return file
            os.close(file)

    def _is_alive(self, node: str) -> bool:
        try:
            file = os.open(self._path(node), os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._path(node).unlink(missing_ok=True)  # while we hold it: nobody can lock a file that goes
            return False
        except BlockingIOError:
            return True
        finally:
            os.close(file)

    def _path(self, node: str) -> Path:
        return self._folder / f"{node or 'nobody'}.lock"


class Heartbeat:
    """Calls `beat` again and again while `is_wanted`; one that fails is followed by the next."""

    def __init__(self, beat: Callable[[], None], is_wanted: Callable[[], object]) -> None:
        self._beat = beat
        self._is_wanted = is_wanted
        self._is_failing = self._is_closing = self._is_resting = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="scheduled-query-pulse", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """There may be something to beat for."""
        if self._is_resting:
            with self._changed:
                self._changed.notify()

    def close(self, patience_s: float = 10.0) -> None:
        """Beats no more."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._thread.join(patience_s)

    def _work(self) -> None:
        while self._waited():
            try:
                self._beat()
                self._is_failing = False
            except Exception as error:
                if not self._is_failing:  # once, not twice a second for as long as the store is away
                    log.error("pulse_failed", error=error)
                self._is_failing = True

    def _waited(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._is_closing, BEAT_S)
            self._is_resting = True
            self._changed.wait_for(lambda: self._is_closing or self._is_wanted())
            self._is_resting = False
            return not self._is_closing
