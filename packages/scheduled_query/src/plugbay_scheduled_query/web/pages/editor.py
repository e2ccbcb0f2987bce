"""The editor of a query: its form, what the form tells while one types, and what becomes of it."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fastapi import APIRouter, HTTPException
from fastapi.responses import JSONResponse, Response
from plugbay import CurrentUser, FlashMessage
from plugbay.web import Typed, row_id

from plugbay_scheduled_query.core.alerting.model import Alert
from plugbay_scheduled_query.core.chart import MAX_POINTS
from plugbay_scheduled_query.core.draft import FIELDS, FIRST_METRIC, Draft, Refused, draft_of
from plugbay_scheduled_query.core.errors import SourceProblem
from plugbay_scheduled_query.core.guard import Rejection, Rules
from plugbay_scheduled_query.core.metric import gauge_value
from plugbay_scheduled_query.core.model import Outcome, Query, RenderType
from plugbay_scheduled_query.core.places import failed_at, rejected_at, with_excerpt
from plugbay_scheduled_query.core.results import beginning, iter_rows, preview
from plugbay_scheduled_query.core.schedule import BadCron, UnknownTimezone, parse, zone, zone_names
from plugbay_scheduled_query.dialects import check, check_words, language_named
from plugbay_scheduled_query.dialects.contract import Table
from plugbay_scheduled_query.queries.editing import Saved, UnknownQuery
from plugbay_scheduled_query.queries.tried import Tried
from plugbay_scheduled_query.queries.trying import Trial
from plugbay_scheduled_query.repository.definitions import VersionConflict
from plugbay_scheduled_query.web.doors import stopped_when_gone
from plugbay_scheduled_query.web.pages.alert_form import PREFIX as ALERT_PREFIX
from plugbay_scheduled_query.web.pages.alert_form import alerts_of, from_alert_form, wants_alert
from plugbay_scheduled_query.web.pages.alert_form import form_context as alert_context
from plugbay_scheduled_query.web.pages.alert_form import preview as alert_preview
from plugbay_scheduled_query.web.pages.alerts import create_from_form
from plugbay_scheduled_query.web.pages.charts import DRAWN_CHARACTERS, in_every_form
from plugbay_scheduled_query.web.pages.metric_form import (
    KnownResult,
    endings,
    metric_preview,
    metrics_as_form,
    metrics_from_form,
)
from plugbay_scheduled_query.web.pages.site import (
    CONFLICT,
    EDITOR,
    NO_QUERY,
    NO_SOURCE,
    PREFIX,
    REFUSED,
    CurrentSite,
    Site,
)

NEW = {"cron_schedule": "*/15 * * * *", "render_type": "auto", "enabled": "on"}
SCHEDULES = (
    ("* * * * *", "every minute"),
    ("*/5 * * * *", "every 5 minutes"),
    ("*/15 * * * *", "every 15 minutes"),
    ("0 * * * *", "every hour"),
    ("0 */6 * * *", "every 6 hours"),
    ("30 2 * * *", "daily at 02:30"),
    ("0 8 * * 1-5", "weekdays at 08:00"),
    ("0 6 * * 1", "Mondays at 06:00"),
    ("0 4 1 * *", "on the first of each month at 04:00"),
)
NEXT_RUNS = 5
NOT_TYPED = ("csrf_token", "query_id", "version", "tried")  # fields that the form itself brings

_TYPED_NAME = re.compile(r"(?!pragma_|pg_|st_|_)[a-z][a-z0-9_]*")  # the rest is for those who know it
_WHOLE = re.compile(r"\s*[0-9]{1,9}\s*")
_OFF = ("", "0", "false", "off", "no")
_EMPTY_IS_NONE = ("timezone", "timeout")

router = APIRouter(prefix=PREFIX, include_in_schema=False)


@router.get("/create", dependencies=EDITOR)
def new(site: CurrentSite) -> Response:
    """An empty form, or what the address fills in."""
    return form_page(site, NEW | dict(site.asked))


@router.post("/create")
def create(site: CurrentSite, typed: Typed, user: CurrentUser) -> Response:
    """Stores a new query."""
    if refused := alert_refusal(site, typed):
        return form_page(site, typed, status_code=REFUSED, alert_errors=refused.errors)
    saved = site.parts.editing.create(from_form(typed), user.name)
    if isinstance(saved, Refused):
        return form_page(site, typed, status_code=REFUSED, errors=saved.errors)
    return _after_saving(site, saved, f"“{saved.query.name}” is created.", typed, user.name)


@router.get("/edit/{query_id}", dependencies=EDITOR)
def edit(site: CurrentSite, query_id: str) -> Response:
    """The form of a stored query."""
    query = site.query(query_id)
    return form_page(site, stored_form(query), query)


@router.post("/edit/{query_id}")
def save(site: CurrentSite, query_id: str, typed: Typed, user: CurrentUser) -> Response:
    """Stores what was typed; if another one saved meanwhile, shows both."""
    query = site.query(query_id)
    if refused := alert_refusal(site, typed):
        return form_page(site, typed, query, REFUSED, alert_errors=refused.errors)
    try:
        saved = site.parts.editing.edit(query.id, from_form(typed), user.name, _version(typed))
    except UnknownQuery:
        raise HTTPException(404, NO_QUERY) from None
    except VersionConflict as conflict:
        return _conflict_page(site, typed, conflict.current)
    if isinstance(saved, Refused):
        return form_page(site, typed, query, REFUSED, errors=saved.errors)
    text = f"“{saved.query.name}” is saved." if saved.changed else "Nothing was changed."
    return _after_saving(site, saved, text, typed, user.name)


@router.post("/try")
async def try_it(site: CurrentSite, typed: Typed, user: CurrentUser) -> Response:
    """Runs the text as it stands, until it ends or the visitor leaves."""
    trial = site.parts.trying.trial(from_form(typed), user.name)
    async with stopped_when_gone(site.request, trial.cancel):
        return await site.parts.doors.tries.run(user.name, tried_page, site, typed, trial)


@router.get("/next-runs", dependencies=EDITOR)
def next_runs(site: CurrentSite, cron_schedule: str = "", timezone: str = "") -> Response:
    """When the schedule that is being typed would run."""
    place = timezone.strip() or site.parts.settings().timezone
    found = upcoming(cron_schedule, place, site.parts.clock.now())
    return site.page("next_runs", {"upcoming": found, "expression": cron_schedule})


@router.post("/metric-line")
def metric_line(site: CurrentSite, typed: Typed) -> Response:
    """What /metrics would show of the metric that is being typed."""
    return site.page("metric_line", metric_context(site, typed))


@router.get("/schema/{source_id}", dependencies=EDITOR)
async def schema(site: CurrentSite, source_id: str, user: CurrentUser) -> Response:
    """Tables with their columns, and the functions that may be called, for the editor."""
    return await site.parts.doors.looks.run(user.name, _schema, site, row_id(source_id, NO_SOURCE))


def _schema(site: Site, source_id: int) -> Response:
    source = site.parts.sources.get(source_id)
    if source is None:
        raise HTTPException(404, NO_SOURCE)
    try:
        found = site.parts.catalogue.schema(source.id, site.asked.get("fresh") == "1")
    except SourceProblem as problem:
        return JSONResponse({"detail": str(problem)}, CONFLICT)
    functions = functions_of(source.dialect, site.parts.settings().rules)
    return JSONResponse({"tables": completion(found.tables), "functions": functions})


def tried_page(site: Site, typed: Mapping[str, str], trial: Trial) -> Response:
    """The result alone, or without JavaScript the whole form with the result in it."""
    tried = tried_context(site, typed, trial.run())
    metrics = metric_context(site, typed, tried)
    if site.is_part:
        return site.page("tried", {"tried": tried, "typed": typed, "is_part": True, **metrics})
    query = site.query(typed["query_id"]) if typed.get("query_id") else None
    return form_page(site, typed, query, tried=tried, **metrics)


def form_page(
    site: Site, typed: Mapping[str, str], query: Query | None = None, status_code: int = 200, **more: Any
) -> Response:
    """The form, filled in with what was typed."""
    settings = site.parts.settings()
    timezone = typed.get("timezone") or settings.timezone
    context = {
        "typed": typed,
        "query": query,
        "errors": {},
        "sources": site.parts.catalogue.all(),
        "schedules": SCHEDULES,
        "zones": sorted(zone_names()),
        "render_types": [kind.value for kind in RenderType],
        "settings": settings,
        "upcoming": upcoming(typed.get("cron_schedule", ""), timezone, site.parts.clock.now()),
        "preview": latest_forms(site, query),
        "topic": "editor",
        "alerts": alerts_of(site, query) if query else [],
        "alert_errors": {},
        "alert_preview": alert_preview(site, typed, query),
        **alert_context(site, typed),
        **(more if "metric" in more else metric_context(site, typed, query=query)),
        **more,
    }
    refusal = guard_message(site, typed, context["errors"]) if "query" in context["errors"] else {}
    return site.page("editor", context | refusal, status_code)


def from_form(form: Mapping[str, str]) -> dict[str, Any]:
    """What a form sent, as the API would have sent it; fields that the form does not have are left out.

    A checkbox that is not ticked is not sent at all. Metrics come in fields of their own, or as the JSON text
    `metrics` or `monitor_metric_config`.
    """
    names = (*FIELDS, FIRST_METRIC)
    given: dict[str, Any] = {name: _lines(form[name]) for name in names if name in form}
    given["enabled"] = form.get("enabled", "").strip().lower() not in _OFF
    for name in _EMPTY_IS_NONE:
        if name in given and not given[name].strip():
            given[name] = None
    if _WHOLE.fullmatch(given.get("timeout") or ""):
        given["timeout"] = int(given["timeout"])
    if not given.get("data_source", "chosen"):
        del given["data_source"]  # the empty choice of the list
    if "metric_name" in form:
        given |= metrics_from_form(form)
    return given


def as_form(draft: Draft) -> dict[str, str]:
    """The fields of a form that shows a definition; `enabled` is left out when the box is not ticked."""
    texts = {name: "" if value is None else str(value) for name, value in draft.as_json().items()}
    texts["tags"] = ", ".join(draft.tags)
    texts["chart"] = json.dumps(draft.chart.as_json(), ensure_ascii=False) if draft.chart else ""
    del texts["metrics"], texts["monitor_metric_config"], texts["enabled"]
    return texts | metrics_as_form(draft.metrics) | ({"enabled": "on"} if draft.enabled else {})


def stored_form(query: Query) -> dict[str, str]:
    """A query as its form shows it; the version says what an edit was made of."""
    return as_form(draft_of(query)) | {"version": str(query.version)}


def differences(typed: Mapping[str, str], stored: Mapping[str, str]) -> list[dict[str, Any]]:
    """Where what somebody typed is not what another one saved meanwhile."""
    named = (name for name in stored.keys() | typed.keys() if not name.startswith(ALERT_PREFIX))
    names = [name for name in named if name not in NOT_TYPED]
    changed = [name for name in sorted(names) if _plain(typed.get(name)) != _plain(stored.get(name))]
    return [{"name": name, "mine": typed.get(name, ""), "theirs": stored.get(name, "")} for name in changed]


@dataclass(frozen=True, slots=True)
class Upcoming:
    """The next runs of a schedule, each in its own zone beside the moment; or why there are none."""

    error: str = ""
    timezone: str = "UTC"
    times: tuple[tuple[datetime, str], ...] = ()


def upcoming(expression: str, timezone: str, now: datetime) -> Upcoming:
    """What a schedule that is being typed would do."""
    try:
        place = zone(timezone)
        times = parse(expression).next_times(now, place, NEXT_RUNS)
    except (BadCron, UnknownTimezone) as error:
        return Upcoming(error=str(error), timezone=timezone)
    return Upcoming("", timezone, tuple((at, f"{at.astimezone(place):%a %Y-%m-%d %H:%M}") for at in times))


def metric_context(
    site: Site, typed: Mapping[str, str], tried: Mapping[str, Any] | None = None, query: Query | None = None
) -> dict[str, Any]:
    """The metrics that are being typed: their preview, their fields, and the columns to choose from."""
    known = (tried or {}).get("known") or known_result(site, typed, query)
    return {
        "metric": metric_preview(typed, known, site.parts.settings().max_series),
        "endings": endings(typed),
        "columns": known.tried.columns if known else (),
    }


def known_result(site: Site, typed: Mapping[str, str], query: Query | None = None) -> KnownResult | None:
    """What Try it brought last, else the latest execution."""
    if tried := site.parts.trying.results.get(typed.get("tried", "")):
        return KnownResult(tried, "of the latest Try it")
    if query is None and typed.get("query_id"):
        query = site.query(typed["query_id"])
    stored = site.parts.definitions.get(query.id, with_result=True) if query else None
    if stored is None or stored.last_result is None:
        return None
    latest = Tried(stored.query, stored.last_result_key, stored.last_result)
    return KnownResult(latest, "of the latest result")


def latest_forms(site: Site, query: Query | None) -> dict[str, Any] | None:
    """The latest result of a query in each form, for the preview."""
    latest = site.parts.overview.latest([query.id]).get(query.id) if query else None
    if latest is None:
        return None
    return {"forms": in_every_form(latest.columns, latest.text, latest.is_whole), "latest": latest}


def tried_context(site: Site, typed: Mapping[str, str], outcome: Outcome | Refused) -> dict[str, Any]:
    """What Try it shows: every form of the result, and the number that a metric would get; or the error."""
    if isinstance(outcome, Refused):
        return {"errors": outcome.errors} | guard_message(site, typed, outcome.errors)
    if outcome.status != "success":
        sql = _lines(typed.get("query", ""))
        place = failed_at(sql, outcome.error or "")
        return {"outcome": outcome, "place": place, "text": with_excerpt(sql, outcome.error or "", place)}
    return {"outcome": outcome, **_tried_result(site, outcome, typed)}


def guard_message(site: Site, typed: Mapping[str, str], errors: Mapping[str, str]) -> dict[str, Any]:
    """Where in the text the guard's rule is broken, and the line to show with its reason."""
    sql, source = _lines(typed.get("query", "")), site.parts.sources.by_name(typed.get("data_source", ""))
    rules = site.parts.settings().rules
    verdict = check(sql, source.dialect, rules) if source else check_words(sql, rules)
    place = rejected_at(sql, verdict) if isinstance(verdict, Rejection) else None
    return {"place": place, "text": with_excerpt(sql, errors.get("query", ""), place)}


def completion(tables: list[Table]) -> dict[str, dict[str, str]]:
    """Each table with its columns and their types; a name that two schemas share has its schema before it."""
    times = Counter(table.name for table in tables)
    return {
        table.name if times[table.name] == 1 else f"{table.schema}.{table.name}": dict(table.columns)
        for table in tables
    }


def functions_of(dialect: str, rules: Rules) -> list[str]:
    """The functions that the guard lets through, by the names that people type."""
    known = language_named(dialect).functions.harmless | rules.allowed_functions
    return sorted(name for name in known if _TYPED_NAME.fullmatch(name))


def _conflict_page(site: Site, typed: Mapping[str, str], current: Query) -> Response:
    conflict = {"current": current, "differences": differences(typed, stored_form(current))}
    return form_page(site, typed, current, CONFLICT, conflict=conflict)


def alert_refusal(site: Site, typed: Mapping[str, str]) -> Refused | None:
    """Why the alert that a form asks for cannot be made; looked at before anything is stored."""
    if not wants_alert(typed):
        return None
    checked = site.parts.alerts.editing.check(from_alert_form(typed, site.parts.alerts.channels.all()))
    return checked if isinstance(checked, Refused) else None


def _after_saving(site: Site, saved: Saved, text: str, typed: Mapping[str, str], by: str) -> Response:
    messages = [FlashMessage(text)]
    if wants_alert(typed):
        messages.append(_alert_message(create_from_form(site, typed, saved.query, by)))
    messages += [FlashMessage(each, "warning") for each in site.parts.editing.warnings(saved)]
    return site.to(f"{PREFIX}/query/{saved.query.id}", *messages)


def _alert_message(made: Alert | Refused) -> FlashMessage:
    if isinstance(made, Refused):
        return FlashMessage(f"The alert was not made: {'; '.join(made.errors.values())}", "error")
    return FlashMessage(f"You are told when {made.draft.condition.words}.")


def _tried_result(site: Site, outcome: Outcome, typed: Mapping[str, str]) -> dict[str, Any]:
    text = outcome.result_json or "[]"
    tried = Tried(typed.get("query", ""), outcome.columns, text, outcome.binary)
    short = preview(text)
    return {
        "forms": in_every_form(outcome.columns, short.text, short.is_whole),
        "value": gauge_value(iter_rows(text), outcome.binary),
        "is_whole": short.is_whole,
        "rows": beginning(text, MAX_POINTS, DRAWN_CHARACTERS),
        "name": site.parts.trying.results.keep(tried),
        "known": KnownResult(tried, "of the latest Try it"),
    }


def _version(typed: Mapping[str, str]) -> int | None:
    text = typed.get("version", "")
    return row_id(text, NO_QUERY) if text else None


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")  # browsers send every line break as two characters


def _plain(text: str | None) -> str:
    return _lines(text or "").strip()
