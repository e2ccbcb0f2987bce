"""Two servers on one PostgreSQL store: the same metrics, each message once, and a store that goes away."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import postgres
import pytest
from cryptography.fernet import Fernet
from receivers import Receiver, running
from servers import NO_TLS, PASSWORD, START_S, Server, serving
from service_world import until

ABOVE = {"kind": "value", "op": ">", "value": 10, "column": "n", "rows": "any"}


class Node:
    """A server, as somebody with a password asks it."""

    def __init__(self, server: Server) -> None:
        self._url = server.url

    def ask(self, method: str, path: str, body: object = None) -> httpx2.Response:
        login = ("admin", PASSWORD)
        return httpx2.request(method, self._url + path, json=body, auth=login, timeout=START_S, **NO_TLS)

    def post(self, path: str, body: object = None) -> Any:
        answer = self.ask("POST", path, body)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    @property
    def orders(self) -> list[str]:
        """The lines of the metric, as they stand on /metrics."""
        text = self.ask("GET", "/metrics").text
        return [line for line in text.splitlines() if line.startswith("orders{")]


@dataclass
class World:
    """Two nodes, the store that they share, what they ask, and who is told."""

    first: Node
    second: Node
    store: postgres.Cluster
    shop: Path
    receiver: Receiver
    query: int = 0

    def sell(self, **regions: int) -> None:
        """What the shop has from now on."""
        with closing(sqlite3.connect(self.shop)) as shop, shop:
            shop.execute("DELETE FROM orders")
            shop.executemany("INSERT INTO orders VALUES (?, ?)", regions.items())

    def run(self, node: Node) -> dict[str, Any]:
        found: dict[str, Any] = node.post(f"/api/run-now/{self.query}")
        return found


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("nodes")
    with closing(sqlite3.connect(folder / "shop.db")) as shop, shop:
        shop.execute("CREATE TABLE orders (region TEXT, n INTEGER)")
    keys = {
        "PLUGBAY_ENCRYPTION_KEY": Fernet.generate_key().decode(),
        "PLUGBAY_SESSION_SECRET_KEY": "k" * 32,
    }
    with postgres.cluster() as store, running(Receiver()) as receiver:
        variables = {**keys, "PLUGBAY_DATABASE_URL": store.url, "SCHEDULED_QUERY_INTERVAL": "0"}
        one, two = (("--data-dir", str(folder / name)) for name in ("one", "two"))
        with serving(folder, *one, **variables) as first, serving(folder, *two, **variables) as second:
            world = World(Node(first), Node(second), store, folder / "shop.db", receiver)
            _furnish(world)
            yield world


def _furnish(world: World) -> None:
    node = world.first
    node.post("/api/data-sources", {"name": "shop", "url": f"sqlite:///{world.shop}"})
    metric = {"metric_name": "orders", "label_columns": ["region"], "value_column": "n"}
    query = {"name": "Orders", "query": "SELECT region, n FROM orders", "cron_schedule": "0 0 1 1 *"}
    made = node.post("/api/scheduled-queries", {**query, "data_source": "shop", "metrics": [metric]})
    world.query = made["id"]
    node.post("/api/channels", {"name": "ops", "url": world.receiver.url, "is_default": True})
    node.post("/api/alerts", {"query_id": world.query, "name": "many", "condition": ABOVE})


def test_both_show_the_same_series_from_the_next_scrape_on(world: World):
    for sold in ({"eu": 1, "us": 2}, {"us": 3}, {"us": 3, "apac": 4}):
        world.sell(**sold)
        world.run(world.first)
        expected = [f'orders{{region="{region}"}} {count}.0' for region, count in sold.items()]
        assert sorted(world.first.orders) == sorted(expected)
        assert sorted(world.second.orders) == sorted(expected)


def test_a_message_is_sent_once_whoever_recorded_it(world: World):
    world.receiver.received.clear()
    world.sell(eu=50)
    world.run(world.first)
    world.sell(eu=1)
    world.run(world.second)
    until(lambda: len(world.receiver.received) >= 2)
    assert [_kind(title) for title in world.receiver.titles] == ["fired", "resolved"]
    events = world.second.ask("GET", "/api/alert-events").json()["data"]
    assert all(one["status"] == "sent" for event in events for one in event["deliveries"])


def test_a_store_that_was_away_loses_nothing_and_nothing_is_told_twice(world: World):
    world.receiver.received.clear()
    world.sell(eu=99)
    world.store.stop()
    try:
        for node in (world.first, world.second):
            answer = node.ask("POST", f"/api/run-now/{world.query}", {})
            assert answer.status_code == 503, answer.text
            assert node.ask("GET", "/readyz").status_code == 503
    finally:
        world.store.start()
    until(lambda: world.first.ask("GET", "/readyz").status_code == 200)
    until(lambda: world.second.ask("POST", f"/api/run-now/{world.query}").status_code == 200)
    until(lambda: world.receiver.received)
    world.sell(eu=1)
    world.run(world.first)
    until(lambda: len(world.receiver.received) >= 2)
    assert [_kind(title) for title in world.receiver.titles] == ["fired", "resolved"]
    assert world.first.orders == world.second.orders == ['orders{region="eu"} 1.0']


def _kind(title: str) -> str:
    return "resolved" if "resolved" in title.lower() else "fired"
