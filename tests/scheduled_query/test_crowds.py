"""A crowd that asks for much at once, on a real server: it is told so, and the others do not notice.

The slow things of each test go on while the next one looks: all of them at once hold up nobody either.
"""

import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx2
import postgres
import pytest
from plugbay import SystemClock
from plugbay.auth import add_user, create_token
from plugbay.store import open_store
from plugbay_scheduled_query.core.diff import MAX_CELLS
from plugbay_scheduled_query.core.model import Outcome, Status
from plugbay_scheduled_query.repository.claims import Claims
from plugbay_scheduled_query.repository.pruning import Keeping
from plugbay_scheduled_query.repository.recording import Recording
from plugbay_scheduled_query.web.doors import LOOKS, RUNS_BY_HAND, TRIES
from servers import NO_TLS, PASSWORD, START_S, Server
from service_world import until
from silent_server import silent

SLEEPS = "SELECT pg_sleep(240)"  # lets the machine rest, unlike a query that counts to infinity
LONG_S = 250  # seconds that the slow ones may take: none ends while a test looks
COLUMNS = 80  # of a long result, beside the one that names its rows
MOST_FOR_A_DIFF = 100_000_000  # bytes beyond what the server had before; as values, its numbers take 180 MB


class World:
    """One server, and people with a token each."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self._clients: list[httpx2.Client] = []
        self._threads: list[threading.Thread] = []
        assert server.url
        self._store = open_store("", folder / "data")
        self.admin = self.person("admin")

    def person(self, name: str, role: str = "editor") -> httpx2.Client:
        if name != "admin":
            add_user(self._store, name, PASSWORD, role)
        token = create_token(self._store, name, "crowd")
        headers = {"Authorization": f"Bearer {token}", "Accept": "text/html, application/json"}
        return self.client(headers=headers, limits=httpx2.Limits(max_connections=100))

    def client(self, **options: Any) -> httpx2.Client:
        client = httpx2.Client(base_url=self.server.url, timeout=START_S, **NO_TLS, **options)
        self._clients.append(client)
        return client

    def create(self, name: str, query: str, **fields: Any) -> int:
        given = {"name": name, "query": query, "cron_schedule": "0 0 1 1 *", "data_source": "shop", **fields}
        answer = self.admin.post("/api/scheduled-queries", json=given)
        assert answer.status_code == 201, answer.text
        query_id: int = answer.json()["id"]
        return query_id

    def record(self, query_id: int, columns: tuple[str, ...], text: str) -> None:
        """An execution of the past that brought this."""
        run, _ = Claims(self._store, SystemClock(), "a-node-of-the-test").start_now(query_id, "admin")
        assert run
        facts = {"columns": columns, "result_json": text, "row_count": 10_000, "preview": "[]"}
        outcome = Outcome(Status.SUCCESS, executed_at=SystemClock().now(), **facts)
        Recording(self._store).record([(run, outcome)], SystemClock().now(), Keeping())

    def begin(self, call: Callable[..., None], *args: Any) -> None:
        """A call in a thread that ends with this world."""
        self._threads.append(threading.Thread(target=call, args=args))
        self._threads[-1].start()

    def end(self) -> None:
        self.server.kill()  # what is slow would keep it from stopping
        for thread in self._threads:
            thread.join(START_S)
        for client in self._clients:
            client.close()
        self._store.close()

    def memory(self) -> int:
        """The most that the server ever had resident, in bytes."""
        status = Path(f"/proc/{self.server.process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, postgres_server: str) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("crowd")
    with closing(sqlite3.connect(folder / "shop.db")) as shop, shop:
        shop.execute("CREATE TABLE marks (mark INTEGER)")
        shop.execute("INSERT INTO marks VALUES (1)")
    with silent() as port, postgres.database(postgres_server) as postgres_url:
        urls = dict.fromkeys(("shop", "other"), f"sqlite:///{folder / 'shop.db'}")
        urls["mute"] = f"postgresql://reader@127.0.0.1:{port}/shop"
        urls["sleepy"] = postgres_url
        variables = {
            "SCHEDULED_QUERY_INTERVAL": "0",
            "SCHEDULED_QUERY_SOURCES": json.dumps(urls),
            "SCHEDULED_QUERY_ALLOWED_FUNCTIONS": "pg_sleep",
        }
        world = World(Server(folder, **variables), folder)
        yield world
        world.end()


@pytest.fixture(scope="module")
def bystander(world: World) -> Callable[[], None]:
    """Somebody else, who does what people do all day."""
    client = world.person("bystander")
    query_id = world.create("Quick", "SELECT 1 AS one", data_source="other")

    def looks_around() -> None:
        assert client.get("/readyz").status_code == 200
        assert "plugbay_scheduled_query_slots" in client.get("/metrics").text
        page = client.get("/scheduled_query/")
        assert page.status_code == 200
        style = page.text.partition('rel="stylesheet" href="')[2].partition('"')[0]
        assert client.get(style).status_code == 200
        assert client.get("/scheduled_query/dashboard").status_code == 200
        ran = client.post(f"/api/run-now/{query_id}", params={"wait": 60})
        assert ran.json()["status"] == "success", ran.text
        tried = client.post("/api/try", json={"query": "SELECT 1 AS one", "data_source": "other"})
        assert tried.json()["status"] == "success", tried.text

    return looks_around


class Crowd:
    """Requests that are sent at once; those that are refused come back, the others are under way."""

    def __init__(self, world: World, size: int, ask: Callable[[int], httpx2.Response]) -> None:
        self._ask = ask
        self._changed = threading.Condition()
        self.answers: list[httpx2.Response] = []
        for number in range(size):
            world.begin(self._send, number)

    def _send(self, number: int) -> None:
        try:
            answer = self._ask(number)
        except httpx2.TransportError:
            return  # the server is gone, and the test with it
        with self._changed:
            self.answers.append(answer)
            self._changed.notify_all()

    def answered(self, count: int) -> Counter[int]:
        """How the first answers were, once so many are there."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.answers) >= count, START_S), len(self.answers)
            return Counter(answer.status_code for answer in self.answers)

    def refusal(self) -> httpx2.Response:
        return next(answer for answer in self.answers if answer.status_code == 429)


def test_who_hangs_up_stops_what_they_tried_and_makes_room(world: World):
    fickle = world.person("fickle")
    slow = json.dumps({"query": SLEEPS, "data_source": "sleepy", "timeout": LONG_S})
    quick = {"query": "SELECT 1 AS one", "data_source": "shop"}
    headers = {"Authorization": fickle.headers["Authorization"], "Content-Type": "application/json"}
    calls = [HTTPConnection(fickle.base_url.host, fickle.base_url.port) for _ in range(TRIES.of_one)]
    for call in calls:
        call.request("POST", "/api/try", slow, headers)
    until(lambda: fickle.post("/api/try", json=quick).status_code == 429)
    for call in calls:
        call.close()
    until(lambda: fickle.post("/api/try", json=quick).status_code == 200)


def test_forty_five_tries_hold_up_nobody(world: World, bystander: Callable[[], None]):
    eager = world.person("eager")
    body = {"query": SLEEPS, "data_source": "sleepy", "timeout": LONG_S}
    crowd = Crowd(world, 45, lambda _: eager.post("/api/try", json=body))
    assert crowd.answered(45 - TRIES.of_one) == {429: 45 - TRIES.of_one}
    assert "tries" in crowd.refusal().json()["detail"]
    assert int(crowd.refusal().headers["retry-after"]) > 0
    bystander()
    assert len(crowd.answers) == 45 - TRIES.of_one  # the others are still being tried


def test_tries_of_many_people_leave_everything_else_alone(world: World, bystander: Callable[[], None]):
    people = [world.person(f"many {n}") for n in range(3)]
    body = {"query": SLEEPS, "data_source": "sleepy", "timeout": LONG_S}
    crowd = Crowd(world, 3 * TRIES.of_one, lambda n: people[n % 3].post("/api/try", json=body))
    assert crowd.answered(TRIES.of_one) == {429: TRIES.of_one}  # the eager one still has their share
    assert "room for 12 tries" in crowd.refusal().json()["detail"]
    with pytest.raises(KeyError):
        bystander()  # all but a try of their own, which is the last thing that they do


def test_a_page_that_is_refused_is_readable(world: World):
    session = world.client()
    session.post("/login", data={"username": "many 0", "password": PASSWORD})
    page = session.get("/scheduled_query/create", headers={"Accept": "text/html"})
    token = page.text.partition('name="csrf_token" value="')[2].partition('"')[0]
    typed = {"csrf_token": token, "query": "SELECT 1", "data_source": "shop"}
    refused = session.post("/scheduled_query/try", data=typed, headers={"Accept": "text/html"})
    assert refused.status_code == 429
    assert "Try again in a moment." in refused.text
    assert "<html" in refused.text
    for_htmx = session.post("/scheduled_query/try", data=typed, headers={"HX-Request": "true"})
    assert (for_htmx.status_code, "room" in for_htmx.json()["detail"]) == (429, True)


def test_forty_looks_into_a_silent_source_hold_up_nobody(world: World):
    sources = {item["name"]: item["id"] for item in world.admin.get("/api/data-sources").json()["data"]}
    curious = world.person("curious")
    crowd = Crowd(world, 40, lambda _: curious.get(f"/api/data-sources/{sources['mute']}/schema"))
    assert crowd.answered(40 - LOOKS.of_one) == {429: 40 - LOOKS.of_one}
    quick = world.create("Quick beside the mute", "SELECT 2 AS two", data_source="other")
    ran = world.admin.post(f"/api/run-now/{quick}", params={"wait": 60}).json()
    shop = next(
        item["id"] for item in world.admin.get("/api/data-sources").json()["data"] if item["name"] == "shop"
    )
    schema = world.admin.get(f"/api/data-sources/{shop}/schema")
    assert len(crowd.answers) == 40 - LOOKS.of_one  # the others still wait for the mute one
    assert ran["status"] == "success"
    assert schema.json()["tables"]


def test_twenty_long_runs_by_hand_leave_the_others_their_workers(world: World):
    hasty, other = world.person("hasty"), world.person("another")
    slow = [world.create(f"Slow {n}", SLEEPS, timeout=LONG_S, data_source="sleepy") for n in range(20)]
    crowd = Crowd(world, 20, lambda n: hasty.post(f"/api/run-now/{slow[n]}", params={"wait": 0}))
    assert crowd.answered(20) == {200: RUNS_BY_HAND.of_one, 429: 20 - RUNS_BY_HAND.of_one}
    assert "runs by hand" in crowd.refusal().json()["detail"]
    quick = world.create("Quick beside the slow", "SELECT 3 AS three", data_source="other")
    assert other.post(f"/api/run-now/{quick}", params={"wait": 60}).json()["status"] == "success"
    assert hasty.post(f"/api/run-now/{quick}", params={"wait": 60}).status_code == 429
    running = [item for item in slow if hasty.get(f"/api/scheduled-queries/{item}").json()["running"]]
    assert len(running) == RUNS_BY_HAND.of_one
    assert hasty.post(f"/api/run-now/{running[0]}", params={"wait": 0}).json()["status"] == "running"
    for item in running:
        assert hasty.post(f"/api/cancel/{item}").status_code == 202
    until(lambda: not hasty.get("/scheduled_query/?status=running").text.count("Slow "))
    assert hasty.post(f"/api/run-now/{quick}", params={"wait": 60}).json()["status"] == "success"


def test_a_diff_of_two_long_results_takes_little_memory(world: World):
    query_id = world.create("Big", "SELECT 1")
    columns = ("id", *(f"c{n}" for n in range(COLUMNS)))
    for mark in (1, 2):
        rows = [[n, *(n * mark + column / 8 for column in range(COLUMNS))] for n in range(10_000)]
        world.record(query_id, columns, json.dumps(rows, separators=(",", ":")))
    found = world.admin.get(f"/scheduled_query/query/{query_id}").text
    newest = int(found.partition("/scheduled_query/execution/")[2].partition('"')[0])
    before = world.memory()
    viewer = world.person("viewer", "viewer")
    page = viewer.get("/scheduled_query/diff", params={"before": newest - 1, "after": newest})
    assert world.memory() - before < MOST_FOR_A_DIFF
    assert "9,999 changed" in page.text
    assert f"and {COLUMNS - MAX_CELLS} more cells" in page.text
