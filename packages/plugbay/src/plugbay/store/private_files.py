"""Folders and files that only the server's own user may read."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from plugbay.errors import DataDirUnusable

PRIVATE_DIR, PRIVATE_FILE = 0o700, 0o600


def make_private_dir(path: Path) -> None:
    """Makes the folder, closed to others, unless it is there; one that exists keeps its mode."""
    try:
        if not path.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir(mode=PRIVATE_DIR, exist_ok=True)
    except OSError as error:
        raise DataDirUnusable(path=path, reason=error.strerror) from error


def make_private_file(path: Path) -> None:
    """Makes an empty file, closed to others, unless it is there."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, PRIVATE_FILE))
    except OSError as error:
        raise DataDirUnusable(path=path, reason=error.strerror) from error


@contextlib.contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Holds the lock on a file; whoever dies, by whatever means, has let it go."""
    make_private_file(path)
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
