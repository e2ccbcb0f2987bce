"""The admin's pages for users: add, change the role, give a new password, remove."""

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Form, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response

from plugbay.auth.accounts import Account
from plugbay.auth.commands import DEFAULT_ROLE
from plugbay.auth.errors import AccountError, PasswordRefused, TooManyAttempts
from plugbay.auth.local import LocalAuthManager
from plugbay.auth.names import MIN_PASSWORD, checked_password
from plugbay.auth.roles import require_role
from plugbay.auth.user import ROLES
from plugbay.flash import FlashMessage, flash
from plugbay.web.parameters import RowId
from plugbay.web.paths import url_below_root

if TYPE_CHECKING:
    from plugbay.host import Plugbay

Text = Annotated[str, Form()]


def users_router(host: "Plugbay", manager: LocalAuthManager) -> APIRouter:
    """`{admin_base_url}/users` and one page for each user."""
    base = f"{host.config.admin_base_url}/users"
    router = APIRouter(prefix=base, include_in_schema=False, dependencies=[require_role("admin")])
    accounts = manager.accounts
    always = {"base": base, "roles": ROLES, "least": MIN_PASSWORD, "errors": {}}

    def list_page(request: Request, status: int = 200, **more: Any) -> Response:
        context = {**always, "users": accounts.all(), "role": DEFAULT_ROLE, **more}
        return host.templates.response(request, "plugbay/auth/users.html.j2", context, status)

    def user_page(request: Request, account: Account, status: int = 200, **more: Any) -> Response:
        tokens = manager.tokens.of_user(account.id)
        context = {**always, "account": account, "tokens": tokens, **more}
        return host.templates.response(request, "plugbay/auth/user.html.j2", context, status)

    def known(user_id: int) -> Account:
        account = accounts.get(user_id)
        if account is None:
            raise HTTPException(404)
        return account

    def done(request: Request, text: str, path: str = "") -> Response:
        flash(request, FlashMessage(text))
        return RedirectResponse(url_below_root(request, base + path), 303)

    @router.get("")
    def show_all(request: Request) -> Response:
        return list_page(request)

    @router.post("")
    async def add(
        request: Request, name: Text = "", password: Text = "", role: Text = DEFAULT_ROLE
    ) -> Response:
        try:
            account = await manager.slots.run(accounts.add, name, checked_password(password), role)
        except (AccountError, TooManyAttempts) as error:
            field = "password" if isinstance(error, PasswordRefused) else "name"
            problem = {"errors": {field: str(error)}, "name": name, "role": role}
            return await run_in_threadpool(list_page, request, 422, **problem)
        return done(request, f"The user {account.name} is added as {account.role}.")

    @router.get("/{user_id}")
    def show(request: Request, user_id: RowId) -> Response:
        return user_page(request, known(user_id))

    @router.post("/{user_id}/role")
    def change_role(request: Request, user_id: RowId, role: Text = "") -> Response:
        account = known(user_id)
        try:
            accounts.set_role(account, role)
        except AccountError as error:
            return user_page(request, account, 422, errors={"role": str(error)})
        return done(request, f"{account.name} is now {role}.", f"/{account.id}")

    @router.post("/{user_id}/password")
    async def reset_password(request: Request, user_id: RowId, password: Text = "") -> Response:
        account = await run_in_threadpool(known, user_id)
        try:
            await manager.slots.run(manager.reset_password, account, checked_password(password))
        except (PasswordRefused, TooManyAttempts) as error:
            problem = {"errors": {"password": str(error)}}
            return await run_in_threadpool(user_page, request, account, 422, **problem)
        return done(
            request, f"{account.name} has a new password and is logged out everywhere.", f"/{account.id}"
        )

    @router.post("/{user_id}/revoke-tokens")
    def revoke_tokens(request: Request, user_id: RowId) -> Response:
        account = known(user_id)
        count = manager.tokens.revoke_all(account.id)
        return done(request, f"Revoked of {account.name}: {count} token(s).", f"/{account.id}")

    @router.post("/{user_id}/remove")
    def remove(request: Request, user_id: RowId) -> Response:
        account = known(user_id)
        try:
            accounts.remove(account)
        except AccountError as error:
            return user_page(request, account, 422, errors={"remove": str(error)})
        return done(request, f"The user {account.name} is removed.")

    return router
