"""Sending through one channel: a message by Apprise, or the alerts themselves to an Alertmanager."""

import base64
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from plugbay_scheduled_query.core.alerting.model import AlertEvent, EventKind
from plugbay_scheduled_query.core.alerting.wording import (
    AlertMessage,
    digest_of,
    link_to,
    message_of,
    title_of,
)
from plugbay_scheduled_query.messaging import is_known_url, send, unspoken

MOST_SINGLE = 5  # messages that one channel gets at a time; more go as one
LONGEST_S = 60.0  # that one message may take: then the next channel's turn is not held up by it
ANSWER_S = 10.0  # that an Alertmanager may take
SCHEMES = {"alertmanager": ("http", 9093), "alertmanagers": ("https", 443)}
PLACE = "/api/v2/alerts"
TEST = AlertMessage("Plugbay: a test", "This channel works. Nothing is wrong.", "info")


class Sender(Protocol):
    """One way to tell somebody."""

    def parcels(self, events: Sequence[AlertEvent]) -> list[Sequence[AlertEvent]]:
        """The events in the parts that are sent, each as one message."""
        ...

    def send(self, events: Sequence[AlertEvent]) -> str | None:
        """Sends one part; returns why it was not taken."""
        ...

    def test(self, now: datetime) -> str | None:
        """Sends something harmless; returns why it was not taken."""
        ...


def sender_of(url: str, public_url: str) -> Sender:
    """Who sends to a URL."""
    return ToAlertmanager(url, public_url) if is_alertmanager(url) else ToPeople(url, public_url)


def is_alertmanager(url: str) -> bool:
    """Whether alerts are posted there, rather than messages; a masked URL tells it, too."""
    return url.partition("://")[0].lower() in SCHEMES


def masked(url: str) -> str:
    """What people may see of a URL: of Apprise's only the scheme, because any part may open the channel."""
    scheme = url.partition("://")[0].lower()
    if not is_alertmanager(url):
        return f"{scheme}://***"
    parts = urlsplit(url)
    who = "***@" if "@" in parts.netloc else ""
    return f"{scheme}://{who}{parts.netloc.rpartition('@')[2]}{parts.path}"


def objection_to(url: str) -> str | None:
    """What is wrong with the URL of a channel, or None."""
    if "://" not in url:
        return "a URL is needed, such as mailto://… or alertmanager://host:9093"
    if is_alertmanager(url):
        return _objection_to_alertmanager(url)
    if not is_known_url(url):
        return "Apprise knows no such URL: see its documentation of the service"
    return None


def in_time(call: Callable[[], str | None], longest_s: float = LONGEST_S) -> str | None:
    """What a call returns, or that it took too long; then it is left to itself."""
    promise: Future[str | None] = Future()

    def work() -> None:
        try:
            promise.set_result(call())
        except Exception as error:
            promise.set_result(f"it broke: {type(error).__name__}")

    threading.Thread(target=work, daemon=True).start()
    try:
        return promise.result(longest_s)
    except TimeoutError:
        return f"it took longer than {longest_s:.0f} s"


@dataclass(frozen=True)
class ToPeople:
    """Messages by Apprise: few one by one, many as one."""

    url: str
    public_url: str = ""

    def parcels(self, events: Sequence[AlertEvent]) -> list[Sequence[AlertEvent]]:
        return [events] if len(events) > MOST_SINGLE else [[event] for event in events]

    def send(self, events: Sequence[AlertEvent]) -> str | None:
        if len(events) == 1:
            return self._send(message_of(events[0], self.public_url))
        return self._send(digest_of(events, self.public_url))

    def test(self, now: datetime) -> str | None:
        return self._send(TEST)

    def _send(self, message: AlertMessage) -> str | None:
        return send([self.url], message.title, message.body, message.type)


@dataclass(frozen=True)
class ToAlertmanager:
    """Alerts by Alertmanager's API, version 2: as many as there are in one request."""

    url: str
    public_url: str = ""

    def parcels(self, events: Sequence[AlertEvent]) -> list[Sequence[AlertEvent]]:
        return [events]

    def send(self, events: Sequence[AlertEvent]) -> str | None:
        return self._post([alertmanager_json(event, self.public_url) for event in events])

    def test(self, now: datetime) -> str | None:
        labels = {"alertname": TEST.title, "severity": "info"}
        moment = now.isoformat()
        annotations = {"summary": TEST.title, "description": TEST.body}
        return self._post(
            [{"labels": labels, "annotations": annotations, "startsAt": moment, "endsAt": moment}]
        )

    def _post(self, alerts: list[dict[str, Any]]) -> str | None:
        request = _request(self.url, json.dumps(alerts).encode())
        with unspoken([self.url]):
            try:
                with urllib.request.urlopen(request, timeout=ANSWER_S):  # noqa: S310 - http or https only
                    return None
            except urllib.error.HTTPError as error:
                return f"Alertmanager answered {error.code}"
            except (OSError, ValueError) as error:
                return f"Alertmanager cannot be reached: {_reason(error)}"


def alertmanager_json(event: AlertEvent, public_url: str = "") -> dict[str, Any]:
    """An event as Alertmanager takes it; with an end when it is resolved."""
    own = {
        "alertname": event.alert_name,
        "severity": event.severity.value,
        "query": event.query_name,
        "query_id": str(event.query_id),
        "alert_id": str(event.alert_id),
    }
    alert: dict[str, Any] = {
        "labels": {**dict(event.labels), **own},
        "annotations": {"summary": title_of(event), "description": f"{event.message} (event {event.id})"},
        "startsAt": event.started_at.isoformat(),
    }
    if event.kind is EventKind.RESOLVED:
        alert["endsAt"] = event.at.isoformat()
    if link := link_to(event, public_url):
        alert["generatorURL"] = link
    return alert


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    return getattr(reason, "strerror", None) or type(reason).__name__


def _objection_to_alertmanager(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        is_good = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        is_good = False
    if not is_good or parts.query or parts.fragment:
        return "must be alertmanager://HOST:PORT or alertmanager://HOST:PORT/PATH"
    return None


def _request(url: str, body: bytes) -> urllib.request.Request:
    parts = urlsplit(url)
    scheme, usual_port = SCHEMES[parts.scheme.lower()]
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    address = f"{scheme}://{host}:{parts.port or usual_port}{parts.path.rstrip('/')}{PLACE}"
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})  # noqa: S310
    if parts.username is not None:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        request.add_header("Authorization", f"Basic {base64.b64encode(login.encode()).decode()}")
    return request
