"""Generated requests against the OpenAPI document, as each role and as nobody, with every check there is.

Not part of the tests: Schemathesis brings two dozen packages of its own, and takes minutes. `pip install
schemathesis` into any environment, and give the path of its program: `python bench/fuzz_api.py st`.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from servers import PASSWORD, PLUGBAY, Server

ROLES = ("admin", "editor", "viewer", "")
EXAMPLES = 30  # of each operation in the phases that generate
QUERIES = 3  # so that ids lead somewhere


def main() -> int:
    """The number of roles for which something was found."""
    program = sys.argv[1] if len(sys.argv) > 1 else "st"
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as server:
        url = server.url  # waits until it answers, and so until there is an admin
        tokens = {role: token(server, role) for role in ROLES if role}
        prepare(url, tokens["admin"])
        document = Path(folder) / "openapi.json"
        document.write_text(httpx2.get(f"{url}/openapi.json", headers=login(tokens["admin"])).text)
        return sum(fuzz(program, document, url, tokens.get(role)) != 0 for role in ROLES)


@contextmanager
def served(folder: Path) -> Iterator[Server]:
    """A server with one source that nobody can take away."""
    shop = folder / "shop.db"
    subprocess.run(["sqlite3", shop, "CREATE TABLE orders (region TEXT, total REAL)"], check=True)
    sources = json.dumps({"shop": f"sqlite:///{shop}"})
    variables = {"SCHEDULED_QUERY_SOURCES": sources, "SCHEDULED_QUERY_DEFAULT_DATA_SOURCE": "shop"}
    server = Server(folder, **variables)
    try:
        yield server
    finally:
        server.stop()


def token(server: Server, role: str) -> str:
    """A token of a user of that role."""
    if role != "admin":
        add = [PLUGBAY, "user", "add", role, "--role", role]
        subprocess.run(add, cwd=server.folder, input=f"{PASSWORD}\n", text=True, check=True)
    create = [PLUGBAY, "token", "create", "--user", role, "--name", "fuzz"]
    made = subprocess.run(create, cwd=server.folder, capture_output=True, text=True, check=True)
    return made.stdout.strip()


def prepare(url: str, admin: str) -> None:
    """Some queries that have run."""
    for number in range(QUERIES):
        query = {"name": f"Query {number}", "query": "SELECT 1 AS one", "cron_schedule": "@yearly"}
        made = httpx2.post(f"{url}/api/scheduled-queries", json=query, headers=login(admin)).json()
        httpx2.post(f"{url}/api/run-now/{made['id']}", headers=login(admin))


def login(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def fuzz(program: str, document: Path, url: str, token: str | None) -> int:
    """The exit status of Schemathesis."""
    header = ["-H", f"Authorization: Bearer {token}"] if token else []
    options = ["--checks", "all", "--continue-on-failure", "-n", str(EXAMPLES)]
    variables = {"SCHEMATHESIS_HOOKS": "fuzz_formats", "PYTHONPATH": str(Path(__file__).parent)}
    command = [program, "run", str(document), "--url", url, *header, *options]
    return subprocess.run(command, env={**os.environ, **variables}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
