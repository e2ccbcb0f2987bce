"""Results as cards, each by its render type; on a wall display they fill the screen."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from plugbay_scheduled_query.pages.list_view import fingerprint, list_view
from plugbay_scheduled_query.pages.result_view import Shown, shown
from plugbay_scheduled_query.pages.site import UNCHANGED, Site

LIMIT = 60
SHORT_TEXT = 160  # characters that fit into a small card
WIDE_COLUMNS = 4  # from so many on, a table gets twice the width


def widget_routes(site: Site) -> APIRouter:
    router = APIRouter()

    @router.get("/results-widgets")
    def widgets(request: Request) -> Response:
        is_full = request.query_params.get("full") == "1"
        context = {**widgets_context(site, request), "sources": site.parts.book.all(), "topic": "widgets"}
        return site.page(request, "wall" if is_full else "widgets", context)

    @router.get("/widgets")
    def live(request: Request) -> Response:
        context = widgets_context(site, request)
        if context["seen"] == request.query_params.get("seen"):
            return Response(status_code=UNCHANGED)
        return site.page(request, "widgets_live", context)

    return router


def widgets_context(site: Site, request: Request) -> dict[str, Any]:
    """A page of queries with their latest results."""
    view = list_view(request.query_params, LIMIT)
    queries, total = site.parts.definitions.page(view.listing, view.offset, view.limit)
    latest = site.parts.glances.latest([query.id for query in queries])
    cards = [(query, latest.get(query.id), shown(query, latest.get(query.id))) for query in queries]
    return {
        "view": view,
        "cards": [(query, found, made, size(made)) for query, found, made in cards],
        "total": total,
        "pages": -(-total // view.limit),
        "is_full": request.query_params.get("full") == "1",
        "seen": fingerprint(queries, total),
    }


def size(made: Shown | None) -> str:
    """How much room a card takes: by what is in it."""
    if made is None or made.rendered.kind == "counter":
        return "small"
    if made.rendered.kind == "raw":
        return "small" if len(made.rendered.text) < SHORT_TEXT else "wide"
    return "wide" if len(made.rendered.columns) >= WIDE_COLUMNS else "medium"
