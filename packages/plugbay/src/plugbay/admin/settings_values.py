"""How a setting is entered: the shape of its field, its value as text and back. Pure: values only."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import to_jsonable_python

from plugbay.settings import MASK, FormHint, is_secret, revealed

InputKind = Literal["switch", "integer", "number", "text", "select", "lines", "json"]
_SCALARS: dict[str, InputKind] = {
    "boolean": "switch",
    "integer": "integer",
    "number": "number",
    "string": "text",
}
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
SIZES = {"TB": 10**12, "GB": 10**9, "MB": 10**6, "kB": 10**3}  # largest first, as disks are sold
NO_HINT = FormHint()
LONGEST_DEFAULT = 80  # characters of a default that are shown beside its field


@dataclass(frozen=True)
class Shape:
    """How one field is entered, and within which bounds."""

    kind: InputKind = "json"
    is_optional: bool = False
    """Whether leaving it empty means None."""
    is_secret: bool = False
    choices: tuple[Any, ...] = ()
    minimum: int | float | None = None
    maximum: int | float | None = None
    max_length: int | None = None
    rule: str = ""
    """The bounds in words."""
    hint: FormHint = NO_HINT
    """What the plugin says about how to show it."""

    @property
    def is_size(self) -> bool:
        return self.kind == "integer" and self.hint.unit == "bytes"


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
        name: _hinted(_shape(properties.get(name, {}), definitions, is_secret(model, name)), info.metadata)
        for name, info in model.model_fields.items()
    }


def _hinted(shape: Shape, metadata: list[Any]) -> Shape:
    hint = next((one for one in metadata if isinstance(one, FormHint)), NO_HINT)
    shape = replace(shape, hint=hint)
    if shape.kind not in ("integer", "number") or not (hint.words or hint.unit):
        return shape
    bounds = (("at least", shape.minimum), ("at most", shape.maximum))
    told = [(words, value) for words, value in bounds if value is not None and value not in hint.words]
    return replace(shape, rule=", ".join(f"{words} {_figure(shape, value)}" for words, value in told))


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


def _kind(ways: list[Mapping[str, Any]], definitions: Mapping[str, Any]) -> tuple[InputKind, tuple[Any, ...]]:
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


def _rule(schema: Mapping[str, Any]) -> str:
    """The bounds as words: `at least 1, at most 5`."""
    return ", ".join(words.format(schema[key]) for key, words in _RULES if key in schema)


class NotUnderstood(ValueError):
    """What was typed cannot be read; the message says why."""


def fitting(shape: Shape, value: Any) -> Shape:
    """Entries that lines cannot hold, such as one with a line break in it, are entered as JSON."""
    if shape.kind != "lines" or shape.is_secret or not value:
        return shape
    return shape if lines_of(to_text(shape, value)) == _entries(value) else replace(shape, kind="json")


def to_text(shape: Shape, value: Any) -> str:
    """What the field of a form contains; a secret is only said to be there."""
    if shape.is_secret:
        return MASK if revealed(value) else ""
    plain = _plain(value)
    if plain is None and (shape.is_optional or shape.kind != "json"):
        return ""
    if shape.kind == "json":
        return json.dumps(plain, indent=2, ensure_ascii=False)
    if shape.kind == "lines":
        return "\n".join(_entries(value))
    return size_text(plain) if shape.is_size and type(plain) is int else choice_text(plain)


def from_text(shape: Shape, text: str) -> Any:
    """What was typed, for the model to check; raises NotUnderstood."""
    if shape.is_secret and MASK in text:
        raise NotUnderstood("Replace all of it, or leave it as it is.")
    if shape.is_optional and not text.strip():
        return None
    match shape.kind:
        case "select":
            return _choice(shape, text)
        case "lines":
            return lines_of(text)
        case "json":
            return _from_json(text)
        case "integer" | "number" if not text.strip():
            raise NotUnderstood("Enter a number.")
        case "integer" if shape.is_size:
            return _size(text)
        case "integer" | "number":
            return text.strip()
    return text


def described(shape: Shape, value: Any) -> str:
    """A value in a word or two, for the line below its field."""
    if shape.is_secret:
        return "a secret" if revealed(value) else "empty"
    plain = _plain(value)
    if isinstance(plain, bool):
        return "on" if plain else "off"
    if shape.kind in ("integer", "number") and plain is not None and (shape.hint.words or shape.hint.unit):
        return _measured(shape, plain)
    text = ", ".join(_entries(value)) if shape.kind == "lines" and plain else _one_line(plain)
    return text if len(text) <= LONGEST_DEFAULT else text[:LONGEST_DEFAULT] + "…"


def size_text(count: int) -> str:
    """A number of bytes as people say it, exactly: `64 kB`, `65.536 kB`, or `-1`."""
    for unit, size in SIZES.items():
        if abs(count) >= size:
            return f"{Decimal(count) / size:f} {unit}"
    return str(count)


def _size(text: str) -> int | str:
    """The bytes that were meant; what is no size goes to the model as it is, which says so."""
    found = re.fullmatch(r"(-?[\d.]{1,20})\s*([kMGT]?B)?", text.strip(), re.IGNORECASE)
    if not found:
        raise NotUnderstood("Enter a number of bytes, or a size such as 64 kB, 100 MB or 1.5 GB.")
    units = {unit.casefold(): size for unit, size in SIZES.items()} | {"b": 1}
    try:
        count = Decimal(found[1]) * units[(found[2] or "b").casefold()]
    except InvalidOperation:
        raise NotUnderstood("Enter a number of bytes, or a size such as 64 kB.") from None
    return int(count) if count == count.to_integral_value() else str(count)


def _measured(shape: Shape, value: Any) -> str:
    """A number with its unit, or the word for it."""
    if value in shape.hint.words:
        return shape.hint.words[value]
    return _figure(shape, value) if shape.is_size else f"{value:,} {shape.hint.unit}".rstrip()


def _figure(shape: Shape, value: Any) -> str:
    return size_text(value) if shape.is_size else f"{value:,}"


def choice_text(choice: Any) -> str:
    """How one of several values is written."""
    return choice if isinstance(choice, str) else json.dumps(choice)


def lines_of(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


def _choice(shape: Shape, text: str) -> Any:
    for choice in shape.choices:
        if choice_text(choice) == text:
            return choice
    raise NotUnderstood(f"Choose one of: {', '.join(map(choice_text, shape.choices))}.")


def _from_json(text: str) -> Any:
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()  # half characters and NaN are no JSON
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise NotUnderstood(f"This is not JSON: {error.msg} ({where}).") from None
    except (ValueError, RecursionError):
        raise NotUnderstood("This is not JSON that can be kept.") from None
    return value


def _entries(value: Any) -> list[str]:
    return [choice_text(item) for item in _plain(value)]


def _one_line(plain: Any) -> str:
    if plain is None:
        return "not set"
    return "empty" if plain in ("", [], {}) else choice_text(plain)


def _plain(value: Any) -> Any:
    return to_jsonable_python(value, serialize_unknown=True)
