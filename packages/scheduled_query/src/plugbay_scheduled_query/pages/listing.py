"""The list of queries: the page, and the parts of it that refresh by themselves."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from plugbay_scheduled_query.pages.list_view import ListView, list_view
from plugbay_scheduled_query.pages.news import mark, mark_of, mark_of_all
from plugbay_scheduled_query.pages.site import UNCHANGED, Site, has_seen

MOST_SOURCES = 4  # shown with how full they are; the fullest first


def listing_routes(site: Site) -> APIRouter:
    router = APIRouter()

    @router.get("/")
    def queries(request: Request) -> Response:
        view = list_view(request.query_params)
        return site.page(request, "list", {**list_context(site, view), "topic": "list", "crumbs": ()})

    @router.get("/rows")
    def rows(request: Request) -> Response:
        context = list_context(site, list_view(request.query_params))
        if has_seen(request, context["seen"]):
            return Response(status_code=UNCHANGED)
        return site.page(request, "list_live", {**context, "is_refresh": True})

    @router.get("/row/{query_id}")
    def row(request: Request, query_id: str) -> Response:
        context = row_context(site, query_id)
        if has_seen(request, mark_of(context["query"], site.parts.clock.now())):
            return Response(status_code=UNCHANGED)
        return site.page(request, "row", context)

    return router


def list_context(site: Site, view: ListView) -> dict[str, Any]:
    """One page of the list and the counters above it."""
    definitions, glances = site.parts.definitions, site.parts.glances
    queries, total = definitions.page(view.listing, view.offset, view.limit)
    if not queries and total:
        view = view.within(total)
        queries, total = definitions.page(view.listing, view.offset, view.limit)
    counts = definitions.counts() | {"running": glances.running()}
    levels, sources, next_due = fill_levels(site), site.parts.book.all(), glances.next_due()
    counters = mark(counts, next_due, [f"{name} {level.fill_then:.3f}" for name, level in levels])
    return {
        "view": view,
        "sources": sources,
        "queries": queries,
        "total": total,
        "pages": -(-total // view.limit),
        "counts": counts,
        "next_due": next_due,
        "levels": levels[:MOST_SOURCES],
        "under_way": glances.under_way([query.id for query in queries if query.running]),
        "timeout": site.parts.settings().query_timeout,
        "counters_mark": counters,
        "seen": mark_of_all(queries, site.parts.clock.now(), total, counters),
    }


def row_context(site: Site, query_id: str) -> dict[str, Any]:
    """One row of the list."""
    query = site.query(query_id)
    under_way = site.parts.glances.under_way([query.id] if query.running else [])
    return {
        "query": query,
        "under_way": under_way,
        "timeout": site.parts.settings().query_timeout,
    }


def fill_levels(site: Site) -> list[tuple[str, Any]]:
    """How full each source is, the fullest first."""
    levels: Mapping[str, Any] = site.parts.capacities.by_source()
    return sorted(levels.items(), key=lambda item: -item[1].fill_then)
