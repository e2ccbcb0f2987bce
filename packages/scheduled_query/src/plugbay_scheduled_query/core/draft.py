"""A definition before it is stored: the same checks for form, API and command line, errors by field."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from plugbay_scheduled_query.core.characters import quoted
from plugbay_scheduled_query.core.draft_fields import (
    FieldRefused,
    check_cron,
    check_description,
    check_enabled,
    check_metric,
    check_name,
    check_query,
    check_render_type,
    check_tags,
    check_timeout,
    check_timezone,
)
from plugbay_scheduled_query.core.metric import Series, series_of
from plugbay_scheduled_query.core.model import MetricConfig, Query, RenderType


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The fields of a definition that a person writes, all of them good."""

    name: str
    query: str
    cron_schedule: str
    enabled: bool = True
    render_type: RenderType = RenderType.AUTO
    monitor_metric_config: MetricConfig | None = None
    data_source: str
    timezone: str | None = None
    timeout: int | None = None
    description: str = ""
    tags: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The fields as the API takes them; what is written so can be read back."""
        metric = self.monitor_metric_config
        return {
            **asdict(self),
            "render_type": self.render_type.value,
            "monitor_metric_config": metric.as_json() if metric else None,
            "tags": list(self.tags),
        }


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a definition cannot be stored: a sentence for each field that is to blame."""

    errors: Mapping[str, str]


def _no_objection(sql: str, data_source: str) -> str | None:
    return None


def _no_owner(series: Series) -> str | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftRules:
    """What the checks must know of the world around: settings, sources, the guard, the other gauges.

    `objection` gives the guard's reason against an SQL text on a data source, or None; `series_owner` the
    name of another query that already feeds a series, or None.
    """

    data_sources: Collection[str]
    default_data_source: str | None = None
    query_timeout_max: int = 300
    objection: Callable[[str, str], str | None] = _no_objection
    series_owner: Callable[[Series], str | None] = _no_owner


FIELDS = tuple(field.name for field in fields(Draft))
_REQUIRED = ("name", "query", "cron_schedule")
_DEFAULT = object()  # stands for a data source that nobody named


def check_new(given: Mapping[str, Any], rules: DraftRules) -> Draft | Refused:
    """A new definition from whatever was sent; what is optional and missing, or null, gets its default."""
    optional = {name: value for name, value in given.items() if name in FIELDS and value is not None}
    wanted = {name: given.get(name, "") for name in _REQUIRED} | optional
    wanted.setdefault("data_source", _DEFAULT)
    checked, errors = _check_each(wanted, rules)
    if "query" in checked and "data_source" in checked:
        errors |= _object(checked["query"], checked["data_source"], rules)
    return Refused(errors) if errors else Draft(**checked)


def check_edit(current: Draft, given: Mapping[str, Any], rules: DraftRules) -> Draft | Refused:
    """A definition with the fields that were sent changed; the others are not looked at again."""
    sent = {name: value for name, value in given.items() if name in FIELDS}
    checked, errors = _check_each(sent, rules)
    if errors:
        return Refused(errors)
    edited = replace(current, **checked)
    if "query" in sent or "data_source" in sent:
        errors = _object(edited.query, edited.data_source, rules)
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


def _check_each(given: Mapping[str, Any], rules: DraftRules) -> tuple[dict[str, Any], dict[str, str]]:
    checks = _checks(rules)
    checked: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for name, value in given.items():
        try:
            checked[name] = checks[name](value)
        except FieldRefused as refusal:
            errors[name] = str(refusal)
    return checked, errors


def _checks(rules: DraftRules) -> dict[str, Callable[[Any], Any]]:
    return {
        "name": check_name,
        "query": check_query,
        "cron_schedule": check_cron,
        "enabled": check_enabled,
        "render_type": check_render_type,
        "monitor_metric_config": lambda given: _check_series(check_metric(given), rules),
        "data_source": lambda given: _check_source(given, rules),
        "timezone": check_timezone,
        "timeout": lambda given: check_timeout(given, rules.query_timeout_max),
        "description": check_description,
        "tags": check_tags,
    }


def _object(sql: str, data_source: str, rules: DraftRules) -> dict[str, str]:
    objection = rules.objection(sql, data_source)
    return {"query": objection} if objection else {}


def _check_series(config: MetricConfig | None, rules: DraftRules) -> MetricConfig | None:
    if config and (owner := rules.series_owner(series_of(config))):
        raise FieldRefused(f"the query {quoted(owner)} already publishes this metric with the same labels")
    return config


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
