"""Folders and files that only the server's own user may read."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from plugbay.errors import DataDirUnusable
from plugbay.logs import get_logger

log = get_logger(__name__)
PRIVATE_DIR, PRIVATE_FILE = 0o700, 0o600


def make_private_dir(path: Path) -> None:
    """Makes the folder, closed to others, unless it is there; one that exists keeps its mode."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=PRIVATE_DIR, exist_ok=True)
    except OSError as error:
        raise DataDirUnusable(path=error.filename, reason=error.strerror) from error


def make_private_file(path: Path) -> None:
    """Makes an empty file, closed to others, unless it is there; one that exists is not opened."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE_FILE))
    except FileExistsError:
        pass
    except OSError as error:
        raise DataDirUnusable(path=path, reason=error.strerror) from error


def write_private_file(path: Path, content: bytes) -> None:
    """Puts the file there in one piece, closed to others, and onto the disk."""
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    make_private_file(part)
    with part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    sync_dir(path.parent)


def sync_dir(path: Path) -> None:
    """Makes the names in a folder survive a power cut, as fsync does for a file's content."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Holds the lock of a file or folder; a process that dies, by whatever means, has let it go."""
    handle = os.open(path, os.O_RDONLY)
    try:
        _take(handle, path)
        yield
    finally:
        os.close(handle)


def _take(handle: int, path: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        log.info("lock_waiting", file=path)
        fcntl.flock(handle, fcntl.LOCK_EX)
