"""Realistic data for the gallery, the same at every call but for the time."""

import math
import random
from datetime import date, datetime, timedelta
from typing import Any

QUARTER_OF_AN_HOUR = 900  # seconds
MESSAGE = (
    "could not connect to server: Connection refused\n"
    '\tIs the server running on host "10.0.0.7" and accepting TCP/IP connections on port 5432?\n'
    "The last 3 attempts failed after 5,000 ms each."
)
COLUMNS = ["id", "country", "orders", "revenue", "vip", "last_order", "note"]


def gallery_data(now: datetime) -> dict[str, Any]:
    """What the examples show."""
    noise = random.Random(7)  # noqa: S311 - a picture, not a secret
    count = 96
    start = int(now.timestamp()) // QUARTER_OF_AN_HOUR * QUARTER_OF_AN_HOUR - count * QUARTER_OF_AN_HOUR
    median = [_wave(index, noise) for index in range(count)]
    return {
        "now": now,
        "columns": COLUMNS,
        "rows": _rows(),
        "t": [start + index * QUARTER_OF_AN_HOUR for index in range(count)],
        "median": median,
        "p95": [round(value * 1.35 + 16 + noise.random() * 10) for value in median],
        "days": [start - (28 - index) * 86_400 for index in range(28)],
        "failed_runs": [round(noise.random() ** 6 * 600) for _ in range(28)],
        "runs": [round(1900 + noise.random() * 380 - (900 if index % 7 > 4 else 0)) for index in range(28)],
        "users": [1180 + round(90 * math.sin(index / 4)) + noise.randint(0, 40) for index in range(29)]
        + [1284],
        "failures": [14, 16, 12, 15, 11, 18, 22, 19, 17, 14, 12, 14, 23],
        "gaps": [3.1, 2.9, 3.3, 3.2, None, None, 3.4, 3.2, 4.1, 3.8, 3.0, 2.8, None, 3.0, 3.6, 3.3],
        "moments": [now - timedelta(seconds=seconds) for seconds in (5, 130, 1440, 79_200, 400_000)],
        "later": now + timedelta(seconds=272),
        "message": MESSAGE,
        "schema": {
            "sessions": ["id", "user_id", "seen_at"],
            "orders": ["id", "country", "total", "created_at"],
        },
    }


def _wave(index: int, noise: random.Random) -> int:
    peak = 95 if index in (33, 71) else 0
    return round(42 + 18 * math.sin(index / 9) + noise.random() * 14 + peak)


def _rows() -> list[list[Any]]:
    return [
        [10481, "Germany", 1284, "98412.50", True, date(2026, 11, 14), "largest market"],
        [10482, "France", 973, "71230.00", True, date(2026, 11, 15), None],
        [10483, "Spain", 641, "40118.25", False, date(2026, 11, 13), MESSAGE],
        [
            10484,
            "Italy",
            588,
            "37904.10",
            False,
            None,
            "prices include VAT since the change of the contract in spring; ask before comparing",
        ],
        [10485, "Poland", 402, None, None, date(2026, 10, 30), "<b>not bold</b> & not a tag"],
    ]
