"""The examples are run as a newcomer would run them."""

import importlib.util
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType

import httpx2
import pytest
import yaml
from fastapi.testclient import TestClient

EXAMPLES = Path(__file__).parents[1] / "examples"
PASSWORD = "correct horse battery staple"


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Copies an example to a place of its own and imports its application."""
    monkeypatch.setenv("PLUGBAY_ADMIN_PASSWORD", PASSWORD)
    monkeypatch.delenv("SCHEDULED_QUERY_SOURCES", raising=False)

    def import_app(name: str) -> ModuleType:
        folder = tmp_path / name
        shutil.copytree(EXAMPLES / name, folder, ignore=shutil.ignore_patterns("data", "*.db", "__pycache__"))
        spec = importlib.util.spec_from_file_location(f"example_{name}", folder / "app.py")
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules.pop(f"example_{name}", None)
        return module

    return import_app


def log_in(client: TestClient) -> str:
    client.post("/login", data={"username": "admin", "password": PASSWORD, "next": "/account"})
    return client.get("/account").text.split('name="csrf-token" content="')[1].split('"')[0]


def test_the_plain_application_keeps_its_page_and_shows_its_plugin(load):
    with TestClient(load("plain_app").app, follow_redirects=True) as client:
        assert "belongs to the application" in client.get("/").json()["message"]
        token = log_in(client)
        page = client.post("/notes/", data={"text": "<b>milk</b>", "csrf_token": token})
        assert "&lt;b&gt;milk&lt;/b&gt;" in page.text
        assert "Your note is kept." in page.text
        assert "notes_total 1" in client.get("/metrics").text


def test_the_monitored_shop_is_watched_and_cannot_be_changed(load):
    with TestClient(load("monitor_app").app) as client:
        client.auth = ("admin", PASSWORD)
        client.post("/orders", params={"total": 12.5}, auth=httpx2.USE_CLIENT_DEFAULT)
        query = {
            "name": "Orders",
            "query": "SELECT COUNT(*), SUM(total) FROM orders",
            "cron_schedule": "0 * * * *",
        }
        made = client.post("/api/scheduled-queries", json=query)
        assert made.status_code == 201
        ran = client.post(f"/api/run-now/{made.json()['id']}", params={"wait": 60}).json()
        assert (ran["status"], ran["execution"]["result"]) == ("success", "[[1,12.5]]")
        harmful = client.post(
            "/api/scheduled-queries", json=query | {"query": "INSERT INTO orders VALUES (2, 1)"}
        )
        assert harmful.status_code == 422


def test_the_composition_sets_what_there_is_and_starts_what_there_is():
    text = (EXAMPLES / "scale_out" / "compose.yaml").read_text()
    services = yaml.safe_load(text)["services"]
    documented = (EXAMPLES.parent / "docs" / "settings.md").read_text()
    variables = {name for service in services.values() for name in service.get("environment", {})}
    ours = {name for name in variables if name.startswith(("PLUGBAY_", "TASK_WORKER_", "SCHEDULED_QUERY_"))}
    assert {"PLUGBAY_DATABASE_URL", "PLUGBAY_ENCRYPTION_KEY", "TASK_WORKER_SERVER_WORKS"} <= ours
    assert [name for name in sorted(ours) if f"`{name}`" not in documented] == []
    assert services["worker"]["command"] == ["plugbay", "worker"]
    needed = set(re.findall(r"\$\{(\w+):\?\}", text))
    example = (EXAMPLES / "scale_out" / ".env.example").read_text()
    assert needed == set(re.findall(r"^(\w+)=$", example, re.MULTILINE))
