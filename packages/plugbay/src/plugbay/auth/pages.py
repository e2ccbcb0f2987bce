"""/login, /logout, /account, and the admin's pages for users."""

from typing import Annotated, Any

from fastapi import Depends, Form, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response

from plugbay.auth.accounts import MAX_NAME, MIN_PASSWORD, Account, checked_password
from plugbay.auth.browser_security import refuse_cross_site
from plugbay.auth.credentials import MOST_DAYS
from plugbay.auth.guard import AuthManager, awaitable, open_to_all, open_to_viewers
from plugbay.auth.local import DEFAULT_ROLE, LocalAuthManager, address_of
from plugbay.auth.roles import ROLES, SCOPES, CurrentUser, User, require_role
from plugbay.errors import AccountError, DaysRefused, PasswordRefused, TooManyAttempts, UnknownScope
from plugbay.settings import HostConfig
from plugbay.web import FlashMessage, RowId, flash, from_host, plain_integer, url_below_root
from plugbay.web.pages import Templates
from plugbay.web.requests import safe_next
from plugbay.web.routers import QuickRouter

ACCOUNT = "/account"
OWN_PASSWORD = "current_password"  # noqa: S105 - the field for the acting admin's own
WRONG = "The name or the password is wrong."  # one text for both, so that nobody learns which names exist
# the order matters: each of these also claims to be those below it
BROWSERS = {"Edg": "Edge", "OPR/": "Opera", "Firefox/": "Firefox", "FxiOS/": "Firefox", "CriOS/": "Chrome"}
BROWSERS |= {"Chrome/": "Chrome", "Safari/": "Safari", "curl/": "curl", "python": "Python"}
SYSTEMS = {"Windows": "Windows", "Android": "Android", "iPhone": "iPhone", "iPad": "iPad"}
SYSTEMS |= {"Mac OS": "macOS", "CrOS": "ChromeOS", "Linux": "Linux"}

Text = Annotated[str, Form()]
Pages = Annotated[Templates, from_host("templates")]
Manager = Annotated[LocalAuthManager, from_host("auth")]

logout_router = QuickRouter(include_in_schema=False)
login_router = QuickRouter(include_in_schema=False, dependencies=[Depends(open_to_all)])
account_router = QuickRouter(prefix=ACCOUNT, include_in_schema=False)
users_router = QuickRouter(include_in_schema=False, dependencies=[require_role("admin")])


class FieldProblem(Exception):
    """A form comes back with a sentence at one of its fields."""

    def __init__(self, field: str, text: str, status: int = 422) -> None:
        super().__init__(text)
        self.field, self.text, self.status = field, text, status


# in and out


@logout_router.post("/logout", dependencies=[Depends(open_to_viewers)])
async def logout(request: Request, manager: Annotated[AuthManager, from_host("auth")]) -> Response:
    return await awaitable(manager.logout)(request)


@login_router.get("/login")
async def show_login(
    request: Request, pages: Pages, manager: Manager, wanted: Annotated[str, Query(alias="next")] = ""
) -> Response:
    if await manager.identify(request):
        return RedirectResponse(safe_next(wanted, request), 303)
    return _login_form(pages, request, wanted)


@login_router.post("/login")
async def login(
    request: Request,
    pages: Pages,
    manager: Manager,
    username: Text = "",
    password: Text = "",
    wanted: Annotated[str, Form(alias="next")] = "",
) -> Response:
    # another site must not log a visitor in as someone else; there is no session to bind a token to
    refuse_cross_site(request)
    try:
        session = await manager.login(request, username, password)
    except TooManyAttempts as error:
        refusal = _login_form(pages, request, wanted, 429, str(error), username)
        refusal.headers["Retry-After"] = str(error.retry_after)
        return refusal
    if session is None:
        return _login_form(pages, request, wanted, 401, WRONG, username)
    response = RedirectResponse(safe_next(wanted, request), 303)
    manager.keep_session(request, response, session)
    return response


def _login_form(
    pages: Templates, request: Request, wanted: str, status: int = 200, problem: str = "", name: str = ""
) -> Response:
    context = {"next": safe_next(wanted, request), "problem": problem, "username": name[:MAX_NAME]}
    return pages.response(request, "plugbay/auth/login.html.j2", context, status)


# one's own password, API tokens and sessions


async def _in_the_browser(user: CurrentUser) -> None:
    if user.via != "session":
        # a token that leaked must not be able to make itself a successor
        raise HTTPException(403, "This gives or changes access, and needs a login in the browser.")


CHANGES = [Depends(open_to_viewers), Depends(_in_the_browser)]
GIVES_ACCESS = [Depends(_in_the_browser)]


@account_router.get("")
def show_account(request: Request, user: CurrentUser, pages: Pages, manager: Manager) -> Response:
    return _account_page(pages, manager, request, user)


@account_router.post("/password", dependencies=CHANGES)
async def change_password(
    request: Request,
    user: CurrentUser,
    pages: Pages,
    manager: Manager,
    current: Text = "",
    password: Text = "",
    again: Text = "",
) -> Response:
    try:
        account = await _checked(manager, request, user, current, password, again)
    except FieldProblem as problem:
        shown = {"errors": {problem.field: problem.text}}
        return await run_in_threadpool(_account_page, pages, manager, request, user, problem.status, **shown)
    account = await manager.checks.run(manager.accounts.set_password, account, password)
    response = _done(request, "Your password is changed, and your other sessions have ended.", ACCOUNT)
    if session := await run_in_threadpool(manager.open_session, request, account):
        manager.keep_session(request, response, session)
    return response


@account_router.post("/tokens", dependencies=CHANGES)
def create_token(
    request: Request,
    user: CurrentUser,
    pages: Pages,
    manager: Manager,
    name: Text = "",
    scope: Text = "all",
    days: Text = "",
) -> Response:
    assert user.id is not None
    try:
        token = manager.tokens.create(user.id, name, scope, _days(days))
    except AccountError as error:
        field = {UnknownScope: "scope", DaysRefused: "days"}.get(type(error), "name")
        typed = {"name": name, "scope": scope, "days": days}
        return _account_page(pages, manager, request, user, 422, errors={field: str(error)}, **typed)
    return _account_page(pages, manager, request, user, 201, new_token=token, new_name=name)


def _days(typed: str) -> int | None:
    try:
        return plain_integer(typed.strip()) if typed.strip() else None
    except ValueError:
        raise DaysRefused(most=MOST_DAYS) from None


@account_router.post("/tokens/{token_id}/revoke", dependencies=CHANGES)
def revoke_token(request: Request, user: CurrentUser, manager: Manager, token_id: RowId) -> Response:
    assert user.id is not None
    name = manager.tokens.revoke(user.id, token_id)
    if name is None:
        raise HTTPException(404)
    return _done(request, f"The token {name} is revoked.", ACCOUNT)


@account_router.post("/sessions/end", dependencies=CHANGES)
def end_sessions(request: Request, user: CurrentUser, manager: Manager) -> Response:
    count = manager.sessions.close_others(user)
    return _done(request, f"{count} other session{'s have' if count != 1 else ' has'} ended.", ACCOUNT)


def _account_page(
    pages: Templates, manager: LocalAuthManager, request: Request, user: User, status: int = 200, **more: Any
) -> Response:
    assert user.id is not None
    context = {
        "tokens": manager.tokens.of_user(user.id),
        "scopes": SCOPES,
        "most_days": MOST_DAYS,
        "now": manager.clock.now(),
        "sessions": manager.sessions.of_user(user.id),
        "browser_name": browser_name,
        "least": MIN_PASSWORD,
        "errors": {},
        **more,
    }
    return pages.response(request, "plugbay/auth/account.html.j2", context, status)


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
    return await _proven(manager, request, user, current, "current")


async def _proven(
    manager: LocalAuthManager, request: Request, user: User, password: str, field: str
) -> Account:
    """The user's own account, if this is its password."""
    if not password:
        raise FieldProblem(field, "Your own password is needed for this.")
    try:
        account = await manager.check_in_turn(user.name, password, address_of(request))
    except TooManyAttempts as error:
        raise FieldProblem(field, str(error), 429) from None
    if account is None:
        raise FieldProblem(field, "This is not your current password.")
    return account


def browser_name(agent: str | None) -> str:
    """A browser's long name in two words, `Firefox on Linux`; what is not known as it came, cut short."""
    browser = _first(BROWSERS, agent or "")
    system = _first(SYSTEMS, agent or "")
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or (agent or "unknown")[:60]


def _first(names: dict[str, str], agent: str) -> str:
    return next((name for mark, name in names.items() if mark in agent), "")


# the admin's pages for users


class UsersPages:
    """The list of users and the page of one, as the handlers below answer with them."""

    def __init__(self, templates: Templates, manager: LocalAuthManager, base: str) -> None:
        self._templates = templates
        self.manager = manager
        self.base = base
        self._always = {"base": base, "roles": ROLES, "least": MIN_PASSWORD, "errors": {}}

    def all(self, request: Request, status: int = 200, **more: Any) -> Response:
        users = self.manager.accounts.all()
        context = {**self._always, "users": users, "role": DEFAULT_ROLE, **more}
        return self._templates.response(request, "plugbay/auth/users.html.j2", context, status)

    def one(self, request: Request, account: Account, status: int = 200, **more: Any) -> Response:
        tokens = self.manager.tokens.of_user(account.id)
        facts = {"account": account, "tokens": tokens, "now": self.manager.clock.now()}
        context = {**self._always, **facts, **more}
        return self._templates.response(request, "plugbay/auth/user.html.j2", context, status)

    def known(self, user_id: int) -> Account:
        """The user of that id, or 404."""
        account = self.manager.accounts.get(user_id)
        if account is None:
            raise HTTPException(404)
        return account


async def _users_pages(
    pages: Pages, manager: Manager, config: Annotated[HostConfig, from_host("config")]
) -> UsersPages:
    return UsersPages(pages, manager, users_path(config))


def users_path(config: HostConfig) -> str:
    """Where the pages for users stand."""
    return f"{config.admin_base_url}/users"


Users = Annotated[UsersPages, Depends(_users_pages)]


@users_router.get("")
def show_users(request: Request, users: Users) -> Response:
    return users.all(request)


@users_router.post("", dependencies=GIVES_ACCESS)
async def add_user(
    request: Request,
    users: Users,
    user: CurrentUser,
    name: Text = "",
    password: Text = "",
    role: Text = DEFAULT_ROLE,
    current_password: Text = "",
) -> Response:
    manager = users.manager
    try:
        checked_password(password)
        if role == "admin":
            await _proven(manager, request, user, current_password, OWN_PASSWORD)
        account = await manager.checks.run(manager.accounts.add, name, password, role)
    except (AccountError, TooManyAttempts, FieldProblem) as error:
        field, status = _place_of(error, "name")
        problem = {"errors": {field: str(error)}, "name": name, "role": role}
        return await run_in_threadpool(users.all, request, status, **problem)
    return _done(request, f"The user {account.name} is added as {account.role}.", users.base)


def _place_of(error: Exception, otherwise: str) -> tuple[str, int]:
    """At which field of a form it is said, and with which status."""
    if isinstance(error, FieldProblem):
        return error.field, error.status
    return "password" if isinstance(error, PasswordRefused) else otherwise, 422


@users_router.get("/{user_id}")
def show_user(request: Request, users: Users, user_id: RowId) -> Response:
    return users.one(request, users.known(user_id))


@users_router.post("/{user_id}/role", dependencies=GIVES_ACCESS)
async def change_role(
    request: Request,
    users: Users,
    user: CurrentUser,
    user_id: RowId,
    role: Text = "",
    current_password: Text = "",
) -> Response:
    account = await run_in_threadpool(users.known, user_id)
    try:
        if role == "admin" != account.role:
            await _proven(users.manager, request, user, current_password, OWN_PASSWORD)
        await run_in_threadpool(users.manager.accounts.set_role, account, role)
    except (AccountError, FieldProblem) as error:
        field, status = _place_of(error, "role")
        problem = {"errors": {field: str(error)}, "form": "role", "role": role}
        return await run_in_threadpool(users.one, request, account, status, **problem)
    return _done(request, f"{account.name} is now {role}.", f"{users.base}/{account.id}")


@users_router.post("/{user_id}/password", dependencies=GIVES_ACCESS)
async def reset_password(
    request: Request,
    users: Users,
    user: CurrentUser,
    user_id: RowId,
    password: Text = "",
    current_password: Text = "",
) -> Response:
    account = await run_in_threadpool(users.known, user_id)
    manager = users.manager
    try:
        checked_password(password)
        if account.role == "admin":
            await _proven(manager, request, user, current_password, OWN_PASSWORD)
        await manager.checks.run(manager.reset_password, account, password)
    except (PasswordRefused, TooManyAttempts, FieldProblem) as error:
        field, status = _place_of(error, "password")
        problem = {"errors": {field: str(error)}, "form": "password"}
        return await run_in_threadpool(users.one, request, account, status, **problem)
    told = f"{account.name} has a new password and is logged out everywhere."
    return _done(request, told, f"{users.base}/{account.id}")


@users_router.post("/{user_id}/revoke-tokens")
def revoke_tokens(request: Request, users: Users, user_id: RowId) -> Response:
    account = users.known(user_id)
    count = users.manager.tokens.revoke_all(account.id)
    return _done(request, f"Revoked of {account.name}: {count} token(s).", f"{users.base}/{account.id}")


@users_router.post("/{user_id}/remove")
def remove_user(request: Request, users: Users, user_id: RowId) -> Response:
    account = users.known(user_id)
    try:
        users.manager.accounts.remove(account)
    except AccountError as error:
        return users.one(request, account, 422, errors={"remove": str(error)})
    return _done(request, f"The user {account.name} is removed.", users.base)


def _done(request: Request, text: str, path: str) -> Response:
    flash(request, FlashMessage(text))
    return RedirectResponse(url_below_root(request, path), 303)
