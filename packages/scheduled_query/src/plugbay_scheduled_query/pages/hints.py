"""What the editor asks for while somebody types: Try it, next runs, the metric's line, tables."""

from collections import Counter
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import JSONResponse, Response
from plugbay import require_role

from plugbay_scheduled_query.core.draft import Refused
from plugbay_scheduled_query.core.draft_form import from_form
from plugbay_scheduled_query.core.metric import gauge_value
from plugbay_scheduled_query.core.result_text import iter_rows, preview
from plugbay_scheduled_query.execution import SourceProblem
from plugbay_scheduled_query.pages.drafting import metric_preview, upcoming
from plugbay_scheduled_query.pages.editing import form_page
from plugbay_scheduled_query.pages.result_view import forms
from plugbay_scheduled_query.pages.site import Site, Typed, is_part, number
from plugbay_scheduled_query.sources.dialects.session import Table
from plugbay_scheduled_query.sources.executor import Outcome

EDITOR = [require_role("editor")]
NO_SOURCE = "There is no such data source."


def hint_routes(site: Site) -> APIRouter:
    router = APIRouter()

    @router.post("/try")
    def try_it(request: Request, typed: Typed) -> Response:
        """Runs the text as it stands; without JavaScript the whole form comes back with the result in it."""
        tried = tried_context(site, typed)
        if is_part(request):
            return site.page(request, "tried", {"tried": tried})
        query = site.query(typed["query_id"]) if typed.get("query_id") else None
        return form_page(site, request, typed, query, tried=tried)

    @router.get("/next-runs", dependencies=EDITOR)
    def next_runs(request: Request, cron_schedule: str = "", timezone: str = "") -> Response:
        place = timezone.strip() or site.parts.settings().timezone
        found = upcoming(cron_schedule, place, site.parts.clock.now())
        return site.page(request, "next_runs", {"upcoming": found, "expression": cron_schedule})

    @router.post("/metric-line")
    def metric_line(request: Request, typed: Typed) -> Response:
        return site.page(request, "metric_line", {"metric": metric_preview(typed)})

    @router.get("/schema/{source_id}", dependencies=EDITOR)
    def schema(source_id: str) -> Response:
        """Tables and their columns, for the editor's completion."""
        try:
            found = site.parts.book.schema(number(source_id, NO_SOURCE))
        except SourceProblem as problem:
            raise HTTPException(409, str(problem)) from None
        return JSONResponse({"tables": completion(found.tables)})

    return router


def tried_context(site: Site, typed: dict[str, str]) -> dict[str, Any]:
    """What Try it shows: every form of the result, and the number that a metric would get."""
    outcome = site.parts.trying.run(from_form(typed))
    if isinstance(outcome, Refused):
        return {"errors": outcome.errors}
    if outcome.status != "success":
        return {"outcome": outcome}
    return {"outcome": outcome, **_result(outcome, typed)}


def completion(tables: list[Table]) -> dict[str, list[str]]:
    """Each table with its columns; a name that two schemas share is told apart by its schema."""
    times = Counter(table.name for table in tables)
    return {
        table.name if times[table.name] == 1 else f"{table.schema}.{table.name}": [
            column for column, _ in table.columns
        ]
        for table in tables
    }


def _result(outcome: Outcome, typed: dict[str, str]) -> dict[str, Any]:
    text = outcome.result_json or "[]"
    value = gauge_value(iter_rows(text))
    short = preview(text)
    made = forms(outcome.columns, short.text, short.is_whole)
    metric = metric_preview(typed, value) if value is not None else {}
    return {"forms": made, "value": value, "metric": metric, "is_whole": short.is_whole}
