"""What the formats of the OpenAPI document look like, for Schemathesis: texts that no pattern describes."""

import itertools
import re
import time
from typing import Any

import schemathesis
from hypothesis import strategies as st

_numbers = itertools.count(int(time.time()))  # of another run on the same server, too
_SOURCE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,62}")

LETTERS = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=30)
MINUTES = st.sampled_from(["*", "0", "5", "*/5", "0,30", "10-20"])
HOURS = st.sampled_from(["*", "0", "*/2", "8-18", "23"])
DAYS = st.sampled_from(["*", "1", "15", "*/7"])
MONTHS = st.sampled_from(["*", "1", "JAN", "3-9"])
WEEKDAYS = st.sampled_from(["*", "0", "MON", "1-5", "7"])
FIELDS = st.tuples(MINUTES, HOURS, DAYS, MONTHS, WEEKDAYS).map(" ".join)
DAY = st.dates().map(str)
MOMENT = st.tuples(DAY, st.times()).map(lambda parts: f"{parts[0]} {parts[1].isoformat('seconds')}")
QUERIES = ["SELECT 1 AS one", "SELECT region, count(*) AS n FROM orders GROUP BY region", "VALUES (1), (2)"]

FORMATS = {
    "line": LETTERS,
    "lines": st.lists(LETTERS).map("\n".join),
    "tag": LETTERS.filter(lambda text: "," not in text),
    "sql": st.sampled_from(QUERIES),
    "cron": FIELDS | st.sampled_from(["@hourly", "@daily", "@weekly", "@monthly", "@yearly"]),
    "time-zone": st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"]),
    "data-source": st.just("shop"),
    "source-url": st.integers(1, 10**6).map("sqlite:////srv/{}.db".format),
    "utc-moment": DAY | MOMENT,
    "metric-name": st.from_regex(r"shop_[a-z0-9_]{1,20}", fullmatch=True),
    "label-name": st.from_regex(r"(?!le$|quantile$)[a-z][a-z0-9_]{0,20}", fullmatch=True),
}
for name, strategy in FORMATS.items():
    schemathesis.openapi.format(name, strategy)


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """What a schema cannot say: a name or series can be had once, and a period begins before it ends."""
    if isinstance(case.body, dict):
        case.body = _unheard_of(case.path, case.body)
    asked = case.query or {}
    dates = asked.get("date_from"), asked.get("date_to")
    if all(isinstance(date, str) for date in dates) and dates[0] > dates[1]:
        case.query = {**asked, "date_from": dates[1], "date_to": dates[0]}


def _unheard_of(path: str, body: dict[str, Any]) -> dict[str, Any]:
    name, metric = body.get("name"), body.get("monitor_metric_config")
    if "data-sources" in path and isinstance(name, str) and _SOURCE_NAME.fullmatch(name):
        body = {**body, "name": f"{name[:40]} {next(_numbers)}"}
    if isinstance(metric, dict) and str(metric.get("metric_name")).startswith("shop_"):
        new = f"{metric['metric_name'][:40]}_{next(_numbers)}"
        body = {**body, "monitor_metric_config": {**metric, "metric_name": new}}
    return body
