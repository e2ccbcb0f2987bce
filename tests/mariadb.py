"""A throw-away MariaDB for one test session, from the `mariadbd` on the PATH.

It runs as an unprivileged user, with a data directory and a socket of its own, and takes no network
connections; `root` has no password.
"""

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql
import sqlalchemy as sa

START_LIMIT_S = 240  # a cold start on a busy machine
LOOK_AGAIN_S = 0.05  # mariadbd says "ready" only to systemd
# nothing of it need outlive a power cut
THROWN_AWAY = ["--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync"]
THROWN_AWAY += ["--skip-innodb-doublewrite", "--sync-frm=OFF"]


def is_installed() -> bool:
    return None not in (shutil.which("mariadbd"), shutil.which("mariadb-install-db"))


@contextlib.contextmanager
def server() -> Iterator[str]:
    home = Path(tempfile.mkdtemp(prefix="my-"))  # short: a Unix socket's path has at most 107 bytes
    who: dict[str, Any] = {}
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.chown(home, nobody.pw_uid, nobody.pw_gid)
        who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    try:
        _install(home, who)
        with _running(home, who):
            yield f"mysql+pymysql://root@localhost/mysql?unix_socket={home / 'socket'}"
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextlib.contextmanager
def database(server_url: str) -> Iterator[str]:
    """An empty database on the server, gone afterwards with whatever is still connected to it."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    with connect(server_url) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
    yield sa.make_url(server_url).set(database=name).render_as_string(hide_password=False)
    with connect(server_url) as connection, connection.cursor() as cursor:
        _end_sessions(cursor, name)
        cursor.execute(f"DROP DATABASE {name}")


def connect(url: str) -> "pymysql.Connection[Any]":
    """A plain connection of the driver, with autocommit on, to what a URL of this file names."""
    parts = sa.make_url(url)
    where = (
        {"unix_socket": parts.query["unix_socket"]}
        if "unix_socket" in parts.query
        else {"host": parts.host, "port": parts.port or 3306}
    )
    return pymysql.connect(
        user=parts.username,
        password=parts.password or "",
        database=parts.database,
        autocommit=True,
        ssl_disabled=True,  # else the machine's certificates are read each time, for 50 ms
        **where,
    )


def _install(home: Path, who: dict[str, Any]) -> None:
    command = ["mariadb-install-db", "--no-defaults", f"--datadir={home / 'data'}"]
    command += ["--auth-root-authentication-method=normal", "--skip-test-db", "--innodb-log-file-size=8M"]
    command += THROWN_AWAY
    subprocess.run(command, check=True, cwd=home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **who)


@contextlib.contextmanager
def _running(home: Path, who: dict[str, Any]) -> Iterator[None]:
    command = ["mariadbd", "--no-defaults", f"--datadir={home / 'data'}", f"--socket={home / 'socket'}"]
    command += ["--skip-networking", f"--pid-file={home / 'pid'}", f"--log-error={home / 'log'}"]
    command += ["--innodb-log-file-size=8M", "--character-set-server=utf8mb4", "--max-connections=500"]
    command += ["--innodb-buffer-pool-size=64M", *THROWN_AWAY]
    process = subprocess.Popen(command, cwd=home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **who)
    try:
        _await_ready(process, home)
        yield
    finally:
        process.terminate()
        process.wait(START_LIMIT_S)


def _await_ready(process: "subprocess.Popen[bytes]", home: Path) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    while not _listens(home / "socket"):
        gone = process.poll() is not None or time.monotonic() > deadline
        assert not gone, (home / "log").read_text()
        time.sleep(LOOK_AGAIN_S)


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


def _end_sessions(cursor: Any, database_name: str) -> None:
    cursor.execute("SELECT id FROM information_schema.processlist WHERE db = %s", (database_name,))
    for (session,) in cursor.fetchall():
        with contextlib.suppress(pymysql.err.OperationalError):  # it may have ended by itself
            cursor.execute(f"KILL {session}")
