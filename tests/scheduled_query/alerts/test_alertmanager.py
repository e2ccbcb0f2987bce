"""A real Alertmanager is told: what fires, that it still does, and that it is over."""

import json
import shutil
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from plugbay_scheduled_query.core.model import MetricConfig
from scheduled_query.alerts.conftest import PUBLIC_URL, Watch
from service_world import until

PROGRAM = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
CONFIG = "route:\n  receiver: nobody\nreceivers:\n  - name: nobody\n"

pytestmark = pytest.mark.parametrize("store", ["sqlite"], indirect=True)


@pytest.fixture(scope="module")
def alertmanager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its address, host and port."""
    if PROGRAM is None:
        pytest.skip("no prometheus-alertmanager on the PATH")
    folder: Path = tmp_path_factory.mktemp("alertmanager")
    (folder / "config.yml").write_text(CONFIG)
    with socket.create_server(("127.0.0.1", 0)) as found:
        address = f"127.0.0.1:{found.getsockname()[1]}"
    options = [f"--config.file={folder / 'config.yml'}", f"--storage.path={folder / 'data'}"]
    options += [f"--web.listen-address={address}", "--cluster.listen-address="]
    with subprocess.Popen([PROGRAM, *options], stderr=subprocess.DEVNULL) as process:
        try:
            until(lambda: _is_ready(address))
            yield address
        finally:
            process.terminate()


def _is_ready(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{address}/-/ready"):
            return True
    except OSError:
        return False


@pytest.fixture
def shown(alertmanager: str) -> Callable[[str], list[dict[str, Any]]]:
    """The alerts of a name as Alertmanager shows them."""

    def read(name: str) -> list[dict[str, Any]]:
        with urllib.request.urlopen(f"http://{alertmanager}/api/v2/alerts") as answer:
            found = json.load(answer)
        return [alert for alert in found if alert["labels"]["alertname"] == name]

    return read


def test_it_shows_what_fires_with_its_labels_until_it_is_resolved(
    watch: Watch, alertmanager: str, shown: Callable[[str], list[dict[str, Any]]]
):
    watch.clock.jump(-60)  # Alertmanager has a clock of its own, and does not believe in an end to come
    watch.channel("am", f"alertmanager://{alertmanager}")
    metric = MetricConfig("shop_orders", {"shop": "eu", "severity": "of no matter"})
    query = watch.add_query("Orders", metrics=(metric,))
    alert = watch.alert(query, name="Too many", severity="critical")
    watch.record(query, 11)
    watch.deliver()
    (found,) = shown("Too many")
    assert found["labels"] == {
        "alertname": "Too many",
        "severity": "critical",
        "query": "Orders",
        "query_id": str(query.id),
        "alert_id": str(alert.id),
        "shop": "eu",
    }
    assert found["generatorURL"] == f"{PUBLIC_URL}/scheduled_query/query/{query.id}"
    assert "The value is 11" in found["annotations"]["description"]
    assert found["status"]["state"] == "active"
    watch.record(query, 1)
    watch.deliver()
    assert shown("Too many") == []  # one that has ended is no longer shown


def test_it_is_told_again_each_minute_so_that_it_does_not_forget(
    watch: Watch, alertmanager: str, shown: Callable[[str], list[dict[str, Any]]]
):
    watch.channel("am", f"alertmanager://{alertmanager}")
    query = watch.add_query()
    watch.alert(query, name="Lasting")
    watch.record(query, 11)
    watch.deliver()
    before = shown("Lasting")[0]
    watch.node.refresh()
    watch.node.wait()
    after = shown("Lasting")[0]
    assert _moment(after["updatedAt"]) > _moment(before["updatedAt"])
    assert after["startsAt"] == before["startsAt"]
    assert len(shown("Lasting")) == 1


def test_what_is_muted_is_not_told_again(
    watch: Watch, alertmanager: str, shown: Callable[[str], list[dict[str, Any]]]
):
    watch.channel("am", f"alertmanager://{alertmanager}")
    query = watch.add_query()
    alert = watch.alert(query, name="Muted")
    watch.alerts.mute(alert.id, 60)
    watch.record(query, 11)
    watch.deliver()
    watch.node.refresh()
    watch.node.wait()
    assert shown("Muted") == []


def test_the_test_of_a_channel_says_whether_it_answers(watch: Watch, alertmanager: str):
    assert watch.node.test(watch.channel("am", f"alertmanager://{alertmanager}")) is None
    wrong = watch.channel("wrong", f"alertmanager://{alertmanager}/elsewhere")
    assert watch.node.test(wrong) == "Alertmanager answered 404"
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    gone = watch.channel("gone", f"alertmanager://someone:hunter2@127.0.0.1:{port}")
    assert watch.node.test(gone) == "Alertmanager cannot be reached: Connection refused"


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
