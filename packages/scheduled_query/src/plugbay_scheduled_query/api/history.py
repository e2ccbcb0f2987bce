"""The history of one query over HTTP."""

from collections.abc import Callable
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from plugbay_scheduled_query.api.documenting import answers
from plugbay_scheduled_query.api.errors import bad_query_parameter, no_such_query
from plugbay_scheduled_query.api.history_text import page_pieces, page_text
from plugbay_scheduled_query.api.parameters import (
    FIRST_PAGE,
    LARGEST_STORED_ID,
    PREFIX,
    USUAL_LIMIT,
    Limit,
    Page,
    QueryId,
)
from plugbay_scheduled_query.api.schemas import HistoryPage
from plugbay_scheduled_query.api.writing import json_stream, to_json
from plugbay_scheduled_query.core.paging import paginate
from plugbay_scheduled_query.core.parameters import BadParameter, period
from plugbay_scheduled_query.parts import Parts
from plugbay_scheduled_query.repository.histories import HistoryFilter

StatusFilter = Annotated[Literal["all", "success", "failed", "timeout"], Query()]
_DATE = "YYYY-MM-DD (the whole day) or YYYY-MM-DD HH:MM:SS, in UTC."
DateFrom = Annotated[str | None, Query(description=f"No earlier than this: {_DATE}", examples=["2026-11-01"])]
DateTo = Annotated[str | None, Query(description=f"No later than this: {_DATE}", examples=["2026-11-30"])]


def history_router(parts: Callable[[], Parts]) -> APIRouter:
    """The specified endpoint."""
    router = APIRouter(prefix=PREFIX, tags=["History"])

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
        is_storable = query_id <= LARGEST_STORED_ID
        found = parts().history_reader.page(query_id, wanted, page, limit) if is_storable else None
        if found is None:
            raise no_such_query()
        rest = to_json(
            {
                "pagination": paginate(page, limit, found.total).as_json(),
                "query_info": {"id": query_id, "name": found.query_name},
            }
        )
        if any(row.left_out for row in found.rows):
            return json_stream(page_pieces(found, rest, parts().history_reader.text))
        return Response(page_text(found, rest), media_type="application/json")

    return router


def _filter(status: str, date_from: str | None, date_to: str | None) -> HistoryFilter:
    try:
        return HistoryFilter.of(status, period(date_from, date_to))
    except BadParameter as error:
        given = {"date_from": date_from, "date_to": date_to}[error.name]
        raise bad_query_parameter(error.name, error.message, given) from None
