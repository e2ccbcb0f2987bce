"""What the documentation says about endpoints that read and write their JSON by hand."""

from typing import Annotated, Any

from fastapi import Body
from pydantic import BaseModel, BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from plugbay_scheduled_query.api.schemas import Problem

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
