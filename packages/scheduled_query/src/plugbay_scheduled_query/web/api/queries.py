"""Queries over HTTP: list, read, create, edit and delete them; and tools for their authors."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, HTTPException, Request, Response
from fastapi import Query as QueryParameter
from plugbay import CurrentUser
from plugbay.web import PLAIN
from pydantic import Field

from plugbay_scheduled_query.core.draft import Refused
from plugbay_scheduled_query.core.model import Outcome, Query
from plugbay_scheduled_query.core.paging import MAX_ID, paginate
from plugbay_scheduled_query.core.schedule import BadCron, UnknownTimezone, parse, zone
from plugbay_scheduled_query.core.text import format_utc
from plugbay_scheduled_query.queries.editing import Saved, UnknownQuery
from plugbay_scheduled_query.queries.trying import Trial
from plugbay_scheduled_query.repository.definitions import Listing, VersionConflict
from plugbay_scheduled_query.web.api.json_text import (
    NO_ROWS,
    json_response,
    json_stream,
    object_pieces,
    query_json,
    query_pieces,
)
from plugbay_scheduled_query.web.api.requests import (
    FIRST_PAGE,
    NO_QUERY,
    PREFIX,
    USUAL_LIMIT,
    JsonBody,
    Limit,
    Page,
    QueryId,
    Search,
    conflict,
    documented_as,
    problem,
    refusals,
    refused_body,
    refused_parameter,
    storable,
    version_in,
)
from plugbay_scheduled_query.web.api.schemas import (
    Cron,
    CronAnswer,
    NewQuery,
    QueryDetails,
    QueryEdit,
    QueryPage,
    SavedQuery,
    TryAnswer,
    TryRequest,
    Zone,
)
from plugbay_scheduled_query.web.dependencies import Parts, ServiceParts
from plugbay_scheduled_query.web.doors import stopped_when_gone

USUAL_COUNT = 5  # of a schedule's next times

NewQueryBody = Annotated[JsonBody, documented_as(NewQuery)]
QueryEditBody = Annotated[JsonBody, documented_as(QueryEdit)]
TryBody = Annotated[JsonBody, documented_as(TryRequest)]
Expression = Annotated[
    Cron, QueryParameter(description="Five fields, or @daily and the like.", examples=["*/5 * * * *"])
]
Timezone = Annotated[Zone | None, QueryParameter(description="A name such as Europe/Berlin.")]
OBJECTS = {
    "tags": (list, "a list of texts"),
    "monitor_metric_config": (dict, "an object"),
    "chart": (dict, "an object"),
}
Count = Annotated[int, Field(ge=1, le=100), PLAIN, QueryParameter(description="How many times to tell.")]

router = APIRouter(prefix=PREFIX, tags=["Queries"])
tools = APIRouter(prefix=PREFIX, tags=["Tools"])


@router.get("/scheduled-queries", summary="List queries", response_model=QueryPage, responses=refusals())
def list_queries(
    parts: ServiceParts, page: Page = FIRST_PAGE, limit: Limit = USUAL_LIMIT, search: Search = ""
) -> Response:
    """All queries by name, without their results."""
    offset = min((page - 1) * limit, MAX_ID)
    found, total = parts.definitions.page(Listing(search=search), offset, limit)
    pagination = paginate(page, limit, total).as_json()
    data = [query_json(query) for query in parts.reasons.mark(found)]
    return json_response({"data": data, "pagination": pagination})


@router.post(
    "/scheduled-queries",
    status_code=201,
    summary="Create a query",
    response_model=SavedQuery,
    responses=refusals(),
)
def create_query(parts: ServiceParts, body: NewQueryBody, user: CurrentUser) -> Response:
    """Checks the whole definition, its SQL included; a bad field is 422 with a sentence."""
    _refuse_text_of_forms(body)
    return saved_query(parts, parts.editing.create(body, user.name), body, 201)


@router.get(
    "/scheduled-queries/{query_id}",
    summary="Get a query",
    response_model=QueryDetails,
    responses=refusals(404, 429),
)
async def get_query(parts: ServiceParts, query_id: QueryId, user: CurrentUser) -> Response:
    """The definition, how its last execution went, and the latest result."""
    answer = await run_sync(_details, parts, query_id)
    return await parts.doors.downloads.sent(user.name, answer)


@router.patch(
    "/scheduled-queries/{query_id}",
    summary="Edit a query",
    response_model=SavedQuery,
    responses=refusals(404, 409),
)
def edit_query(parts: ServiceParts, query_id: QueryId, body: QueryEditBody, user: CurrentUser) -> Response:
    """Changes the fields that are sent; unknown and read-only ones are ignored.

    Null resets `timeout`, `timezone`, `chart` and `monitor_metric_config`. With a `version` that is not the
    newest the answer is 409.
    """
    version = version_in(body)
    _refuse_text_of_forms(body)
    try:
        saved = parts.editing.edit(storable(query_id, NO_QUERY), body, user.name, version)
    except UnknownQuery:
        raise HTTPException(404, NO_QUERY) from None
    except VersionConflict as error:
        raise conflict(f"{error}: read it again and edit that") from None
    return saved_query(parts, saved, body, 200)


@router.delete(
    "/scheduled-queries/{query_id}", status_code=204, summary="Delete a query", responses=refusals(404)
)
def delete_query(parts: ServiceParts, query_id: QueryId, user: CurrentUser) -> Response:
    """The query is gone at once, with its schedule, history and gauge; a run of it is stopped."""
    try:
        parts.editing.delete(storable(query_id, NO_QUERY), user.name)
    except UnknownQuery:
        raise HTTPException(404, NO_QUERY) from None
    return Response(status_code=204)


@tools.get("/cron", summary="Explain a schedule", response_model=CronAnswer, responses=refusals())
def explain_cron(
    parts: ServiceParts, expression: Expression, timezone: Timezone = None, count: Count = USUAL_COUNT
) -> Response:
    """The schedule in words, and its next times."""
    name = timezone or parts.settings().timezone
    try:
        schedule, place = parse(expression), zone(name)
        times = schedule.next_times(parts.clock.now(), place, count)
    except BadCron as error:
        raise refused_parameter("expression", f"is not valid: {error}", expression) from None
    except UnknownTimezone as error:
        raise refused_parameter("timezone", f"is not valid: {error}", timezone) from None
    return json_response(
        {
            "expression": schedule.expression,
            "timezone": name,
            "words": parts.describe_cron(schedule.expression),
            "next_times": [format_utc(moment) for moment in times],
        }
    )


@tools.post("/try", summary="Try a query", response_model=TryAnswer, responses=refusals(429))
async def try_query(parts: ServiceParts, body: TryBody, request: Request, user: CurrentUser) -> Response:
    """Runs it once with the same guard and limits as an execution; nothing is stored.

    Who closes the connection stops the query.
    """
    trial = parts.trying.trial(body, user.name)
    async with stopped_when_gone(request, trial.cancel):
        return await parts.doors.tries.answer(user.name, _tried, trial, body)


def _details(parts: Parts, query_id: int) -> Response:
    return json_stream(query_pieces(existing_query(parts, query_id)))


def _tried(trial: Trial, body: Mapping[str, Any]) -> Response:
    outcome = trial.run()
    if isinstance(outcome, Refused):
        raise refused_body(outcome, body)
    return json_stream(_outcome_pieces(outcome))


def existing_query(parts: Parts, query_id: int) -> Query:
    """The query with its latest result, or 404."""
    query = parts.definitions.get(storable(query_id, NO_QUERY), with_result=True)
    if query is None:
        raise HTTPException(404, NO_QUERY)
    return parts.reasons.mark([query])[0]


def _refuse_text_of_forms(body: Mapping[str, Any]) -> None:
    """A form can only send texts; who sends JSON says what it is."""
    for name, (kind, words) in OBJECTS.items():
        if body.get(name) is not None and not isinstance(body[name], kind):
            raise HTTPException(422, [problem(["body", name], f"must be {words}", body[name])])


def saved_query(parts: Parts, saved: Saved | Refused, body: Mapping[str, Any], status_code: int) -> Response:
    """The query after an edit, or 422 with what was refused."""
    if isinstance(saved, Refused):
        raise refused_body(saved, body)
    warnings = parts.editing.warnings(saved)
    response = json_stream(query_pieces(existing_query(parts, saved.query.id), warnings=warnings))
    response.status_code = status_code
    return response


def _outcome_pieces(outcome: Outcome) -> Iterator[str]:
    after = {
        "result_key": outcome.columns,
        "row_count": outcome.row_count,
        "truncated": outcome.truncated,
        "error_message": outcome.error,
    }
    before = {"status": outcome.status, "duration_ms": outcome.duration_ms}
    return object_pieces(before, "result", outcome.result_json or NO_ROWS, after)
