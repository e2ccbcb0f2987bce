"""Path and query parameters, read strictly: `1.0` is no integer, and no id is larger than an id can be."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ParamSpec, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import Body, HTTPException, Path, Query
from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from plugbay_scheduled_query.core.draft import Refused
from plugbay_scheduled_query.core.paging import (
    DEFAULT_LIMIT,
    MAX_ID,
    MAX_LIMIT,
    MAX_SEARCH,
    BadParameter,
    plain_integer,
)
from plugbay_scheduled_query.web.api.schemas import Problem

PREFIX = "/api"  # of every path
LARGEST_STORED_ID = 2**31 - 1  # of an integer column on PostgreSQL: a larger one names nothing


def _plain(value: Any) -> Any:
    """Only the spelling is looked at here; the bounds are the field's own."""
    if isinstance(value, str):
        try:
            return plain_integer("", value, -MAX_ID, 10 * MAX_ID)
        except BadParameter:
            raise PydanticCustomError("int_parsing", "Input should be a plain integer") from None
    return value


plain = BeforeValidator(_plain)
_Id = Annotated[int, Field(ge=1, le=MAX_ID), plain]

QueryId = Annotated[_Id, Path(description="The id of a query.", examples=[1])]
SourceId = Annotated[_Id, Path(description="The id of a data source.", examples=[1])]
ExecutionId = Annotated[_Id, Path(description="The id of a history item.", examples=[1])]
Page = Annotated[_Id, Query(description="Which page, from 1.")]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT), plain, Query(description="How many on a page.")]
Search = Annotated[
    str, Query(max_length=MAX_SEARCH, description="Words that must stand in name, description, tags or SQL.")
]

FIRST_PAGE = 1
USUAL_LIMIT = DEFAULT_LIMIT


SECRET_FIELDS = ("url",)  # what was sent there is not sent back


def refused(refusal: Refused, given: Mapping[str, Any]) -> HTTPException:
    """422 with a sentence for each field of the body that is to blame."""
    problems = [
        problem(["body", name], message, None if name in SECRET_FIELDS else given.get(name))
        for name, message in refusal.errors.items()
    ]
    return HTTPException(422, problems)


def bad_query_parameter(name: str, message: str, given: Any) -> HTTPException:
    """422 for a parameter that only we can judge."""
    return HTTPException(422, [problem(["query", name], f"Input {message}", given)])


def problem(loc: list[str], message: str, given: Any) -> dict[str, Any]:
    return {"type": "value_error", "loc": loc, "msg": message, "input": given}


def no_such_query() -> HTTPException:
    return HTTPException(404, "There is no such query.")


def no_such_source() -> HTTPException:
    return HTTPException(404, "There is no such data source.")


def no_such_execution() -> HTTPException:
    return HTTPException(404, "There is no such execution.")


def conflict(reason: str) -> HTTPException:
    return HTTPException(409, reason)


REASONS = {
    401: "No login, or a wrong one.",
    403: "The login's role is not enough.",
    404: "There is no such thing.",
    409: "It cannot be done as things are; the text says why.",
}

NO_OBJECT = "Input should be a JSON object, sent with the header Content-Type: application/json"

Answers = dict[int | str, dict[str, Any]]


def _an_object(value: Any) -> Any:
    """Without its header a body comes as text, and who forgot it would be told of a dictionary."""
    if not isinstance(value, dict):
        raise PydanticCustomError("dict_type", NO_OBJECT)
    return value


JsonBody = Annotated[dict[str, Any], Body(), BeforeValidator(_an_object)]


def answers(*codes: int) -> Answers:
    """The refusals of an endpoint; those of the login are understood."""
    return {code: {"model": Problem, "description": REASONS[code]} for code in (401, 403, *codes)}


def documented_as(model: type[BaseModel]) -> WithJsonSchema:
    """For the type of a body that is any JSON object to FastAPI: what the documentation calls it."""
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})
    return WithJsonSchema(_inlined(schema, definitions))


def _inlined(part: Any, definitions: dict[str, Any]) -> Any:
    """The schema with each reference replaced by what it refers to, so that it stands alone."""
    if isinstance(part, list):
        return [_inlined(item, definitions) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return _inlined(definitions[part["$ref"].rpartition("/")[2]], definitions)
    return {name: _inlined(item, definitions) for name, item in part.items()}


AT_ONCE = 8  # more of them wait for one of these to end

P = ParamSpec("P")
T = TypeVar("T")


class SlowCalls:
    """Runs blocking calls, a few at a time."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._limiter = CapacityLimiter(at_once)

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await run_sync(lambda: call(*args, **kwargs), limiter=self._limiter)
