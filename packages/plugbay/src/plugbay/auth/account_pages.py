"""/account: one's own password, API tokens and sessions."""

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Form, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response

from plugbay.auth.accounts import Account
from plugbay.auth.browsers import browser_name
from plugbay.auth.errors import AccountError, PasswordRefused, TooManyAttempts
from plugbay.auth.local import LocalAuthManager, address_of
from plugbay.auth.markers import open_to_viewers
from plugbay.auth.names import MIN_PASSWORD, checked_password
from plugbay.auth.roles import CurrentUser
from plugbay.auth.user import User
from plugbay.flash import FlashMessage, flash
from plugbay.web.parameters import RowId
from plugbay.web.paths import url_below_root

if TYPE_CHECKING:
    from plugbay.host import Plugbay

PAGE = "/account"
Text = Annotated[str, Form()]


class FieldProblem(Exception):
    """A form comes back with a sentence at one of its fields."""

    def __init__(self, field: str, text: str, status: int = 422) -> None:
        super().__init__(text)
        self.field, self.text, self.status = field, text, status


async def _in_the_browser(user: CurrentUser) -> None:
    if user.via != "session":
        # a token that leaked must not be able to make itself a successor
        raise HTTPException(403, "Your account can be changed only after a login in the browser.")


CHANGES = [Depends(open_to_viewers), Depends(_in_the_browser)]


def account_router(host: "Plugbay", manager: LocalAuthManager) -> APIRouter:
    router = APIRouter(prefix=PAGE, include_in_schema=False)

    def page(request: Request, user: User, status: int = 200, **more: Any) -> Response:
        assert user.id is not None
        context = {
            "tokens": manager.tokens.of_user(user.id),
            "sessions": manager.sessions.of_user(user.id),
            "browser_name": browser_name,
            "least": MIN_PASSWORD,
            "errors": {},
            **more,
        }
        return host.templates.response(request, "plugbay/auth/account.html.j2", context, status)

    def done(request: Request, text: str) -> Response:
        flash(request, FlashMessage(text))
        return RedirectResponse(url_below_root(request, PAGE), 303)

    @router.get("")
    def show(request: Request, user: CurrentUser) -> Response:
        return page(request, user)

    @router.post("/password", dependencies=CHANGES)
    async def change_password(
        request: Request, user: CurrentUser, current: Text = "", password: Text = "", again: Text = ""
    ) -> Response:
        try:
            account = await _checked(manager, request, user, current, password, again)
        except FieldProblem as problem:
            errors = {problem.field: problem.text}
            return await run_in_threadpool(page, request, user, problem.status, errors=errors)
        account = await manager.slots.run(manager.accounts.set_password, account, password)
        response = done(request, "Your password is changed, and your other sessions have ended.")
        if session := await run_in_threadpool(manager.open_session, request, account):
            manager.keep_session(request, response, session)
        return response

    @router.post("/tokens", dependencies=CHANGES)
    def create_token(request: Request, user: CurrentUser, name: Text = "") -> Response:
        assert user.id is not None
        try:
            token = manager.tokens.create(user.id, name)
        except AccountError as error:
            return page(request, user, 422, errors={"name": str(error)}, name=name)
        return page(request, user, 201, new_token=token, new_name=name)

    @router.post("/tokens/{token_id}/revoke", dependencies=CHANGES)
    def revoke_token(request: Request, user: CurrentUser, token_id: RowId) -> Response:
        assert user.id is not None
        name = manager.tokens.revoke(user.id, token_id)
        if name is None:
            raise HTTPException(404)
        return done(request, f"The token {name} is revoked.")

    @router.post("/sessions/end", dependencies=CHANGES)
    def end_sessions(request: Request, user: CurrentUser) -> Response:
        count = manager.sessions.close_others(user)
        return done(request, f"{count} other session{'s have' if count != 1 else ' has'} ended.")

    return router


async def _checked(
    manager: LocalAuthManager, request: Request, user: User, current: str, password: str, again: str
) -> Account:
    """The account, if the new password will do and the present one is right."""
    try:
        checked_password(password)
    except PasswordRefused as error:
        raise FieldProblem("password", str(error)) from None
    if password != again:
        raise FieldProblem("again", "The two are not the same.")
    try:
        account = await manager.check_in_turn(user.name, current, address_of(request))
    except TooManyAttempts as error:
        raise FieldProblem("current", str(error), 429) from None
    if account is None:
        raise FieldProblem("current", "This is not your present password.")
    return account
