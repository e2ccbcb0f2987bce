"""The gallery: each tool with realistic data beside the lines that make it."""

import math
import random
from datetime import date, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse
from plugbay import Plugbay, require_role
from plugbay.web import host_of

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
QUARTER_OF_AN_HOUR = 900  # seconds
MESSAGE = (
    "could not connect to server: Connection refused\n"
    '\tIs the server running on host "10.0.0.7" and accepting TCP/IP connections on port 5432?\n'
    "The last 3 attempts failed after 5,000 ms each."
)
COLUMNS = ["id", "country", "orders", "revenue", "vip", "last_order", "note"]

router = APIRouter(include_in_schema=False, dependencies=[require_role("admin")])


CurrentHost = Annotated[Plugbay, Depends(host_of)]


@router.get("/")
def show_gallery(request: Request, host: CurrentHost) -> HTMLResponse:
    return host.templates.response(request, "ui_tools/gallery.html.j2", _context(host))


@router.get("/live")
def show_live_part(request: Request, host: CurrentHost) -> HTMLResponse:
    """The part of the gallery that refreshes itself."""
    return host.templates.response(request, "ui_tools/examples/live.html.j2", _context(host))


@router.post("/confirmed")
def show_confirmed(request: Request, host: CurrentHost) -> HTMLResponse:
    """Where the confirm dialog of the gallery leads."""
    return host.templates.response(request, "ui_tools/confirmed.html.j2")


def gallery_data(now: datetime) -> dict[str, Any]:
    """What the examples show."""
    noise = random.Random(7)  # noqa: S311 - a picture, not a secret
    count = 96
    start = int(now.timestamp()) // QUARTER_OF_AN_HOUR * QUARTER_OF_AN_HOUR - count * QUARTER_OF_AN_HOUR
    median = [_wave(index, noise) for index in range(count)]
    return {
        "now": now,
        "columns": COLUMNS,
        "rows": _rows(),
        "t": [start + index * QUARTER_OF_AN_HOUR for index in range(count)],
        "median": median,
        "p95": [round(value * 1.35 + 16 + noise.random() * 10) for value in median],
        "days": [start - (28 - index) * 86_400 for index in range(28)],
        "failed_runs": [round(noise.random() ** 6 * 600) for _ in range(28)],
        "runs": [round(1900 + noise.random() * 380 - (900 if index % 7 > 4 else 0)) for index in range(28)],
        "users": [1180 + round(90 * math.sin(index / 4)) + noise.randint(0, 40) for index in range(29)]
        + [1284],
        "failures": [14, 16, 12, 15, 11, 18, 22, 19, 17, 14, 12, 14, 23],
        "gaps": [3.1, 2.9, 3.3, 3.2, None, None, 3.4, 3.2, 4.1, 3.8, 3.0, 2.8, None, 3.0, 3.6, 3.3],
        "moments": [now - timedelta(seconds=seconds) for seconds in (5, 130, 1440, 79_200, 400_000)],
        "later": now + timedelta(seconds=272),
        "message": MESSAGE,
        "schema": {
            "sessions": ["id", "user_id", "seen_at"],
            "orders": ["id", "country", "total", "created_at"],
        },
    }


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


def _wave(index: int, noise: random.Random) -> int:
    peak = 95 if index in (33, 71) else 0
    return round(42 + 18 * math.sin(index / 9) + noise.random() * 14 + peak)


def _rows() -> list[list[Any]]:
    return [
        [10481, "Germany", 1284, "98412.50", True, date(2026, 11, 14), "largest market"],
        [10482, "France", 973, "71230.00", True, date(2026, 11, 15), None],
        [10483, "Spain", 641, "40118.25", False, date(2026, 11, 13), MESSAGE],
        [
            10484,
            "Italy",
            588,
            "37904.10",
            False,
            None,
            "prices include VAT since the change of the contract in spring; ask before comparing",
        ],
        [10485, "Poland", 402, None, None, date(2026, 10, 30), "<b>not bold</b> & not a tag"],
    ]
