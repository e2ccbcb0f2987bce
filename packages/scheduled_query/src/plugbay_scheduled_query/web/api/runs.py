"""Run Now and Cancel over HTTP."""

from collections.abc import Iterator
from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response
from fastapi.responses import RedirectResponse
from plugbay import CurrentUser, FlashMessage, flash, refuse_cross_site_get, runs
from plugbay.web import PLAIN, url_below_root
from pydantic import Field

from plugbay_scheduled_query.runs.service import Ran
from plugbay_scheduled_query.web.api.json_text import execution_pieces, json_response, json_stream, to_json
from plugbay_scheduled_query.web.api.requests import (
    NO_QUERY,
    PREFIX,
    QueryId,
    conflict,
    refusals,
    storable,
)
from plugbay_scheduled_query.web.api.schemas import CancelAnswer, RunAnswer
from plugbay_scheduled_query.web.dependencies import Parts, ServiceParts

LIST = "/scheduled_query/"
USUAL_WAIT_S = 10
LONGEST_WAIT_S = 60

Wait = Annotated[
    int, Field(ge=0, le=LONGEST_WAIT_S), PLAIN, Query(description="Seconds to wait for the end of the run.")
]

router = APIRouter(prefix=PREFIX, tags=["Runs"])


@router.get(
    "/run-now/{query_id}",
    status_code=303,
    summary="Run a query now, from a link",
    response_class=Response,
    responses={**refusals(404, 429), 303: {"description": "To the list of scheduled queries."}},
    dependencies=[Depends(runs), Depends(refuse_cross_site_get)],
)
async def run_now_by_link(
    parts: ServiceParts, query_id: QueryId, user: CurrentUser, request: Request
) -> Response:
    """Waits up to ten seconds, then goes to the list of queries, which says what happened.

    A browser's request is refused when it comes from another site or is a prefetch.
    """
    if reason := await run_sync(paused_reason, parts, query_id):
        flash(request, FlashMessage(reason, "error"))
    else:
        ran = await _run(parts, query_id, user.name, USUAL_WAIT_S)
        name = await run_sync(parts.definitions.name_of, query_id)
        flash(request, run_message(ran, name or "The query"))
    return RedirectResponse(url_below_root(request, LIST), 303)


@router.post(
    "/run-now/{query_id}",
    summary="Run a query now",
    response_model=RunAnswer,
    responses=refusals(404, 409, 429),
    dependencies=[Depends(runs)],
)
async def run_now(
    parts: ServiceParts, query_id: QueryId, user: CurrentUser, wait: Wait = USUAL_WAIT_S
) -> Response:
    """Ignores the schedule; joins the current run if there is one. Past `wait` it is `running`.

    409 while its data source is paused, because a session did not end there; the text says which.
    """
    if reason := await run_sync(paused_reason, parts, query_id):
        raise conflict(reason)
    return json_stream(_run_pieces(await _run(parts, query_id, user.name, wait)))


@router.post(
    "/cancel/{query_id}",
    status_code=202,
    summary="Cancel the run of a query",
    response_model=CancelAnswer,
    responses=refusals(404, 409),
    dependencies=[Depends(runs)],
)
def cancel(parts: ServiceParts, query_id: QueryId, user: CurrentUser) -> Response:
    """Stops it in its database; 409 when nothing runs. It is recorded as failed, with your name."""
    if parts.definitions.name_of(storable(query_id, NO_QUERY)) is None:
        raise HTTPException(404, NO_QUERY)
    if not parts.service.cancel(query_id, user.name):
        raise conflict("This query is not running.")
    return json_response({"status": "cancelling"}, 202)


def run_message(ran: Ran, query_name: str) -> FlashMessage:
    """What happened, for the person who asked."""
    name, execution = f"“{query_name}”", ran.execution
    if ran.status == "running":
        return FlashMessage(f"{name} is still running; its result will be here when it is done.", "info")
    if ran.status == "success":
        took = f" in {execution.duration_ms:,} ms" if execution else ""
        return FlashMessage(f"{name} ran{took}.")
    reason = ran.error or "no reason given"
    word = "timed out" if ran.status == "timeout" else "failed"
    return FlashMessage(f"{name} {word}: {reason}", "error")


def paused_reason(parts: Parts, query_id: int) -> str | None:
    """Why a query cannot be run now: its source is paused, and there is no run to join."""
    if not parts.sessions.pauses():
        return None
    query = parts.definitions.get(storable(query_id, NO_QUERY))
    pause = parts.sessions.pause_named(query.data_source) if query and not query.running else None
    return pause.sentence if pause else None


async def _run(parts: Parts, query_id: int, by: str, wait_s: int) -> Ran:
    ran = await parts.run_by_hand(storable(query_id, NO_QUERY), by, wait_s)
    if ran is None:
        raise HTTPException(404, NO_QUERY)
    return ran


def _run_pieces(ran: Ran) -> Iterator[str]:
    yield f'{{"status":{to_json(ran.status)},"execution":'
    yield from execution_pieces(ran.execution) if ran.execution else ["null"]
    yield "}"
