"""GET/POST /login and POST /logout."""

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from plugbay.auth.errors import TooManyAttempts
from plugbay.auth.guard import awaitable
from plugbay.auth.local import LocalAuthManager
from plugbay.auth.markers import open_to_all, open_to_viewers
from plugbay.auth.names import MAX_NAME
from plugbay.auth.origin import refuse_cross_site
from plugbay.web.paths import safe_next

if TYPE_CHECKING:
    from plugbay.host import Plugbay

WRONG = "The name or the password is wrong."  # one text for both, so that nobody learns which names exist


def logout_router(host: "Plugbay") -> APIRouter:
    """`POST /logout`, for every authentication manager."""
    router = APIRouter(include_in_schema=False)
    leave = awaitable(host.auth.logout)

    @router.post("/logout", dependencies=[Depends(open_to_viewers)])
    async def logout(request: Request) -> Response:
        return await leave(request)

    return router


def login_router(host: "Plugbay", manager: LocalAuthManager) -> APIRouter:
    """The login form of the local manager."""
    router = APIRouter(include_in_schema=False, dependencies=[Depends(open_to_all)])

    def form(request: Request, wanted: str, status: int = 200, problem: str = "", name: str = "") -> Response:
        context = {"next": safe_next(wanted, request), "problem": problem, "username": name[:MAX_NAME]}
        return host.templates.response(request, "plugbay/auth/login.html.j2", context, status)

    @router.get("/login")
    async def show(request: Request, wanted: Annotated[str, Query(alias="next")] = "") -> Response:
        if await manager.identify(request):
            return RedirectResponse(safe_next(wanted, request), 303)
        return form(request, wanted)

    @router.post("/login")
    async def login(
        request: Request,
        username: Annotated[str, Form()] = "",
        password: Annotated[str, Form()] = "",
        wanted: Annotated[str, Form(alias="next")] = "",
    ) -> Response:
        # another site must not log a visitor in as someone else; there is no session to bind a token to
        refuse_cross_site(request)
        try:
            session = await manager.login(request, username, password)
        except TooManyAttempts as error:
            refusal = form(request, wanted, 429, str(error), username)
            refusal.headers["Retry-After"] = str(error.retry_after)
            return refusal
        if session is None:
            return form(request, wanted, 401, WRONG, username)
        response = RedirectResponse(safe_next(wanted, request), 303)
        manager.keep_session(request, response, session)
        return response

    return router
