"""What a request says: whose host it asks, its path, where it came from, its form fields and ids."""

import re
from typing import Annotated, Any
from urllib.parse import SplitResult, quote, unquote, urlsplit

from fastapi import Depends, HTTPException, Path, Request
from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError
from starlette.requests import HTTPConnection
from starlette.types import Scope

MAX_NEXT = 2048  # characters; longer than any address of ours
API_PREFIXES = ("/api/", "/metrics/", "/openapi.json/")
LARGEST_ID = 2**31 - 1  # of an integer column on PostgreSQL: a larger one names no row

_SAFE_IN_URL = "/%?&=#:;,@!$'()*+~[]"
_INTEGER = re.compile(r"-?[0-9]{1,20}")  # 20 digits are more than any database holds


def host_of(request: HTTPConnection) -> Any:
    """The host whose application answers: a process may hold several."""
    return request.app.state.plugbay


def from_host(part: str) -> Any:
    """For `Annotated[Templates, from_host("templates")]`: a part of the host whose application answers.

    Routes are read once and serve every host of the process: this is how a handler reaches its own.
    """

    async def part_of_host(request: HTTPConnection) -> Any:
        return getattr(host_of(request), part)

    return Depends(part_of_host)


def route_path(scope: Scope) -> str:
    """The path below the sub-path that a proxy serves us under."""
    path, root = str(scope["path"]), root_path(scope)
    inside = path == root or path.startswith(root + "/")
    return (path[len(root) :] or "/") if inside else path


def root_path(scope: Scope) -> str:
    return str(scope.get("root_path", "")).rstrip("/")


def is_machine_path(scope: Scope) -> bool:
    """Whether programs ask here: they get a 401 where a visitor would be sent to the login page."""
    return (route_path(scope) + "/").startswith(API_PREFIXES)


def url_below_root(request: HTTPConnection, path: str) -> str:
    """A path of ours as it must stand in a `Location` header."""
    return quote(root_path(request.scope)) + path


def login_url(request: HTTPConnection) -> str:
    """The login page, told where the visitor wanted to go."""
    query = request.scope.get("query_string", b"").decode("latin-1")
    return _login_before(request, url_below_root(request, quote(route_path(request.scope)) + _asked(query)))


def login_url_back(request: HTTPConnection) -> str:
    """The login page, told to lead back to the page that a form was sent from."""
    page = _sending_page(request)
    return _login_before(request, page.path + _asked(page.query) if page else "")


def came_from(request: HTTPConnection, below: str = "/") -> str | None:
    """The page of this site that the request was sent from, if the browser tells, and if it is `below`."""
    page = _sending_page(request)
    if page is None or not is_local_path(page.path):
        return None
    if not page.path.startswith(url_below_root(request, below)) or page.path in _loops(request):
        return None
    return _quoted(page.path + _asked(page.query))


def _sending_page(request: HTTPConnection) -> SplitResult | None:
    try:
        page = urlsplit(request.headers.get("referer", ""))
    except ValueError:
        return None
    return page if page.netloc and page.netloc == request.headers.get("host") else None


def _asked(query: str) -> str:
    return f"?{query}" if query else ""


def _login_before(request: HTTPConnection, wanted: str) -> str:
    if not wanted or len(wanted) > MAX_NEXT:
        return url_below_root(request, "/login")
    return url_below_root(request, f"/login?next={quote(wanted, safe='/')}")


def safe_next(wanted: str, request: HTTPConnection) -> str:
    """`next` if it is a path on this site, else the front page: a login never leads elsewhere."""
    front = url_below_root(request, "/")
    if not is_local_path(wanted) or urlsplit(wanted).path in _loops(request):
        return front
    return _quoted(wanted)


def _quoted(path: str) -> str:
    return quote(path, safe=_SAFE_IN_URL)


def is_local_path(wanted: str) -> bool:
    # browsers drop control characters and read a backslash as a slash, some proxies decode first
    plain = unquote(unquote(wanted))
    return (
        len(wanted) <= MAX_NEXT
        and wanted.startswith("/")
        and plain.isprintable()
        and "\\" not in plain
        and not plain.startswith("//")
    )


def _loops(request: HTTPConnection) -> tuple[str, str]:
    return url_below_root(request, "/login"), url_below_root(request, "/logout")


def plain_integer(text: str) -> int:
    """The integer that the text plainly is, else ValueError: `1.0`, `+1`, ` 1`, `1_0` and `１` are none."""
    if not _INTEGER.fullmatch(text):
        raise ValueError("it is not a plain whole number")
    return int(text)


def row_id(text: str, otherwise: str = "Not Found") -> int:
    """The id that a path names; 404, in these words, for what cannot be one."""
    try:
        number = plain_integer(text)
    except ValueError:
        number = 0
    if not 1 <= number <= LARGEST_ID:
        raise HTTPException(404, otherwise)
    return number


def _plain(value: Any) -> Any:
    """Only the spelling is looked at here; the bounds are the field's own."""
    try:
        return plain_integer(value) if isinstance(value, str) else value
    except ValueError:
        raise PydanticCustomError("int_parsing", "Input should be a plain integer") from None


PLAIN = BeforeValidator(_plain)
"""For `Annotated[int, Query(ge=1), PLAIN]`: pydantic's own int takes `1.0`, ` 1` and `1_0` too."""

RowId = Annotated[int, Path(ge=1, le=LARGEST_ID), PLAIN]
"""The type of a path parameter that is the id of a row; 422 for what cannot be one."""


async def typed_fields(request: Request) -> dict[str, str]:
    """The text fields of a form; of several with one name the last counts."""
    async with request.form() as form:
        return {name: value for name, value in form.items() if isinstance(value, str)}


Typed = Annotated[dict[str, str], Depends(typed_fields)]
"""The type of a handler's parameter that is all that was typed into a form."""
