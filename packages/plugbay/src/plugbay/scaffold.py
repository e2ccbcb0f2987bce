"""`plugbay plugin new`: a small plugin that works as it is written."""

from pathlib import Path

from plugbay.discovery import NAME_RULE, is_valid_name
from plugbay.errors import OperatorError


class BadPluginName(OperatorError):
    """{name!r} cannot be a plugin's name: {rule}."""


class FolderExists(OperatorError):
    """{folder} already exists; nothing was written."""


PLUGIN = '''"""{title}: a Plugbay plugin."""

from fastapi import APIRouter, Request, Response
from plugbay import BaseModule, Plugbay
from pydantic import BaseModel, Field


class Settings(BaseModel):
    """Set on the plugin's settings page, or by {variable}."""

    greeting: str = Field("Hello", min_length=1, max_length=80, description="What the page says.")


class {class_name}(BaseModule):
    module_name = "{name}"
    module_version = "0.1.0"
    module_menu_name = "{title}"
    module_menu_icon = "fas fa-hand"
    module_settings = Settings

    def on_load(self) -> None:
        self.module_router = APIRouter()
        self.module_router.add_api_route("/", self.index, methods=["GET"])

    def on_load_complete(self, fast_pluggy: Plugbay) -> None:
        self.host = fast_pluggy

    def index(self, request: Request) -> Response:
        context = {{"greeting": self.module_settings.greeting}}
        return self.host.templates.response(request, "{name}/index.html.j2", context)
'''

PAGE = """{{% extends "plugbay/base.html.j2" %}}
{{% block title %}}{title}{{% endblock %}}
{{% block body %}}
<div class="card card-body">
  <p class="h2 m-0">{{{{ greeting }}}}, {{{{ user.name }}}}!</p>
</div>
{{% endblock %}}
"""

TEST = '''"""Run with: pytest {folder}"""

from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from plugbay import Plugbay


@pytest.fixture
def client(tmp_path: Path):
    app = FastAPI()
    config = {{"data_dir": tmp_path, "admin_password": "only for this test"}}
    Plugbay(app, app_root_dir=tmp_path, path_plugins=Path(__file__).parents[1], config=config)
    with TestClient(app, follow_redirects=False) as client:
        yield client


def test_the_page_greets_who_is_logged_in(client: TestClient):
    page = client.get("/{name}/", auth=("admin", "only for this test"))
    assert page.status_code == 200
    assert "Hello, admin!" in page.text


def test_a_stranger_is_sent_to_the_login(client: TestClient):
    assert client.get("/{name}/").headers["location"].startswith("/login")
'''


def write_plugin(name: str, into: Path) -> Path:
    """Writes the folder `into/name` and returns it."""
    if not is_valid_name(name):
        raise BadPluginName(name=name, rule=NAME_RULE)
    folder = into / name
    if folder.exists():
        raise FolderExists(folder=folder)
    words = name.split("_")
    facts = {
        "name": name,
        "title": " ".join(words).capitalize(),
        "class_name": "".join(word.capitalize() for word in words) + "Plugin",
        "variable": f"{name.upper()}_GREETING",
        "folder": folder,
    }
    (folder / "templates" / name).mkdir(parents=True)
    (folder / "plugin.py").write_text(PLUGIN.format(**facts), encoding="utf-8")
    (folder / "templates" / name / "index.html.j2").write_text(PAGE.format(**facts), encoding="utf-8")
    (folder / f"test_{name}.py").write_text(TEST.format(**facts), encoding="utf-8")
    return folder
