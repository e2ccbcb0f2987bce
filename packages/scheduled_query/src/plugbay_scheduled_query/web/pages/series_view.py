"""The metrics of a query on its page: series over time, the latest samples, and why there is none. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from plugbay_scheduled_query.core.exposition import Line, read_lines
from plugbay_scheduled_query.core.model import MetricConfig, Status
from plugbay_scheduled_query.metrics.board import block_of, publication_text
from plugbay_scheduled_query.repository.gauges import Publication
from plugbay_scheduled_query.repository.history import SnapshotPoint
from plugbay_scheduled_query.web.pages.charts import Chart

LINES = 20  # of each metric in the text
LARGEST = 12  # series with a line of their own
SAMPLES = 100  # in the table of the latest
# one for each line that stands for a series; neighbours are far apart
TONES = (
    *("blue", "orange", "teal", "purple", "yellow", "pink"),
    *("azure", "red", "lime", "indigo", "cyan", "green"),
)

Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MetricView:
    """What the page says of the metrics."""

    text: str = ""
    why: str = ""  # there is no sample, or nobody sees it
    problem: str = ""
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()
    series: int = 0
    chart: Chart | None = field(default=None)


def metric_view(
    shown: Publication, points: Sequence[SnapshotPoint], enabled: bool, is_exported: bool
) -> MetricView:
    """The text, the table and the chart of what a query publishes."""
    metrics = shown.metrics
    samples = [(metric, list(read_lines(block_of(shown, metric).text))) for metric in metrics]
    count = sum(len(lines) for _, lines in samples)
    columns, rows = _table(samples)
    return MetricView(
        publication_text(shown, LINES),
        _why(shown, count, enabled, is_exported),
        shown.problem or "",
        columns,
        rows,
        count,
        series_chart(metrics[0], points) if metrics[0].label_columns else None,
    )


def series_chart(metric: MetricConfig, points: Sequence[SnapshotPoint]) -> Chart | None:
    """A line for each of the largest series, one for all others; None before there are two executions."""
    known = sorted(points, key=lambda point: point.at)
    each = [_values(metric, point) for point in known]
    if sum(bool(values) for values in each) < 2:
        return None
    latest = next(values for values in reversed(each) if values)
    largest = sorted(latest, key=lambda labels: latest[labels], reverse=True)[:LARGEST]
    lines = [
        {"label": ", ".join(labels), "tone": tone, "fill": False, "values": [one.get(labels) for one in each]}
        for labels, tone in zip(largest, TONES, strict=False)
    ]
    rest = [_rest(point, values, largest) for point, values in zip(known, each, strict=True)]
    if any(rest):
        lines.append({"label": "all others", "tone": "secondary", "fill": False, "values": rest})
    return {"t": [round(point.at.timestamp(), 3) for point in known], "series": lines}


def _values(metric: MetricConfig, point: SnapshotPoint) -> dict[Labels, float]:
    """The samples of the metric as it is now; what another one gave before it was edited is not shown."""
    found = point.snapshot
    if point.status is not Status.SUCCESS or not found or found.get("metric_name") != metric.metric_name:
        return {}
    samples: Sequence[Mapping[str, Any]] = found.get("samples") or [found]
    wanted = {*metric.labels, *metric.label_columns}
    return {
        tuple([one["labels"][name] for name in metric.label_columns]): one["value"]
        for one in samples
        if one["labels"].keys() == wanted
    }


def _rest(point: SnapshotPoint, values: Mapping[Labels, float], largest: Sequence[Labels]) -> float | None:
    """What the sum of all has beyond the lines; None where they are all there is."""
    if not values or point.total is None:
        return None
    shown = [values[labels] for labels in largest if labels in values]
    series = (point.snapshot or {}).get("series", 1)
    return point.total - sum(shown) if series > len(shown) else None


def _table(samples: Sequence[tuple[MetricConfig, list[Line]]]) -> tuple[list[str], list[list[object]]]:
    """The largest samples of all metrics, with a column for each label that comes from rows."""
    labels = list(dict.fromkeys(name for metric, _ in samples for name in metric.label_columns))
    if not labels:
        return [], []
    is_one = len(samples) == 1
    columns = [*([] if is_one else ["metric"]), *labels, samples[0][0].metric_name if is_one else "value"]
    rows: list[list[object]] = []
    for metric, lines in samples:
        for line in sorted(lines, key=lambda line: line.value, reverse=True)[:SAMPLES]:
            named = [] if is_one else [metric.metric_name]
            rows.append([*named, *[line.labels.get(name, "") for name in labels], line.value])
    return columns, rows[:SAMPLES]


def _why(shown: Publication, count: int, enabled: bool, is_exported: bool) -> str:
    """Why there is nothing to be seen on /metrics; empty when there is."""
    if not is_exported:
        return "Nothing is published: the setting metrics_enabled is off."
    if not enabled:
        return "It is not published while the query is switched off."
    if count:
        return ""
    if shown.is_up is None:
        return "There is no value yet: the query has not run."
    if shown.is_up is False:
        if any(metric.is_dropped_on_failure for metric in shown.metrics):
            return "There is no value: the last execution failed, and its series are dropped then."
        return "There is no value yet: no execution has succeeded since this metric is there."
    return f"There is no value: {shown.problem or 'the latest result has no rows'}."
