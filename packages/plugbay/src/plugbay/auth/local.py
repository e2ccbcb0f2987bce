"""The built-in authentication manager: users, sessions and tokens in the store."""

import hashlib
import hmac
import secrets
from collections import OrderedDict
from datetime import timedelta
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response

from plugbay.auth.accounts import MIN_PASSWORD, Account, Accounts
from plugbay.auth.credentials import (
    LONGEST_S,
    BasicLogin,
    BearerToken,
    Credential,
    SessionCookie,
    Sessions,
    Tokens,
    clear_session_cookie,
    read_credential,
    session_cookie,
    set_session_cookie,
)
from plugbay.auth.passwords import Attempt, CheckQueue, Passwords, Throttle
from plugbay.auth.remembering import Found, Remembered
from plugbay.auth.roles import User, too_many_attempts, unauthorized
from plugbay.clock import Clock
from plugbay.errors import NameTaken, PasswordMissing, TokenExpired, TooManyAttempts
from plugbay.logs import get_logger
from plugbay.store import Store, clock_of
from plugbay.web.requests import login_url, url_below_root

LOOKUPS_AT_ONCE = 16  # of their own, so that forty slow endpoints cannot keep everyone outside
DEFAULT_ROLE = "editor"
FIRST_ADMIN = "admin"
GENERATED_BYTES = 15  # 120 bits in 20 characters that can be typed
REMEMBER_S = 60
MOST_REMEMBERED = 256  # logins; the oldest goes first

log = get_logger(__name__)


class LocalAuthManager:
    """Knows visitors by session cookie, API token, or name and password; never open."""

    def __init__(self, store: Store, clock: Clock, passwords: Passwords | None = None) -> None:
        self.clock = clock
        self.passwords = passwords or Passwords()
        self._remembered = Remembered(clock)
        forget = self._remembered.forget
        self.accounts = Accounts(store, clock, self.passwords, forget)
        self.sessions = Sessions(store, clock, forget)
        self.tokens = Tokens(store, clock, forget)
        self.checks = CheckQueue()
        self.throttle = Throttle(store, clock)
        self._checked_logins = CheckedLogins(clock)
        self._lookups = anyio.CapacityLimiter(LOOKUPS_AT_ONCE)

    async def identify(self, request: HTTPConnection) -> User | None:
        credential = read_credential(request)
        if credential is None:
            return None
        if isinstance(credential, BasicLogin) and not credential.is_token:
            return await self._identify_basic(credential, address_of(request))
        if user := self._remembered.get(credential.key):
            return user
        try:
            return await self._looked_up(credential)
        except TokenExpired as error:
            raise unauthorized(request, str(error)) from None

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
        return await self.checks.run_for(attempt.address, self.check, name, password, address)

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

    async def _looked_up(self, credential: Credential) -> User | None:
        asked = self._remembered.asking()
        found = await anyio.to_thread.run_sync(self._look_up, credential, limiter=self._lookups)
        if found is None:
            return None
        self._remembered.keep(credential.key, found, asked)
        return found.user

    def _look_up(self, credential: Credential) -> Found | None:
        match credential:
            case SessionCookie(value):
                return self.sessions.find(value)
            case BearerToken(value):
                return self.tokens.find(value)
            case BasicLogin(name, token):
                return self.tokens.find(token, "basic", name)

    async def _identify_basic(self, login: BasicLogin, address: str) -> User | None:
        key = self._checked_logins.key(login)
        if user := self._remembered.get(key):
            return user
        asked = self._remembered.asking()
        account = await self._remembered_account(login)
        if account is None:
            async with self._checked_logins.turn(login):
                account = await self._remembered_account(login) or await self._check_basic(login, address)
        if account is None:
            return None
        user = User(account.name, account.role, "basic", account.id)
        self._remembered.keep(key, Found(user, self.clock.now() + timedelta(seconds=REMEMBER_S)), asked)
        return user

    async def _check_basic(self, login: BasicLogin, address: str) -> Account | None:
        try:
            account = await self.check_in_turn(login.name, login.password, address)
        except TooManyAttempts as error:
            raise too_many_attempts(str(error), error.retry_after) from None
        if account is not None:
            self._checked_logins.remember(login, account.password_hash)
        return account

    async def _remembered_account(self, login: BasicLogin) -> Account | None:
        stored = self._checked_logins.matched(login)
        if stored is None:
            return None
        account = await anyio.to_thread.run_sync(self.accounts.find, login.name, limiter=self._lookups)
        return account if account and account.password_hash == stored else None


def address_of(request: HTTPConnection) -> str:
    return request.client.host if request.client else ""


def add_user(store: Store, name: str, password: str, role: str = DEFAULT_ROLE) -> Account:
    """Adds a user; a short password is the operator's choice, and is reported in the log; none is refused."""
    if not password:
        raise PasswordMissing
    _warn_of_short(name, password)
    return accounts_of(store).add(name, password, role)


def set_password(store: Store, name: str, password: str) -> None:
    """Gives a user a new password and ends their sessions; a short one is the operator's choice here too."""
    if not password:
        raise PasswordMissing
    _warn_of_short(name, password)
    accounts = accounts_of(store)
    accounts.set_password(accounts.named(name), password)


def create_token(
    store: Store, user_name: str, label: str, scope: str = "all", days: int | None = None
) -> str:
    """A new API token of a user; this is the only time it can be read."""
    account = accounts_of(store).named(user_name)
    return tokens_of(store).create(account.id, label, scope, days)


def ensure_first_admin(store: Store, given: str | None = None) -> str | None:
    """Makes the user `admin` when there is no admin yet; returns the password if it was generated."""
    accounts = accounts_of(store)
    if accounts.has_admin():
        return None
    password = given or secrets.token_urlsafe(GENERATED_BYTES)
    try:
        add_user(store, FIRST_ADMIN, password, "admin")
    except NameTaken:  # another process was quicker, and its password is the one
        return None
    log.info("first_admin_made", user=FIRST_ADMIN)
    return None if given else password


def accounts_of(store: Store) -> Accounts:
    """The users of a store, for who has no host at hand."""
    return Accounts(store, clock_of(store), Passwords())


def tokens_of(store: Store) -> Tokens:
    """The tokens of a store, for who has no host at hand."""
    return Tokens(store, clock_of(store))


def _warn_of_short(name: str, password: str) -> None:
    if len(password) < MIN_PASSWORD:
        log.warning("short_password", user=name, least=MIN_PASSWORD)


class CheckedLogins:
    """Keeps, for a minute, a keyed hash of name and password beside the stored hash that it matched."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(32)  # of this process alone: elsewhere the hashes mean nothing
        self._known: OrderedDict[bytes, tuple[float, str]] = OrderedDict()
        self._turns: WeakValueDictionary[bytes, anyio.Lock] = WeakValueDictionary()

    def remember(self, login: BasicLogin, stored: str) -> None:
        digest = self._digest(login)
        self._known[digest] = (self._clock.monotonic() + REMEMBER_S, stored)
        self._known.move_to_end(digest)
        while len(self._known) > MOST_REMEMBERED:
            self._known.popitem(last=False)

    def matched(self, login: BasicLogin) -> str | None:
        """The stored hash that this login matched; it counts only while the user still has that hash."""
        digest = self._digest(login)
        until, stored = self._known.get(digest, (0.0, ""))
        if self._clock.monotonic() < until:
            return stored
        self._known.pop(digest, None)
        return None

    def key(self, login: BasicLogin) -> str:
        """What an answer about this login is remembered by."""
        return f"password {self._digest(login).hex()}"

    def turn(self, login: BasicLogin) -> anyio.Lock:
        """For those who show the same login at the same moment: one has it checked, the others know then."""
        return self._turns.setdefault(self._digest(login), anyio.Lock())

    def _digest(self, login: BasicLogin) -> bytes:
        text = f"{login.name}\0{login.password}"
        return hmac.digest(self._key, text.encode("utf-8", "surrogatepass"), hashlib.sha256)
