"""History over HTTP: pages of it, written row by row from what is stored, and single executions."""

from collections.abc import Callable, Iterator, Sequence
from json.encoder import encode_basestring as quoted
from typing import Annotated, Any, Literal

from anyio.to_thread import run_sync
from fastapi import APIRouter, HTTPException, Query, Response
from plugbay import CurrentUser

from plugbay_scheduled_query.core.model import Execution
from plugbay_scheduled_query.core.paging import BadParameter, paginate, period
from plugbay_scheduled_query.core.text import format_utc
from plugbay_scheduled_query.repository.history import HistoryFilter, HistoryRow, HistoryRows, StoredTime
from plugbay_scheduled_query.web.api.json_text import NO_ROWS, PIECE, execution_pieces, json_stream, to_json
from plugbay_scheduled_query.web.api.requests import (
    FIRST_PAGE,
    NO_EXECUTION,
    NO_QUERY,
    PREFIX,
    USUAL_LIMIT,
    ExecutionId,
    Limit,
    Page,
    QueryId,
    refusals,
    refused_parameter,
    storable,
)
from plugbay_scheduled_query.web.api.results import CSV, csv_download, json_download
from plugbay_scheduled_query.web.api.schemas import ExecutionDetails, HistoryPage, Moment, ResultAnswer
from plugbay_scheduled_query.web.dependencies import Parts, ServiceParts

SECONDS = len("YYYY-MM-DD HH:MM:SS")
_DATE = "YYYY-MM-DD (the whole day) or YYYY-MM-DD HH:MM:SS, in UTC."

StatusFilter = Annotated[Literal["all", "success", "failed", "timeout"], Query()]
DateFrom = Annotated[Moment | None, Query(description=f"No earlier: {_DATE}", examples=["2026-11-01"])]
DateTo = Annotated[Moment | None, Query(description=f"No later: {_DATE}", examples=["2026-11-30"])]
Download = Callable[[str, Sequence[str], str], Response]

router = APIRouter(prefix=PREFIX, tags=["History"])


@router.get(
    "/execution-history/{query_id}",
    summary="History of a query",
    response_model=HistoryPage,
    responses=refusals(404, 429),
)
async def execution_history(
    parts: ServiceParts,
    user: CurrentUser,
    query_id: QueryId,
    page: Page = FIRST_PAGE,
    limit: Limit = USUAL_LIMIT,
    status_filter: StatusFilter = "all",
    date_from: DateFrom = None,
    date_to: DateTo = None,
) -> Response:
    """Executions, newest first; a page past the end is empty. Long results are sent as they are read."""
    wanted = filter_of(status_filter, date_from, date_to)
    answer = await run_sync(_page_of, parts, storable(query_id, NO_QUERY), wanted, page, limit)
    return await parts.doors.downloads.sent(user.name, answer)


@router.get(
    "/executions/{execution_id}",
    summary="One execution",
    response_model=ExecutionDetails,
    responses=refusals(404, 429),
)
async def get_execution(parts: ServiceParts, execution_id: ExecutionId, user: CurrentUser) -> Response:
    """A history item with its whole result, and the query that it is of."""
    return await parts.doors.downloads.answer(user.name, _details_of, parts, execution_id)


@router.get(
    "/executions/{execution_id}/result.csv",
    summary="The result of one execution as CSV",
    response_class=Response,
    responses={**refusals(404, 429), 200: CSV},
)
async def execution_csv(parts: ServiceParts, execution_id: ExecutionId, user: CurrentUser) -> Response:
    """The rows with a header line, safe to open in a spreadsheet."""
    return await parts.doors.downloads.answer(user.name, _file_of, parts, execution_id, csv_download)


@router.get(
    "/executions/{execution_id}/result.json",
    summary="The result of one execution as JSON",
    response_model=ResultAnswer,
    responses=refusals(404, 429),
)
async def execution_result(parts: ServiceParts, execution_id: ExecutionId, user: CurrentUser) -> Response:
    """The columns and the rows."""
    return await parts.doors.downloads.answer(user.name, _file_of, parts, execution_id, json_download)


def _page_of(parts: Parts, query_id: int, wanted: HistoryFilter, page: int, limit: int) -> Response:
    found = parts.histories.stored_page(query_id, wanted, page, limit)
    if found is None:
        raise HTTPException(404, NO_QUERY)
    pagination = paginate(page, limit, found.total).as_json()
    rest = to_json({"pagination": pagination, "query_info": {"id": query_id, "name": found.query_name}})
    if any(row.left_out for row in found.rows):
        return json_stream(page_pieces(found, rest, parts.histories.text))
    return Response(page_text(found, rest), media_type="application/json")


def page_text(page: HistoryRows, rest: str) -> str:
    """The whole answer, when no result in it is long; `rest` is the object of its other fields."""
    items = [f"{_before(row)}{quoted(row.result or NO_ROWS)}{_after(row)}" for row in page.rows]
    return f'{{"data":[{",".join(items)}],{rest[1:]}'


def page_pieces(page: HistoryRows, rest: str, text_of: Callable[[int], str | None]) -> Iterator[str]:
    """The same in pieces: one long result at a time is in memory."""
    yield '{"data":['
    for number, row in enumerate(page.rows):
        yield f"{',' if number else ''}{_before(row)}"
        yield from _quoted_pieces((text_of(row.left_out) if row.left_out else row.result) or NO_ROWS)
        yield _after(row)
    yield f"],{rest[1:]}"


def filter_of(status: str, date_from: str | None, date_to: str | None) -> HistoryFilter:
    """What the parameters ask for, or 422."""
    try:
        return HistoryFilter.of(status, period(date_from, date_to))
    except BadParameter as error:
        given = {"date_from": date_from, "date_to": date_to}[error.name]
        raise refused_parameter(error.name, error.message, given) from None


def _existing(parts: Parts, execution_id: int) -> Execution:
    execution = parts.histories.get(storable(execution_id, NO_EXECUTION))
    if execution is None:
        raise HTTPException(404, NO_EXECUTION)
    return execution


def _details_of(parts: Parts, execution_id: int) -> Response:
    execution = _existing(parts, execution_id)
    query_id = execution.scheduled_query_id
    info = {"id": query_id, "name": parts.definitions.name_of(query_id) or ""}
    return json_stream(_execution_pieces(execution, info))


def _file_of(parts: Parts, execution_id: int, made: Download) -> Response:
    execution = _existing(parts, execution_id)
    return made(f"execution-{execution.id}", execution.result_key, execution.result or NO_ROWS)


def _execution_pieces(execution: Execution, info: dict[str, Any]) -> Iterator[str]:
    item = execution_pieces(execution)
    yield f'{{"query_info":{to_json(info)},{next(item)[1:]}'
    yield from item


def _before(row: HistoryRow) -> str:
    """What stands before the result of a history item."""
    executed_at = _time(row.executed_at)
    return f'{{"id":{row.id},"executed_at":"{executed_at}","duration_ms":{row.duration_ms},"result":'


def _after(row: HistoryRow) -> str:
    return (
        f',"result_key":{row.result_key or "[]"},"status":"{row.status}"'
        f',"error_message":{_or_null(row.error_message)}'
        f',"monitor_metrics_snapshot":{row.snapshot or "null"}'
        f',"due_at":{_or_null(_time(row.due_at) if row.due_at else None)}'
        f',"missed":{row.missed},"attempt":{row.attempt},"trigger":"{row.trigger}"'
        f',"triggered_by":{_or_null(row.triggered_by)},"truncated":{"true" if row.truncated else "false"}}}'
    )


def _time(stored: StoredTime) -> str:
    return stored[:SECONDS] if isinstance(stored, str) else format_utc(stored)


def _or_null(text: str | None) -> str:
    return "null" if text is None else quoted(text)


def _quoted_pieces(text: str) -> Iterator[str]:
    """A text as JSON writes it, a piece at a time."""
    yield '"'
    for start in range(0, len(text), PIECE):
        yield quoted(text[start : start + PIECE])[1:-1]
    yield '"'
