"""Time zones by name, as the machine's zone database knows them."""

from datetime import UTC, tzinfo
from difflib import get_close_matches
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from plugbay_scheduled_query.core.characters import quoted

MAX_LENGTH = 64  # the longest name in use has 32 characters


class UnknownTimezone(ValueError):
    """No time zone has this name."""


@lru_cache(maxsize=1024)
def zone(name: str) -> tzinfo:
    """The time zone of that name; UTC is there even on a machine without a zone database."""
    if name == "UTC":
        return UTC
    # only listed names reach the file system, so that no name can be a path to somewhere else
    if name not in zone_names():
        raise UnknownTimezone(f"no time zone is called {quoted(name)}{_suggestion(name)}")
    return ZoneInfo(name)


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    """Every name that can be chosen, and means the same on every machine."""
    return (frozenset(available_timezones()) | {"UTC"}) - {"localtime", "Factory"}


def _suggestion(name: str) -> str:
    by_folded = {known.casefold(): known for known in zone_names()}
    asked = name[:MAX_LENGTH].strip().replace(" ", "_").casefold()
    close = get_close_matches(asked, by_folded, n=1, cutoff=0.8)
    return f"; did you mean {by_folded[close[0]]}?" if close else "; use a name such as Europe/Berlin or UTC"
