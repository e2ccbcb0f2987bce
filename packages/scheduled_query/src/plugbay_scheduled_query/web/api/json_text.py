"""Queries and executions as JSON; a long result goes out in pieces, never copied as a whole."""

import json
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import chain
from typing import Any

from fastapi import Response

from plugbay_scheduled_query.core.model import Execution, Query
from plugbay_scheduled_query.core.text import format_utc
from plugbay_scheduled_query.web.doors import TextStream

PIECE = 64_000  # characters of a result that are escaped and sent at a time
NO_ROWS = "[]"  # the result of an execution that brought none: still an array of rows

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def json_response(content: Any, status_code: int = 200) -> Response:
    """A small answer, ready as bytes."""
    return Response(_encode(content).encode(), status_code, media_type="application/json")


def json_stream(pieces: Iterable[str]) -> Response:
    """An answer that is sent as it is written, unless it turns out to be small."""
    begun: list[str] = []
    rest = iter(pieces)
    for piece in rest:
        begun.append(piece)
        if len(piece) >= PIECE:
            chunks = (piece.encode() for piece in chain(begun, rest))
            return TextStream(chunks, media_type="application/json")
    return Response("".join(begun).encode(), media_type="application/json")


def query_json(query: Query) -> dict[str, Any]:
    """The specified details, the rest of the specified record, and the added fields; not the result."""
    metrics = [metric.as_json() for metric in query.metrics]
    return {
        "id": query.id,
        "name": query.name,
        "query": query.query,
        "cron_schedule": query.cron_schedule,
        "last_executed": format_utc(query.last_executed),
        "enabled": query.enabled,
        "monitor_metric_config": metrics[0] if metrics else None,
        "metrics": metrics,
        "metric_problem": query.metric_problem,
        "render_type": query.render_type.value,
        "chart": query.chart.as_json() if query.chart else None,
        "data_source": query.data_source,
        "timezone": query.timezone,
        "timeout": query.timeout,
        "description": query.description,
        "tags": list(query.tags),
        "next_run_at": format_utc(query.next_run_at),
        "running": query.running,
        "waiting_for": query.waiting_for,
        "last_status": query.last_status.value if query.last_status else None,
        "last_error": query.last_error,
        "last_duration_ms": query.last_duration_ms,
        "version": query.version,
        "created_by": query.created_by,
        "updated_by": query.updated_by,
        "updated_at": format_utc(query.updated_at),
    }


def query_pieces(query: Query, **more: Any) -> Iterator[str]:
    """A query with its latest result, and whatever else is to be said about it."""
    known = query_json(query) | {"last_result_key": query.last_result_key} | more
    return object_pieces(known, "last_result", query.last_result)


def execution_pieces(execution: Execution) -> Iterator[str]:
    """The specified history item with the added fields."""
    text = NO_ROWS if execution.result is None else execution.result
    return object_pieces(_before(execution), "result", text, _after(execution))


def execution_facts(execution: Execution) -> dict[str, Any]:
    """The same without the result."""
    return _before(execution) | _after(execution)


def exact_json(value: Any) -> str:
    """JSON text in which a decimal keeps its digits, which Python's own would make a float of."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{_encode(key)}:{exact_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(exact_json, value)) + "]"
    return str(value) if isinstance(value, Decimal) else _encode(value)


def object_pieces(
    before: dict[str, Any], name: str, text: str | None, after: dict[str, Any] | None = None
) -> Iterator[str]:
    """An object with one text in it that may be long."""
    if text is None or len(text) < PIECE:
        yield _encode({**before, name: text, **(after or {})})
        return
    yield f'{_encode(before)[:-1]},"{name}":"'
    for start in range(0, len(text), PIECE):
        yield _encode(text[start : start + PIECE])[1:-1]
    yield f'",{_encode(after)[1:]}' if after else '"}'


def to_json(value: Any) -> str:
    """Any value as compact JSON text."""
    return _encode(value)


def _before(execution: Execution) -> dict[str, Any]:
    return {
        "id": execution.id,
        "executed_at": format_utc(execution.executed_at),
        "duration_ms": execution.duration_ms,
    }


def _after(execution: Execution) -> dict[str, Any]:
    return {
        "result_key": execution.result_key,
        "status": execution.status.value,
        "error_message": execution.error_message,
        "monitor_metrics_snapshot": execution.monitor_metrics_snapshot,
        "due_at": format_utc(execution.due_at),
        "missed": execution.missed,
        "attempt": execution.attempt,
        "trigger": execution.trigger.value,
        "triggered_by": execution.triggered_by,
        "truncated": execution.truncated,
    }
