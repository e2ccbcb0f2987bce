"""The template environment: the host's templates and those of the loaded modules."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fastapi import Request
from fastapi.responses import HTMLResponse, StreamingResponse
from jinja2 import BaseLoader, ChoiceLoader, Environment, FileSystemLoader

Table = Literal["filters", "globals"]

HOST_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class _Addition:
    owner: str
    table: Table
    name: str


class Templates:
    """Renders pages; everything is escaped, whatever a template's name ends with."""

    def __init__(self, page_context: Callable[[Request], Mapping[str, Any]]) -> None:
        self._page_context = page_context
        self._additions: list[_Addition] = []
        self.env = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
        self.set_loaders({})

    def set_loaders(self, loaders: Mapping[str, BaseLoader]) -> None:
        """Serves the host's templates and these, the host's first."""
        # a new loader object: Jinja keeps what an old one had loaded
        self.env.loader = ChoiceLoader([FileSystemLoader(HOST_TEMPLATES), *loaders.values()])

    def add_filter(self, owner: str, name: str, function: Callable[..., Any]) -> None:
        """A filter for all templates, taken back when its owner goes."""
        self._add("filters", owner, name, function)

    def add_global(self, owner: str, name: str, value: Any) -> None:
        """A name for all templates, taken back when its owner goes."""
        self._add("globals", owner, name, value)

    def remove_owner(self, owner: str) -> None:
        for addition in [item for item in self._additions if item.owner == owner]:
            getattr(self.env, addition.table).pop(addition.name, None)
            self._additions.remove(addition)

    def render(self, name: str, /, **context: Any) -> str:
        """The text of a template with just this context."""
        return self.env.get_template(name).render(context)

    def response(
        self,
        request: Request,
        name: str,
        context: Mapping[str, Any] | None = None,
        status_code: int = 200,
    ) -> HTMLResponse:
        """A page: the template with its context and all that every page needs."""
        page = {**self._page_context(request), **(context or {})}
        # half characters, as in a file's name or a plugin's error message, become question marks
        return HTMLResponse(self.render(name, **page).encode(errors="replace"), status_code)

    def stream(
        self, request: Request, name: str, context: Mapping[str, Any] | None = None
    ) -> StreamingResponse:
        """The same, sent as the template gets ahead: an iterator in the context may take its time."""
        page = {**self._page_context(request), **(context or {})}
        # both are named, or compression and proxies would hold the parts back until they have enough
        headers = {"content-encoding": "identity", "x-accel-buffering": "no"}
        return StreamingResponse(
            self.env.get_template(name).generate(page), headers=headers, media_type="text/html"
        )

    def _add(self, table: Table, owner: str, name: str, value: Any) -> None:
        values, addition = getattr(self.env, table), _Addition(owner, table, name)
        if addition not in self._additions:
            if name in values:
                holder = self._holder(table, name)
                raise ValueError(f"{owner} cannot add {name!r} to the templates: it belongs to {holder}")
            self._additions.append(addition)
        values[name] = value

    def _holder(self, table: Table, name: str) -> str:
        held = (item.owner for item in self._additions if (item.table, item.name) == (table, name))
        return next(held, "Jinja")
