"""Settings: name, type, default, environment variable and meaning of each."""

import http.server
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from plugbay import Plugbay
from scheduled_query.pages.reading import read
from service_world import until
from specification.asking import details, history, samples, settings_of

PAGE = "/admin/base_module/scheduled_query/settings"
SETTINGS = [
    # name, type, default, as text elsewhere, as value elsewhere
    ("notification_on_run", bool, False, "true", True),
    ("forbidden_keywords", str, "drop,delete,truncate,alter", "grant,revoke", "grant,revoke"),
    ("interval", int, 30, "5", 5),
    ("enable_history", bool, True, "false", False),
    ("limit_history", int, -1, "100", 100),
    ("metrics_enabled", bool, True, "false", False),
]
each_setting = pytest.mark.parametrize(
    ("name", "kind", "default", "text", "value"), SETTINGS, ids=[row[0] for row in SETTINGS]
)


@pytest.fixture(scope="module")
def by_environment(quiet: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The settings of a host that finds them all in its environment."""
    with pytest.MonkeyPatch.context() as patch:
        for name, _, _, text, _ in SETTINGS:
            patch.setenv(f"SCHEDULED_QUERY_{name.upper()}", text)
        host = Plugbay(FastAPI(), tmp_path_factory.mktemp("environment"))
    module = host.get_module("scheduled_query")
    assert module
    yield module.module_settings
    host.modules.unload_all()
    host.store.close()


@each_setting
def test_setting_has_its_type_and_default(service, name, kind, default, text, value):
    current = getattr(settings_of(service), name)
    assert (type(current), current) == (kind, default)
    assert type(settings_of(service)).model_fields[name].annotation is kind


@each_setting
def test_setting_is_set_by_its_environment_variable(by_environment, name, kind, default, text, value):
    assert getattr(by_environment, name) == value


@each_setting
def test_setting_is_set_through_the_configuration_system(service, name, kind, default, text, value):
    assert service.admin.post(PAGE, data={name: text}).status_code == 303
    assert getattr(settings_of(service), name) == value
    assert service.admin.post(PAGE, data={"_reset": name}).status_code == 303
    assert getattr(settings_of(service), name) == default


# what each of them means


class Mailbox(http.server.BaseHTTPRequestHandler):
    """Takes whatever message is posted."""

    received: list[dict[str, Any]]

    def do_POST(self) -> None:
        self.received.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def mailbox() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a channel for notifications, and what arrived there."""
    Mailbox.received = []
    server = http.server.HTTPServer(("127.0.0.1", 0), Mailbox)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"json://127.0.0.1:{server.server_port}/?cto=60&rto=60", Mailbox.received
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated")  # by Apprise, while it is imported
@pytest.mark.parametrize("is_on", [True, False], ids=["true", "false"])
def test_notification_on_run_sends_a_notification_when_a_query_runs(service, mailbox, is_on):
    address, received = mailbox
    made = service.create("SELECT 'secret'", name="Nightly")
    with service.settings(notification_on_run=is_on, notification_urls=address):
        service.run(made["id"])
        if is_on:
            until(lambda: received)
        service.host.get_module("task_worker").engine.wait_idle()
    assert [message["title"] for message in received] == (["Nightly: success"] if is_on else [])
    assert "secret" not in json.dumps(received)


@pytest.mark.parametrize("word", ["drop", "delete", "truncate", "alter"])
def test_forbidden_keywords_blocks_each_word_of_its_list(service, word):
    given = {"name": "Bad", "query": f"{word} table orders", "cron_schedule": "* * * * *"}
    problem = service.editor.post("/api/scheduled-queries", json=given).json()["detail"][0]
    assert problem["loc"] == ["body", "query"]
    assert f"“{word}”" in problem["msg"]


def test_forbidden_keywords_takes_another_comma_separated_list(service):
    given = {"name": "Good", "query": "SELECT 'drop'", "cron_schedule": "0 0 1 1 *"}
    with service.settings(forbidden_keywords="region, total"):
        assert service.editor.post("/api/scheduled-queries", json=given).status_code == 201
        for column in ("region", "total"):
            bad = given | {"query": f"SELECT {column} FROM orders"}
            assert service.editor.post("/api/scheduled-queries", json=bad).status_code == 422


@pytest.mark.usefixtures("clean")
def test_interval_is_the_minimum_between_query_executions(service, next_minute, wait_s):
    three = [service.create(cron_schedule="* * * * *") for _ in range(3)]
    with service.settings(interval=7):
        next_minute()
        for _ in range(2):
            wait_s(6)
            wait_s(1)
    starts = sorted(history(service, query["id"])[0]["executed_at"][-2:] for query in three)
    assert starts == ["00", "07", "14"]


@pytest.mark.parametrize("is_on", [True, False], ids=["true", "false"])
def test_enable_history_records_execution_history(service, is_on):
    made = service.create()
    with service.settings(enable_history=is_on):
        service.run(made["id"])
    assert len(history(service, made["id"])) == is_on
    assert details(service, made["id"])["last_result"] == "[[1]]"


@pytest.mark.parametrize(("limit", "kept"), [(-1, 5), (3, 3), (0, 0)], ids=["unlimited", "three", "none"])
def test_limit_history_is_the_most_records_kept(service, limit, kept):
    made = service.create()
    with service.settings(limit_history=limit):
        ids = [service.run(made["id"])["execution"]["id"] for _ in range(5)]
    assert [item["id"] for item in history(service, made["id"])] == ids[::-1][:kept]


@pytest.mark.parametrize("is_on", [True, False], ids=["true", "false"])
def test_metrics_enabled_exports_metrics(service, is_on):
    name = f"settings_{is_on}".lower()
    made = service.create("SELECT 5", monitor_metric_config={"metric_name": name, "labels": {}})
    service.run(made["id"])
    with service.settings(metrics_enabled=is_on):
        assert (f"{name} 5.0" in samples(service, name)) is is_on


@each_setting
def test_setting_is_on_the_settings_page_of_the_plugin(service, name, kind, default, text, value):
    form = read(service.admin.get(PAGE).text).first("form", method="post").fields()
    shown = {"on": True, "true": True, "false": False}.get(form[name], form[name])
    assert str(shown) == str(default)
