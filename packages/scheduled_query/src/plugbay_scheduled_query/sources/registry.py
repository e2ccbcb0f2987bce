"""The sources that the settings name: `SCHEDULED_QUERY_SOURCES`, a JSON object of name to URL."""

import json
import re
from typing import Any

from .dialects.session import SourceError
from .source import Source, dialect_of_url

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,62}")


def check_name(name: str) -> str:
    """The name itself when it can name a source."""
    if NAME.fullmatch(name) is None:
        raise SourceError(
            "a source's name has 1 to 63 letters, digits, spaces, dots, dashes or underscores"
            " and begins with a letter or digit"
        )
    return name


def sources_from_settings(text: str) -> list[Source]:
    """`{"orders": "postgresql://…", "odd": {"url": "…", "accepts_unguarded": true}}` as sources."""
    if not text.strip():
        return []
    try:
        found = json.loads(text, object_pairs_hook=_unique)
    except ValueError:
        raise SourceError(
            "the sources are not a JSON object of name to URL, or name a source twice"
        ) from None
    if not isinstance(found, dict):
        raise SourceError("the sources are not a JSON object of name to URL")
    return [_source(name, value) for name, value in found.items()]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError
    return dict(pairs)


def _source(name: str, value: Any) -> Source:
    details = value if isinstance(value, dict) else {"url": value}
    url, accepts = details.get("url"), details.get("accepts_unguarded", False)
    is_odd = bool(details.keys() - {"url", "accepts_unguarded"})
    if is_odd or not isinstance(url, str) or not isinstance(accepts, bool):
        raise SourceError(f"the source {name} needs a URL, or an object of url and accepts_unguarded")
    dialect_of_url(url)  # says at once when it is no URL
    return Source(check_name(name), url, accepts)
