from collections.abc import Callable
from pathlib import Path
from typing import Any

import plugbay_ui_tools
import pytest
from fakes import FakeClock
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from plugbay_ui_tools.toolbox import FILTERS, Toolbox
from starlette.datastructures import QueryParams

TEMPLATES = Path(plugbay_ui_tools.__file__).parent / "templates"
IMPORT = '{% import "ui_tools/macros.html.j2" as ui with context %}'


class Page:
    """What the macros ask of a request."""

    def __init__(self, query: str = "") -> None:
        self.query_params = QueryParams(query)


@pytest.fixture
def env(clock: FakeClock) -> Environment:
    """The templates of ui_tools with its filters; a name that nobody set is an error."""
    made = Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        loader=FileSystemLoader(TEMPLATES),
    )
    made.filters.update(FILTERS)
    made.globals["ui_tools"] = Toolbox(clock)
    return made


@pytest.fixture
def show(env: Environment) -> Callable[..., str]:
    """Renders a line of a template that has imported the macros as `ui`."""

    def render(source: str, *, query: str = "", **context: Any) -> str:
        page = {"request": Page(query), "csrf_token": "token", "url": lambda path: path}
        return env.from_string(IMPORT + source).render(page | context)

    return render
