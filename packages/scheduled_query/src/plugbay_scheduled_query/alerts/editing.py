"""Alerts and channels as people make, change, mute and delete them: the same for form, API and import."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from plugbay import SecretUnreadable, get_logger

from plugbay_scheduled_query.alerts.sending import masked, objection_to
from plugbay_scheduled_query.core.alerting.draft import check_alert_edit, check_mute, check_new_alert
from plugbay_scheduled_query.core.alerting.model import Alert, AlertDraft, AlertEvent
from plugbay_scheduled_query.core.draft import FieldRefused, Refused, check_name
from plugbay_scheduled_query.core.text import unwelcome_character
from plugbay_scheduled_query.repository.alerts import (
    AlertChange,
    AlertConflict,
    Alerts,
    ChannelGone,
    TooManyAlerts,
)
from plugbay_scheduled_query.repository.channels import (
    Channel,
    ChannelDraft,
    ChannelNameTaken,
    Channels,
)

MAX_NAME = 100  # characters
MAX_URL = 4_000  # characters
PATIENCE = 10  # edits by others that an edit without a version lets go before it
NO_SUCH_QUERY = "there is no such query"

log = get_logger("plugbay.scheduled_query")

Tell = Callable[[Iterable[AlertEvent]], None]


class UnknownAlert(Exception):
    """An alert that is not there, perhaps no longer."""

    def __init__(self) -> None:
        super().__init__("there is no such alert")


class UnknownChannel(Exception):
    """A channel that is not there, perhaps no longer."""

    def __init__(self) -> None:
        super().__init__("there is no such channel")


class AlertEditing:
    """Checks what people write about alerts, stores it, and tells what follows."""

    def __init__(self, alerts: Alerts, channels: Channels, tell: Tell) -> None:
        self._alerts = alerts
        self._channels = channels
        self._tell = tell

    def create(self, given: Mapping[str, Any], by: str | None) -> Alert | Refused:
        """A new alert from whatever was sent, or a sentence for each field that is wrong."""
        query_id = given.get("query_id")
        if isinstance(query_id, bool) or not isinstance(query_id, int):
            return Refused({"query_id": "must be the id of a query"})
        draft = self.check(given)
        if isinstance(draft, Refused):
            return draft
        try:
            alert = self._alerts.create(query_id, draft)
        except ChannelGone:
            return _channel_gone()
        except (TooManyAlerts, OverflowError) as error:
            return Refused({"query_id": str(error) if isinstance(error, TooManyAlerts) else NO_SUCH_QUERY})
        if alert is None:
            return Refused({"query_id": NO_SUCH_QUERY})
        log.info("alert_saved", alert=alert.draft.name, query=alert.query_name, by=by)
        return alert

    def check(self, given: Mapping[str, Any]) -> AlertDraft | Refused:
        """What would be stored as a new alert."""
        return check_new_alert(given, self._channels.names())

    def edit(
        self, alert_id: int, given: Mapping[str, Any], by: str | None, version: int | None = None
    ) -> Alert | Refused:
        """Changes the fields that were sent; raises UnknownAlert, or AlertConflict for an older version."""
        for _ in range(PATIENCE):
            current = self.existing(alert_id)
            if version not in (None, current.version):
                raise AlertConflict(current)
            try:
                return self._edit(current, given, by)
            except AlertConflict as error:
                conflict = error  # with no version asked for, the newest is the one to edit
                if version is not None:
                    raise
        raise conflict

    def delete(self, alert_id: int, by: str | None) -> Alert:
        """Takes an alert away; raises UnknownAlert."""
        alert = self._changed(self._alerts.delete(alert_id))
        log.info("alert_deleted", alert=alert.draft.name, query=alert.query_name, by=by)
        return alert

    def mute(self, alert_id: int, given: Mapping[str, Any], by: str | None) -> Alert | Refused:
        """Tells nothing of an alert for so many minutes, or until it is resolved; raises UnknownAlert."""
        try:
            minutes = check_mute(given)
        except FieldRefused as refusal:
            return Refused({"minutes": str(refusal)})
        alert = self._changed(self._alerts.mute(alert_id, minutes))
        log.info("alert_muted", alert=alert.draft.name, query=alert.query_name, minutes=minutes, by=by)
        return alert

    def existing(self, alert_id: int) -> Alert:
        """The alert of that number; raises UnknownAlert."""
        alert = self._alerts.get(alert_id)
        if alert is None:
            raise UnknownAlert
        return alert

    def _edit(self, current: Alert, given: Mapping[str, Any], by: str | None) -> Alert | Refused:
        draft = check_alert_edit(current.draft, given, self._channels.names())
        if isinstance(draft, Refused) or draft == current.draft:
            return draft if isinstance(draft, Refused) else current
        try:
            alert = self._changed(self._alerts.update(current.id, draft, current.version))
        except ChannelGone:
            return _channel_gone()
        log.info("alert_saved", alert=draft.name, query=current.query_name, by=by)
        return alert

    def _changed(self, change: AlertChange | None) -> Alert:
        if change is None:
            raise UnknownAlert
        self._tell(change.events)
        return change.alert


@dataclass(frozen=True, slots=True)
class Taken:
    """A name that another channel has."""

    name: str

    @property
    def sentence(self) -> str:
        return f"another channel is called “{self.name}”"


class ChannelEditing:
    """Checks what admins write about channels, and stores it."""

    def __init__(self, channels: Channels, send_test: Callable[[Channel], str | None]) -> None:
        self._channels = channels
        self._send_test = send_test

    def add(self, given: Mapping[str, Any]) -> Channel | Refused | Taken:
        """A new channel; nothing is sent to it yet."""
        wanted = {"name": "", "url": "", **given}
        checked, errors = _check_each(wanted, None)
        if errors:
            return Refused(errors)
        try:
            return self._channels.add(_draft(checked))
        except ChannelNameTaken:
            return Taken(checked["name"])

    def edit(self, channel_id: int, given: Mapping[str, Any]) -> Channel | Refused | Taken:
        """Stores the fields that were sent; a masked URL keeps the stored one. Raises UnknownChannel."""
        current = self.existing(channel_id)
        checked, errors = _check_each(given, current.masked_url)
        if errors:
            return Refused(errors)
        if checked.get("url") is None:
            try:
                checked["url"] = self._channels.url_of(current)
            except SecretUnreadable:
                return Refused({"url": "it is unreadable: enter it again"})
        checked = {"name": current.name, "is_default": current.is_default, **checked}
        try:
            changed = self._channels.update(channel_id, _draft(checked))
        except ChannelNameTaken:
            return Taken(checked["name"])
        if changed is None:
            raise UnknownChannel
        return changed

    def delete(self, channel_id: int) -> Channel:
        """Takes a channel away; raises UnknownChannel or ChannelInUse."""
        channel = self.existing(channel_id)
        if not self._channels.delete(channel_id):
            raise UnknownChannel
        return channel

    def test(self, channel_id: int) -> str | None:
        """Sends a test message; returns why it was not taken. Raises UnknownChannel."""
        return self._send_test(self.existing(channel_id))

    def existing(self, channel_id: int) -> Channel:
        """The channel of that number; raises UnknownChannel."""
        channel = self._channels.get(channel_id)
        if channel is None:
            raise UnknownChannel
        return channel


def _channel_gone() -> Refused:
    return Refused({"channels": "one of these channels was deleted or renamed a moment ago"})


def _draft(checked: Mapping[str, Any]) -> ChannelDraft:
    url = checked["url"]
    return ChannelDraft(checked["name"], url, masked(url), checked.get("is_default", False))


def _check_each(given: Mapping[str, Any], stored_mask: str | None) -> tuple[dict[str, Any], dict[str, str]]:
    checks: dict[str, Callable[[Any], Any]] = {
        "name": _read_name,
        "url": lambda url: _read_url(url, stored_mask),
        "is_default": _read_flag,
    }
    checked: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for name in checks.keys() & given.keys():
        try:
            checked[name] = checks[name](given[name])
        except FieldRefused as refusal:
            errors[name] = str(refusal)
    return checked, errors


def _read_name(given: Any) -> str:
    name = check_name(given)
    if len(name) > MAX_NAME:
        raise FieldRefused(f"a name has at most {MAX_NAME} characters; this one has {len(name)}")
    return name


def _read_url(given: Any, stored_mask: str | None) -> str | None:
    """The URL; None stands for the stored one, which came back masked."""
    if not isinstance(given, str):
        raise FieldRefused("must be a text")
    url = given.strip()
    if stored_mask is not None and url == stored_mask:
        return None
    if len(url) > MAX_URL:
        raise FieldRefused(f"a URL has at most {MAX_URL:,} characters; this one has {len(url):,}")
    if found := unwelcome_character(url):
        raise FieldRefused(f"must not have {found}")
    if objection := objection_to(url):
        raise FieldRefused(objection)
    return url


def _read_flag(given: Any) -> bool:
    if not isinstance(given, bool):
        raise FieldRefused("must be true or false")
    return given
