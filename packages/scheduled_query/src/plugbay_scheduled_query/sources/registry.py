"""The sources that the settings name: `SCHEDULED_QUERY_SOURCES`, an object of name to URL."""

import re
from collections.abc import Mapping
from typing import Any

from plugbay_scheduled_query.sources.dialects.session import SourceError
from plugbay_scheduled_query.sources.source import Source, dialect_of_url

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,62}")


def check_name(name: str) -> str:
    """The name itself when it can name a source."""
    if NAME.fullmatch(name) is None:
        raise SourceError(
            "a source's name has 1 to 63 letters, digits, spaces, dots, dashes or underscores"
            " and begins with a letter or digit"
        )
    return name


def sources_from_settings(found: Mapping[str, Any]) -> list[Source]:
    """`{"orders": "postgresql://…", "odd": {"url": "…", "accepts_unguarded": true}}` as sources."""
    return [_source(name, value) for name, value in found.items()]


def _source(name: str, value: Any) -> Source:
    details = value if isinstance(value, dict) else {"url": value}
    url, accepts = details.get("url"), details.get("accepts_unguarded", False)
    is_odd = bool(details.keys() - {"url", "accepts_unguarded"})
    if is_odd or not isinstance(url, str) or not isinstance(accepts, bool):
        raise SourceError(f"the source {name} needs a URL, or an object of url and accepts_unguarded")
    dialect_of_url(url)  # says at once when it is no URL
    return Source(check_name(name), url, accepts)
