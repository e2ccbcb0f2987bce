"""A program: several processes open one store and migrate it at the same moment.

Usage: migrate_together.py NUMBER URL FOLDER SCRIPTS; exits 0 when all of them did.
"""

import os
import sys
from pathlib import Path

import sqlalchemy as sa
from plugbay.store import migrate as _alembic_is_loaded_before_forking  # noqa: F401
from plugbay.store import open_store

for name in ("sqlite://", "postgresql+psycopg://"):
    sa.create_engine(name)  # and so are the drivers


def child(start: int, url: str, data_dir: Path, scripts: Path) -> None:
    os.read(start, 1)  # returns when the parent closes the other end
    store = open_store(url, data_dir)
    store.migrate("garden", scripts)
    store.close()


def main(number: int, url: str, data_dir: Path, scripts: Path) -> int:
    start, gun = os.pipe()
    children = []
    for _ in range(number):
        if (pid := os.fork()) == 0:
            os.close(gun)
            try:
                child(start, url, data_dir, scripts)
                os._exit(0)
            except BaseException as error:
                print(repr(error), file=sys.stderr)
                os._exit(1)
        children.append(pid)
    os.close(gun)
    return max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])))
