"""What a page has shown already: short marks that change with the news of each of its parts. Pure."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from plugbay import FlashMessage, flash

from plugbay_scheduled_query.core.model import Query
from plugbay_scheduled_query.core.paging import BadParameter, plain_integer
from plugbay_scheduled_query.dialects import DIALECTS, editor_name
from plugbay_scheduled_query.web.parts import Parts


def mark(*shown: Any) -> str:
    """A short text that changes when anything of this does."""
    return hashlib.blake2b(repr(shown).encode(errors="replace"), digest_size=8).hexdigest()


def mark_of(query: Query, now: datetime) -> str:
    """Changes when anything that a row or a card shows of its query does."""
    is_waiting = query.next_run_at is not None and query.next_run_at <= now
    ran = (query.last_executed, query.last_status, query.last_duration_ms)
    return mark(query.id, query.version, query.running, *ran, query.next_run_at, is_waiting)


def mark_of_all(queries: Iterable[Query], now: datetime, *more: Any) -> str:
    """Changes when anything on a page of queries does."""
    return mark([mark_of(query, now) for query in queries], more)


PREFIX = "/scheduled_query"
LIST = f"{PREFIX}/"
HOME = ("Scheduled Queries", LIST)
LARGEST_ID = 2**31 - 1  # of an integer column on PostgreSQL
NO_QUERY = "There is no such query. It may have been deleted."
UNCHANGED = 204  # htmx leaves the page as it is


class Site:
    """The service as the pages see it."""

    def __init__(self, parts: Callable[[], Parts]) -> None:
        self._parts = parts

    @property
    def parts(self) -> Parts:
        return self._parts()

    def query(self, query_id: str, with_result: bool = False) -> Query:
        """The query of that number, or 404."""
        query = self.parts.definitions.get(number(query_id, NO_QUERY), with_result)
        if query is None:
            raise HTTPException(404, NO_QUERY)
        return query

    def page(
        self, request: Request, name: str, context: Mapping[str, Any], status_code: int = 200
    ) -> HTMLResponse:
        """A page, or a part of one, with what all of them need."""
        tools = {"mark": mark, "mark_of": mark_of, "dialects": DIALECTS, "editor_name": editor_name}
        more = {"crumbs": (HOME,), "now": self.parts.clock.now(), **tools, **context}
        template = f"scheduled_query/{name}.html.j2"
        return self.parts.host.templates.response(request, template, more, status_code)

    def to(self, request: Request, path: str, *messages: FlashMessage) -> Response:
        """To a page of ours, with messages."""
        flash(request, *messages)
        return RedirectResponse(below_root(request, path), 303)

    def back(self, request: Request, *messages: FlashMessage) -> Response:
        """To the page that the visitor came from, else to the list, with messages."""
        flash(request, *messages)
        return RedirectResponse(came_from(request) or below_root(request, LIST), 303)


async def typed_fields(request: Request) -> dict[str, str]:
    """The text fields of a form; of several with one name the last counts."""
    async with request.form() as form:
        return {name: value for name, value in form.items() if isinstance(value, str)}


Typed = Annotated[dict[str, str], Depends(typed_fields)]


def number(text: str, otherwise: str) -> int:
    """The id that a path names; 404 for anything that cannot be one."""
    try:
        return plain_integer("id", text, maximum=LARGEST_ID)
    except BadParameter:
        raise HTTPException(404, otherwise) from None


def is_part(request: Request) -> bool:
    """Whether htmx asks, and wants a part of the page only."""
    return "hx-request" in request.headers


def has_seen(request: Request, shown: str) -> bool:
    """Whether a live part asks that shows all this already."""
    return request.headers.get("x-seen") == shown


def with_toasts(response: Response, *messages: FlashMessage) -> Response:
    """Shows messages in the corner when htmx gets the response."""
    if messages:
        told = {"text": "\n".join(m.text for m in messages), "level": messages[-1].level}
        response.headers["HX-Trigger"] = json.dumps({"toast": told})
    return response


def below_root(request: Request, path: str) -> str:
    """A path of ours as it must stand in a `Location` header."""
    return quote(request.scope.get("root_path", "").rstrip("/")) + path


def came_from(request: Request) -> str | None:
    """The page of this service that the request was sent from, if the browser tells."""
    try:
        page = urlsplit(request.headers.get("referer", ""))
    except ValueError:
        return None
    if page.netloc != request.headers.get("host") or not page.path.startswith(below_root(request, LIST)):
        return None
    return page.path + (f"?{page.query}" if page.query else "")


def help_routes(site: Site) -> APIRouter:
    router = APIRouter()

    @router.get("/help")
    def show(request: Request) -> Response:
        return site.page(request, "help", {"settings": site.parts.settings()})

    return router
