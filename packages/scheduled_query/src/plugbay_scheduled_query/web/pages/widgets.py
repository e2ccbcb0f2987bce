"""Results as cards, each by its render type; on a wall display they fill the screen."""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from plugbay_scheduled_query.core.model import Query
from plugbay_scheduled_query.web.pages.charts import Shown, shown
from plugbay_scheduled_query.web.pages.listing import list_view
from plugbay_scheduled_query.web.pages.site import UNCHANGED, Site, has_seen, mark_of_all

LIMIT = 60
SHORT_TEXT = 160  # characters that fit into a small card
LONG_TEXT = 600  # characters from which on a text gets twice the height
WIDE_COLUMNS = 4  # from so many on, a table gets twice the width
TALL_ROWS = 3  # and from so many on, twice the height


def widget_routes(site: Site) -> APIRouter:
    router = APIRouter()

    @router.get("/results-widgets")
    def widgets(request: Request) -> Response:
        is_full = request.query_params.get("full") == "1"
        page = widgets_page(site, request)
        context = {**page, **cards(site, page["queries"]), "topic": "widgets"}
        return site.page(request, "wall" if is_full else "widgets", context)

    @router.get("/widgets")
    def live(request: Request) -> Response:
        page = widgets_page(site, request)
        if has_seen(request, page["seen"]):
            return Response(status_code=UNCHANGED)
        return site.page(request, "widgets_live", page | cards(site, page["queries"]))

    return router


def widgets_page(site: Site, request: Request) -> dict[str, Any]:
    """A page of queries."""
    view = list_view(request.query_params, LIMIT)
    queries, total = site.parts.definitions.page(view.listing, view.offset, view.limit)
    if not queries and total:
        view = view.within(total)
        queries, total = site.parts.definitions.page(view.listing, view.offset, view.limit)
    return {
        "view": view,
        "queries": queries,
        "sources": site.parts.catalogue.all(),
        "total": total,
        "pages": -(-total // view.limit),
        "is_full": request.query_params.get("full") == "1",
        "seen": mark_of_all(queries, site.parts.clock.now(), total),
    }


def cards(site: Site, queries: Sequence[Query]) -> dict[str, Any]:
    """Their latest results, each made ready to be shown."""
    latest = site.parts.overview.latest([query.id for query in queries])
    made = [(query, latest.get(query.id), shown(query, latest.get(query.id))) for query in queries]
    return {"cards": [(query, found, ready, size(ready)) for query, found, ready in made]}


def size(made: Shown | None) -> str:
    """How much room a card takes, by what is in it: `wide`, `tall`, both or neither."""
    if made is None or made.rendered.kind == "counter":
        return ""
    if made.rendered.kind == "raw":
        is_wide, is_tall = len(made.rendered.text) >= SHORT_TEXT, len(made.rendered.text) >= LONG_TEXT
    else:
        is_wide, is_tall = len(made.rendered.columns) >= WIDE_COLUMNS, len(made.rendered.rows) >= TALL_ROWS
    return f"{'wide' if is_wide else ''} {'tall' if is_tall else ''}".strip()
