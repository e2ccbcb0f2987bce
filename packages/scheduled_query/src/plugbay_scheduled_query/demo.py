"""The samples of a first start: a shop whose numbers move with time, six queries that watch it, a board."""

import math
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from plugbay_scheduled_query.catalogue.targets import SAMPLE_FILE
from plugbay_scheduled_query.core.source import Source
from plugbay_scheduled_query.queries.editing import Saved
from plugbay_scheduled_query.repository.sources import Origin
from plugbay_scheduled_query.tables import marks
from plugbay_scheduled_query.web.dependencies import Parts

SOURCE = "samples"
AUTHOR = "plugbay"
MARK = "samples"

_SCHEMA = """
CREATE TABLE countries (name TEXT PRIMARY KEY, share REAL, mean_order REAL);
CREATE TABLE day (minute INTEGER PRIMARY KEY, level REAL);
CREATE TABLE products (sku TEXT PRIMARY KEY, name TEXT, stock INTEGER, per_day INTEGER);
CREATE VIEW clock AS SELECT unixepoch() / 60 AS minute, unixepoch() / 60 % 1440 AS of_day;
CREATE VIEW visitors AS
  SELECT CAST(40 + level * 260 + (clock.minute * 7919 + 31) % 37 AS INTEGER) AS now
  FROM clock JOIN day ON day.minute = of_day;
CREATE VIEW orders AS
  WITH today AS (SELECT SUM(level) * 9 AS orders FROM day, clock WHERE day.minute <= of_day)
  SELECT name AS country, CAST(share * today.orders AS INTEGER) AS orders,
         ROUND(share * mean_order * today.orders, 2) AS revenue
  FROM countries, today;
CREATE VIEW stock AS
  SELECT sku, name AS product,
         stock - CAST(per_day * of_day / 1440.0 AS INTEGER) AS on_hand, per_day AS sold_per_day
  FROM products, clock;
CREATE VIEW payments AS
  SELECT (minute * 7919) % 11 + (minute % 97 = 0) * 40 AS failed FROM clock;
"""
_COUNTRIES = [
    ("Germany", 0.31, 76.4),
    ("France", 0.22, 71.9),
    ("Spain", 0.16, 58.2),
    ("Italy", 0.14, 62.7),
    ("Poland", 0.10, 44.1),
    ("Portugal", 0.07, 51.3),
]
_PRODUCTS = [
    ("KET-01", "Kettle", 420, 260),
    ("LMP-07", "Desk lamp", 180, 95),
    ("MUG-12", "Mug, blue", 900, 640),
    ("CHR-03", "Chair, oak", 75, 61),
    ("TBL-02", "Table, oak", 40, 12),
]

# together at most 41 starts an hour of the 120 that the default interval allows
QUERIES: tuple[Mapping[str, Any], ...] = (
    {
        "name": "Visitors now",
        "query": "SELECT now AS visitors FROM visitors",
        "cron_schedule": "*/5 * * * *",
        "render_type": "counter",
        "monitor_metric_config": {"metric_name": "shop_visitors", "labels": {"shop": "sample"}},
        "description": "How many people are in the shop.",
        "tags": ["shop"],
    },
    {
        "name": "Failed payments",
        "query": "SELECT failed AS payments FROM payments",
        "cron_schedule": "2-59/5 * * * *",
        "render_type": "metric",
        "monitor_metric_config": {"metric_name": "shop_failed_payments", "labels": {"shop": "sample"}},
        "description": "Payments that failed in this minute; now and then there is a burst.",
        "tags": ["shop", "on-call"],
    },
    {
        "name": "Orders by country today",
        "query": "SELECT country, orders, revenue\nFROM orders\nORDER BY revenue DESC",
        "cron_schedule": "3-59/10 * * * *",
        "render_type": "table",
        "tags": ["shop", "sales"],
    },
    {
        "name": "Revenue today",
        "query": "SELECT ROUND(SUM(revenue), 2) AS revenue FROM orders",
        "cron_schedule": "7-59/15 * * * *",
        "render_type": "auto",
        "tags": ["sales"],
    },
    {
        "name": "Stock running low",
        "query": (
            "SELECT product, on_hand, sold_per_day,\n"
            "       ROUND(on_hand * 24.0 / sold_per_day, 1) AS hours_left\n"
            "FROM stock\nWHERE on_hand < 2 * sold_per_day\nORDER BY hours_left"
        ),
        "cron_schedule": "11-59/30 * * * *",
        "render_type": "auto",
        "tags": ["stock"],
    },
    {
        "name": "SQLite version",
        "query": "SELECT 'SQLite ' || sqlite_version() AS engine",
        "cron_schedule": "24 6 * * *",
        "render_type": "raw",
        "tags": ["sample"],
    },
)

WATCHED = "Failed payments"
ALERT: Mapping[str, Any] = {
    "name": "A burst of failed payments",
    "condition": {"kind": "value", "op": ">=", "value": 8},
    "message": "Look at the payment provider's status page first.",
}

BOARD = "Shop"
CARDS: tuple[Mapping[str, Any], ...] = (  # `query` is the name of one
    {"query": "Visitors now"},
    {"query": "Revenue today"},
    {"query": "Failed payments"},
    {"text": "A board shows the results that you choose, in the order and size that you like."},
    {"query": "Visitors now", "width": 2, "height": 2, "show": "chart"},
    {"query": "Orders by country today", "width": 2, "height": 2},
    {"query": "Stock running low", "width": 4, "height": 2, "show": "table"},
)


def make_once(parts: Parts) -> None:
    """A source, six queries, each run once, an alert and a board; once ever: the deleted do not return."""
    if not _is_first_time(parts):
        return
    source = Source(SOURCE, f"sqlite:///{write_database(parts.host.data_dir)}")
    if parts.sources.add_unless_there(source, "sqlite", Origin.SAMPLE) is None:
        return  # somebody has a source of that name: it is left alone
    made: dict[str, int] = {}
    for fields in QUERIES:
        saved = parts.editing.create({**fields, "data_source": SOURCE}, AUTHOR)
        if isinstance(saved, Saved):
            made[saved.query.name] = saved.query.id
            if saved.query.name == WATCHED:
                parts.alerts.editing.create({**ALERT, "query_id": saved.query.id}, AUTHOR)
            parts.service.begin_now(saved.query.id, AUTHOR)
    _make_board(parts, made)


def _make_board(parts: Parts, made: Mapping[str, int]) -> None:
    cards = [
        {**card, "query_id": made[card["query"]]} if "query" in card else card
        for card in CARDS
        if "query" not in card or card["query"] in made
    ]
    parts.board_editing.create({"name": BOARD, "cards": cards}, AUTHOR)


def _is_first_time(parts: Parts) -> bool:
    store = parts.host.store
    mark = store.insert(marks).values(name=MARK, at=parts.clock.now())
    mark = mark.on_conflict_do_nothing(index_elements=["name"])
    with store.begin() as connection:
        return connection.scalar(mark.returning(marks.c.name)) is not None


def write_database(folder: Path) -> Path:
    """The sample database, made anew; returns where it is."""
    path = folder / SAMPLE_FILE  # which a source may be, although it is in the data directory
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(_SCHEMA)
        connection.executemany("INSERT INTO countries VALUES (?, ?, ?)", _COUNTRIES)
        connection.executemany("INSERT INTO products VALUES (?, ?, ?, ?)", _PRODUCTS)
        connection.executemany("INSERT INTO day VALUES (?, ?)", [(m, _level(m)) for m in range(1440)])
    path.chmod(0o600)
    return path


def _level(minute: int) -> float:
    """How busy a minute of the day is: quiet at night, a small peak at noon, a larger one in the evening."""
    hour = minute / 60
    noon, evening = math.exp(-(((hour - 12.5) / 2.6) ** 2)), math.exp(-(((hour - 19.5) / 2.2) ** 2))
    return round(0.08 + 0.55 * noon + 0.9 * evening, 4)
