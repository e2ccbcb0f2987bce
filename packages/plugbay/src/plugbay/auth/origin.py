"""Did our own page send this request? What browsers say about it, and nothing else."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from plugbay.auth.marks import user_of

OWN_SITES = ("same-origin", "none")  # "none": the visitor typed it or used a bookmark


def cross_site_signs(headers: Headers) -> Iterator[str]:
    """Each header that says that another site's page caused this request."""
    own = _host(f"//{headers.get('host', '')}")
    for site in headers.getlist("sec-fetch-site"):
        if site.strip().lower() not in OWN_SITES:
            yield "Sec-Fetch-Site"
    for origin in headers.getlist("origin"):
        if _host(origin) != own:
            yield "Origin"


def cross_site_get_signs(headers: Headers) -> Iterator[str]:
    """The same for a GET that changes something: a link or a prefetch must not set it off."""
    yield from cross_site_signs(headers)
    own = _host(f"//{headers.get('host', '')}")
    if any(_host(referer) != own for referer in headers.getlist("referer")):
        yield "Referer"
    for name in ("Sec-Purpose", "Purpose"):
        if "prefetch" in headers.get(name, "").lower():
            yield name


def refuse_cross_site(request: HTTPConnection) -> None:
    """403 if a browser says that the request comes from another site."""
    signs = cross_site_signs(request.headers)
    if request.scope["type"] == "websocket":
        # browsers do not agree on what Sec-Fetch-Site says of ws: and wss:
        signs = (sign for sign in signs if sign == "Origin")
    _refuse(signs)


def refuse_cross_site_get(request: HTTPConnection) -> None:
    """403 if another site, or a prefetch, set off this state-changing GET; a bearer token is always meant."""
    user = user_of(request)
    if user is None or user.via != "token":
        _refuse(cross_site_get_signs(request.headers))


def _refuse(signs: Iterator[str]) -> None:
    sign = next(signs, None)
    if sign is not None:
        raise HTTPException(403, f"This request was refused because it came from another site ({sign}).")


def _host(url: str) -> str | None:
    """Host and port in one spelling; None for `null` and for what is no address."""
    try:
        parts = urlsplit(url)
        name, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not name:
        return None
    return name if port in (None, 80, 443) else f"{name}:{port}"
