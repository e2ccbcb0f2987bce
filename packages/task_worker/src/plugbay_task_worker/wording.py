"""What the pages say of times, durations and payloads."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

LONGEST_PAYLOAD = 120  # characters: a row of a table, not a page
UNITS = ((86_400, "d", "day"), (3600, "h", "hour"), (60, "min", "minute"), (1, "s", "second"))


def period(seconds: int) -> str:
    """How often: `every minute`, `every 5 min`, `every 90 s`."""
    size, short, long = next(unit for unit in UNITS if seconds % unit[0] == 0)
    count = seconds // size
    return f"every {long}" if count == 1 else f"every {count} {short}"


def duration(seconds: float) -> str:
    """How long: `0.4 ms`, `318 ms`, `1.2 s`, `3 min 20 s`."""
    if seconds < 0.01:
        return f"{seconds * 1000:.1f} ms"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def distance(when: datetime, now: datetime) -> str:
    """How far away: `12 s ago`, `in 3 min`, `now`."""
    seconds = (when - now).total_seconds()
    far = abs(seconds)
    size, short, _ = next((unit for unit in UNITS if far >= unit[0]), UNITS[-1])
    count = int(far // size)
    if not count:
        return "now"
    return f"in {count} {short}" if seconds > 0 else f"{count} {short} ago"


def payload(values: Mapping[str, Any]) -> str:
    """A payload in one short line."""
    text = json.dumps(values, ensure_ascii=False)
    return text if len(text) <= LONGEST_PAYLOAD else text[: LONGEST_PAYLOAD - 1] + "…"
