"""History over all queries, and what changed between two executions, over HTTP."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Response
from plugbay import CurrentUser
from plugbay.web import PLAIN
from pydantic import BaseModel, Field

from plugbay_scheduled_query.core.diff import compare
from plugbay_scheduled_query.core.model import Execution
from plugbay_scheduled_query.core.paging import MAX_ID, MAX_SEARCH, paginate
from plugbay_scheduled_query.repository.history import HistoryFilter
from plugbay_scheduled_query.web.api.history import DateFrom, DateTo, StatusFilter, filter_of
from plugbay_scheduled_query.web.api.json_text import exact_json, execution_facts, json_response
from plugbay_scheduled_query.web.api.requests import (
    FIRST_PAGE,
    NO_EXECUTION,
    PREFIX,
    USUAL_LIMIT,
    Limit,
    Page,
    refusals,
    storable,
)
from plugbay_scheduled_query.web.api.schemas import HistoryFacts, Pagination, QueryInfo
from plugbay_scheduled_query.web.dependencies import Parts, ServiceParts

Name = Annotated[str, Query(max_length=MAX_SEARCH, description="A part of the names of queries.")]
Side = Annotated[int, Field(ge=1, le=MAX_ID), PLAIN, Query(description="The id of a history item.")]

router = APIRouter(prefix=PREFIX, tags=["History"])


class OverallItem(HistoryFacts):
    """One execution without its result, and of which query."""

    query_info: QueryInfo


class OverallPage(BaseModel):
    """Executions of all queries."""

    data: list[OverallItem]
    pagination: Pagination


class ChangedCell(BaseModel):
    """A cell that has another value now."""

    column: str
    before: Any
    after: Any


class ChangedRow(BaseModel):
    """A row with other cells; `more` counts those that are not listed."""

    key: Any = Field(description="What names it; null where there is but one row.")
    cells: list[ChangedCell]
    more: int


class ChangedRows(BaseModel):
    """Each kind is listed up to a limit, and counted in full."""

    added: list[list[Any]]
    removed: list[list[Any]]
    changed: list[ChangedRow]
    added_count: int
    removed_count: int
    changed_count: int
    key_column: str | None


class DiffAnswer(BaseModel):
    """What changed from the older to the newer."""

    before: int
    after: int
    columns_added: list[str]
    columns_removed: list[str]
    rows: ChangedRows
    is_partial: bool = Field(description="One of the results has more rows than are compared.")
    compared: int = Field(description="Rows, on the side that has more of them.")


@router.get(
    "/executions", summary="History of all queries", response_model=OverallPage, responses=refusals(429)
)
async def executions(
    parts: ServiceParts,
    user: CurrentUser,
    page: Page = FIRST_PAGE,
    limit: Limit = USUAL_LIMIT,
    status_filter: StatusFilter = "all",
    date_from: DateFrom = None,
    date_to: DateTo = None,
    query: Name = "",
) -> Response:
    """Executions, newest first, without their results."""
    wanted = filter_of(status_filter, date_from, date_to)
    return await parts.doors.overviews.run(user.name, _page_of, parts, wanted, page, limit, query)


@router.get(
    "/executions/diff",
    summary="Compare two executions",
    response_model=DiffAnswer,
    responses=refusals(404, 429),
)
async def diff(parts: ServiceParts, user: CurrentUser, before: Side, after: Side) -> Response:
    """What changed from the result of the older one to that of the newer; both are of one query."""
    return await parts.doors.diffs.run(user.name, _difference, parts, before, after)


def _page_of(parts: Parts, wanted: HistoryFilter, page: int, limit: int, name: str) -> Response:
    found, total = parts.overview.page(wanted, min((page - 1) * limit, MAX_ID), limit, name.strip())
    data = [
        execution_facts(one.execution)
        | {"query_info": {"id": one.execution.scheduled_query_id, "name": one.query_name}}
        for one in found
    ]
    return json_response({"data": data, "pagination": paginate(page, limit, total).as_json()})


def _difference(parts: Parts, before_id: int, after_id: int) -> Response:
    before, after = sorted(
        (_with_result(parts, one) for one in (before_id, after_id)), key=lambda one: (one.executed_at, one.id)
    )
    if before.scheduled_query_id != after.scheduled_query_id:
        raise HTTPException(404, "These executions are of two different queries.")
    found = compare(before.result_key, before.result or "[]", after.result_key, after.result or "[]")
    answer = {"before": before.id, "after": after.id, **asdict(found)}
    return Response(exact_json(answer), media_type="application/json")


def _with_result(parts: Parts, execution_id: int) -> Execution:
    execution = parts.histories.get(storable(execution_id, NO_EXECUTION))
    if execution is None or parts.definitions.name_of(execution.scheduled_query_id) is None:
        raise HTTPException(404, NO_EXECUTION)
    if execution.result is None:
        raise HTTPException(404, f"The execution {execution_id} has no result.")
    return execution
