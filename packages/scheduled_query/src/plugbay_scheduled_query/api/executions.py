"""One execution over HTTP."""

from collections.abc import Callable, Iterator
from typing import Any

from fastapi import APIRouter, Response

from plugbay_scheduled_query.api.documenting import answers
from plugbay_scheduled_query.api.downloads import CSV, csv_download, json_download
from plugbay_scheduled_query.api.errors import no_such_execution
from plugbay_scheduled_query.api.parameters import LARGEST_STORED_ID, PREFIX, ExecutionId
from plugbay_scheduled_query.api.schemas import ExecutionDetails, ResultAnswer
from plugbay_scheduled_query.api.writing import NO_ROWS, execution_pieces, json_stream, to_json
from plugbay_scheduled_query.core.model import Execution
from plugbay_scheduled_query.parts import Parts


def executions_router(parts: Callable[[], Parts]) -> APIRouter:
    """A history item by its id, and its result to take away."""
    router = APIRouter(prefix=PREFIX, tags=["History"])

    @router.get(
        "/executions/{execution_id}",
        summary="One execution",
        response_model=ExecutionDetails,
        responses=answers(404),
    )
    def get_execution(execution_id: ExecutionId) -> Response:
        """A history item with its whole result, and the query that it is of."""
        execution = _existing(parts(), execution_id)
        query_id = execution.scheduled_query_id
        info = {"id": query_id, "name": parts().definitions.name_of(query_id) or ""}
        return json_stream(_pieces(execution, info))

    @router.get(
        "/executions/{execution_id}/result.csv",
        summary="The result of one execution as CSV",
        response_class=Response,
        responses={**answers(404), 200: CSV},
    )
    def execution_csv(execution_id: ExecutionId) -> Response:
        """The rows with a header line, safe to open in a spreadsheet."""
        execution = _existing(parts(), execution_id)
        return csv_download(_name(execution), execution.result_key, execution.result or NO_ROWS)

    @router.get(
        "/executions/{execution_id}/result.json",
        summary="The result of one execution as JSON",
        response_model=ResultAnswer,
        responses=answers(404),
    )
    def execution_result(execution_id: ExecutionId) -> Response:
        """The columns and the rows."""
        execution = _existing(parts(), execution_id)
        return json_download(_name(execution), execution.result_key, execution.result or NO_ROWS)

    return router


def _pieces(execution: Execution, info: dict[str, Any]) -> Iterator[str]:
    item = execution_pieces(execution)
    yield f'{{"query_info":{to_json(info)},{next(item)[1:]}'
    yield from item


def _existing(parts: Parts, execution_id: int) -> Execution:
    execution = parts.histories.get(execution_id) if execution_id <= LARGEST_STORED_ID else None
    if execution is None:
        raise no_such_execution()
    return execution


def _name(execution: Execution) -> str:
    return f"execution-{execution.id}"
