"""The application that `plugbay serve` runs: Plugbay alone, with its own documentation and error pages."""

import secrets
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Request
from fastapi.exception_handlers import http_exception_handler
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Match

from plugbay.auth.guard import broken_json
from plugbay.auth.roles import LOGIN_NEEDED, USER, claim, state_of
from plugbay.errors import StoreError
from plugbay.host import Plugbay
from plugbay.logs import get_logger
from plugbay.settings import HostConfig, load_config
from plugbay.web import from_host, host_of
from plugbay.web.pages import Templates
from plugbay.web.requests import is_machine_path, login_url_back, root_path
from plugbay.web.routers import QuickRouter

GZIP_FROM = 1024  # bytes: below that the header costs more than the compression saves
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
GZIP_LEVEL = 5  # nearly as small as 9 at a third of the time

log = get_logger(__name__)
documentation = QuickRouter(include_in_schema=False)  # for those who are logged in


def create_app(
    app_root_dir: Path | None = None,
    config: HostConfig | Mapping[str, Any] | None = None,
) -> FastAPI:
    """A FastAPI application with nothing but Plugbay in it."""
    settings = load_config(config)
    settings.samples = settings.samples is not False
    title = settings.app_name or "Plugbay"
    app = FastAPI(title=title, docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    host = Plugbay(app, app_root_dir, config=settings)
    host.add_routes("plugbay", documentation)
    host.docs_url = "/docs"
    app.add_middleware(GZipMiddleware, minimum_size=GZIP_FROM, compresslevel=GZIP_LEVEL)
    app.add_exception_handler(HTTPException, on_http_error)
    app.add_exception_handler(StoreError, on_store_trouble)
    app.add_exception_handler(Exception, on_failure)
    return app


@documentation.get("/openapi.json")
def openapi(request: Request) -> JSONResponse:
    below = root_path(request.scope)
    servers = {"servers": [{"url": below}]} if below else {}
    return JSONResponse({**request.app.openapi(), **servers})


@documentation.get("/docs")
def docs(request: Request, templates: Annotated[Templates, from_host("templates")]) -> Response:
    return templates.response(request, "plugbay/docs.html.j2")


async def on_http_error(request: Request, error: Exception) -> Response:
    """People get a page, programs get JSON; neither gets a traceback."""
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, UnicodeDecodeError):  # FastAPI has a 400 of its own for this one
        error = broken_json()
    if error.status_code == 405:
        error.headers = {**(error.headers or {}), "Allow": ", ".join(_allowed_methods(request))}
    if error.status_code < 400 or not wants_page(request):
        claim(request.scope)
        return await http_exception_handler(request, error)
    host: Plugbay = host_of(request)
    await host.guard.recognise(request)  # an address that does not exist has no guard of its own
    return _error_page(request, error.status_code, str(error.detail), dict(error.headers or {}))


async def on_store_trouble(request: Request, error: Exception) -> Response:
    """The store is away: that is said, and the log says why."""
    log.error("store_trouble", method=request.method, path=request.url.path, error=error)
    text = "The store does not answer. Try again in a moment; the log says why."
    if wants_page(request):
        state_of(request.scope)[USER] = None  # the menu is in the store too: a page without it
        return _error_page(request, 503, text)
    return JSONResponse({"detail": text}, status_code=503, headers={"Retry-After": "5"})


async def on_failure(request: Request, error: Exception) -> Response:
    """What nobody foresaw."""
    number = secrets.token_hex(4)  # short enough to be read out on the telephone
    facts = {"id": number, "method": request.method, "path": request.url.path}
    log.error("request_failed", **facts, error=type(error).__name__)
    text = f"Something went wrong on the server. The log says what, where it says id={number}."
    if wants_page(request):
        return _error_page(request, 500, text)
    return JSONResponse({"detail": text}, status_code=500)


def _allowed_methods(request: Request) -> list[str]:
    """All that this path takes: each route knows only its own methods, and the first of them has spoken."""
    asked = {name: request.scope[name] for name in ("type", "path", "root_path", "headers")}

    def is_taken(method: str) -> bool:
        scope = {**asked, "method": method}
        return any(route.matches(scope)[0] is Match.FULL for route in request.app.router.routes)

    return [method for method in METHODS if is_taken(method)]


def wants_page(request: Request) -> bool:
    """Whether a person is looking: a browser, outside the paths that are for machines."""
    return not is_machine_path(request.scope) and "text/html" in request.headers.get("accept", "")


def _error_page(
    request: Request, status: int, detail: str, headers: dict[str, str] | None = None
) -> Response:
    host: Plugbay = host_of(request)
    claim(request.scope)
    has_own_words = detail in (LOGIN_NEEDED, HTTPStatus(status).phrase)
    told = "" if has_own_words else detail
    context = {"status_code": status, "message": told, "login_url": login_url_back(request)}
    response = host.templates.response(request, "plugbay/error.html.j2", context, status)
    response.headers.update(headers or {})
    return response
