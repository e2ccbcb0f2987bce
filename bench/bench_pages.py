"""How long the pages take, and how large they are, with 1,000 and 10,000 queries and 600,000 executions."""

import gzip
import os
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import sqlalchemy as sa

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from plugbay import SystemClock  # noqa: E402
from plugbay.store import Store, open_store  # noqa: E402
from plugbay_scheduled_query import tables  # noqa: E402
from plugbay_scheduled_query.core.draft import Draft  # noqa: E402
from plugbay_scheduled_query.repository.definitions import Definitions  # noqa: E402
from servers import PASSWORD, serving  # noqa: E402

SIZES = (1_000, 10_000)
EXECUTIONS = 600_000  # of all queries, over as many days whatever their number
DAYS = 25
FAILING = 20  # every so many of them fail
LAST = EXECUTIONS // 25  # page of the dashboard's history
SINCE = datetime.now(UTC) - timedelta(days=20)
ROUNDS = 40
PATHS = {
    "list": "/scheduled_query/",
    "list, searched": "/scheduled_query/?search=orders+42",
    "list, last page by duration": "/scheduled_query/?sort=last_duration_ms&order=desc&page=20",
    "list, refresh without news": "seen:/scheduled_query/",
    "dashboard, refresh without news": "seen:/scheduled_query/dashboard",
    "query page": "/scheduled_query/query/1",
    "dashboard, 24 hours": "/scheduled_query/dashboard",
    "dashboard, 7 days": "/scheduled_query/dashboard?span=7d",
    "dashboard, 30 days": "/scheduled_query/dashboard?span=30d",
    "dashboard, middle page": f"/scheduled_query/dashboard?page={LAST // 2}",
    "dashboard, last page": f"/scheduled_query/dashboard?page={LAST}",
    "dashboard, failed": "/scheduled_query/dashboard?status=failed",
    "dashboard, by date": f"/scheduled_query/dashboard?date_from={SINCE:%Y-%m-%d}",
    "dashboard, by name": "/scheduled_query/dashboard?query=orders+42",
    "widgets": "/scheduled_query/results-widgets",
    "editor": "/scheduled_query/edit/1",
}


def main() -> None:
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder), size)


def measure(home: Path, size: int) -> None:
    # the samples bring the source that the many queries ask
    with serving(home, PLUGBAY_SAMPLES="true") as server:
        assert server.url
    fill(next(home.rglob("encryption.key")).parent, size)
    with (
        serving(home, PLUGBAY_SAMPLES="true") as server,
        httpx2.Client(base_url=server.url, auth=("admin", PASSWORD), timeout=60) as client,
    ):
        say(f"\n{size:>6,} queries: median to the first byte, 95 %, CPU of the server, size, gzipped")
        for name, path in PATHS.items():
            say(line(client, server.process.pid, name, path))


def fill(data_dir: Path, size: int) -> None:
    store = open_store("", data_dir)
    definitions, made = Definitions(store, SystemClock()), []
    for number in range(size):
        sql = f"SELECT count(*) AS orders FROM orders WHERE country = 'c{number}'"
        fields = {"cron_schedule": f"{number % 60} {number % 24} * * *", "data_source": "samples"}
        draft = Draft(name=f"Orders {number}", query=sql, **fields)
        made.append(definitions.create(draft, 1, "bench", "UTC").id)
    live(store, made)
    store.close()


def live(store: Store, query_ids: list[int]) -> None:
    """Gives each query a past, recorded in the order of time."""
    rounds = EXECUTIONS // len(query_ids)
    step, began = timedelta(days=DAYS) / EXECUTIONS, datetime.now(UTC) - timedelta(days=DAYS)
    one = {"columns": '["orders"]', "text": "[[42]]", "row_count": 1}
    with store.begin() as connection:
        texts = [{"id": 10**6 + query_id, "query_id": query_id, **one} for query_id in query_ids]
        connection.execute(sa.insert(tables.results), texts)
        for number in range(1, rounds + 1):
            first = began + step * len(query_ids) * (number - 1)
            rows = [execution(query_id, number, first + step * n) for n, query_id in enumerate(query_ids)]
            connection.execute(sa.insert(tables.history), rows)
        failed, now = rounds // FAILING, datetime.now(UTC)
        ends = {"last_number": rounds, "last_failed": failed, "last_success": rounds - failed}
        ends |= {"last_executed": now, "last_status": "success", "last_duration_ms": 5, "changed_at": now}
        ends["last_result_id"] = 10**6 + tables.states.c.query_id
        connection.execute(sa.update(tables.states).where(tables.states.c.last_number == 0).values(ends))


def execution(query_id: int, number: int, moment: datetime) -> dict[str, Any]:
    failed = number % FAILING == 0
    return {
        "query_id": query_id,
        "number": number,
        "status_number": number // FAILING if failed else number - number // FAILING,
        "executed_at": moment,
        "due_at": moment - timedelta(milliseconds=50),
        "duration_ms": 5,
        "status": "failed" if failed else "success",
        "error_message": "no such table: orders" if failed else None,
        "result_id": None if failed else 10**6 + query_id,
        "trigger": "schedule",
    }


def line(client: httpx2.Client, server: int, name: str, path: str) -> str:
    client.headers.pop("X-Seen", None)
    if path.startswith("seen:"):
        page = client.get(path.removeprefix("seen:")).text.partition('id="live" data-live data-seen="')[2]
        client.headers["X-Seen"], _, rest = page.partition('"')
        path = rest.partition('hx-get="')[2].partition('"')[0].replace("&amp;", "&")
    body = client.get(path).raise_for_status().content
    busy = cpu_ms(server)
    times = sorted(once(client, path) for _ in range(ROUNDS))
    busy = (cpu_ms(server) - busy) / ROUNDS
    median, high = statistics.median(times), times[int(ROUNDS * 0.95) - 1]
    sizes = f"{len(body) / 1000:7.1f} kB{len(gzip.compress(body)) / 1000:7.1f} kB"
    return f"{name:<30}{median:8.1f} ms{high:8.1f} ms{busy:8.1f} ms{sizes}"


def once(client: httpx2.Client, path: str) -> float:
    """Milliseconds to the first byte."""
    begin = time.perf_counter()
    with client.stream("GET", path) as answer:
        next(answer.iter_raw(1), None)
        return (time.perf_counter() - begin) * 1000


def cpu_ms(process: int) -> float:
    """What a process has used so far: on a shared machine this says more than the clock."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
