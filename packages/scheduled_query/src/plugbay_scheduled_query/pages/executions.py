"""One execution with its whole result, and what changed between two of them."""

from itertools import islice
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response

from plugbay_scheduled_query.core.diff import compare
from plugbay_scheduled_query.core.model import Execution, Query
from plugbay_scheduled_query.core.result_text import iter_rows
from plugbay_scheduled_query.pages.list_view import page_number
from plugbay_scheduled_query.pages.site import HOME, PREFIX, Site, number

ROWS = 200  # of a result on a page
NO_EXECUTION = "There is no such execution. It may have been removed from the history."


def execution_routes(site: Site) -> APIRouter:
    router = APIRouter()

    @router.get("/execution/{execution_id}")
    def show(request: Request, execution_id: str) -> Response:
        execution, query = _found(site, execution_id)
        context = _rows(execution, page_number(request.query_params))
        context |= {"execution": execution, "query": query, "crumbs": crumbs(query), "topic": "history"}
        return site.page(request, "execution", context)

    @router.get("/diff")
    def diff(request: Request) -> Response:
        before, query = _found(site, request.query_params.get("before", ""))
        after, other = _found(site, request.query_params.get("after", ""))
        if query.id != other.id:
            raise HTTPException(404, "These executions are of two different queries.")
        if before.executed_at > after.executed_at:
            before, after = after, before
        context = {"before": before, "after": after, "query": query, "crumbs": crumbs(query)}
        return site.page(request, "diff", {**context, "topic": "history", "diff": _difference(before, after)})

    return router


def crumbs(query: Query) -> tuple[tuple[str, str], ...]:
    """The way from the list to a page below a query."""
    return (HOME, (query.name, f"{PREFIX}/query/{query.id}"))


def _found(site: Site, execution_id: str) -> tuple[Execution, Query]:
    execution = site.parts.histories.get(number(execution_id, NO_EXECUTION))
    if execution is None:
        raise HTTPException(404, NO_EXECUTION)
    return execution, site.query(str(execution.scheduled_query_id))


def _rows(execution: Execution, page: int) -> dict[str, Any]:
    if execution.result is None:
        return {"rows": [], "row_count": 0, "page": 1, "pages": 0, "limit": ROWS}
    count = sum(1 for _ in iter_rows(execution.result))
    pages = -(-count // ROWS)
    page = max(1, min(page, pages))
    rows = list(islice(iter_rows(execution.result), (page - 1) * ROWS, page * ROWS))
    return {"rows": rows, "row_count": count, "page": page, "pages": pages, "limit": ROWS}


def _difference(before: Execution, after: Execution) -> Any:
    if before.result is None or after.result is None:
        return None
    return compare(before.result_key, before.result, after.result_key, after.result)
