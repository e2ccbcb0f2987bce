"""The built-in authentication manager: users, sessions and tokens in the store."""

import anyio
import anyio.to_thread
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response

from plugbay.auth.accounts import Account, Accounts
from plugbay.auth.answers import too_many_attempts
from plugbay.auth.cookies import clear_session_cookie, session_cookie, set_session_cookie
from plugbay.auth.credentials import BasicLogin, BearerToken, Credential, SessionCookie, read_credential
from plugbay.auth.errors import TooManyAttempts
from plugbay.auth.passwords import Passwords
from plugbay.auth.remembered import RememberedPasswords
from plugbay.auth.sessions import LONGEST_S, Sessions
from plugbay.auth.slots import Slots
from plugbay.auth.throttle import Attempt, Throttle
from plugbay.auth.tokens import Tokens
from plugbay.auth.user import User
from plugbay.clock import Clock
from plugbay.logs import get_logger
from plugbay.store import Store
from plugbay.web.paths import login_url, url_below_root

log = get_logger(__name__)

LOOKUPS_AT_ONCE = 16  # of their own, so that forty slow endpoints cannot keep everyone outside


class LocalAuthManager:
    """Knows visitors by session cookie, API token, or name and password; never open."""

    def __init__(self, store: Store, clock: Clock, passwords: Passwords | None = None) -> None:
        self.passwords = passwords or Passwords()
        self.accounts = Accounts(store, clock, self.passwords)
        self.sessions = Sessions(store, clock)
        self.tokens = Tokens(store, clock)
        self.slots = Slots()
        self.throttle = Throttle(store, clock)
        self._remembered = RememberedPasswords(clock)
        self._lookups = anyio.CapacityLimiter(LOOKUPS_AT_ONCE)

    async def identify(self, request: HTTPConnection) -> User | None:
        credential = read_credential(request)
        if credential is None:
            return None
        if isinstance(credential, BasicLogin) and not credential.is_token:
            return await self._identify_basic(credential, address_of(request))
        return await anyio.to_thread.run_sync(self._look_up, credential, limiter=self._lookups)

    async def challenge(self, request: HTTPConnection) -> Response:
        return RedirectResponse(login_url(request), 303)

    async def logout(self, request: HTTPConnection) -> Response:
        response = RedirectResponse(url_below_root(request, "/login"), 303)
        if value := session_cookie(request):
            await anyio.to_thread.run_sync(self.sessions.close, value)
        clear_session_cookie(request, response)
        return response

    async def login(self, request: HTTPConnection, name: str, password: str) -> str | None:
        """A new session's cookie value, or None for a wrong login; raises TooManyAttempts."""
        account = await self.check_in_turn(name, password, address_of(request))
        if account is None:
            return None
        log.info("signed_in", user=account.name, address=address_of(request))
        return await anyio.to_thread.run_sync(self.open_session, request, account)

    def open_session(self, request: HTTPConnection, account: Account) -> str | None:
        """A new session's cookie value, or None if the password was changed a moment ago."""
        agent = request.headers.get("user-agent", "")
        return self.sessions.open(account, address_of(request), agent, instead_of=session_cookie(request))

    def keep_session(self, request: HTTPConnection, response: Response, value: str) -> None:
        """Gives the browser its session."""
        set_session_cookie(request, response, value, LONGEST_S)

    def reset_password(self, account: Account, password: str) -> None:
        """A new password by an admin: old sessions and old failures are over."""
        self.accounts.set_password(account, password)
        self.throttle.forget_name(account.name)

    async def check_in_turn(self, name: str, password: str, address: str) -> Account | None:
        """The same as `check`, a few at a time; who has to wait anyway is told so at once."""
        attempt = Attempt.of(name, address)
        await anyio.to_thread.run_sync(self.throttle.check, attempt, limiter=self._lookups)
        return await self.slots.run_for(attempt.address, self.check, name, password, address)

    def check(self, name: str, password: str, address: str) -> Account | None:
        """The account if the password is right; the same time and answer for a name that does not exist."""
        attempt = Attempt.of(name, address)
        had_failures = self.throttle.check(attempt)
        account = self.accounts.find(name)
        stored = account.password_hash if account else None
        if not self.passwords.match(stored, password) or account is None:
            self.throttle.failed(attempt)
            log.warning("login_failed", user=account.name if account else "(unknown)", address=address)
            return None
        if had_failures:
            self.throttle.succeeded(attempt)
        if self.passwords.are_outdated(account.password_hash):
            return self.accounts.renew_hash(account, password)
        return account

    def _look_up(self, credential: Credential) -> User | None:
        match credential:
            case SessionCookie(value):
                return self.sessions.find(value)
            case BearerToken(value):
                return self.tokens.find(value)
            case BasicLogin(name, token):
                return self.tokens.find(token, "basic", name)

    async def _identify_basic(self, login: BasicLogin, address: str) -> User | None:
        account = await self._remembered_account(login)
        if account is None:
            async with self._remembered.turn(login):
                account = await self._remembered_account(login) or await self._check_basic(login, address)
        return User(account.name, account.role, "basic", account.id) if account else None

    async def _check_basic(self, login: BasicLogin, address: str) -> Account | None:
        try:
            account = await self.check_in_turn(login.name, login.password, address)
        except TooManyAttempts as error:
            raise too_many_attempts(str(error), error.retry_after) from None
        if account is not None:
            self._remembered.remember(login, account.password_hash)
        return account

    async def _remembered_account(self, login: BasicLogin) -> Account | None:
        stored = self._remembered.matched(login)
        if stored is None:
            return None
        account = await anyio.to_thread.run_sync(self.accounts.find, login.name, limiter=self._lookups)
        return account if account and account.password_hash == stored else None


def address_of(request: HTTPConnection) -> str:
    return request.client.host if request.client else ""
