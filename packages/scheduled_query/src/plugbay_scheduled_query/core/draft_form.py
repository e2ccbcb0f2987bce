"""Between a definition and the fields of an HTML form, where everything is text."""

import re
from collections.abc import Mapping
from typing import Any

from plugbay_scheduled_query.core.draft import FIELDS, Draft
from plugbay_scheduled_query.core.model import MetricConfig

_WHOLE = re.compile(r"\s*[0-9]{1,9}\s*")
_OFF = ("", "0", "false", "off", "no")
_EMPTY_IS_NONE = ("timezone", "timeout")


def from_form(form: Mapping[str, str]) -> dict[str, Any]:
    """What a form sent, as the API would have sent it; fields that the form does not have are left out.

    A checkbox that is not ticked is not sent at all. The metric comes as `metric_name` and `metric_labels`,
    one `name=value` a line, or as the JSON text `monitor_metric_config`.
    """
    given: dict[str, Any] = {name: _lines(form[name]) for name in FIELDS if name in form}
    given["enabled"] = form.get("enabled", "").strip().lower() not in _OFF
    for name in _EMPTY_IS_NONE:
        if name in given and not given[name].strip():
            given[name] = None
    if _WHOLE.fullmatch(given.get("timeout") or ""):
        given["timeout"] = int(given["timeout"])
    if not given.get("data_source", "chosen"):
        del given["data_source"]  # the empty choice of the list
    if "metric_name" in form:
        given["monitor_metric_config"] = _metric(form)
    return given


def as_form(draft: Draft) -> dict[str, str]:
    """The fields of a form that shows a definition; `enabled` is left out when the box is not ticked."""
    metric = draft.monitor_metric_config or MetricConfig("")
    texts = {name: "" if value is None else str(value) for name, value in draft.as_json().items()}
    texts["tags"] = ", ".join(draft.tags)
    texts["metric_name"] = metric.metric_name
    texts["metric_labels"] = "\n".join(f"{name}={value}" for name, value in metric.labels.items())
    del texts["monitor_metric_config"], texts["enabled"]
    return texts | ({"enabled": "on"} if draft.enabled else {})


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")  # browsers send every line break as two characters


def _metric(form: Mapping[str, str]) -> dict[str, Any] | None:
    name, labels = form["metric_name"].strip(), _lines(form.get("metric_labels", ""))
    if not name and not labels.strip():
        return None
    return {"metric_name": name, "labels": dict(_label(line) for line in labels.split("\n") if line.strip())}


def _label(line: str) -> tuple[str, str]:
    # a line without “=” is a label without a value; the check names what is wrong with it
    name, _, value = line.partition("=")
    return name.strip(), value.strip()
