"""What pages are made of: the template environment, and the static files of the host and of all plugins."""

import json
import mimetypes
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import HTTPException, Request
from fastapi.responses import FileResponse, HTMLResponse, Response, StreamingResponse
from jinja2 import BaseLoader, ChoiceLoader, Environment, FileSystemLoader
from markupsafe import Markup
from starlette.staticfiles import NotModifiedResponse

from plugbay.logs import get_logger
from plugbay.web.requests import from_host
from plugbay.web.routers import QuickRouter

Table = Literal["filters", "globals"]
HOST_TEMPLATES = Path(__file__).parents[1] / "templates"
HASHED_FOR = "public, max-age=31536000, immutable"  # a hashed name never changes its content
OTHERS_FOR = "no-cache"  # asked for anew each time, answered by 304
HASHED = re.compile(r"dist/[^/]+-[A-Z0-9]{8}\.\w+")
PACKED = {"br": ".br", "gzip": ".gz"}  # the build writes these beside a file; the first is the smaller one

log = get_logger(__name__)

static_router = QuickRouter(include_in_schema=False)


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
        self._header: tuple[tuple[str, str], ...] = ()  # owner and template
        # a plugin's templates are read anew when it is reloaded, and not looked at for each page
        self.env = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, auto_reload=False)
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

    def add_to_header(self, owner: str, template: str) -> None:
        """A template of an owner that stands in the header of every page, with the page's own context."""
        self._header = (*self._header, (owner, template))

    def remove_owner(self, owner: str) -> None:
        self._header = tuple(part for part in self._header if part[0] != owner)
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
        page = self._page(request, context)
        # half characters, as in a file's name or a plugin's error message, become question marks
        return HTMLResponse(self.render(name, **page).encode(errors="replace"), status_code)

    def stream(
        self, request: Request, name: str, context: Mapping[str, Any] | None = None
    ) -> StreamingResponse:
        """The same, sent as the template gets ahead: an iterator in the context may take its time."""
        page = self._page(request, context)
        # both are named, or compression and proxies would hold the parts back until they have enough
        headers = {"content-encoding": "identity", "x-accel-buffering": "no"}
        return StreamingResponse(
            self.env.get_template(name).generate(page), headers=headers, media_type="text/html"
        )

    def _page(self, request: Request, context: Mapping[str, Any] | None) -> dict[str, Any]:
        page = {**self._page_context(request), **(context or {})}
        page["header_parts"] = lambda: [self._header_part(*part, page) for part in self._header]
        return page

    def _header_part(self, owner: str, template: str, page: Mapping[str, Any]) -> Markup:
        try:
            return Markup(self.env.get_template(template).render(page))  # noqa: S704 - it was escaped there
        except Exception as error:  # a broken part of the header must not take every page with it
            log.warning("header_part_failed", owner=owner, template=template, reason=type(error).__name__)
            return Markup()

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


class StaticFiles:
    """Knows the static folder of each owner, and the hashed names in its `dist/`."""

    def __init__(self) -> None:
        self._folders: dict[str, Path] = {}
        self._manifests: dict[str, dict[str, str]] = {}

    def add(self, owner: str, folder: Path) -> None:
        manifest = folder / "dist" / "manifest.json"
        self._manifests[owner] = json.loads(manifest.read_text()) if manifest.is_file() else {}
        self._folders[owner] = folder.resolve()

    def remove_owner(self, owner: str) -> None:
        self._folders.pop(owner, None)
        self._manifests.pop(owner, None)

    def url(self, owner: str, path: str) -> str:
        """The path of a file under an owner's `static/` folder; `dist/app.css` by its built name."""
        folder, _, name = path.rpartition("/")
        if folder == "dist":
            path = f"dist/{self._manifests.get(owner, {}).get(name, name)}"
        return f"/static/{owner}/{path}"

    def asset(self, name: str, owner: str = "plugbay") -> str:
        """The path of a built file by its plain name: `app.css` → `/static/plugbay/dist/app-1A2B3C4D.css`."""
        return self.url(owner, f"dist/{name}")

    def find(self, owner: str, path: str) -> Path | None:
        """The file, if there is one below the owner's folder; a symlink out of it is not followed."""
        folder = self._folders.get(owner)
        if folder is None or "\0" in path or "/." in f"/{path}":  # what begins with a dot is private
            return None
        try:
            file = (folder / path).resolve()
            return file if file.is_relative_to(folder) and file.is_file() else None
        except (OSError, ValueError):
            return None


def packed(file: Path, accepted: str) -> tuple[Path, dict[str, str]]:
    """The file, or its compressed twin if the browser takes that, and the headers that say which."""
    tokens = [token.partition(";") for token in accepted.lower().replace(" ", "").split(",")]
    taken = {name for name, _, quality in tokens if quality not in ("q=0", "q=0.0")}
    twins = {name: file.with_name(file.name + ending) for name, ending in PACKED.items()}
    built = {name: twin for name, twin in twins.items() if twin.is_file()}
    headers = {"vary": "accept-encoding"} if built else {}
    for name, twin in built.items():
        if name in taken:
            return twin, {**headers, "content-encoding": name}
    return file, headers


@static_router.api_route("/static/{owner}/{path:path}", methods=["GET", "HEAD"], response_class=FileResponse)
def static_file(
    owner: str, path: str, request: Request, files: Annotated[StaticFiles, from_host("static")]
) -> Response:
    file = files.find(owner, path)
    if file is None:
        raise HTTPException(404)
    sent, headers = packed(file, request.headers.get("accept-encoding", ""))
    headers["cache-control"] = HASHED_FOR if HASHED.fullmatch(path) else OTHERS_FOR
    media_type = mimetypes.guess_type(file.name)[0]
    response = FileResponse(sent, headers=headers, media_type=media_type, stat_result=sent.stat())
    if request.headers.get("if-none-match") == response.headers["etag"]:
        return NotModifiedResponse(response.headers)
    return response
