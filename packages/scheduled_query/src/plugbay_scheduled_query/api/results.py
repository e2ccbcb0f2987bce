"""The latest result of a query, to take away."""

from collections.abc import Callable

from fastapi import APIRouter, HTTPException, Response

from plugbay_scheduled_query.api.documenting import answers
from plugbay_scheduled_query.api.downloads import CSV, csv_download, json_download
from plugbay_scheduled_query.api.errors import no_such_query
from plugbay_scheduled_query.api.parameters import LARGEST_STORED_ID, PREFIX, QueryId
from plugbay_scheduled_query.api.schemas import ResultAnswer
from plugbay_scheduled_query.core.model import Query
from plugbay_scheduled_query.parts import Parts


def results_router(parts: Callable[[], Parts]) -> APIRouter:
    """The last successful result as CSV and as JSON."""
    router = APIRouter(prefix=PREFIX, tags=["Results"])

    @router.get(
        "/results/{query_id}.csv",
        summary="Latest result as CSV",
        response_class=Response,
        responses={**answers(404), 200: CSV},
    )
    def result_csv(query_id: QueryId) -> Response:
        """The rows with a header line, safe to open in a spreadsheet."""
        query, text = _with_result(parts(), query_id)
        return csv_download(query.name, query.last_result_key, text)

    @router.get(
        "/results/{query_id}.json",
        summary="Latest result as JSON",
        response_model=ResultAnswer,
        responses=answers(404),
    )
    def result_json(query_id: QueryId) -> Response:
        """The columns and the rows; columns of one name survive."""
        query, text = _with_result(parts(), query_id)
        return json_download(query.name, query.last_result_key, text)

    return router


def _with_result(parts: Parts, query_id: int) -> tuple[Query, str]:
    is_storable = query_id <= LARGEST_STORED_ID
    query = parts.definitions.get(query_id, with_result=True) if is_storable else None
    if query is None:
        raise no_such_query()
    if query.last_result is None:
        raise HTTPException(404, "This query has no result yet.")
    return query, query.last_result
