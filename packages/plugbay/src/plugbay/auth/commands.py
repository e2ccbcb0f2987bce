"""What the command line and the first start do with users; a running server sees it at once."""

import secrets

from plugbay.auth.accounts import Account, Accounts
from plugbay.auth.errors import NameTaken, PasswordMissing
from plugbay.auth.names import MIN_PASSWORD
from plugbay.auth.passwords import Passwords
from plugbay.auth.tokens import Tokens
from plugbay.clock import SystemClock
from plugbay.logs import get_logger
from plugbay.store import Store

log = get_logger(__name__)

DEFAULT_ROLE = "editor"
FIRST_ADMIN = "admin"
GENERATED_BYTES = 15  # 120 bits in 20 characters that can be typed


def add_user(store: Store, name: str, password: str, role: str = DEFAULT_ROLE) -> Account:
    """Adds a user; a short password is the operator's choice, and is reported in the log; none is refused."""
    if not password:
        raise PasswordMissing
    _warn_of_short(name, password)
    return _accounts(store).add(name, password, role)


def create_token(store: Store, user_name: str, label: str) -> str:
    """A new API token of a user; this is the only time it can be read."""
    account = _accounts(store).named(user_name)
    return Tokens(store, SystemClock()).create(account.id, label)


def ensure_first_admin(store: Store, given: str | None = None) -> str | None:
    """Makes the user `admin` when there is no admin yet; returns the password if it was generated."""
    accounts = _accounts(store)
    if accounts.has_admin():
        return None
    password = given or secrets.token_urlsafe(GENERATED_BYTES)
    try:
        add_user(store, FIRST_ADMIN, password, "admin")
    except NameTaken:  # another process was quicker, and its password is the one
        return None
    log.info("first_admin_made", user=FIRST_ADMIN)
    return None if given else password


def _accounts(store: Store) -> Accounts:
    return Accounts(store, SystemClock(), Passwords())


def _warn_of_short(name: str, password: str) -> None:
    if len(password) < MIN_PASSWORD:
        log.warning("short_password", user=name, least=MIN_PASSWORD)
