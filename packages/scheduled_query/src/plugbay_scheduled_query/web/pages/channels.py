"""Channels: listed, added, tested, changed and deleted. For admins."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, HTTPException
from fastapi.responses import RedirectResponse, Response
from plugbay import CurrentUser, FlashMessage, flash
from plugbay.web import Typed, came_from, row_id, url_below_root

from plugbay_scheduled_query.alerts.editing import Taken, UnknownChannel
from plugbay_scheduled_query.core.draft import Refused
from plugbay_scheduled_query.messaging import send
from plugbay_scheduled_query.repository.channels import Channel, ChannelInUse
from plugbay_scheduled_query.web.pages.site import (
    ADMIN,
    HOME,
    PREFIX,
    REFUSED,
    UNCHANGED,
    CurrentSite,
    Site,
    with_toasts,
)

CHANNELS = f"{PREFIX}/channels"
CRUMBS = (HOME, ("Channels", CHANNELS))
NO_CHANNEL = "There is no such channel. It may have been deleted."
NO_ADDRESS = "There is no address yet: write one into Notification addresses and save."
EXAMPLES = (
    ("Slack", "slack://TokenA/TokenB/TokenC/#ops"),
    ("Mail", "mailtos://user:password@example.org?to=ops@example.org"),
    ("Any web hook", "jsons://hooks.example.org/path"),
    ("Alertmanager", "alertmanager://alertmanager.example.org:9093"),
)

router = APIRouter(prefix=PREFIX, include_in_schema=False, dependencies=ADMIN)


@router.get("/channels")
def channels(site: CurrentSite) -> Response:
    """All of them."""
    return site.page("channels", {"channels": site.parts.alerts.channels.all(), "topic": "channels"})


@router.get("/channels/add")
def new(site: CurrentSite) -> Response:
    """An empty form; the first channel is the default one unless somebody says otherwise."""
    is_first = not site.parts.alerts.channels.names()
    return form_page(site, {"is_default": "on"} if is_first else {})


@router.post("/channels/add")
def add(site: CurrentSite, typed: Typed) -> Response:
    """Stores a new channel."""
    saved = site.parts.alerts.channel_editing.add(from_form(typed))
    if not isinstance(saved, Channel):
        return form_page(site, typed, errors=_errors(saved))
    return site.to(CHANNELS, FlashMessage(f"The channel “{saved.name}” is added. Test it."))


@router.get("/channels/{channel_id}")
def edit(site: CurrentSite, channel_id: str) -> Response:
    """The form of a stored channel."""
    channel = found(site, channel_id)
    typed = {"name": channel.name, "url": channel.masked_url}
    return form_page(site, typed | ({"is_default": "on"} if channel.is_default else {}), channel)


@router.post("/channels/{channel_id}")
def save(site: CurrentSite, channel_id: str, typed: Typed) -> Response:
    """Stores what was typed."""
    channel = found(site, channel_id)
    try:
        saved = site.parts.alerts.channel_editing.edit(channel.id, from_form(typed))
    except UnknownChannel:
        raise HTTPException(404, NO_CHANNEL) from None
    if not isinstance(saved, Channel):
        return form_page(site, typed, channel, _errors(saved))
    return site.to(CHANNELS, FlashMessage(f"The channel “{saved.name}” is saved."))


@router.post("/channels/{channel_id}/test")
def test(site: CurrentSite, channel_id: str) -> Response:
    """Sends a test message, and tells what came of it."""
    channel = found(site, channel_id)
    error = site.parts.alerts.channel_editing.test(channel.id)
    if error:
        return site.to(CHANNELS, FlashMessage(f"“{channel.name}” did not take it: {error}", "error"))
    return site.to(CHANNELS, FlashMessage(f"A test message went to “{channel.name}”."))


@router.post("/notifications/test")
async def test_notifications(site: CurrentSite, user: CurrentUser) -> Response:
    """Sends a test message to the saved addresses of the setting `notification_urls`."""
    urls = site.parts.settings().channels()
    error = await site.parts.doors.channels.run(user.name, _sent_test, urls) if urls else NO_ADDRESS
    said = FlashMessage(error, "error") if error else FlashMessage("The test message was taken.")
    if site.is_part:
        return with_toasts(Response(status_code=UNCHANGED), said)
    flash(site.request, said)
    return RedirectResponse(came_from(site.request) or url_below_root(site.request, CHANNELS), 303)


def _sent_test(urls: list[str]) -> str | None:
    error = send(urls, "Test message", "It works: notifications of runs come here.")
    return f"The test message was not taken: {error}" if error else None


@router.post("/channels/{channel_id}/delete")
def delete(site: CurrentSite, channel_id: str) -> Response:
    """Deletes a channel that no alert names."""
    channel = found(site, channel_id)
    try:
        site.parts.alerts.channel_editing.delete(channel.id)
    except (UnknownChannel, ChannelInUse) as error:
        return site.to(CHANNELS, FlashMessage(f"The channel “{channel.name}” stays: {error}", "error"))
    return site.to(CHANNELS, FlashMessage(f"The channel “{channel.name}” is deleted."))


def form_page(
    site: Site,
    typed: Mapping[str, str],
    channel: Channel | None = None,
    errors: Mapping[str, str] | None = None,
) -> Response:
    """The form of a channel, filled in with what was typed."""
    context = {"typed": typed, "channel": channel, "errors": errors or {}, "examples": EXAMPLES}
    status_code = REFUSED if errors else 200
    return site.page("channel", {**context, "crumbs": CRUMBS, "topic": "channels"}, status_code)


def from_form(typed: Mapping[str, str]) -> dict[str, Any]:
    """What a form sent, as the API would have sent it."""
    fields: dict[str, Any] = {name: typed[name] for name in ("name", "url") if name in typed}
    return fields | {"is_default": bool(typed.get("is_default"))}


def found(site: Site, channel_id: str) -> Channel:
    """The channel of that number, or 404."""
    channel = site.parts.alerts.channels.get(row_id(channel_id, NO_CHANNEL))
    if channel is None:
        raise HTTPException(404, NO_CHANNEL)
    return channel


def _errors(refused: Refused | Taken) -> Mapping[str, str]:
    return {"name": refused.sentence} if isinstance(refused, Taken) else refused.errors
