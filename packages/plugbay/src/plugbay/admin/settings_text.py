"""A setting's value as the text that a form shows, and back. Pure: values in, values out."""

import json
from dataclasses import replace
from typing import Any

from pydantic_core import to_jsonable_python

from plugbay.admin.settings_shape import Shape
from plugbay.settings import MASK, revealed

LONGEST_DEFAULT = 80  # characters of a default that are shown beside its field


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
    return choice_text(plain)


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
    text = ", ".join(_entries(value)) if shape.kind == "lines" and plain else _one_line(plain)
    return text if len(text) <= LONGEST_DEFAULT else text[:LONGEST_DEFAULT] + "…"


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
