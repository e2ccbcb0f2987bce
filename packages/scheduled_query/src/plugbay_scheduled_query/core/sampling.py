"""What a result gives the metrics of its query: which rows become samples, and what must be said of it."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from plugbay_scheduled_query.core.exposition import parts_of
from plugbay_scheduled_query.core.metric import MAX_VALUE, float_in, gauge_value
from plugbay_scheduled_query.core.model import MetricConfig, Outcome, Sampled
from plugbay_scheduled_query.core.text import cell_text, quoted

SNAPSHOT_SAMPLES = 100  # of each metric in history: enough for a chart, few enough to keep for each execution
NO_NUMBER = "the result has no numeric value"

Rows = Iterable[Sequence[object]]
Snapshot = dict[str, object]


@dataclass(frozen=True, slots=True)
class Sampling:
    """What a result gives the metrics of its query, and what it does not, as a sentence."""

    value: float | None = None  # the first number: of metrics without columns
    sampled: tuple[Sampled, ...] = ()
    problem: str | None = None


def sample(
    metrics: Sequence[MetricConfig],
    columns: Sequence[str],
    rows: Rows,
    binary: Collection[int] = (),
    max_series: int = 1_000,
) -> Sampling:
    """The samples of all metrics; rows past `max_series`, of all metrics together, are left out."""
    plain = [metric for metric in metrics if metric.is_plain]
    # the first number stands near the beginning: who wants no more need not read to the end
    kept = [] if len(plain) == len(metrics) else list(rows)
    value = gauge_value(kept or rows, binary)
    problems = [NO_NUMBER] if plain and value is None else []
    room, sampled = max_series - (len(plain) if value is not None else 0), []
    for metric in metrics:
        if not metric.is_plain:
            taken = _Taken(metric, room)
            taken.take(columns, kept, binary)
            room -= len(taken.values or ())
            sampled.append(Sampled(metric, taken.values, parts_of(metric, taken.values or {})))
            problems += taken.problems(max_series)
    return Sampling(value, tuple(sampled), "; ".join(dict.fromkeys(problems)) or None)


def chart_value(metrics: Sequence[MetricConfig], outcome: Outcome) -> float | None:
    """The one number that sparklines show: the sum of the first metric's series, else the first number."""
    if not metrics or metrics[0].is_plain:
        return outcome.value
    values = _values(metrics[0], outcome)
    total = sum(values.values())
    return total if values and math.isfinite(total) else None


def snapshot(metrics: Sequence[MetricConfig], outcome: Outcome) -> Snapshot | None:
    """What history remembers of the samples: `monitor_metrics_snapshot`."""
    each = [(metric, _values(metric, outcome)) for metric in metrics]
    if sum(len(values) for _, values in each) <= 1:
        return next((_of_one(metric, *item) for metric, values in each for item in values.items()), None)
    first, *more = [_of_many(metric, values) for metric, values in each]
    return first | {"more": more}


def labels_of(metric: MetricConfig, row: tuple[str, ...]) -> dict[str, str]:
    """The labels of one sample: the fixed ones, then those of its row."""
    return {**metric.labels, **dict(zip(metric.label_columns, row, strict=True))}


@dataclass(slots=True)
class _Taken:
    """The samples of one metric while its rows are gone through."""

    metric: MetricConfig
    room: int
    values: dict[tuple[str, ...], float] | None = None
    missing: list[str] = field(default_factory=list)
    left_out: int = 0
    doubled: int = 0
    has_no_number: bool = False

    def take(self, columns: Sequence[str], rows: Sequence[Sequence[object]], binary: Collection[int]) -> None:
        found = {name: _index(columns, name) for name in self._wanted()}
        self.missing = [name for name, index in found.items() if index is None]
        value_at = self._value_at(columns, found)
        if self.missing or value_at is None:
            return
        label_at = [at for name in self.metric.label_columns if (at := found[name]) is not None]
        self.values = {}
        if value_at not in binary:
            self._fill(self.values, rows if self.metric.label_columns else rows[:1], label_at, value_at)
        self.has_no_number = bool(rows) and not self.values and not self.left_out

    def problems(self, max_series: int) -> list[str]:
        """What must be said, each as part of a sentence."""
        name = self.metric.metric_name
        found = [f"{name}: the result has no column {quoted(missing)}" for missing in self.missing]
        if self.values is None and not self.missing:
            found.append(f"{name}: no column is left for the value")
        if self.left_out:
            found.append(f"{name}: {self.left_out:,} rows are left out, max_series is {max_series:,}")
        if self.doubled:
            found.append(f"{name}: {self.doubled:,} rows repeat the labels of another, and the first counts")
        if self.has_no_number:
            found.append(f"{name}: no row has a number")
        return found

    def _wanted(self) -> list[str]:
        value_column = self.metric.value_column
        return [*self.metric.label_columns, *([] if value_column is None else [value_column])]

    def _value_at(self, columns: Sequence[str], found: Mapping[str, int | None]) -> int | None:
        if self.metric.value_column is not None:
            return found[self.metric.value_column]
        labels = set(found.values())
        return next((index for index in range(len(columns)) if index not in labels), None)

    def _fill(
        self,
        values: dict[tuple[str, ...], float],
        rows: Sequence[Sequence[object]],
        label_at: Sequence[int],
        value_at: int,
    ) -> None:
        for row in rows:
            value = float_in(row[value_at])
            if value is None:
                continue
            labels = tuple([_label(row[at]) for at in label_at])
            if labels in values:
                self.doubled += 1
            elif len(values) >= self.room:
                self.left_out += 1
            else:
                values[labels] = value


def _values(metric: MetricConfig, outcome: Outcome) -> Mapping[tuple[str, ...], float]:
    """The samples that an outcome has for a metric."""
    if metric.is_plain:
        return {} if outcome.value is None else {(): outcome.value}
    return next((one.values or {} for one in outcome.sampled if one.metric == metric), {})


def _index(columns: Sequence[str], name: str) -> int | None:
    """Where a column is, by its exact name, else whatever its capitals."""
    if name in columns:
        return columns.index(name)
    folded = name.casefold()
    return next((index for index, column in enumerate(columns) if column.casefold() == folded), None)


def _label(cell: object) -> str:
    text = cell if isinstance(cell, str) else cell_text(cell)
    if len(text) > MAX_VALUE:
        text = text[:MAX_VALUE]
    # a NUL would end the text of the whole scrape for Prometheus
    return text.replace("\0", "\ufffd") if "\0" in text else text


def _of_one(metric: MetricConfig, row: tuple[str, ...], value: float) -> Snapshot:
    return {"metric_name": metric.metric_name, "labels": labels_of(metric, row), "value": value}


def _of_many(metric: MetricConfig, values: Mapping[tuple[str, ...], float]) -> Snapshot:
    first = islice(values.items(), SNAPSHOT_SAMPLES)
    samples = [{"labels": labels_of(metric, row), "value": value} for row, value in first]
    return {
        "metric_name": metric.metric_name,
        "labels": dict(metric.labels),
        "value": samples[0]["value"] if samples else None,
        "samples": samples,
        "series": len(values),
    }
