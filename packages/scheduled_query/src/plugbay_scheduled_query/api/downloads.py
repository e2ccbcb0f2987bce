"""A result as a file: sent row by row, named after its query."""

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from fastapi import Response
from fastapi.responses import StreamingResponse

from plugbay_scheduled_query.core.export import csv_chunks, json_chunks

CSV: dict[str, Any] = {
    "content": {"text/csv": {"schema": {"type": "string"}, "example": "region,n\r\neu,1204\r\n"}}
}
LONGEST_NAME = 100  # characters of a file name

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def csv_download(name: str, columns: Sequence[str], text: str) -> Response:
    """CSV with a header line."""
    chunks = (chunk.encode() for chunk in csv_chunks(columns, text))
    headers = {"Content-Disposition": disposition(name, "csv")}
    return StreamingResponse(chunks, headers=headers, media_type="text/csv; charset=utf-8")


def json_download(name: str, columns: Sequence[str], text: str) -> Response:
    """One JSON object of columns and rows."""
    chunks = (chunk.encode() for chunk in json_chunks(columns, text))
    headers = {"Content-Disposition": disposition(name, "json")}
    return StreamingResponse(chunks, headers=headers, media_type="application/json")


def disposition(name: str, extension: str) -> str:
    """Both spellings of the file's name: the plain one for everybody, the true one for who can read it."""
    plain = _UNSAFE.sub("-", name).strip("-.")[:LONGEST_NAME] or "result"
    true = quote(name[:LONGEST_NAME].replace("/", "-"), safe="")
    return f"attachment; filename=\"{plain}.{extension}\"; filename*=UTF-8''{true}.{extension}"
