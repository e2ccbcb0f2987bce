"""A definition as a person writes it: what each field must be, and a sentence for each that is not."""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from plugbay_scheduled_query.core.chart import BadChart
from plugbay_scheduled_query.core.chart import check_chart as chart_of
from plugbay_scheduled_query.core.metric import BadMetric, check_apart, check_config, check_configs
from plugbay_scheduled_query.core.model import ChartConfig, MetricConfig, Query, RenderType
from plugbay_scheduled_query.core.schedule import BadCron, UnknownTimezone, parse, zone
from plugbay_scheduled_query.core.text import is_visible, quoted, unwelcome_character

MAX_NAME = 200  # characters
MAX_QUERY = 100_000  # bytes of UTF-8
MAX_DESCRIPTION = 2_000  # characters
MAX_TAGS = 20
MAX_TAG = 50  # characters

_LAYOUT = "\t\n\r\f"  # what may stand in a text of several lines


class FieldRefused(ValueError):
    """What is wrong with the value of one field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The fields of a definition that a person writes, all of them good."""

    name: str
    query: str
    cron_schedule: str
    enabled: bool = True
    render_type: RenderType = RenderType.AUTO
    metrics: tuple[MetricConfig, ...] = ()
    chart: ChartConfig | None = None
    data_source: str
    timezone: str | None = None
    timeout: int | None = None
    description: str = ""
    tags: tuple[str, ...] = ()

    @property
    def monitor_metric_config(self) -> MetricConfig | None:
        """The specified one: the first of its metrics."""
        return self.metrics[0] if self.metrics else None

    def as_json(self) -> dict[str, Any]:
        """The fields as the API takes them; what is written so can be read back."""
        metrics = [metric.as_json() for metric in self.metrics]
        return {
            **asdict(self),
            "render_type": self.render_type.value,
            "monitor_metric_config": metrics[0] if metrics else None,
            "metrics": metrics,
            "chart": self.chart.as_json() if self.chart else None,
            "tags": list(self.tags),
        }


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a definition cannot be stored: a sentence for each field that is to blame."""

    errors: Mapping[str, str]


def _no_objection(sql: str, data_source: str) -> str | None:
    return None


def _no_clash(metric: MetricConfig) -> str | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftRules:
    """What the checks must know of the world around: settings, sources, the guard, the other gauges.

    `objection` gives the guard's reason against an SQL text on a data source (an empty name while that is not
    known), or None; `metric_clash` says which other query publishes a metric that cannot stand beside this
    one, or None.
    """

    data_sources: Collection[str]
    default_data_source: str | None = None
    query_timeout_max: int = 300
    objection: Callable[[str, str], str | None] = _no_objection
    metric_clash: Callable[[MetricConfig], str | None] = _no_clash


FIELDS = tuple(field.name for field in fields(Draft))
FIRST_METRIC = "monitor_metric_config"  # the specified name of the first of `metrics`
_REQUIRED = ("name", "query", "cron_schedule")
_DEFAULT = object()  # stands for a data source that nobody named


def check_new(given: Mapping[str, Any], rules: DraftRules) -> Draft | Refused:
    """A new definition from whatever was sent; what is optional and missing, or null, gets its default."""
    optional = {name: value for name, value in given.items() if name in FIELDS and value is not None}
    wanted = {name: given.get(name, "") for name in _REQUIRED} | optional
    wanted.setdefault("data_source", _DEFAULT)
    checked, errors = _check_each(wanted | _metrics_in(given), rules)
    if "query" in checked:
        errors |= _object(checked["query"], checked.get("data_source", ""), rules)
    return Refused(errors) if errors else Draft(**checked)


def check_edit(current: Draft, given: Mapping[str, Any], rules: DraftRules) -> Draft | Refused:
    """A definition with the fields that were sent changed; the others are not looked at again."""
    sent = {name: value for name, value in given.items() if name in FIELDS}
    checked, errors = _check_each(sent | _metrics_in(given), rules, current.metrics)
    edited = replace(current, **checked)
    if ("query" in sent or "data_source" in sent) and "query" not in errors:
        errors |= _object(edited.query, "" if "data_source" in errors else edited.data_source, rules)
    return Refused(errors) if errors else edited


def draft_of(query: Query) -> Draft:
    """The part of a stored query that a person wrote."""
    return Draft(**{name: getattr(query, name) for name in FIELDS})


def changed_fields(before: Draft, after: Draft) -> tuple[str, ...]:
    """Which fields an edit really changed."""
    return tuple(name for name in FIELDS if getattr(before, name) != getattr(after, name))


def starts_afresh(before: Draft, after: Draft) -> bool:
    """Whether the schedule counts from now: time spent disabled, or under another schedule, is not missed."""
    is_switched_on = after.enabled and not before.enabled
    return is_switched_on or bool({"cron_schedule", "timezone"} & set(changed_fields(before, after)))


def check_name(given: Any) -> str:
    """A name of one line."""
    name = _text(given).strip()
    if not name or not is_visible(name):
        raise FieldRefused("a name is needed")
    if len(name) > MAX_NAME:
        raise FieldRefused(f"a name has at most {MAX_NAME} characters; this one has {len(name)}")
    return _clean(name)


def check_query(given: Any) -> str:
    """The SQL text, as it was typed."""
    sql = _clean(_text(given), _LAYOUT)
    if not sql.strip():
        raise FieldRefused("an SQL query is needed")
    if (size := len(sql.encode())) > MAX_QUERY:
        raise FieldRefused(f"a query has at most {MAX_QUERY:,} bytes; this one has {size:,}")
    return sql


def check_cron(given: Any) -> str:
    """A cron expression that fires, with one space between its fields."""
    try:
        return parse(_text(given)).expression
    except BadCron as error:
        raise FieldRefused(str(error)) from None


def check_enabled(given: Any) -> bool:
    """A plain true or false."""
    if not isinstance(given, bool):
        raise FieldRefused("must be true or false")
    return given


def check_render_type(given: Any) -> RenderType:
    """One of the five render types."""
    if given not in list(RenderType):
        raise FieldRefused(f"must be one of: {', '.join(RenderType)}")
    return RenderType(given)


def check_metric(given: Any) -> MetricConfig | None:
    """A metric configuration, as an object or (from a form) as the JSON text of one; null is none."""
    if isinstance(given, str):
        given = _json_in(given)
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise FieldRefused('must be an object such as {"metric_name": "orders", "labels": {"region": "eu"}}')
    try:
        return check_config(given)
    except BadMetric as error:
        raise FieldRefused(str(error)) from None


def check_metrics(given: Any) -> tuple[MetricConfig, ...]:
    """All metrics of a query, as a list or (from a form) as the JSON text of one; null is none."""
    if isinstance(given, str):
        given = _json_in(given)
    if given is None:
        return ()
    if not isinstance(given, list | tuple):
        raise FieldRefused('must be a list such as [{"metric_name": "orders", "label_columns": ["country"]}]')
    try:
        return check_configs(given)
    except BadMetric as error:
        raise FieldRefused(str(error)) from None


def check_chart(given: Any) -> ChartConfig | None:
    """How a table is drawn, as an object or (from a form) as the JSON text of one; null is as a table."""
    if isinstance(given, str):
        given = _json_in(given)
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise FieldRefused('must be an object such as {"kind": "bar", "x": "country", "y": ["orders"]}')
    try:
        return chart_of(given)
    except BadChart as error:
        raise FieldRefused(str(error)) from None


def check_timezone(given: Any) -> str | None:
    """The name of a time zone; null is the service's own."""
    if given is None:
        return None
    name = _text(given).strip()
    try:
        zone(name)
    except UnknownTimezone as error:
        raise FieldRefused(str(error)) from None
    return name


def check_timeout(given: Any, maximum: int) -> int | None:
    """Whole seconds; null is the service's own limit."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int):
        raise FieldRefused("must be a whole number of seconds")
    if not 1 <= given <= maximum:
        raise FieldRefused(f"must be from 1 to {maximum} seconds")
    return given


def check_description(given: Any) -> str:
    """A text of any number of lines, or none."""
    text = _clean("" if given is None else _text(given), _LAYOUT).strip()
    if len(text) > MAX_DESCRIPTION:
        raise FieldRefused(
            f"a description has at most {MAX_DESCRIPTION:,} characters; this one has {len(text):,}"
        )
    return text


def check_tags(given: Any) -> tuple[str, ...]:
    """A list of words, or (from a form) one text with commas; each once, whatever its capitals."""
    items = given.split(",") if isinstance(given, str) else [] if given is None else given
    if not isinstance(items, list | tuple):
        raise FieldRefused("must be a list of texts")
    tags = [tag for item in items if (tag := _clean(_text(item).strip()))]
    unique = {tag.casefold(): tag for tag in reversed(tags)}
    if len(unique) > MAX_TAGS:
        raise FieldRefused(f"at most {MAX_TAGS} tags; these are {len(unique)}")
    for tag in tags:
        if len(tag) > MAX_TAG or "," in tag:
            raise FieldRefused(
                f"the tag {quoted(tag)} is not valid: at most {MAX_TAG} characters and no comma"
            )
    return tuple(reversed(unique.values()))


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise FieldRefused("must be a text")
    return given


def _clean(text: str, but_allowed: str = "") -> str:
    if found := unwelcome_character(text, but_allowed):
        raise FieldRefused(f"must not have {found}")
    return text


def _json_in(text: str) -> Any:
    if not text.strip():
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise FieldRefused("is not valid JSON") from None


def _metrics_in(given: Mapping[str, Any]) -> dict[str, Any]:
    """The metrics as they were sent, under both their names."""
    return {name: given[name] for name in ("metrics", FIRST_METRIC) if name in given}


def _check_each(
    given: Mapping[str, Any], rules: DraftRules, before: tuple[MetricConfig, ...] = ()
) -> tuple[dict[str, Any], dict[str, str]]:
    checks = _checks(rules)
    checked: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for name, value in given.items():
        try:
            checked[name] = checks[name](value)
        except FieldRefused as refusal:
            errors[name] = str(refusal)
    try:
        return _merged(checked, before, rules), errors
    except FieldRefused as refusal:
        return checked, errors | {FIRST_METRIC if FIRST_METRIC in given else "metrics": str(refusal)}


def _merged(checked: dict[str, Any], before: tuple[MetricConfig, ...], rules: DraftRules) -> dict[str, Any]:
    """With the first metric put where it belongs: alone it keeps the others, null takes all away."""
    if FIRST_METRIC in checked:
        first: MetricConfig | None = checked.pop(FIRST_METRIC)
        if "metrics" not in checked:
            checked["metrics"] = (first, *before[1:]) if first else ()
        elif first != next(iter(checked["metrics"]), None):
            raise FieldRefused("must be the first of “metrics”, or one of the two be left out")
    _check_series(checked.get("metrics", ()), rules)
    return checked


def _checks(rules: DraftRules) -> dict[str, Callable[[Any], Any]]:
    return {
        "name": check_name,
        "query": check_query,
        "cron_schedule": check_cron,
        "enabled": check_enabled,
        "render_type": check_render_type,
        "metrics": check_metrics,
        FIRST_METRIC: check_metric,
        "chart": check_chart,
        "data_source": lambda given: _check_source(given, rules),
        "timezone": check_timezone,
        "timeout": lambda given: check_timeout(given, rules.query_timeout_max),
        "description": check_description,
        "tags": check_tags,
    }


def _object(sql: str, data_source: str, rules: DraftRules) -> dict[str, str]:
    objection = rules.objection(sql, data_source)
    return {"query": objection} if objection else {}


def _check_series(metrics: tuple[MetricConfig, ...], rules: DraftRules) -> None:
    """No series may be fed twice, by this query or another."""
    try:
        check_apart(metrics)
    except BadMetric as error:
        raise FieldRefused(str(error)) from None
    for metric in metrics:
        if reason := rules.metric_clash(metric):
            raise FieldRefused(reason)


def _check_source(given: Any, rules: DraftRules) -> str:
    if given is _DEFAULT:
        return _default_source(rules)
    if not isinstance(given, str):
        raise FieldRefused("must be a text")
    if given not in rules.data_sources:
        raise FieldRefused(f"no data source is called {quoted(given)}; {_choices(rules)}")
    return given


def _default_source(rules: DraftRules) -> str:
    """The source of a query that names none: the setting's, else the only one there is."""
    if rules.default_data_source in rules.data_sources:
        return str(rules.default_data_source)
    if len(rules.data_sources) == 1:
        return next(iter(rules.data_sources))
    raise FieldRefused(f"a data source is needed; {_choices(rules)}")


def _choices(rules: DraftRules) -> str:
    if not rules.data_sources:
        return "there is none yet: add one first"
    return f"there are: {', '.join(sorted(rules.data_sources))}"
