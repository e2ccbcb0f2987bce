"""Alerts: what fires now and what happened of late, with their forms; and the bell in the header."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Depends, HTTPException
from fastapi.responses import Response
from plugbay import CurrentUser, FlashMessage, open_to_viewers
from plugbay.web import Typed, row_id

from plugbay_scheduled_query.alerts.editing import UnknownAlert
from plugbay_scheduled_query.core.alerting.model import Alert, State
from plugbay_scheduled_query.core.draft import Refused
from plugbay_scheduled_query.core.model import Query
from plugbay_scheduled_query.repository.alert_events import EventFilter
from plugbay_scheduled_query.repository.alerts import AlertConflict, AlertFilter
from plugbay_scheduled_query.web.pages.alert_form import (
    NEW,
    as_alert_form,
    form_context,
    from_alert_form,
    preview,
)
from plugbay_scheduled_query.web.pages.listing import page_number
from plugbay_scheduled_query.web.pages.site import (
    CONFLICT,
    EDITOR,
    HOME,
    NO_QUERY,
    PREFIX,
    REFUSED,
    UNCHANGED,
    CurrentSite,
    Site,
    fingerprint,
)

ALERTS = f"{PREFIX}/alerts"
CRUMBS = (HOME, ("Alerts", ALERTS))
LIMIT = 50  # alerts on a page
EVENTS = 20  # of late
NO_ALERT = "There is no such alert. It may have been deleted."
MUTES = (("60", "for an hour"), ("1440", "for a day"), ("resolved", "until it is resolved"))
STATES = tuple(state.value for state in (State.FIRING, State.PENDING, State.OK, State.UNKNOWN))

router = APIRouter(prefix=PREFIX, include_in_schema=False)


@router.get("/alerts")
def alerts(site: CurrentSite) -> Response:
    """All of them, firing ones first, and the events of late."""
    return site.page("alerts", {**alerts_context(site), "topic": "alerts"})


@router.get("/alerts/live")
def live(site: CurrentSite) -> Response:
    """The part that refreshes itself."""
    context = alerts_context(site)
    if site.has_seen(context["seen"]):
        return Response(status_code=UNCHANGED)
    return site.page("alerts_live", context)


@router.get("/bell")
def bell(site: CurrentSite) -> Response:
    """How many fire, for the header of a page that stays open."""
    return site.page("bell", {})


@router.get("/alerts/new", dependencies=EDITOR)
def new(site: CurrentSite) -> Response:
    """The form of a new alert on a query."""
    query = site.query(site.asked.get("query_id", ""))
    return form_page(site, {**NEW, "alert_kind": "value", **site.asked}, query)


@router.post("/alerts/new")
def create(site: CurrentSite, typed: Typed, user: CurrentUser) -> Response:
    """Stores a new alert."""
    query = site.query(typed.get("query_id", ""))
    saved = create_from_form(site, typed, query, user.name)
    if isinstance(saved, Refused):
        return form_page(site, typed, query, status_code=REFUSED, errors=saved.errors)
    return site.to(ALERTS, FlashMessage(f"The alert “{saved.draft.name}” is made."))


@router.post("/alerts/preview", dependencies=[Depends(open_to_viewers)])
async def show_preview(site: CurrentSite, typed: Typed, user: CurrentUser) -> Response:
    """What the rule that is being typed says of the latest result and of the past."""
    return await site.parts.doors.backtests.run(user.name, _preview_page, site, typed)


def _preview_page(site: Site, typed: Mapping[str, str]) -> Response:
    query_id = typed.get("query_id", "")
    query = site.parts.definitions.get(row_id(query_id, NO_QUERY), with_result=True) if query_id else None
    return site.page("alert_preview", {"alert_preview": preview(site, typed, query)})


@router.get("/alerts/{alert_id}", dependencies=EDITOR)
def edit(site: CurrentSite, alert_id: str) -> Response:
    """The form of a stored alert."""
    alert = found(site, alert_id)
    typed = as_alert_form(alert.draft, site.parts.alerts.channels.all())
    query = site.query(str(alert.query_id))
    return form_page(site, {**typed, "version": str(alert.version)}, query, alert)


@router.post("/alerts/{alert_id}")
def save(site: CurrentSite, alert_id: str, typed: Typed, user: CurrentUser) -> Response:
    """Stores what was typed."""
    alert = found(site, alert_id)
    given = from_alert_form(typed, site.parts.alerts.channels.all())
    query = site.query(str(alert.query_id))
    version = row_id(typed["version"], NO_ALERT) if typed.get("version") else None
    try:
        saved = site.parts.alerts.editing.edit(alert.id, given, user.name, version)
    except UnknownAlert:
        raise HTTPException(404, NO_ALERT) from None
    except AlertConflict as error:
        errors = {"version": f"{error}: look at it again before you save"}
        return form_page(site, typed, query, alert, CONFLICT, errors)
    if isinstance(saved, Refused):
        return form_page(site, typed, query, alert, REFUSED, saved.errors)
    return site.to(ALERTS, FlashMessage(f"The alert “{saved.draft.name}” is saved."))


@router.post("/alerts/{alert_id}/mute")
def mute(site: CurrentSite, alert_id: str, typed: Typed, user: CurrentUser) -> Response:
    """Tells nothing of it for a while, or again."""
    minutes = typed.get("minutes", "")
    is_lasting = minutes == "resolved"
    given: dict[str, Any] = {"until_resolved": is_lasting, "minutes": _minutes(minutes)}
    alert = found(site, alert_id)
    try:
        muted = site.parts.alerts.editing.mute(alert.id, given, user.name)
    except UnknownAlert:
        raise HTTPException(404, NO_ALERT) from None
    if isinstance(muted, Refused):
        return site.to(ALERTS, FlashMessage("It was not said for how long.", "error"))
    what = "is muted" if muted.is_muted(site.parts.clock.now()) else "speaks again"
    return site.to(ALERTS, FlashMessage(f"“{muted.draft.name}” {what}."))


@router.post("/alerts/{alert_id}/delete")
def delete(site: CurrentSite, alert_id: str, user: CurrentUser) -> Response:
    """Deletes an alert; its events stay."""
    alert = found(site, alert_id)
    try:
        site.parts.alerts.editing.delete(alert.id, user.name)
    except UnknownAlert:
        raise HTTPException(404, NO_ALERT) from None
    return site.to(ALERTS, FlashMessage(f"The alert “{alert.draft.name}” is deleted."))


def create_from_form(site: Site, typed: Mapping[str, str], query: Query, by: str | None) -> Alert | Refused:
    """A new alert on a query, from the fields of its form."""
    given = from_alert_form(typed, site.parts.alerts.channels.all())
    return site.parts.alerts.editing.create({**given, "query_id": query.id}, by)


def found(site: Site, alert_id: str) -> Alert:
    """The alert of that number, or 404."""
    alert = site.parts.alerts.alerts.get(row_id(alert_id, NO_ALERT))
    if alert is None:
        raise HTTPException(404, NO_ALERT)
    return alert


def alerts_context(site: Site) -> dict[str, Any]:
    """A page of alerts and the events of late."""
    parts, now = site.parts.alerts, site.parts.clock.now()
    state = site.asked.get("state", "")
    state, page = (state if state in STATES else ""), page_number(site.asked)
    listed, total = parts.alerts.page(AlertFilter(state=state or None), (page - 1) * LIMIT, LIMIT)
    events, _ = parts.events.page(EventFilter(), 0, EVENTS)
    muted = [alert.id for alert in listed if alert.is_muted(now)]
    return {
        "alerts": listed,
        "muted": muted,
        "events": events,
        "counts": parts.alerts.counts(),
        "state": state,
        "states": STATES,
        "mutes": MUTES,
        "page": page,
        "total": total,
        "pages": -(-total // LIMIT),
        "limit": LIMIT,
        "has_channels": bool(parts.channels.names()),
        "seen": fingerprint(listed, muted, events, total),
    }


def form_page(
    site: Site,
    typed: Mapping[str, str],
    query: Query,
    alert: Alert | None = None,
    status_code: int = 200,
    errors: Mapping[str, str] | None = None,
) -> Response:
    """The form of an alert, filled in with what was typed."""
    with_result = site.parts.definitions.get(query.id, with_result=True)
    context = {
        **form_context(site, typed),
        "typed": typed,
        "query": query,
        "alert": alert,
        "errors": errors or {},
        "alert_preview": preview(site, typed, with_result),
        "crumbs": CRUMBS,
        "topic": "alerts",
    }
    return site.page("alert", context, status_code)


def _minutes(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 8 else None
