"""Data sources over HTTP: everybody may know their names, admins see where they are."""

from collections.abc import Mapping
from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, HTTPException, Query, Response
from plugbay import CurrentUser, require_role

from plugbay_scheduled_query.catalogue import Schema, SourceView, Tested
from plugbay_scheduled_query.catalogue.editing import SavedSource, SourceLocked, UnknownSource
from plugbay_scheduled_query.core.capacity import Capacity
from plugbay_scheduled_query.core.draft import Refused
from plugbay_scheduled_query.core.errors import SourceProblem
from plugbay_scheduled_query.core.text import format_utc
from plugbay_scheduled_query.repository.pauses import Pause
from plugbay_scheduled_query.repository.sources import SourceInUse
from plugbay_scheduled_query.web.api.json_text import json_response
from plugbay_scheduled_query.web.api.requests import (
    NO_SOURCE,
    PREFIX,
    JsonBody,
    SourceId,
    conflict,
    documented_as,
    refusals,
    refused_body,
    storable,
)
from plugbay_scheduled_query.web.api.source_schemas import (
    NewSource,
    SavedSourceAnswer,
    SchemaAnswer,
    SourceAnswer,
    SourceEdit,
    SourceList,
    TestAnswer,
)
from plugbay_scheduled_query.web.dependencies import Parts, ServiceParts

ADMIN = [require_role("admin")]
EDITOR = [require_role("editor")]

NewSourceBody = Annotated[JsonBody, documented_as(NewSource)]
SourceEditBody = Annotated[JsonBody, documented_as(SourceEdit)]
Refresh = Annotated[bool, Query(description="Read the tables anew.")]

router = APIRouter(prefix=PREFIX, tags=["Data sources"])


@router.get(
    "/data-sources",
    summary="List data sources",
    response_model=SourceList,
    response_model_exclude_unset=True,
    responses=refusals(),
)
def list_sources(parts: ServiceParts, user: CurrentUser) -> Response:
    """By name, each with how full it is; where it is, with its password masked, only admins see."""
    capacity, pauses = parts.capacities.measured(), parts.sessions.pauses()
    data = [
        source_json(view, capacity.get(view.stored.name), pauses.get(view.stored.id), user.has_role("admin"))
        for view in parts.catalogue.views()
    ]
    return json_response({"data": data})


@router.post(
    "/data-sources",
    status_code=201,
    summary="Add a data source",
    response_model=SavedSourceAnswer,
    responses=refusals(429),
    dependencies=ADMIN,
)
async def add_source(parts: ServiceParts, body: NewSourceBody, user: CurrentUser) -> Response:
    """Connects and says in `warnings` what the account can do beyond reading, and how to change that.

    A source that cannot be reached now is added, with a warning; Plugbay's own store is refused.
    """
    saved = await parts.doors.looks.run(user.name, parts.source_editing.add, body)
    return await run_sync(_saved, parts, saved, body, 201)


@router.get(
    "/data-sources/{source_id}",
    summary="Get a data source",
    response_model=SourceAnswer,
    responses=refusals(404),
)
def get_source(parts: ServiceParts, source_id: SourceId, user: CurrentUser) -> Response:
    """One data source."""
    return json_response(_source(parts, source_id, user.has_role("admin")))


@router.patch(
    "/data-sources/{source_id}",
    summary="Edit a data source",
    response_model=SavedSourceAnswer,
    responses=refusals(404, 409, 429),
    dependencies=ADMIN,
)
async def edit_source(
    parts: ServiceParts, source_id: SourceId, body: SourceEditBody, user: CurrentUser
) -> Response:
    """Changes the fields that are sent; a masked URL sent back keeps the stored password."""
    try:
        saved = await parts.doors.looks.run(
            user.name, parts.source_editing.edit, storable(source_id, NO_SOURCE), body
        )
    except UnknownSource:
        raise HTTPException(404, NO_SOURCE) from None
    except SourceLocked as error:
        raise conflict(f"This data source is locked: {error}.") from None
    return await run_sync(_saved, parts, saved, body, 200)


@router.delete(
    "/data-sources/{source_id}",
    status_code=204,
    summary="Delete a data source",
    responses=refusals(404, 409),
    dependencies=ADMIN,
)
def delete_source(parts: ServiceParts, source_id: SourceId) -> Response:
    """409 while queries use it; the text names them."""
    try:
        parts.source_editing.delete(storable(source_id, NO_SOURCE))
    except UnknownSource:
        raise HTTPException(404, NO_SOURCE) from None
    except SourceLocked as error:
        raise conflict(f"This data source is locked: {error}.") from None
    except SourceInUse as error:
        raise conflict(f"This data source cannot be deleted: {error}.") from None
    return Response(status_code=204)


@router.post(
    "/data-sources/{source_id}/test",
    summary="Test a data source",
    response_model=TestAnswer,
    responses=refusals(404, 429),
    dependencies=ADMIN,
)
async def test_source(parts: ServiceParts, source_id: SourceId, user: CurrentUser) -> Response:
    """Connects and says what the account can do."""
    try:
        tested = await parts.doors.looks.run(
            user.name, parts.source_editing.test, storable(source_id, NO_SOURCE)
        )
    except UnknownSource:
        raise HTTPException(404, NO_SOURCE) from None
    return json_response(_tested_json(tested))


@router.get(
    "/data-sources/{source_id}/schema",
    summary="Tables and columns",
    response_model=SchemaAnswer,
    responses=refusals(404, 409, 429),
    dependencies=EDITOR,
)
async def get_schema(
    parts: ServiceParts, source_id: SourceId, user: CurrentUser, refresh: Refresh = False
) -> Response:
    """What a query can ask for; remembered for ten minutes. 409 when the source cannot be reached."""
    if await run_sync(parts.sources.get, storable(source_id, NO_SOURCE)) is None:
        raise HTTPException(404, NO_SOURCE)
    try:
        schema = await parts.doors.looks.run(user.name, parts.catalogue.schema, source_id, refresh)
    except SourceProblem as error:
        raise conflict(f"Its tables cannot be read: {error}") from None
    return json_response(_schema_json(schema))


@router.post(
    "/data-sources/{source_id}/resume",
    summary="Resume a paused data source",
    response_model=SourceAnswer,
    responses=refusals(404, 409),
    dependencies=ADMIN,
)
def resume_source(parts: ServiceParts, source_id: SourceId, user: CurrentUser) -> Response:
    """Lets queries start there again though a session has not ended; 409 when it is not paused."""
    _source(parts, source_id, is_admin=True)
    if parts.sessions.resume(source_id, user.name) is None:
        raise conflict("This data source is not paused.")
    return json_response(_source(parts, source_id, is_admin=True))


def _source(parts: Parts, source_id: int, is_admin: bool) -> dict[str, Any]:
    view = parts.catalogue.view(storable(source_id, NO_SOURCE))
    if view is None:
        raise HTTPException(404, NO_SOURCE)
    capacity = parts.capacities.measured().get(view.stored.name)
    return source_json(view, capacity, parts.sessions.pause_of(source_id), is_admin)


def source_json(
    view: SourceView, capacity: Capacity | None, pause: Pause | None, is_admin: bool
) -> dict[str, Any]:
    """A source as this visitor may see it."""
    stored = view.stored
    shown: dict[str, Any] = {
        "id": stored.id,
        "name": stored.name,
        "dialect": stored.dialect,
        "origin": stored.origin.value,
        "locked": stored.is_locked,
        "query_count": view.query_count,
        "pace_s": stored.pace_s,
        "max_parallel": stored.max_parallel,
        "capacity": capacity.as_json() if capacity else None,
        "paused": {"since": format_utc(pause.since), "reason": pause.reason} if pause else None,
    }
    if is_admin:
        shown |= {
            "url": view.masked_url,
            "accepts_unguarded": stored.accepts_unguarded,
            "problem": view.problem,
            "updated_at": format_utc(stored.updated_at),
        }
    return shown


def _saved(parts: Parts, saved: SavedSource | Refused, body: Mapping[str, Any], status_code: int) -> Response:
    if isinstance(saved, Refused):
        raise refused_body(saved, body)
    parts.service.refill()  # another pace counts at once
    capacity = parts.capacities.measured().get(saved.view.stored.name)
    pause = parts.sessions.pause_of(saved.view.stored.id)
    found = {"warnings": saved.warnings, "statements": saved.statements}
    return json_response(source_json(saved.view, capacity, pause, is_admin=True) | found, status_code)


def _tested_json(tested: Tested) -> dict[str, Any]:
    return {
        "ok": tested.error is None,
        "error": tested.error,
        "server": tested.server,
        "warnings": tested.warnings,
        "statements": tested.statements,
    }


def _schema_json(schema: Schema) -> dict[str, Any]:
    tables = [
        {
            "schema": table.schema,
            "name": table.name,
            "columns": [{"name": name, "type": kind} for name, kind in table.columns],
        }
        for table in schema.tables
    ]
    return {"tables": tables, "read_at": format_utc(schema.read_at)}
