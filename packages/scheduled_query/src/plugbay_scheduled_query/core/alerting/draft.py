"""An alert as a person writes it: what each field must be, and a sentence for each that is not."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, fields, replace
from typing import Any

from plugbay_scheduled_query.core.alerting.conditions import check_condition, condition_json
from plugbay_scheduled_query.core.alerting.model import AlertDraft, Severity
from plugbay_scheduled_query.core.draft import (
    MAX_NAME,
    FieldRefused,
    Refused,
    check_description,
    check_enabled,
    check_name,
)
from plugbay_scheduled_query.core.text import quoted

MAX_RUNS = 1000
MAX_REPEAT = 43_200  # minutes: a month
MAX_CHANNELS = 20
MAX_MUTE = 525_600  # minutes: a year

FIELDS = tuple(field.name for field in fields(AlertDraft))
JUDGED_BY = ("condition", "for_runs", "recover_runs", "enabled")
"""What the state of an alert rests on: with another of these it is judged afresh."""


def check_new_alert(given: Mapping[str, Any], channels: Collection[str]) -> AlertDraft | Refused:
    """A new alert from whatever was sent; without a name it is called after its condition."""
    sent = {name: given[name] for name in FIELDS if given.get(name) is not None}
    checked, errors = _check_each({"condition": given.get("condition")} | sent, channels)
    if errors:
        return Refused(errors)
    checked.setdefault("name", checked["condition"].words[:MAX_NAME])
    return AlertDraft(**checked)


def check_alert_edit(
    current: AlertDraft, given: Mapping[str, Any], channels: Collection[str]
) -> AlertDraft | Refused:
    """An alert with the fields that were sent changed."""
    sent = {name: value for name, value in given.items() if name in FIELDS}
    checked, errors = _check_each(sent, channels)
    return Refused(errors) if errors else replace(current, **checked)


def draft_json(draft: AlertDraft) -> dict[str, Any]:
    """The fields as the API takes them; what is written so can be read back."""
    return {
        **asdict(draft),
        "severity": draft.severity.value,
        "condition": condition_json(draft.condition),
        "channels": list(draft.channels),
    }


def check_mute(given: Mapping[str, Any]) -> int | None:
    """For how many minutes; None is until the alert is resolved, 0 ends it. Raises FieldRefused."""
    if given.get("until_resolved") is True:
        return None
    minutes = given.get("minutes")
    if isinstance(minutes, bool) or not isinstance(minutes, int) or not 0 <= minutes <= MAX_MUTE:
        raise FieldRefused(f"must be a whole number from 0 to {MAX_MUTE:,}")
    return minutes


def _check_each(given: Mapping[str, Any], channels: Collection[str]) -> tuple[dict[str, Any], dict[str, str]]:
    checks = _checks(channels)
    checked: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for name, value in given.items():
        try:
            checked[name] = checks[name](value)
        except FieldRefused as refusal:
            errors[name] = str(refusal)
    return checked, errors


def _checks(channels: Collection[str]) -> dict[str, Callable[[Any], Any]]:
    return {
        "name": check_name,
        "condition": check_condition,
        "enabled": check_enabled,
        "severity": _check_severity,
        "for_runs": _check_runs,
        "recover_runs": _check_runs,
        "repeat_minutes": _check_repeat,
        "channels": lambda given: _check_channels(given, channels),
        "message": check_description,
        "with_rows": check_enabled,
    }


def _check_severity(given: Any) -> Severity:
    try:
        return Severity(given)
    except ValueError:
        raise FieldRefused(f"must be one of {', '.join(Severity)}") from None


def _check_runs(given: Any) -> int:
    return _whole(given, MAX_RUNS)


def _check_repeat(given: Any) -> int | None:
    return None if given is None else _whole(given, MAX_REPEAT)


def _check_channels(given: Any, known: Collection[str]) -> tuple[str, ...]:
    if not isinstance(given, list | tuple) or not all(isinstance(name, str) for name in given):
        raise FieldRefused("must be a list of channel names")
    names = tuple(dict.fromkeys(given))
    if len(names) > MAX_CHANNELS:
        raise FieldRefused(f"at most {MAX_CHANNELS} channels; these are {len(names)}")
    for name in names:
        if name not in known:
            there = f"there are: {', '.join(sorted(known))}" if known else "there is none yet"
            raise FieldRefused(f"no channel is called {quoted(name)}; {there}")
    return names


def _whole(given: Any, most: int) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= most:
        raise FieldRefused(f"must be a whole number from 1 to {most:,}")
    return given
