"""A result as a file: sent row by row, named after its query."""

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, HTTPException, Response
from plugbay import CurrentUser

from plugbay_scheduled_query.core.model import Query
from plugbay_scheduled_query.core.results import csv_chunks, json_chunks
from plugbay_scheduled_query.web.api.queries import existing_query
from plugbay_scheduled_query.web.api.requests import PREFIX, QueryId, refusals
from plugbay_scheduled_query.web.api.schemas import ResultAnswer
from plugbay_scheduled_query.web.dependencies import Parts, ServiceParts
from plugbay_scheduled_query.web.doors import TextStream

CSV: dict[str, Any] = {
    "content": {"text/csv": {"schema": {"type": "string"}, "example": "region,n\r\neu,1204\r\n"}}
}
LONGEST_NAME = 100  # characters of a file name

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")

router = APIRouter(prefix=PREFIX, tags=["Results"])


@router.get(
    "/results/{query_id}.csv",
    summary="Latest result as CSV",
    response_class=Response,
    responses={**refusals(404, 429), 200: CSV},
)
async def result_csv(parts: ServiceParts, query_id: QueryId, user: CurrentUser) -> Response:
    """The rows with a header line, safe to open in a spreadsheet."""
    return await parts.doors.downloads.answer(user.name, _csv_of, parts, query_id)


@router.get(
    "/results/{query_id}.json",
    summary="Latest result as JSON",
    response_model=ResultAnswer,
    responses=refusals(404, 429),
)
async def result_json(parts: ServiceParts, query_id: QueryId, user: CurrentUser) -> Response:
    """The columns and the rows; columns of one name survive."""
    return await parts.doors.downloads.answer(user.name, _json_of, parts, query_id)


def csv_download(name: str, columns: Sequence[str], text: str) -> Response:
    """CSV with a header line."""
    chunks = (chunk.encode() for chunk in csv_chunks(columns, text))
    headers = {"Content-Disposition": disposition(name, "csv")}
    return TextStream(chunks, headers=headers, media_type="text/csv; charset=utf-8")


def json_download(name: str, columns: Sequence[str], text: str) -> Response:
    """One JSON object of columns and rows."""
    chunks = (chunk.encode() for chunk in json_chunks(columns, text))
    headers = {"Content-Disposition": disposition(name, "json")}
    return TextStream(chunks, headers=headers, media_type="application/json")


def disposition(name: str, extension: str) -> str:
    """Both spellings of the file's name: the plain one for everybody, the true one for who can read it."""
    plain = _UNSAFE.sub("-", name).strip("-.")[:LONGEST_NAME] or "result"
    true = quote(name[:LONGEST_NAME].replace("/", "-"), safe="")
    return f"attachment; filename=\"{plain}.{extension}\"; filename*=UTF-8''{true}.{extension}"


def _csv_of(parts: Parts, query_id: int) -> Response:
    query, text = _with_result(parts, query_id)
    return csv_download(query.name, query.last_result_key, text)


def _json_of(parts: Parts, query_id: int) -> Response:
    query, text = _with_result(parts, query_id)
    return json_download(query.name, query.last_result_key, text)


def _with_result(parts: Parts, query_id: int) -> tuple[Query, str]:
    query = existing_query(parts, query_id)
    if query.last_result is None:
        raise HTTPException(404, "This query has no result yet.")
    return query, query.last_result
