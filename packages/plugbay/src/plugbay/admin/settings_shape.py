"""What a settings model says about each of its fields, as a form needs it. Pure: values in, values out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from plugbay.settings import is_secret

Kind = Literal["switch", "integer", "number", "text", "select", "lines", "json"]

_SCALARS: dict[str, Kind] = {"boolean": "switch", "integer": "integer", "number": "number", "string": "text"}


@dataclass(frozen=True)
class Shape:
    """How one field is entered, and within which bounds."""

    kind: Kind = "json"
    is_optional: bool = False
    """Whether leaving it empty means None."""
    is_secret: bool = False
    choices: tuple[Any, ...] = ()
    minimum: int | float | None = None
    maximum: int | float | None = None
    max_length: int | None = None
    rule: str = ""
    """The bounds in words."""


class _LenientSchema(GenerateJsonSchema):
    """A type that JSON cannot describe becomes a field without a rule, not an error."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - as pydantic declares it

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> dict[str, Any]:
        return {}


def shapes_of(model: type[BaseModel]) -> dict[str, Shape]:
    """The shape of each field, read from the model's JSON schema."""
    schema = model.model_json_schema(by_alias=False, schema_generator=_LenientSchema)
    properties, definitions = schema.get("properties", {}), schema.get("$defs", {})
    return {
        name: _shape(properties.get(name, {}), definitions, is_secret(model, name))
        for name in model.model_fields
    }


def _shape(schema: Mapping[str, Any], definitions: Mapping[str, Any], secret: bool) -> Shape:
    """Takes `None` out of the alternatives; what remains decides."""
    ways = [_resolved(way, definitions) for way in schema.get("anyOf", [schema])]
    real = [way for way in ways if way.get("type") != "null"]
    kind, choices = _kind(real, definitions)
    only = real[0] if len(real) == 1 else {}
    optional = len(real) < len(ways) or None in choices
    if kind == "switch" and optional:  # a switch has two states, this has three
        kind, choices = "select", (True, False)
    given = tuple(choice for choice in choices if choice is not None)
    low = _bound(only, "minimum", "exclusiveMinimum", 1)
    high = _bound(only, "maximum", "exclusiveMaximum", -1)
    return Shape(kind, optional, secret, given, low, high, only.get("maxLength"), _rule(only))


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    return definitions.get(name, {}) if name else schema


def _kind(ways: list[Mapping[str, Any]], definitions: Mapping[str, Any]) -> tuple[Kind, tuple[Any, ...]]:
    if {way.get("type") for way in ways} <= {"integer", "number", "string"} and len(ways) > 1:
        return "text", ()  # a Decimal is one of these
    if len(ways) != 1:
        return "json", ()
    way = ways[0]
    if "const" in way or "enum" in way:
        return "select", tuple(way.get("enum", [way.get("const")]))
    if way.get("type") == "array" and _is_scalar(_resolved(way.get("items", {}), definitions)):
        return "lines", ()
    return _SCALARS.get(way.get("type", ""), "json"), ()


def _is_scalar(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") in ("integer", "number", "string")


def _bound(schema: Mapping[str, Any], included: str, excluded: str, step: int) -> int | float | None:
    """The outermost value that is still right; a float has none next to an excluded bound."""
    if included in schema:
        return schema[included]  # type: ignore[no-any-return]
    if excluded in schema and schema.get("type") == "integer":
        return schema[excluded] + step  # type: ignore[no-any-return]
    return None


_RULES = (
    ("minimum", "at least {}"),
    ("exclusiveMinimum", "more than {}"),
    ("maximum", "at most {}"),
    ("exclusiveMaximum", "less than {}"),
    ("multipleOf", "a multiple of {}"),
    ("minLength", "characters: at least {}"),
    ("maxLength", "characters: at most {}"),
    ("minItems", "entries: at least {}"),
    ("maxItems", "entries: at most {}"),
    ("pattern", "matching {}"),
)


def _rule(schema: Mapping[str, Any]) -> str:
    """The bounds as words: `at least 1, at most 5`."""
    return ", ".join(words.format(schema[key]) for key, words in _RULES if key in schema)
