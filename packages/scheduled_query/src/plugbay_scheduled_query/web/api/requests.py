"""What a request to the API may carry, read strictly, and what it is told when it is refused."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Body, HTTPException, Path, Query
from plugbay.web import LARGEST_ID, PLAIN
from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from plugbay_scheduled_query.core.draft import Refused
from plugbay_scheduled_query.core.paging import DEFAULT_LIMIT, MAX_ID, MAX_LIMIT, MAX_SEARCH
from plugbay_scheduled_query.web.api.schemas import Problem

PREFIX = "/api"  # of every path
FIRST_PAGE = 1
USUAL_LIMIT = DEFAULT_LIMIT
SECRET_FIELDS = ("url",)  # what was sent there is not sent back
NO_OBJECT = "Input should be a JSON object, sent with the header Content-Type: application/json"
NO_QUERY = "There is no such query."
NO_SOURCE = "There is no such data source."
NO_EXECUTION = "There is no such execution."
REASONS = {
    401: "No login, or a wrong one.",
    403: "The login's role is not enough.",
    404: "There is no such thing.",
    409: "It cannot be done as things are; the text says why.",
    429: "Too many at once, of this person or in all; `Retry-After` says when to come again.",
}


def _an_object(value: Any) -> Any:
    """Without its header a body comes as text, and who forgot it would be told of a dictionary."""
    if not isinstance(value, dict):
        raise PydanticCustomError("dict_type", NO_OBJECT)
    return value


_Id = Annotated[int, Field(ge=1, le=MAX_ID), PLAIN]

QueryId = Annotated[_Id, Path(description="The id of a query.", examples=[1])]
SourceId = Annotated[_Id, Path(description="The id of a data source.", examples=[1])]
ExecutionId = Annotated[_Id, Path(description="The id of a history item.", examples=[1])]
Page = Annotated[_Id, Query(description="Which page, from 1.")]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT), PLAIN, Query(description="How many on a page.")]
Search = Annotated[
    str, Query(max_length=MAX_SEARCH, description="Words that must stand in name, description, tags or SQL.")
]
JsonBody = Annotated[dict[str, Any], Body(), BeforeValidator(_an_object)]


def documented_as(model: type[BaseModel]) -> WithJsonSchema:
    """For the type of a body that is any JSON object to FastAPI: what the documentation calls it."""
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})
    return WithJsonSchema(_inlined(schema, definitions))


def refusals(*codes: int) -> dict[int | str, dict[str, Any]]:
    """For `responses=` of an endpoint: how it may refuse, beside what the login refuses."""
    return {code: {"model": Problem, "description": REASONS[code]} for code in (401, 403, *codes)}


def storable(row_id: int, otherwise: str) -> int:
    """The id, or 404 in these words for one that is larger than any in the store."""
    if row_id > LARGEST_ID:
        raise HTTPException(404, otherwise)
    return row_id


def conflict(reason: str) -> HTTPException:
    """409: it cannot be done as things are."""
    return HTTPException(409, reason)


def refused_body(refused: Refused, given: Mapping[str, Any]) -> HTTPException:
    """422 with a sentence for each field of the body that is to blame."""
    problems = [
        problem(["body", name], message, None if name in SECRET_FIELDS else given.get(name))
        for name, message in refused.errors.items()
    ]
    return HTTPException(422, problems)


def refused_parameter(name: str, message: str, given: Any) -> HTTPException:
    """422 for a parameter of the query string that only we can judge."""
    return HTTPException(422, [problem(["query", name], f"Input {message}", given)])


def problem(place: list[str], message: str, given: Any) -> dict[str, Any]:
    """One mistake in a request, as FastAPI itself tells of them."""
    return {"type": "value_error", "loc": place, "msg": message, "input": given}


def version_in(body: Mapping[str, Any]) -> int | None:
    """The version that an edit was made of, if it says so."""
    version = body.get("version")
    if version is None or (isinstance(version, int) and not isinstance(version, bool)):
        return version
    raise HTTPException(422, [problem(["body", "version"], "must be a whole number", version)])


def _inlined(part: Any, definitions: dict[str, Any]) -> Any:
    """The schema with each reference replaced by what it refers to, so that it stands alone."""
    if isinstance(part, list):
        return [_inlined(item, definitions) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return _inlined(definitions[part["$ref"].rpartition("/")[2]], definitions)
    return {name: _inlined(item, definitions) for name, item in part.items()}
