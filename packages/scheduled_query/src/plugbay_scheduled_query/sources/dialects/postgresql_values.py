"""PostgreSQL's text for the types whose Python value would lose something, or does not exist."""

from functools import cache
from typing import Any

import psycopg
from psycopg.adapt import AdaptersMap, Loader

from plugbay_scheduled_query.sources.values import JsonText, NumberText, decode_text, iso_text

# an interval has months, a date can be BC or infinite, a range can be empty: Python's types know none of it
_AS_TEXT = ("interval", "inet", "cidr", "uuid")
_AS_ISO = ("date", "time", "timetz", "timestamp", "timestamptz")
_AS_JSON = ("json", "jsonb")
_RANGES = ("int4", "int8", "num", "date", "ts", "tstz")
# 0 stands for every type without a loader of its own, 705 for a literal without a type
_CHARACTERS = (0, 705, "text", "varchar", "bpchar", "name")


class TextLoader(Loader):
    """The text as the server wrote it."""

    def load(self, data: Any) -> Any:
        return decode_text(bytes(data))


class IsoLoader(Loader):
    """A date or time in ISO 8601."""

    def load(self, data: Any) -> Any:
        return iso_text(bytes(data).decode("ascii"))


class NumericLoader(Loader):
    """A number with every digit."""

    def load(self, data: Any) -> Any:
        return NumberText(bytes(data).decode("ascii"))


class JsonLoader(Loader):
    """JSON that stays the text it is."""

    def load(self, data: Any) -> Any:
        return JsonText(decode_text(bytes(data)))


@cache
def adapters() -> AdaptersMap:
    """The loaders of our sessions; arrays of these types follow their elements."""
    found = AdaptersMap(psycopg.adapters)
    for kind in (*_AS_TEXT, *(f"{part}{kind}" for part in _RANGES for kind in ("range", "multirange"))):
        found.register_loader(kind, TextLoader)
    for kind in _AS_ISO:
        found.register_loader(kind, IsoLoader)
    for kind in _AS_JSON:
        found.register_loader(kind, JsonLoader)
    found.register_loader("numeric", NumericLoader)
    return found


def register_lenient_text(map_of_connection: AdaptersMap) -> None:
    """For a database without an encoding, whose text may be any bytes."""
    for kind in _CHARACTERS:
        map_of_connection.register_loader(kind, TextLoader)
