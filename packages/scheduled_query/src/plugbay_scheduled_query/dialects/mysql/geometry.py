"""Geometries in well-known text, from the well-known binary form in which MariaDB and MySQL send them."""

import struct
from typing import Any

_SIMPLE = ("POINT", "LINESTRING", "POLYGON")
_NAMES = (*_SIMPLE, "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON", "GEOMETRYCOLLECTION")
_SRID_BYTES = 4  # MySQL puts the reference system before the geometry
_NESTING_LIMIT = 32


def geometry_text(raw: bytes) -> str:
    """`POINT(1 2)` and the like, with `SRID=…;` before it when one is set; hex when it cannot be read."""
    try:
        srid = struct.unpack_from("<I", raw)[0]
        text = _Reader(raw, _SRID_BYTES).geometry()
    except (struct.error, IndexError):
        return raw.hex()
    return f"SRID={srid};{text}" if srid else text


class _Reader:
    """A place in the bytes that moves on as it reads."""

    def __init__(self, raw: bytes, at: int) -> None:
        self._raw, self._at, self._order = raw, at, "<"

    def geometry(self, depth: int = 0) -> str:
        name, body = self._named_body(depth)
        return f"{name}{body}"

    def _named_body(self, depth: int) -> tuple[str, str]:
        if depth > _NESTING_LIMIT:
            raise IndexError
        self._order = "<" if self._take("B") else ">"
        name = _NAMES[self._take("I") - 1]
        return name, self._body(name, depth)

    def _body(self, name: str, depth: int) -> str:
        if name == "POINT":
            return f"({self._point()})"
        if name == "LINESTRING":
            return self._line()
        if name == "POLYGON":
            return f"({','.join([self._line() for _ in range(self._take('I'))])})"
        if name == "GEOMETRYCOLLECTION":
            return f"({','.join([self.geometry(depth + 1) for _ in range(self._take('I'))])})"
        return f"({','.join([self._named_body(depth + 1)[1] for _ in range(self._take('I'))])})"

    def _line(self) -> str:
        return f"({','.join([self._point() for _ in range(self._take('I'))])})"

    def _point(self) -> str:
        return " ".join(repr(value).removesuffix(".0") for value in self._take("dd"))

    def _take(self, form: str) -> Any:
        found = struct.unpack_from(self._order + form, self._raw, self._at)
        self._at += struct.calcsize(self._order + form)
        return found if len(found) > 1 else found[0]
