"""The service as its pages see it: what they all need to read a request and to answer it."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any

from fastapi import Depends, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from plugbay import FlashMessage, flash, require_role
from plugbay.web import came_from, row_id, url_below_root

from plugbay_scheduled_query.core.model import Query
from plugbay_scheduled_query.core.rendering import brief
from plugbay_scheduled_query.dialects import DIALECTS, editor_name
from plugbay_scheduled_query.web.dependencies import Parts, ServiceParts

PREFIX = "/scheduled_query"  # of every path
LIST = f"{PREFIX}/"
HOME = ("Scheduled Queries", LIST)
EDITOR = [require_role("editor")]
ADMIN = [require_role("admin")]
NO_QUERY = "There is no such query. It may have been deleted."
NO_SOURCE = "There is no such data source."
UNCHANGED = 204  # htmx leaves the page as it is
CONFLICT, REFUSED = 409, 422  # of a form that comes back


class Site:
    """The service, for one request of a visitor."""

    def __init__(self, request: Request, parts: Parts) -> None:
        self.request = request
        self.parts = parts
        self.asked: Mapping[str, str] = request.query_params

    @property
    def is_part(self) -> bool:
        """Whether htmx asks, and wants a part of the page only."""
        return "hx-request" in self.request.headers

    @property
    def came_from(self) -> str | None:
        """The page of this service that the visitor came from, if the browser tells."""
        return came_from(self.request, LIST)

    def has_seen(self, fingerprint: str) -> bool:
        """Whether a live part asks that shows all this already."""
        return self.request.headers.get("x-seen") == fingerprint

    def query(self, query_id: str) -> Query:
        """The query of that number, or 404."""
        query = self.parts.definitions.get(row_id(query_id, NO_QUERY))
        if query is None:
            raise HTTPException(404, NO_QUERY)
        return self.parts.reasons.mark([query])[0]

    def page(self, name: str, context: Mapping[str, Any], status_code: int = 200) -> HTMLResponse:
        """A page, or a part of one, with what all of them need."""
        more = {
            "crumbs": (HOME,),
            "now": self.parts.clock.now(),
            "fingerprint": fingerprint,
            "brief": brief,
            "query_fingerprint": query_fingerprint,
            "dialects": DIALECTS,
            "editor_name": editor_name,
            "disk_problem": self.parts.disk.problem(),
            "hold": None if self.is_part else self.parts.standstills.hold(),
            **context,
        }
        template = f"scheduled_query/{name}.html.j2"
        return self.parts.host.templates.response(self.request, template, more, status_code)

    def to(self, path: str, *messages: FlashMessage) -> Response:
        """To a page of ours, with messages."""
        flash(self.request, *messages)
        return RedirectResponse(url_below_root(self.request, path), 303)

    def back(self, *messages: FlashMessage) -> Response:
        """To the page that the visitor came from, else to the list, with messages."""
        flash(self.request, *messages)
        return RedirectResponse(self.came_from or url_below_root(self.request, LIST), 303)


async def site_of(request: Request, parts: ServiceParts) -> Site:
    """The service for whoever sent this request."""
    return Site(request, parts)


CurrentSite = Annotated[Site, Depends(site_of)]


def with_toasts(response: Response, *messages: FlashMessage) -> Response:
    """Shows messages in the corner when htmx gets the response."""
    if messages:
        toast = {"text": "\n".join(m.text for m in messages), "level": messages[-1].level}
        response.headers["HX-Trigger"] = json.dumps({"toast": toast})
    return response


def fingerprint(*shown: Any) -> str:
    """A short text that changes when anything of this does: what is on a page already is not sent again."""
    return hashlib.blake2b(repr(shown).encode(errors="replace"), digest_size=8).hexdigest()


def query_fingerprint(query: Query, now: datetime) -> str:
    """Changes when anything that a row or a card shows of its query does."""
    is_waiting = query.next_run_at is not None and query.next_run_at <= now
    ran = (query.last_executed, query.last_status, query.last_duration_ms)
    waits = (query.next_run_at, is_waiting, query.waiting_for)
    return fingerprint(query.id, query.version, query.running, *ran, *waits)


def list_fingerprint(queries: Iterable[Query], now: datetime, *more: Any) -> str:
    """Changes when anything on a page of queries does."""
    return fingerprint([query_fingerprint(query, now) for query in queries], more)
