"""What each field of a definition must be; every refusal is a sentence to show beside the field."""

import json
from collections.abc import Mapping
from typing import Any

from plugbay_scheduled_query.core.characters import is_visible, quoted, unwelcome_character
from plugbay_scheduled_query.core.metric import BadMetric, check_config
from plugbay_scheduled_query.core.model import MetricConfig, RenderType
from plugbay_scheduled_query.core.schedule import BadCron, parse
from plugbay_scheduled_query.core.timezones import UnknownTimezone, zone

MAX_NAME = 200  # characters
MAX_QUERY = 100_000  # bytes of UTF-8
MAX_DESCRIPTION = 2_000  # characters
MAX_TAGS = 20
MAX_TAG = 50  # characters

_LAYOUT = "\t\n\r\f"  # what may stand in a text of several lines


class FieldRefused(ValueError):
    """What is wrong with the value of one field."""


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
        given = _object_in(given)
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise FieldRefused('must be an object such as {"metric_name": "orders", "labels": {"region": "eu"}}')
    try:
        return check_config(given)
    except BadMetric as error:
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


def _object_in(text: str) -> Any:
    if not text.strip():
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise FieldRefused("is not valid JSON") from None
