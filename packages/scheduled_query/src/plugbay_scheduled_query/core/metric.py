"""The number of a result, and the gauge that it feeds: which cells are numbers, which names are allowed."""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from itertools import combinations
from typing import Any, TypeVar

from plugbay_scheduled_query.core.model import MetricConfig, MetricType, Number, OnFailure
from plugbay_scheduled_query.core.text import quoted, unwelcome_character

MAX_METRICS = 20  # of one query
MAX_LABELS = 20
MAX_COLUMN = 1024  # characters of a column's name
MAX_HELP = 1024  # characters of a help text
MAX_NAME = 200  # characters of a metric's or label's name
MAX_VALUE = 1024  # characters of a label's value
RESERVED_PREFIXES = ("plugbay_", "process_", "python_", "__")
RESERVED_NAMES = ("up",)
RESERVED_LABELS = ("le", "quantile")

_PLAIN = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)")
_TOO_LONG_TO_SPELL = 10**15
_SAFE_INT = 10**300  # any float can hold less
_METRIC_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")

Choice = TypeVar("Choice", bound=StrEnum)
Series = tuple[str, frozenset[tuple[str, str]]]


class BadMetric(ValueError):
    """A metric configuration that Prometheus, or another metric, does not allow, and why."""


def number_in(cell: object) -> Number | None:
    """The number that a cell is or spells; booleans, dates, NaN and what no float can hold are none."""
    if isinstance(cell, str):
        return _finite(Decimal(cell)) if _PLAIN.fullmatch(cell) else None
    if isinstance(cell, bool) or not isinstance(cell, int | float | Decimal):
        return None
    return _finite(cell)


def first_number(rows: Iterable[Iterable[object]], binary: Collection[int] = ()) -> Number | None:
    """The first numeric value of a result: row by row, left to right, but for columns with bytes."""
    for row in rows:
        for index, cell in enumerate(row):
            if index not in binary and (found := number_in(cell)) is not None:
                return found
    return None


def format_number(number: Number) -> str:
    """A number as a person reads it: grouped by thousands, no more digits than tell something."""
    size = -number if number < 0 else number
    if size < _TOO_LONG_TO_SPELL and number == int(number):
        return f"{int(number):,}"
    if 1 <= size < _TOO_LONG_TO_SPELL:
        return f"{number:,.2f}".rstrip("0").rstrip(".")
    return f"{float(number):.4g}"


def check_config(given: Mapping[str, Any]) -> MetricConfig:
    """The configuration of a metric from an object of unknown content."""
    name, labels = given.get("metric_name"), given.get("labels")
    if not isinstance(name, str) or not name.strip():
        raise BadMetric("metric_name is missing: it must be a text such as orders_total")
    if labels is not None and not isinstance(labels, Mapping):
        raise BadMetric("labels must be an object of names and values")
    config = MetricConfig(
        _checked_name(name.strip()),
        _checked_labels(labels or {}),
        _checked_columns(given.get("label_columns")),
        _checked_value_column(given.get("value_column")),
        _checked_choice("type", given.get("type"), MetricType),
        _checked_help(given.get("help")),
        _checked_choice("on_failure", given.get("on_failure"), OnFailure),
    )
    _check_all_labels(config)
    return config


def check_configs(given: Sequence[Any]) -> tuple[MetricConfig, ...]:
    """All metrics of a query; whether they can be told apart is another question."""
    if len(given) > MAX_METRICS:
        raise BadMetric(f"a query has at most {MAX_METRICS} metrics; these are {len(given)}")
    if not all(isinstance(item, Mapping) for item in given):
        raise BadMetric('each metric must be an object such as {"metric_name": "orders"}')
    return tuple(check_config(item) for item in given)


def check_apart(configs: Sequence[MetricConfig]) -> None:
    """Raises BadMetric if two metrics of one query would feed the same series."""
    for one, other in combinations(configs, 2):
        if reason := clash(one, other):
            raise BadMetric(f"this query would publish “{one.metric_name}” twice, {reason}")


def clash(one: MetricConfig, other: MetricConfig) -> str | None:
    """Why a metric cannot stand on /metrics beside another one that is there; None if it can."""
    if one.metric_name != other.metric_name:
        return None
    if one.kind is not other.kind:
        return f"as a {other.kind}, and here it is a {one.kind}"
    common = one.labels.keys() & other.labels.keys()
    if any(one.labels[name] != other.labels[name] for name in common):
        return None
    if series_of(one) == series_of(other):
        return "with the same labels"
    return "and there is no label that both have with different values"


def series_of(config: MetricConfig) -> Series:
    """What makes two gauges the same to Prometheus: an empty label is no label, and order is nothing."""
    return config.metric_name, frozenset((name, value) for name, value in config.labels.items() if value)


def float_in(cell: object) -> float | None:
    """The same as a float, with a short way for what most cells are."""
    if type(cell) is int and -_SAFE_INT < cell < _SAFE_INT:
        return float(cell)
    number = number_in(cell)
    return None if number is None else float(number)


def gauge_value(rows: Iterable[Iterable[object]], binary: Collection[int] = ()) -> float | None:
    """The value that a result gives its gauge: the first numeric one, as a float."""
    number = first_number(rows, binary)
    return None if number is None else float(number)


def _checked_name(name: str) -> str:
    if len(name) > MAX_NAME or not _METRIC_NAME.fullmatch(name):
        raise BadMetric(
            f"the metric name {quoted(name)} is not valid: it takes the letters a to z, digits, “_” and “:”, "
            f"does not begin with a digit and has at most {MAX_NAME} characters"
        )
    if name in RESERVED_NAMES:
        raise BadMetric(f"the metric name “{name}” is reserved")
    if name.startswith(RESERVED_PREFIXES):
        prefix = next(prefix for prefix in RESERVED_PREFIXES if name.startswith(prefix))
        raise BadMetric(f"metric names that begin with “{prefix}” are reserved")
    return name


def _checked_labels(labels: Mapping[Any, Any]) -> dict[str, str]:
    if len(labels) > MAX_LABELS:
        raise BadMetric(f"a metric takes at most {MAX_LABELS} labels; these are {len(labels)}")
    return {_checked_label(name): _checked_value(name, value) for name, value in labels.items()}


def _checked_label(name: Any) -> str:
    if not isinstance(name, str) or len(name) > MAX_NAME or not _LABEL_NAME.fullmatch(name):
        raise BadMetric(
            f"the label name {quoted(str(name))} is not valid: it takes the letters a to z, digits and “_”, "
            f"does not begin with a digit and has at most {MAX_NAME} characters"
        )
    if name in RESERVED_LABELS or name.startswith("__"):
        raise BadMetric(f"the label name “{name}” is reserved")
    return name


def _checked_columns(given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    if not isinstance(given, list | tuple):
        raise BadMetric('label_columns must be a list of column names such as ["country"]')
    return tuple(_checked_label(name) for name in given)


def _checked_value_column(given: Any) -> str | None:
    if given is None:
        return None
    if not isinstance(given, str) or not given.strip():
        raise BadMetric("value_column must be the name of a column")
    return _checked_text("value_column", given, MAX_COLUMN)


def _checked_help(given: Any) -> str:
    if given is None:
        return ""
    if not isinstance(given, str):
        raise BadMetric("help must be a text")
    return _checked_text("help", given.strip(), MAX_HELP)


def _checked_text(name: str, text: str, most: int) -> str:
    if len(text) > most:
        raise BadMetric(f"{name} has more than {most:,} characters")
    if found := unwelcome_character(text, but_allowed="\n\t"):
        raise BadMetric(f"{name} has {found}")
    return text


def _checked_choice(name: str, given: Any, choices: type[Choice]) -> Choice | None:
    if given is None:
        return None
    if given not in list(choices):
        raise BadMetric(f"{name} must be one of: {', '.join(choices)}")
    return choices(given)


def _check_all_labels(config: MetricConfig) -> None:
    names = [*config.labels, *config.label_columns]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise BadMetric(f"the label “{twice}” is there twice")
    if len(names) > MAX_LABELS:
        raise BadMetric(f"a metric takes at most {MAX_LABELS} labels; these are {len(names)}")


def _checked_value(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise BadMetric(f"the value of the label “{name}” must be a text")
    if len(value) > MAX_VALUE:
        raise BadMetric(f"the value of the label “{name}” has more than {MAX_VALUE} characters")
    if found := unwelcome_character(value, but_allowed="\n\t"):
        raise BadMetric(f"the value of the label “{name}” has {found}")
    return value


def _finite(number: Number) -> Number | None:
    try:
        return number if math.isfinite(float(number)) else None
    except (OverflowError, ValueError):  # an integer beyond all floats; a signalling NaN
        return None
