"""The history of one query over HTTP."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response

from plugbay_scheduled_query.api.documenting import answers
from plugbay_scheduled_query.api.errors import bad_query_parameter, no_such_query
from plugbay_scheduled_query.api.parameters import (
    FIRST_PAGE,
    LARGEST_STORED_ID,
    USUAL_LIMIT,
    Limit,
    Page,
    QueryId,
)
from plugbay_scheduled_query.api.schemas import HistoryPage
from plugbay_scheduled_query.api.writing import (
    execution_json,
    execution_pieces,
    json_response,
    json_stream,
    to_json,
)
from plugbay_scheduled_query.core.model import Execution
from plugbay_scheduled_query.core.paging import paginate
from plugbay_scheduled_query.core.parameters import BadParameter, period
from plugbay_scheduled_query.parts import Parts
from plugbay_scheduled_query.repository.histories import Histories, HistoryFilter

StatusFilter = Annotated[Literal["all", "success", "failed", "timeout"], Query()]
_DATE = "YYYY-MM-DD (the whole day) or YYYY-MM-DD HH:MM:SS, in UTC."
DateFrom = Annotated[str | None, Query(description=f"No earlier than this: {_DATE}", examples=["2026-11-01"])]
DateTo = Annotated[str | None, Query(description=f"No later than this: {_DATE}", examples=["2026-11-30"])]

LightPage = list[tuple[Execution, int | None]]


def history_router(parts: Callable[[], Parts]) -> APIRouter:
    """The specified endpoint."""
    router = APIRouter(tags=["History"])

    @router.get(
        "/execution-history/{query_id}",
        summary="History of a query",
        response_model=HistoryPage,
        responses=answers(404),
    )
    def execution_history(
        query_id: QueryId,
        page: Page = FIRST_PAGE,
        limit: Limit = USUAL_LIMIT,
        status_filter: StatusFilter = "all",
        date_from: DateFrom = None,
        date_to: DateTo = None,
    ) -> Response:
        """Executions, newest first; a page past the end is empty. Long results are sent as they are read."""
        wanted = _filter(status_filter, date_from, date_to)
        name = parts().definitions.name_of(query_id) if query_id <= LARGEST_STORED_ID else None
        if name is None:
            raise no_such_query()
        found, total = parts().histories.light_page(query_id, wanted, page, limit)
        rest = {
            "pagination": paginate(page, limit, total).as_json(),
            "query_info": {"id": query_id, "name": name},
        }
        if any(left_out for _, left_out in found):
            return json_stream(_pieces(parts().histories, found, rest))
        data = [execution_json(execution) for execution, _ in found]
        return json_response({"data": data, **rest})

    return router


def _filter(status: str, date_from: str | None, date_to: str | None) -> HistoryFilter:
    try:
        return HistoryFilter.of(status, period(date_from, date_to))
    except BadParameter as error:
        given = {"date_from": date_from, "date_to": date_to}[error.name]
        raise bad_query_parameter(error.name, error.message, given) from None


def _pieces(histories: Histories, found: LightPage, rest: dict[str, Any]) -> Iterator[str]:
    """The page row by row: one long result at a time is in memory."""
    yield '{"data":['
    for number, (execution, left_out) in enumerate(found):
        yield "," if number else ""
        text = histories.text(left_out) if left_out else execution.result
        yield from execution_pieces(replace(execution, result=text))
    yield f"],{to_json(rest)[1:]}"
