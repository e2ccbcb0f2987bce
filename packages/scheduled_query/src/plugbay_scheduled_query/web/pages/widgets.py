"""Results as cards, each by its render type; on a wall display they fill the screen."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from plugbay_scheduled_query.core.model import Query
from plugbay_scheduled_query.repository.overview import Latest
from plugbay_scheduled_query.web.pages.charts import Chart, Shown, ready
from plugbay_scheduled_query.web.pages.listing import list_view, queries_in_view
from plugbay_scheduled_query.web.pages.site import PREFIX, UNCHANGED, CurrentSite, Site, list_fingerprint

WIDGETS = f"{PREFIX}/results-widgets"
LIMIT = 60  # cards on a page
SHORT_TEXT = 160  # characters that fit into a small card
LONG_TEXT = 600  # characters from which on a text gets twice the height
WIDE_COLUMNS = 4  # from so many on, a table gets twice the width
TALL_ROWS = 3  # and from so many on, twice the height

router = APIRouter(prefix=PREFIX, include_in_schema=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A card as it is drawn: the result of a query, or a text."""

    id: str  # of the element
    size: str  # its classes
    query: Query | None = None
    latest: Latest | None = None
    shown: Shown | None = None
    values: Sequence[float | None] = ()  # of its sparkline
    over_time: Chart | None = None  # instead of the result
    problem: str = ""  # why there is nothing to show, beside what the query says
    text: str = ""


@router.get("/results-widgets")
def widgets(site: CurrentSite) -> Response:
    """The cards, on a page or as a wall display."""
    page = widgets_page(site)
    context = {**page, **cards(site, page["queries"]), "topic": "widgets"}
    return site.page("wall" if page["is_full"] else "widgets", context)


@router.get("/widgets")
def live(site: CurrentSite) -> Response:
    """The cards alone, once one of them changed."""
    page = widgets_page(site)
    if site.has_seen(page["seen"]):
        return Response(status_code=UNCHANGED)
    return site.page("widgets_live", page | cards(site, page["queries"]))


def widgets_page(site: Site) -> dict[str, Any]:
    """A page of queries."""
    view, queries, total = queries_in_view(site, list_view(site.asked, LIMIT))
    alarms = site.parts.alerts.states.alarming([query.id for query in queries])
    listing = view.listing
    return {
        "view": view,
        "queries": queries,
        "alarms": alarms,
        "sources": site.parts.catalogue.all(),
        "total": total,
        "pages": -(-total // view.limit),
        "is_full": site.asked.get("full") == "1",
        "seen": list_fingerprint(queries, site.parts.clock.now(), total, alarms),
        "wall_title": ": ".join(filter(None, (site.parts.host.config.app_name, listing.search, listing.tag))),
        "wall_part": "scheduled_query/widgets_live.html.j2",
        "wall_back": WIDGETS,
    }


def cards(site: Site, queries: Sequence[Query]) -> dict[str, Any]:
    """Their latest results, each made ready to be shown."""
    made = ready(site.parts.overview, queries)
    found = ((query, *made.get(query.id, (None, None))) for query in queries)
    return {"tiles": [_tile(query, latest, one) for query, latest, one in found]}


def _tile(query: Query, latest: Latest | None, made: Shown | None) -> Tile:
    return Tile(
        id=f"card-{query.id}",
        size=size(made),
        query=query,
        latest=latest,
        shown=made,
        values=query.recent_values,
    )


def size(made: Shown | None) -> str:
    """How much room a card takes, by what is in it: wide, tall, both or neither."""
    if made is None or made.rendered.kind == "counter":
        return ""
    if made.drawing:
        return "sq-wide sq-tall"
    if made.rendered.kind == "raw":
        is_wide, is_tall = len(made.rendered.text) >= SHORT_TEXT, len(made.rendered.text) >= LONG_TEXT
    else:
        is_wide, is_tall = len(made.rendered.columns) >= WIDE_COLUMNS, len(made.rendered.rows) >= TALL_ROWS
    return f"{'sq-wide' if is_wide else ''} {'sq-tall' if is_tall else ''}".strip()
