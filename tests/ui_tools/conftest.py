from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import plugbay_ui_tools
import pytest
from fakes import FakeClock
from fastapi import FastAPI
from fastapi.testclient import TestClient
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from plugbay import Plugbay
from plugbay.plugins.discovery import find_installed
from plugbay_ui_tools.filters import FILTERS
from plugbay_ui_tools.macros import Toolbox
from starlette.datastructures import QueryParams

TEMPLATES = Path(plugbay_ui_tools.__file__).parent / "templates"
PASSWORD = "correct horse battery staple"
IMPORT = '{% import "ui_tools/macros.html.j2" as ui with context %}'


class Page:
    """What the macros ask of a request."""

    def __init__(self, query: str = "") -> None:
        self.query_params = QueryParams(query)


@pytest.fixture(scope="session")
def env() -> Environment:
    """The templates of ui_tools with its filters; a name that nobody set is an error."""
    made = Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        loader=FileSystemLoader(TEMPLATES),
    )
    made.filters.update(FILTERS)
    made.globals["ui_tools"] = Toolbox(FakeClock())
    return made


@pytest.fixture(scope="session")
def show(env: Environment) -> Callable[..., str]:
    """Renders a line of a template that has imported the macros as `ui`."""

    def render(source: str, *, query: str = "", **context: Any) -> str:
        page = {"request": Page(query), "csrf_token": "token", "url": lambda path: path}
        return env.from_string(IMPORT + source).render(page | context)

    return render


@pytest.fixture(scope="package")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plugbay]:
    """A running host with just this one plugin, found as an installed package."""
    home = tmp_path_factory.mktemp("home")
    only = [source for source in find_installed() if source.name == "ui_tools"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("plugbay.plugins.manager.find_installed", lambda: only)
        config = {"data_dir": home / "data", "admin_password": PASSWORD}
        made = Plugbay(FastAPI(), home, config=config, clock=FakeClock())
    with TestClient(made.app):
        yield made
