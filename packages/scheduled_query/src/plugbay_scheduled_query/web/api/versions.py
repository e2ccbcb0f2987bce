"""The versions of a query over HTTP: what it was, and the way back."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, HTTPException, Response
from plugbay import CurrentUser
from plugbay.web import LARGEST_ID
from pydantic import BaseModel, ConfigDict, Field

from plugbay_scheduled_query.core.model import Query
from plugbay_scheduled_query.core.paging import MAX_ID, Pagination, paginate
from plugbay_scheduled_query.core.text import format_utc
from plugbay_scheduled_query.core.versions import Version
from plugbay_scheduled_query.queries.editing import UnknownQuery
from plugbay_scheduled_query.queries.versions import UnknownVersion
from plugbay_scheduled_query.repository.definitions import VersionConflict
from plugbay_scheduled_query.web.api.json_text import json_stream, to_json
from plugbay_scheduled_query.web.api.queries import saved_query
from plugbay_scheduled_query.web.api.requests import (
    FIRST_PAGE,
    NO_QUERY,
    PREFIX,
    USUAL_LIMIT,
    JsonBody,
    Limit,
    Page,
    QueryId,
    conflict,
    documented_as,
    problem,
    refusals,
    storable,
)
from plugbay_scheduled_query.web.api.schemas import TIME, NewQuery, SavedQuery
from plugbay_scheduled_query.web.api.schemas import Pagination as PaginationAnswer
from plugbay_scheduled_query.web.dependencies import Parts, ServiceParts

NO_VERSION = "There is no such version. Of each query the last 200 are kept."


class VersionAnswer(BaseModel):
    """A definition as it was saved."""

    version: int = Field(examples=[3])
    at: str | None = Field(examples=[TIME])
    by: str | None = Field(examples=["ada"])
    changed: list[str] = Field(
        description="Fields that differ from the version before; none where that is not kept."
    )
    definition: NewQuery = Field(description="All fields that a person writes.")


class VersionPage(BaseModel):
    """A page of the versions of a query, newest first."""

    data: list[VersionAnswer]
    pagination: PaginationAnswer


class RestoreRequest(BaseModel):
    """Which version to bring back."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"version": 3}]})

    version: int = Field(ge=1)


RestoreBody = Annotated[JsonBody, documented_as(RestoreRequest)]

router = APIRouter(prefix=PREFIX, tags=["Queries"])


@router.get(
    "/scheduled-queries/{query_id}/versions",
    summary="Versions of a query",
    response_model=VersionPage,
    responses=refusals(404, 429),
)
async def list_versions(
    parts: ServiceParts,
    query_id: QueryId,
    user: CurrentUser,
    page: Page = FIRST_PAGE,
    limit: Limit = USUAL_LIMIT,
) -> Response:
    """Each save with who, when, what changed, and the whole definition; the newest is the one in force."""
    answer = await run_sync(_page, parts, query_id, page, limit)
    return await parts.doors.downloads.sent(user.name, answer)


@router.post(
    "/scheduled-queries/{query_id}/restore",
    summary="Restore a version",
    response_model=SavedQuery,
    responses=refusals(404, 409),
)
def restore_version(parts: ServiceParts, query_id: QueryId, body: RestoreBody, user: CurrentUser) -> Response:
    """Saves that definition as a new version, after the checks of every save.

    If it is in force already, nothing changes.
    """
    number, query = _number_in(body), _existing(parts, query_id)
    try:
        saved = parts.versions.restore(query, number, user.name)
    except UnknownVersion:
        raise HTTPException(404, NO_VERSION) from None
    except UnknownQuery:
        raise HTTPException(404, NO_QUERY) from None
    except VersionConflict as error:
        raise conflict(str(error)) from None
    return saved_query(parts, saved, body, 200)


def _existing(parts: Parts, query_id: int) -> Query:
    """The query without its result, which may be long, or 404."""
    query = parts.definitions.get(storable(query_id, NO_QUERY))
    if query is None:
        raise HTTPException(404, NO_QUERY)
    return query


def _page(parts: Parts, query_id: int, page: int, limit: int) -> Response:
    query = _existing(parts, query_id)
    found, total = parts.versions.page(query, min((page - 1) * limit, MAX_ID), limit)
    return json_stream(_pieces(found, paginate(page, limit, total)))


def _pieces(found: list[Version], pagination: Pagination) -> Iterator[str]:
    """A version at a time: two hundred long texts need not stand in memory thrice."""
    before = '{"data":['
    for version in found:
        yield before + to_json(_version_json(version))
        before = ","
    yield f'{before if not found else ""}],"pagination":{to_json(pagination.as_json())}}}'


def _version_json(version: Version) -> dict[str, Any]:
    return {
        "version": version.version,
        "at": format_utc(version.at),
        "by": version.by,
        "changed": version.changed,
        "definition": version.definition,
    }


def _number_in(body: Mapping[str, Any]) -> int:
    number = body.get("version")
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise HTTPException(422, [problem(["body", "version"], "must be the number of a version", number)])
    return min(number, LARGEST_ID)
