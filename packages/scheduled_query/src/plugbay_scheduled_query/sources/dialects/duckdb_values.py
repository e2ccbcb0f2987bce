"""How each DuckDB type comes to Python: as it is, or as DuckDB's own text where Python would lose some."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from plugbay_scheduled_query.sources.values import NESTING_LIMIT, JsonText, NumberText, iso_text

# infinite dates, nanoseconds, months in an interval: Python's types have none of these
_TEXT_TYPES = ("date", "interval", "geometry", "time", "timestamp")


@dataclass(frozen=True)
class Conversion:
    """The type to cast a column to in the database, and what to make of the value here."""

    cast: str | None = None
    load: Callable[[Any], Any] | None = None


def conversion_of(kind: Any) -> Conversion:
    """What to do with a column of this type."""
    if str(kind) == "JSON":
        return Conversion(None, JsonText)
    if kind.id == "bignum":
        return Conversion(None, NumberText)
    if kind.id == "variant":
        return Conversion("JSON", JsonText)
    if _is_text(kind):
        return Conversion("VARCHAR", iso_text)
    return Conversion(cast_of(kind))


def cast_of(kind: Any, depth: int = 0) -> str | None:
    """The same type with text in the place of what Python cannot hold; None when it can hold all of it."""
    if _is_text(kind) or depth > NESTING_LIMIT:
        return "VARCHAR"
    make = _NESTED.get(kind.id)
    return make(kind, depth + 1) if make else None


def _is_text(kind: Any) -> bool:
    return str(kind.id).startswith(_TEXT_TYPES)


def _list(kind: Any, depth: int) -> str | None:
    child = cast_of(kind.children[0][1], depth)
    return f"{child}[]" if child else None


def _array(kind: Any, depth: int) -> str | None:
    (_, element), (_, size) = kind.children
    child = cast_of(element, depth)
    return f"{child}[{size}]" if child else None


def _map(kind: Any, depth: int) -> str | None:
    parts = [(cast_of(child, depth), child) for _, child in kind.children]
    return f"MAP({', '.join(cast or str(child) for cast, child in parts)})" if _any_cast(parts) else None


def _struct(kind: Any, depth: int) -> str | None:
    parts = [(cast_of(child, depth), child) for _, child in kind.children]
    names = (_quote(name) for name, _ in kind.children)
    fields = (f"{name} {cast or child}" for name, (cast, child) in zip(names, parts, strict=True))
    return f"STRUCT({', '.join(fields)})" if _any_cast(parts) else None


def _as_text(kind: Any, depth: int) -> str | None:
    parts = [(cast_of(child, depth), child) for _, child in kind.children]
    return "VARCHAR" if _any_cast(parts) else None


def _any_cast(parts: list[tuple[str | None, Any]]) -> bool:
    return any(cast for cast, _ in parts)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


_NESTED: dict[str, Callable[[Any, int], str | None]] = {
    "array": _array,
    "list": _list,
    "map": _map,
    "struct": _struct,
    "tuple": _as_text,
    "union": _as_text,
}
