"""A real Prometheus scrapes the service: it has our values, forgets what is gone, and takes our examples."""

import json
import shutil
import socket
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
from live import served
from plugbay.auth import create_token
from service_world import until

EXAMPLES = Path(__file__).parents[3] / "examples/prometheus"
CONFIG = """
global: {{scrape_interval: 1s}}
rule_files: ["{rules}"]
scrape_configs:
  - job_name: plugbay
    authorization: {{credentials_file: "{token}"}}
    static_configs: [{{targets: ["{target}"]}}]
"""
METRIC = {"metric_name": "shop_orders", "labels": {"shop": "a"}, "label_columns": ["country"]}

pytestmark = pytest.mark.skipif(
    not (shutil.which("prometheus") and shutil.which("promtool")), reason="prometheus is not installed"
)


class Prometheus:
    """A server that scrapes, asked over its API."""

    def __init__(self, address: str) -> None:
        self._address = address

    def is_ready(self) -> bool:
        try:
            return bool(self._read("/-/ready"))
        except OSError:
            return False

    def rules(self) -> list[dict[str, Any]]:
        groups = json.loads(self._read("/api/v1/rules"))["data"]["groups"]
        return [rule for group in groups for rule in group["rules"]]

    def ask(self, expression: str) -> list[dict[str, Any]]:
        """What an instant query answers."""
        return self._answer("/api/v1/query", {"query": expression})

    def ask_range(self, expression: str, start: float, end: float) -> list[dict[str, Any]]:
        return self._answer(
            "/api/v1/query_range", {"query": expression, "start": start, "end": end, "step": 1}
        )

    def values(self, expression: str, label: str) -> dict[str, float]:
        return {one["metric"].get(label, ""): float(one["value"][1]) for one in self.ask(expression)}

    def _answer(self, path: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
        answer = json.loads(self._read(f"{path}?{urlencode(parameters)}"))
        assert answer["status"] == "success", answer
        found: list[dict[str, Any]] = answer["data"]["result"]
        return found

    def _read(self, path: str) -> bytes:
        with urlopen(self._address + path, timeout=30) as response:
            return bytes(response.read())


@pytest.fixture(scope="module")
def prometheus(service: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Scrapes the service each second with a token for nothing else."""
    folder = tmp_path_factory.mktemp("prometheus")
    token = create_token(service.host.store, "viewer", "prometheus", scope="metrics")
    (folder / "token").write_text(token)
    with served(service.host.app, lifespan="off") as address:
        names = {"rules": EXAMPLES / "plugbay-rules.yml", "token": folder / "token"}
        target = address.removeprefix("http://")
        (folder / "prometheus.yml").write_text(CONFIG.format(target=target, **names))
        with running_prometheus(folder) as running:
            until(running.is_ready)
            yield running


@contextmanager
def running_prometheus(folder: Path) -> Iterator[Prometheus]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        listen = f"127.0.0.1:{free.getsockname()[1]}"
    command = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    process = subprocess.Popen([*command, f"--web.listen-address={listen}", "--log.level=error"])
    try:
        yield Prometheus(f"http://{listen}")
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="module")
def orders(service: Any) -> dict[str, Any]:
    """A query with two series, and a table behind it."""
    write(service, "CREATE TABLE by_country(country, n); INSERT INTO by_country VALUES ('de', 7), ('fr', 5)")
    made: dict[str, Any] = service.create("SELECT country, n FROM by_country", metrics=[METRIC])
    service.run(made["id"])
    return made


def write(service: Any, sql: str) -> None:
    with closing(sqlite3.connect(service.shop)) as connection, connection:
        connection.executescript(sql)


def test_it_has_our_values_and_is_rid_of_a_row_when_it_is_gone(service, prometheus, orders):
    until(lambda: prometheus.values("shop_orders", "country") == {"de": 7.0, "fr": 5.0})
    assert prometheus.values('up{job="plugbay"}', "job") == {"plugbay": 1.0}
    (found,) = prometheus.ask("sum by (shop) (shop_orders)")
    assert (found["metric"], found["value"][1]) == ({"shop": "a"}, "12")
    write(service, "DELETE FROM by_country WHERE country = 'fr'; UPDATE by_country SET n = 8")
    service.run(orders["id"])
    until(lambda: prometheus.values("shop_orders", "country") == {"de": 8.0})
    end = prometheus.ask("timestamp(shop_orders)")[0]["value"][0]
    seen = {
        one["metric"]["country"]: [float(value) for _, value in one["values"]]
        for one in prometheus.ask_range("shop_orders", end - 60, end)
    }
    assert (seen["de"][0], seen["de"][-1], set(seen["fr"])) == (7.0, 8.0, {5.0})
    assert len(seen["fr"]) < len(seen["de"])


def test_hostile_labels_are_read_as_they_were_written(service, prometheus):
    sql = """SELECT 'a"b\\c' || char(10) || 'd 🎈' || char(13) AS x, 1 AS n
             UNION ALL SELECT 'NUL' || char(0) || 'end', 2 UNION ALL SELECT NULL, 3"""
    metric = {"metric_name": "hostile", "labels": {"q": '"\\'}, "label_columns": ["x"]}
    service.run(service.create(sql, metrics=[metric])["id"])
    expected = {'a"b\\c\nd 🎈\r': 1.0, "NUL\ufffdend": 2.0, "": 3.0}
    until(lambda: prometheus.values("hostile", "x") == expected)
    assert list(prometheus.values("hostile", "q")) == ['"\\']


def test_promtool_finds_nothing_to_say_about_our_text(service, orders):
    total = {"metric_name": "shop_orders_total", "labels": {}, "type": "counter", "help": "All orders."}
    service.run(service.create("SELECT 12", metrics=[total])["id"])
    text = service.viewer.get("/metrics").content
    found = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (0, b"", b"")


def test_promtool_takes_the_rules_and_the_configuration(tmp_path):
    for name in ("plugbay-rules.yml", "prometheus.yml"):
        shutil.copy(EXAMPLES / name, tmp_path)
    (tmp_path / "plugbay.token").write_text("x")
    for kind, name in (("rules", "plugbay-rules.yml"), ("config", "prometheus.yml")):
        found = subprocess.run(
            ["promtool", "check", kind, tmp_path / name], capture_output=True, text=True, check=False
        )
        assert found.returncode == 0, found.stderr
        assert "SUCCESS" in found.stdout


def expressions() -> list[tuple[str, str]]:
    panels = json.loads((EXAMPLES / "grafana-dashboard.json").read_text())["panels"]
    return [(panel["title"], target["expr"]) for panel in panels for target in panel["targets"]]


# what is empty while all goes well, and rates, which need more than one scrape in five minutes
MAY_BE_EMPTY = {"Queries that need a look"}


@pytest.mark.parametrize(("title", "expression"), expressions())
def test_each_panel_of_the_dashboard_has_an_answer(service, prometheus, orders, title, expression):
    asked = expression.replace("$metric", "shop_orders")
    if title in MAY_BE_EMPTY:
        prometheus.ask(asked)
    else:
        until(lambda: prometheus.ask(asked))


def test_every_metric_of_the_examples_is_one_of_ours(service, prometheus, orders):
    text = (EXAMPLES / "plugbay-rules.yml").read_text() + (EXAMPLES / "grafana-dashboard.json").read_text()
    published = service.viewer.get("/metrics").text
    for name in {word for word in text.replace("{", " ").split() if word.startswith("plugbay_")}:
        family = name.strip("\"'()[],").partition("[")[0]
        assert f"# TYPE {family} " in published or "." in family, family


def test_the_rules_of_the_examples_are_evaluated(prometheus, orders):
    rules = prometheus.rules()
    assert {rule["name"] for rule in rules} >= {"PlugbayQueryFailing", "PlugbayMetricProblem"}
    assert [rule["lastError"] for rule in rules if rule.get("lastError")] == []
