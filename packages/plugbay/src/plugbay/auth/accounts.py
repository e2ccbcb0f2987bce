"""The users: their names, and how they are added, changed and removed, by pages and command line alike."""

import unicodedata
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from plugbay.auth.passwords import Passwords
from plugbay.auth.roles import ROLES, Role
from plugbay.clock import Clock
from plugbay.errors import (
    LabelRefused,
    LastAdmin,
    NameRefused,
    NameTaken,
    PasswordRefused,
    UnknownRole,
    UnknownUser,
)
from plugbay.logs import get_logger
from plugbay.store import Store
from plugbay.store.tables import api_tokens, name_key, sessions, users

MAX_NAME = 64  # characters; a name must fit beside others in a table
MAX_LABEL = 100
MIN_PASSWORD = 8  # characters; what NIST SP 800-63B asks of a password that people choose
MAX_PASSWORD = 1024  # characters; more says nothing and only costs time
_MAX_KEY = users.c.name_key.type.length  # type: ignore[attr-defined]

log = get_logger(__name__)


@dataclass(frozen=True)
class Account:
    """A user as the store knows them."""

    id: int
    name: str
    role: Role
    password_hash: str = field(repr=False)
    created_at: datetime
    password_changed_at: datetime


_COLUMNS = [users.c[name] for name in Account.__dataclass_fields__]
_BY_NAME = sa.select(*_COLUMNS).where(users.c.name_key == sa.bindparam("name_key"))
_BY_ID = sa.select(*_COLUMNS).where(users.c.id == sa.bindparam("id"))


class Accounts:
    """Every change is one transaction and is seen by all processes at once."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        passwords: Passwords,
        changed: Callable[[], object] = lambda: None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._passwords = passwords
        self._changed = changed  # called when somebody may do less, or something else, than before

    def find(self, name: str) -> Account | None:
        """The user of that name, however its letters are cased."""
        return self._one(_BY_NAME, name_key=name_key(name)) if is_possible_name(name) else None

    def get(self, user_id: int) -> Account | None:
        return self._one(_BY_ID, id=user_id)

    def all(self) -> list[tuple[Account, int]]:
        """All users by name, each with the number of its tokens."""
        alive = (api_tokens.c.user_id == users.c.id) & api_tokens.c.revoked_at.is_(None)
        count = sa.select(sa.func.count()).where(alive).scalar_subquery()
        query = sa.select(count, *_COLUMNS).order_by(users.c.name_key)
        with self._store.connect() as connection:
            return [(Account(*row[1:]), row[0]) for row in connection.execute(query)]

    def add(self, name: str, password: str, role: str) -> Account:
        """Adds a user, or raises NameRefused, NameTaken, UnknownRole."""
        name, role, now = checked_name(name), _checked_role(role), self._clock.now()
        account = Account(0, name, role, self._passwords.hash(password), now, now)
        row = {**asdict(account), "name_key": name_key(name)}
        del row["id"]
        insert = self._store.insert(users).values(row).on_conflict_do_nothing(index_elements=["name_key"])
        with self._store.begin() as connection:
            user_id = connection.execute(insert.returning(users.c.id)).scalar_one_or_none()
        if user_id is None:
            raise NameTaken(name=name)
        log.info("user_added", user=name, role=role)
        return replace(account, id=user_id)

    def set_password(self, account: Account, password: str) -> Account:
        """Gives a new password and ends all sessions of the user; tokens live on."""
        new = replace(
            account, password_hash=self._passwords.hash(password), password_changed_at=self._clock.now()
        )
        values = {"password_hash": new.password_hash, "password_changed_at": new.password_changed_at}
        with self._store.begin() as connection:
            connection.execute(sa.update(users).where(users.c.id == account.id).values(values))
            connection.execute(sa.delete(sessions).where(sessions.c.user_id == account.id))
        self._changed()
        log.info("password_changed", user=account.name)
        return new

    def renew_hash(self, account: Account, password: str) -> Account:
        """Keeps the same password under today's costs, unless it was changed meanwhile."""
        unchanged = (users.c.id == account.id) & (users.c.password_hash == account.password_hash)
        new = self._passwords.hash(password)
        with self._store.begin() as connection:
            connection.execute(sa.update(users).where(unchanged).values(password_hash=new))
        return replace(account, password_hash=new)

    def set_role(self, account: Account, role: str) -> None:
        """Changes the role from the next request on, or raises LastAdmin."""
        role = _checked_role(role)
        with self._store.begin() as connection:
            if role != "admin":
                _keep_an_admin(connection, account)
            connection.execute(sa.update(users).where(users.c.id == account.id).values(role=role))
        self._changed()
        log.info("role_changed", user=account.name, role=role)

    def remove(self, account: Account) -> None:
        """Removes the user with all sessions and tokens, or raises LastAdmin."""
        with self._store.begin() as connection:
            _keep_an_admin(connection, account)
            connection.execute(sa.delete(users).where(users.c.id == account.id))
        self._changed()
        log.info("user_removed", user=account.name)

    def has_admin(self) -> bool:
        with self._store.connect() as connection:
            found = connection.execute(sa.select(users.c.id).where(users.c.role == "admin").limit(1))
            return found.first() is not None

    def named(self, name: str) -> Account:
        """The user of that name, or UnknownUser."""
        account = self.find(name)
        if account is None:
            raise UnknownUser(name=name)
        return account

    def _one(self, query: sa.Select[Any], **parameters: Any) -> Account | None:
        with self._store.connect() as connection:
            row = connection.execute(query, parameters).first()
        return None if row is None else Account(*row)


def _checked_role(role: str) -> Role:
    if role not in ROLES:
        raise UnknownRole(role=role)
    return role


def _keep_an_admin(connection: sa.Connection, account: Account) -> None:
    # locked, or two admins could demote each other at the same moment
    admins = sa.select(users.c.id).where(users.c.role == "admin").order_by(users.c.id).with_for_update()
    if list(connection.execute(admins).scalars()) == [account.id]:
        raise LastAdmin(name=account.name)


def checked_name(name: str) -> str:
    """The name in its one spelling, or NameRefused."""
    name = unicodedata.normalize("NFC", name)
    if not is_possible_name(name):
        raise NameRefused(most=MAX_NAME)
    return name


def is_possible_name(name: str) -> bool:
    # a colon ends the name in HTTP Basic; what is not printable can make two names look like one
    plain = 0 < len(name) <= MAX_NAME and name.isprintable() and ":" not in name and name == name.strip()
    return plain and 0 < len(name_key(name)) <= _MAX_KEY


def checked_label(label: str) -> str:
    """A token's name without the spaces around it, or LabelRefused."""
    label = unicodedata.normalize("NFC", label.strip())
    if not (0 < len(label) <= MAX_LABEL and label.isprintable()):
        raise LabelRefused(most=MAX_LABEL)
    return label


def checked_password(password: str) -> str:
    """The password, if people may choose it, or PasswordRefused."""
    if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
        raise PasswordRefused(least=MIN_PASSWORD, most=MAX_PASSWORD)
    return password
