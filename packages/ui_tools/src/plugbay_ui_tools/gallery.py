"""The gallery: each tool with realistic data beside the lines that make it."""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from plugbay import Plugbay, require_role

from plugbay_ui_tools.gallery_data import gallery_data

IMPORT_LINE = '{% import "ui_tools/macros.html.j2" as ui with context %}\n'
EXAMPLES = {
    "counter": ("Counter", "A large number, how it moved since the last one, and its recent course."),
    "status": ("Status and badge", "A state as a coloured pill with a word; a short label."),
    "table": ("Table", "Cells by type: numbers, NULL, booleans, dates, long text. Click a column to sort."),
    "pagination": ("Pagination", "Keeps the other parameters of the address."),
    "filters": ("Filter bar", "A plain form above a list; choices and dates apply at once."),
    "chart": ("Chart", "A time series; drag to zoom, double click to go back."),
    "bars": ("Bar chart", "The same, as bars; those of several series stand on each other."),
    "sparkline": ("Sparkline", "Drawn on the server, for a cell of a table."),
    "times": ("Times", "Relative times stay current; hover for the exact one."),
    "formats": ("Numbers, bytes, durations", "Filters for everything that is counted or measured."),
    "cron": ("Schedule in words", "What a cron expression means, beside the expression."),
    "progress": ("Progress", "How far something is, or that it is under way."),
    "sql": ("SQL editor", "Colours and formats by dialect, completes from a schema, stays a form field."),
    "raw": ("Raw text", "As it is, with a button that copies it."),
    "copy": ("Copy button", "Copies a text or what stands in another element."),
    "confirm": ("Confirm dialog", "Asks before it posts; works without JavaScript."),
    "toast": ("Toast", "A message in the corner, from a button or from a response."),
    "empty": ("Empty state", "Says what to do next."),
}


def gallery_router(host: Callable[[], Plugbay]) -> APIRouter:
    """The pages of the gallery, for administrators."""
    router = APIRouter(include_in_schema=False, dependencies=[require_role("admin")])

    @router.get("/", response_class=HTMLResponse)
    def gallery(request: Request) -> HTMLResponse:
        return host().templates.response(request, "ui_tools/gallery.html.j2", _context(host()))

    @router.get("/live", response_class=HTMLResponse)
    def live(request: Request) -> HTMLResponse:
        """The part of the gallery that refreshes itself."""
        return host().templates.response(request, "ui_tools/examples/live.html.j2", _context(host()))

    @router.post("/confirmed", response_class=HTMLResponse)
    def confirmed(request: Request) -> HTMLResponse:
        """Where the confirm dialog of the gallery leads."""
        return host().templates.response(request, "ui_tools/confirmed.html.j2")

    return router


def _context(host: Plugbay) -> dict[str, Any]:
    examples = [
        {"name": name, "title": title, "text": text, "source": _source(host, name)}
        for name, (title, text) in EXAMPLES.items()
    ]
    return {"examples": examples, **gallery_data(host.clock.now())}


def _source(host: Plugbay, name: str) -> str:
    """The lines of an example without the import, which the page shows once."""
    env = host.templates.env
    assert env.loader
    source, _, _ = env.loader.get_source(env, f"ui_tools/examples/{name}.html.j2")
    return source.removeprefix(IMPORT_LINE).strip()
