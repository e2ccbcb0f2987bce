"""The schedule over HTTP: why a query did not run at a time, and the pause of all queries."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query, Response
from plugbay import CurrentUser, require_role
from pydantic import BaseModel, ConfigDict, Field

from plugbay_scheduled_query.core.paging import BadParameter, moment
from plugbay_scheduled_query.core.text import format_utc
from plugbay_scheduled_query.web.api.json_text import json_response
from plugbay_scheduled_query.web.api.requests import (
    NO_QUERY,
    PREFIX,
    JsonBody,
    QueryId,
    documented_as,
    problem,
    refusals,
    refused_parameter,
    storable,
)
from plugbay_scheduled_query.web.api.schemas import TIME, Moment
from plugbay_scheduled_query.web.dependencies import Parts, ServiceParts

At = Annotated[Moment, Query(description="YYYY-MM-DD HH:MM:SS, in UTC.", examples=[TIME])]


class WhyAnswer(BaseModel):
    """What came of a time of a query."""

    at: str = Field(examples=[TIME])
    reason: Literal[
        "ran",
        "ran_late",
        "running",
        "waiting",
        "missed",
        "failed",
        "timeout",
        "disabled",
        "not_scheduled",
        "not_there_yet",
        "paused",
        "future",
        "unknown",
    ]
    answer: str = Field(examples=["It ran at 2026-11-15 12:00:00 UTC and took 12 ms."])
    execution_id: int | None = Field(examples=[17])


class ScheduleAnswer(BaseModel):
    """Whether the schedule starts queries."""

    paused: bool
    since: str | None = Field(description="Since when it is paused, in UTC.", examples=[TIME])
    by: str | None = Field(examples=["ada"])


class ScheduleEdit(BaseModel):
    """Pauses all queries, or lets them go on."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"paused": True}]})

    paused: bool


ScheduleBody = Annotated[JsonBody, documented_as(ScheduleEdit)]

router = APIRouter(prefix=PREFIX, tags=["Schedule"])


@router.get(
    "/scheduled-queries/{query_id}/why",
    summary="Why a query did not run",
    response_model=WhyAnswer,
    responses=refusals(404),
)
def why(parts: ServiceParts, query_id: QueryId, at: At) -> Response:
    """What came of a time, from what is kept; `answer` is a sentence that says what to change."""
    query = parts.definitions.get(storable(query_id, NO_QUERY))
    if query is None:
        raise HTTPException(404, NO_QUERY)
    try:
        asked = moment("at", at)
    except BadParameter as error:
        raise refused_parameter(error.name, error.message, at) from None
    found = parts.reasons.why(query, asked)
    answer = {"reason": found.reason.value, "answer": found.answer, "execution_id": found.execution_id}
    return json_response({"at": format_utc(asked), **answer})


@router.get(
    "/schedule", summary="Is the schedule paused?", response_model=ScheduleAnswer, responses=refusals()
)
def get_schedule(parts: ServiceParts) -> Response:
    """Whether an admin paused all queries, who and since when."""
    return json_response(_schedule_json(parts))


@router.post(
    "/schedule",
    summary="Pause or resume all queries",
    response_model=ScheduleAnswer,
    responses=refusals(),
    dependencies=[require_role("admin")],
)
def set_schedule(parts: ServiceParts, body: ScheduleBody, user: CurrentUser) -> Response:
    """With `paused` true the schedule starts nothing, on any node; Run Now works as ever.

    What was due meanwhile runs once when the schedule goes on, as after an outage.
    """
    wanted = body.get("paused")
    if not isinstance(wanted, bool):
        raise HTTPException(422, [problem(["body", "paused"], "must be true or false", wanted)])
    parts.pause_all(user.name) if wanted else parts.resume_all(user.name)
    return json_response(_schedule_json(parts))


def _schedule_json(parts: Parts) -> dict[str, Any]:
    hold = parts.standstills.hold()
    since = format_utc(hold.since) if hold else None
    return {"paused": hold is not None, "since": since, "by": hold.by if hold else None}
