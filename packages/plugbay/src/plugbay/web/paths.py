"""Paths as the visitor's browser sees them: below a proxy's path, to the login, and back again."""

from urllib.parse import SplitResult, quote, unquote, urlsplit

from starlette.requests import HTTPConnection
from starlette.types import Scope

MAX_NEXT = 2048  # characters; longer than any address of ours
API_PREFIXES = ("/api/", "/metrics/", "/openapi.json/")
_SAFE_IN_URL = "/%?&=#:;,@!$'()*+~[]"


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
