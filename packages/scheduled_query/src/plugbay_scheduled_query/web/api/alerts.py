"""Alerts over HTTP: viewers read them and their events, editors write and mute, admins do channels."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Response
from plugbay import CurrentUser, open_to_viewers, require_role
from plugbay.web import PLAIN
from pydantic import Field

from plugbay_scheduled_query.alerts.backtest import Played, Question, read_question
from plugbay_scheduled_query.alerts.editing import Taken, UnknownAlert, UnknownChannel
from plugbay_scheduled_query.core.alerting.draft import draft_json
from plugbay_scheduled_query.core.alerting.model import Alert, AlertEvent
from plugbay_scheduled_query.core.draft import Refused
from plugbay_scheduled_query.core.model import Number
from plugbay_scheduled_query.core.paging import MAX_ID, paginate
from plugbay_scheduled_query.core.text import format_utc
from plugbay_scheduled_query.repository.alert_events import EventFilter
from plugbay_scheduled_query.repository.alerts import AlertConflict, AlertFilter
from plugbay_scheduled_query.repository.channels import Channel, ChannelInUse
from plugbay_scheduled_query.web.api.alert_schemas import (
    AlertAnswer,
    AlertEdit,
    AlertEventPage,
    AlertPage,
    BacktestAnswer,
    BacktestRequest,
    ChannelAnswer,
    ChannelEdit,
    ChannelList,
    ChannelTestAnswer,
    MuteRequest,
    NewAlert,
    NewChannel,
)
from plugbay_scheduled_query.web.api.json_text import json_response
from plugbay_scheduled_query.web.api.requests import (
    FIRST_PAGE,
    NO_QUERY,
    PREFIX,
    USUAL_LIMIT,
    JsonBody,
    Limit,
    Page,
    conflict,
    documented_as,
    refusals,
    refused_body,
    storable,
    version_in,
)
from plugbay_scheduled_query.web.dependencies import Parts, ServiceParts

ADMIN = [require_role("admin")]
VIEWER = [Depends(open_to_viewers)]
NO_ALERT = "There is no such alert."
NO_CHANNEL = "There is no such channel."

_Id = Annotated[int, Field(ge=1, le=MAX_ID), PLAIN]
AlertId = Annotated[_Id, Path(description="The id of an alert.", examples=[1])]
ChannelId = Annotated[_Id, Path(description="The id of a channel.", examples=[1])]
OfQuery = Annotated[_Id | None, Query(description="Only those of this query.")]
OfAlert = Annotated[_Id | None, Query(description="Only those of this alert.")]
OfState = Annotated[
    Literal["unknown", "ok", "pending", "firing"] | None, Query(description="Only those in this state.")
]
NewAlertBody = Annotated[JsonBody, documented_as(NewAlert)]
AlertEditBody = Annotated[JsonBody, documented_as(AlertEdit)]
MuteBody = Annotated[JsonBody, documented_as(MuteRequest)]
BacktestBody = Annotated[JsonBody, documented_as(BacktestRequest)]
NewChannelBody = Annotated[JsonBody, documented_as(NewChannel)]
ChannelEditBody = Annotated[JsonBody, documented_as(ChannelEdit)]

router = APIRouter(prefix=PREFIX, tags=["Alerts"])
channel_router = APIRouter(prefix=PREFIX, tags=["Channels"])


@router.get("/alerts", summary="List alerts", response_model=AlertPage, responses=refusals())
def list_alerts(
    parts: ServiceParts,
    query_id: OfQuery = None,
    state: OfState = None,
    page: Page = FIRST_PAGE,
    limit: Limit = USUAL_LIMIT,
) -> Response:
    """Those that fire first, then those that are about to."""
    offset = min((page - 1) * limit, MAX_ID)
    found, total = parts.alerts.alerts.page(AlertFilter(query_id, state), offset, limit)
    data = [alert_json(alert, parts.clock.now()) for alert in found]
    return json_response({"data": data, "pagination": paginate(page, limit, total).as_json()})


@router.post(
    "/alerts", status_code=201, summary="Create an alert", response_model=AlertAnswer, responses=refusals()
)
def create_alert(parts: ServiceParts, body: NewAlertBody, user: CurrentUser) -> Response:
    """It is judged from the next execution on; without a name it is called after its condition."""
    return _saved(parts, parts.alerts.editing.create(body, user.name), body, 201)


@router.post(
    "/alerts/backtest",
    summary="Play a rule against the past",
    response_model=BacktestAnswer,
    responses=refusals(404, 429),
    dependencies=VIEWER,
)
async def backtest(parts: ServiceParts, body: BacktestBody, user: CurrentUser) -> Response:
    """When it would have fired, from at most 10,000 kept executions; stores nothing."""
    question = read_question(body)
    if isinstance(question, Refused):
        raise refused_body(question, body)
    return await parts.doors.backtests.run(user.name, _played, parts, question)


@router.get("/alerts/{alert_id}", summary="Get an alert", response_model=AlertAnswer, responses=refusals(404))
def get_alert(parts: ServiceParts, alert_id: AlertId) -> Response:
    """One alert with its state."""
    alert = parts.alerts.alerts.get(storable(alert_id, NO_ALERT))
    if alert is None:
        raise HTTPException(404, NO_ALERT)
    return json_response(alert_json(alert, parts.clock.now()))


@router.patch(
    "/alerts/{alert_id}", summary="Edit an alert", response_model=AlertAnswer, responses=refusals(404, 409)
)
def edit_alert(parts: ServiceParts, alert_id: AlertId, body: AlertEditBody, user: CurrentUser) -> Response:
    """Changes the fields that are sent; one that fires is resolved by that, and judged afresh.

    With a `version` that is not the newest the answer is 409.
    """
    try:
        saved = parts.alerts.editing.edit(storable(alert_id, NO_ALERT), body, user.name, version_in(body))
    except UnknownAlert:
        raise HTTPException(404, NO_ALERT) from None
    except AlertConflict as error:
        raise conflict(f"{error}: read it again and edit that") from None
    return _saved(parts, saved, body, 200)


@router.delete("/alerts/{alert_id}", status_code=204, summary="Delete an alert", responses=refusals(404))
def delete_alert(parts: ServiceParts, alert_id: AlertId, user: CurrentUser) -> Response:
    """If it fires, that it is over is told; its events stay."""
    try:
        parts.alerts.editing.delete(storable(alert_id, NO_ALERT), user.name)
    except UnknownAlert:
        raise HTTPException(404, NO_ALERT) from None
    return Response(status_code=204)


@router.post(
    "/alerts/{alert_id}/mute", summary="Mute an alert", response_model=AlertAnswer, responses=refusals(404)
)
def mute_alert(parts: ServiceParts, alert_id: AlertId, body: MuteBody, user: CurrentUser) -> Response:
    """State and events go on, and nothing is sent; if it still fires at the end, one message goes out."""
    try:
        saved = parts.alerts.editing.mute(storable(alert_id, NO_ALERT), body, user.name)
    except UnknownAlert:
        raise HTTPException(404, NO_ALERT) from None
    return _saved(parts, saved, body, 200)


@router.get("/alert-events", summary="Alert events", response_model=AlertEventPage, responses=refusals())
def list_events(
    parts: ServiceParts,
    alert_id: OfAlert = None,
    query_id: OfQuery = None,
    page: Page = FIRST_PAGE,
    limit: Limit = USUAL_LIMIT,
) -> Response:
    """What fired and was resolved, newest first, and what became of the messages."""
    offset = min((page - 1) * limit, MAX_ID)
    found, total = parts.alerts.events.page(EventFilter(alert_id, query_id), offset, limit)
    pagination = paginate(page, limit, total).as_json()
    return json_response({"data": [_event_json(event) for event in found], "pagination": pagination})


@channel_router.get("/channels", summary="List channels", response_model=ChannelList, responses=refusals())
def list_channels(parts: ServiceParts) -> Response:
    """By name; their URLs are masked for everybody."""
    return json_response({"data": [_channel_json(channel) for channel in parts.alerts.channels.all()]})


@channel_router.post(
    "/channels",
    status_code=201,
    summary="Add a channel",
    response_model=ChannelAnswer,
    responses=refusals(409),
    dependencies=ADMIN,
)
async def add_channel(parts: ServiceParts, body: NewChannelBody, user: CurrentUser) -> Response:
    """The URL is stored encrypted, and never shown again."""
    add = parts.alerts.channel_editing.add
    return _channel_saved(await parts.doors.channels.run(user.name, add, body), body, 201)


@channel_router.patch(
    "/channels/{channel_id}",
    summary="Edit a channel",
    response_model=ChannelAnswer,
    responses=refusals(404, 409),
    dependencies=ADMIN,
)
async def edit_channel(
    parts: ServiceParts, channel_id: ChannelId, body: ChannelEditBody, user: CurrentUser
) -> Response:
    """Changes the fields that are sent; a masked URL sent back keeps the stored one."""
    edit, number = parts.alerts.channel_editing.edit, storable(channel_id, NO_CHANNEL)
    try:
        saved = await parts.doors.channels.run(user.name, edit, number, body)
    except UnknownChannel:
        raise HTTPException(404, NO_CHANNEL) from None
    return _channel_saved(saved, body, 200)


@channel_router.delete(
    "/channels/{channel_id}",
    status_code=204,
    summary="Delete a channel",
    responses=refusals(404, 409),
    dependencies=ADMIN,
)
def delete_channel(parts: ServiceParts, channel_id: ChannelId) -> Response:
    """409 while alerts name it; the text names them."""
    try:
        parts.alerts.channel_editing.delete(storable(channel_id, NO_CHANNEL))
    except UnknownChannel:
        raise HTTPException(404, NO_CHANNEL) from None
    except ChannelInUse as error:
        raise conflict(f"This channel cannot be deleted: {error}.") from None
    return Response(status_code=204)


@channel_router.post(
    "/channels/{channel_id}/test",
    summary="Test a channel",
    response_model=ChannelTestAnswer,
    responses=refusals(404),
    dependencies=ADMIN,
)
async def test_channel(parts: ServiceParts, channel_id: ChannelId, user: CurrentUser) -> Response:
    """Sends a test message."""
    test, number = parts.alerts.channel_editing.test, storable(channel_id, NO_CHANNEL)
    try:
        error = await parts.doors.channels.run(user.name, test, number)
    except UnknownChannel:
        raise HTTPException(404, NO_CHANNEL) from None
    return json_response({"ok": error is None, "error": error})


def _played(parts: Parts, question: Question) -> Response:
    if parts.definitions.name_of(storable(question.query_id, NO_QUERY)) is None:
        raise HTTPException(404, NO_QUERY)
    return json_response(_played_json(parts.alerts.backtest.play(question)))


def alert_json(alert: Alert, now: datetime) -> dict[str, Any]:
    """An alert as the contract names its fields."""
    return {
        "id": alert.id,
        "query_id": alert.query_id,
        **draft_json(alert.draft),
        "muted_until": format_utc(alert.muted_until) if alert.is_muted(now) else None,
        "state": alert.state.value,
        "state_since": format_utc(alert.state_since),
        "last_value": _number_json(alert.last_value),
        "last_evaluated": format_utc(alert.last_evaluated),
        "last_notified": format_utc(alert.last_notified),
        "problem": alert.problem,
        "version": alert.version,
    }


def _saved(parts: Parts, saved: Alert | Refused, body: Mapping[str, Any], status_code: int) -> Response:
    if isinstance(saved, Refused):
        raise refused_body(saved, body)
    return json_response(alert_json(saved, parts.clock.now()), status_code)


def _channel_saved(saved: Channel | Refused | Taken, body: Mapping[str, Any], status_code: int) -> Response:
    if isinstance(saved, Refused):
        raise refused_body(saved, body)
    if isinstance(saved, Taken):
        raise conflict(f"The name is in use: {saved.sentence}.")
    return json_response(_channel_json(saved), status_code)


def _channel_json(channel: Channel) -> dict[str, Any]:
    return {
        "id": channel.id,
        "name": channel.name,
        "url": channel.masked_url,
        "is_default": channel.is_default,
    }


def _event_json(event: AlertEvent) -> dict[str, Any]:
    return {
        "id": event.id,
        "alert_id": event.alert_id,
        "query_id": event.query_id,
        "kind": event.kind.value,
        "at": format_utc(event.at),
        "value": _number_json(event.value),
        "execution_id": event.execution_id,
        "message": event.message,
        "deliveries": [
            {"channel": each.channel, "status": each.status, "attempts": each.attempts, "error": each.error}
            for each in event.deliveries
        ],
    }


def _played_json(played: Played) -> dict[str, Any]:
    periods = [
        {
            "from": format_utc(period.since),
            "to": format_utc(period.until),
            "runs": period.runs,
            "value": _number_json(period.value),
        }
        for period in played.periods
    ]
    return {"executions": played.executions, "periods": periods}


def _number_json(number: Number | None) -> int | float | None:
    return number if number is None or isinstance(number, int) else float(number)
