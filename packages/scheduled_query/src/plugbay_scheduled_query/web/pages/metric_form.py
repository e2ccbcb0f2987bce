"""The metrics of a query in its form: fields for each, and what /metrics would show of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plugbay_scheduled_query.core.draft import FieldRefused, check_metrics
from plugbay_scheduled_query.core.exposition import lines_of
from plugbay_scheduled_query.core.metric import MAX_METRICS
from plugbay_scheduled_query.core.model import MetricConfig, MetricType
from plugbay_scheduled_query.core.results import iter_rows
from plugbay_scheduled_query.core.sampling import Sampling, sample
from plugbay_scheduled_query.metrics.board import header_of
from plugbay_scheduled_query.queries.tried import Tried

MOST_LINES = 20  # of each metric in a preview
FIRST = ""  # the ending of the first metric's fields; those of the second end in _2
COUNTER_ENDING = "_total"
# a metric is one that has any of these
NEEDED = ("metric_name", "metric_labels", "metric_label_columns", "metric_value_column")


Samples = Mapping[tuple[str, ...], float]


@dataclass(frozen=True, slots=True)
class MetricPreview:
    """What /metrics would show, of which result; or what is wrong."""

    text: str = ""
    error: str = ""
    series: int | None = None  # none while no result is known
    warnings: tuple[str, ...] = ()
    of: str = ""  # whose values these are, in words


@dataclass(frozen=True, slots=True)
class KnownResult:
    """A result to take samples from: of the latest Try it, or of the latest execution."""

    tried: Tried
    words: str


def endings(form: Mapping[str, str]) -> list[str]:
    """The endings of the fields that a form shows: one for each metric, and one more to fill in."""
    every = [FIRST, *(f"_{n}" for n in range(2, MAX_METRICS + 1))]
    last = max((n for n, end in enumerate(every) if form.get(f"metric_name{end}", "").strip()), default=-1)
    return every[: last + 2]


def metrics_from_form(form: Mapping[str, str]) -> dict[str, Any]:
    """What was typed, as the API would have sent it; a form with one metric leaves the others alone."""
    every = [end for end in endings(form) if f"metric_name{end}" in form]
    found = [metric for end in every if (metric := _metric(form, end))]
    if "metric_name_2" in form:
        return {"metrics": found}
    return {"monitor_metric_config": found[0] if found else None}


def metrics_as_form(metrics: Sequence[MetricConfig]) -> dict[str, str]:
    """The fields of a form that shows these metrics."""
    if not metrics:
        return {"metric_name": "", "metric_labels": ""}
    every = endings({f"metric_name{end}": "x" for end in _endings(len(metrics))})
    texts: dict[str, str] = {}
    for end, metric in zip(every, metrics, strict=False):
        texts |= {f"{name}{end}": text for name, text in _texts(metric).items()}
    return texts


def metric_preview(form: Mapping[str, str], known: KnownResult | None, max_series: int) -> MetricPreview:
    """The exposition that a form's metrics will produce, with the values of a result that is known."""
    given = metrics_from_form({"metric_name": "", "metric_name_2": "", **form})["metrics"]
    try:
        metrics = check_metrics(given)
    except FieldRefused as refusal:
        return MetricPreview(error=str(refusal))
    if not metrics:
        return MetricPreview()
    sql = form.get("query", "")
    if known is None:
        return MetricPreview(_text(metrics, sql, Sampling()), warnings=_advice(metrics))
    tried = known.tried
    found = sample(metrics, tried.columns, iter_rows(tried.result_json), tried.binary, max_series)
    series = sum(len(values) for _, values in _samples(metrics, found))
    warnings = (*([found.problem] if found.problem else []), *_advice(metrics))
    words = known.words if sql.strip() == tried.sql.strip() else f"{known.words}, before the SQL was edited"
    return MetricPreview(_text(metrics, sql, found), "", series, warnings, words)


def _endings(count: int) -> list[str]:
    return [FIRST, *(f"_{n}" for n in range(2, count + 1))]


def _metric(form: Mapping[str, str], end: str) -> dict[str, Any] | None:
    texts = {name: _lines(form.get(f"{name}{end}", "")).strip() for name in _texts(MetricConfig(""))}
    if not any(texts[name] for name in NEEDED):
        return None
    columns = [name.strip() for name in texts["metric_label_columns"].split(",") if name.strip()]
    optional = {
        "label_columns": columns,
        "value_column": texts["metric_value_column"],
        "type": texts["metric_type"],
        "help": texts["metric_help"],
        "on_failure": texts["metric_on_failure"],
    }
    labels = dict(_label(line) for line in texts["metric_labels"].split("\n") if line.strip())
    required = {"metric_name": texts["metric_name"], "labels": labels}
    return required | {name: value for name, value in optional.items() if value}


def _texts(metric: MetricConfig) -> dict[str, str]:
    return {
        "metric_name": metric.metric_name,
        "metric_labels": "\n".join(f"{name}={value}" for name, value in metric.labels.items()),
        "metric_label_columns": ", ".join(metric.label_columns),
        "metric_value_column": metric.value_column or "",
        "metric_type": metric.type or "",
        "metric_help": metric.help,
        "metric_on_failure": metric.on_failure or "",
    }


def _label(line: str) -> tuple[str, str]:
    # a line without “=” is a label without a value; the check names what is wrong with it
    name, _, value = line.partition("=")
    return name.strip(), value.strip()


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")  # browsers send every line break as two characters


def _text(metrics: Sequence[MetricConfig], sql: str, found: Sampling) -> str:
    """The lines of each metric, those past the first of them counted."""
    pieces: list[str] = []
    for metric, values in _samples(metrics, found):
        lines = lines_of(metric, values)
        pieces += [header_of(metric, sql).decode(), *lines[:MOST_LINES]]
        if len(lines) > MOST_LINES:
            pieces.append(f"… and {len(lines) - MOST_LINES:,} more\n")
    return "".join(pieces)


def _samples(metrics: Sequence[MetricConfig], found: Sampling) -> list[tuple[MetricConfig, Samples]]:
    of_rows = {id(one.metric): one.values or {} for one in found.sampled}
    plain: Samples = {} if found.value is None else {(): found.value}
    return [(metric, of_rows.get(id(metric), {}) if not metric.is_plain else plain) for metric in metrics]


def _advice(metrics: Sequence[MetricConfig]) -> tuple[str, ...]:
    """What Prometheus takes, but its users would stumble over."""
    return tuple(
        f"Prometheus expects the name of a counter to end in {COUNTER_ENDING}: {metric.metric_name}_total"
        for metric in metrics
        if metric.kind is MetricType.COUNTER and not metric.metric_name.endswith(COUNTER_ENDING)
    )
