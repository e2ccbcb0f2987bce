"""Failures with names. The docstring of each is its message; the braces are filled with what happened."""

import inspect
from typing import Any


class PlugbayError(Exception):
    """Something went wrong in Plugbay."""

    def __init__(self, **facts: Any) -> None:
        self.facts = facts
        super().__init__(inspect.cleandoc(type(self).__doc__ or "").format(**facts))


class OperatorError(PlugbayError):
    """The operator must change something before Plugbay can start."""


class InvalidConfig(OperatorError):
    """The setting {variable} has the value {value!r}, which is not valid: {rule}."""


class UnknownPlugin(PlugbayError):
    """There is no plugin named {name!r}."""


class PluginRefused(PlugbayError):
    """{reason}"""


class ReservedEvent(PlugbayError):
    """The event {name!r} belongs to the host: only the host emits events that begin with 'plugbay.'."""


class AsyncListener(PlugbayError):
    """The listener to {name!r} is an async def, which nobody would wait for: use def."""


class StoreError(PlugbayError):
    """The store cannot be used."""


class StoreUrlRefused(StoreError, OperatorError):
    """PLUGBAY_DATABASE_URL cannot be used: {reason}. Use sqlite:///PATH or postgresql://USER:PASSWORD@HOST/NAME."""


class PostgresqlDriverMissing(StoreError, OperatorError):
    """PLUGBAY_DATABASE_URL needs the driver of PostgreSQL: pip install 'plugbay[postgresql]'."""


class DataDirUnusable(StoreError, OperatorError):
    """Cannot write {path}: {reason}. Give PLUGBAY_DATA_DIR a folder that this user may write."""


class StoreNotADatabase(StoreError, OperatorError):
    """{where} is not a SQLite database. Move it away, or name another file in PLUGBAY_DATABASE_URL."""


class StoreWithoutWal(StoreError, OperatorError):
    """{path} cannot have a write-ahead log, as on most network drives. Put the store on a local disk."""


class StoreUnavailable(StoreError, OperatorError):
    """The store at {where} does not answer: {reason}."""


class StoreDamaged(StoreError, OperatorError):
    """The store at {where} is damaged ({reason}). Stop Plugbay and put back a backup."""


class StoreFull(StoreError, OperatorError):
    """The store at {where} cannot grow: the disk is full. Nothing of the change was stored."""


class StoreBusy(StoreError):
    """The store was busy for more than {seconds} seconds. Nothing of the change was stored; try again."""


class StoreNewer(StoreError, OperatorError):
    """The store is newer than the code: {module} is at version {stored}, this code knows up to {known}."""


class MigrationsUnclear(StoreError):
    """The migrations of {module} cannot be followed: {reason}."""


class MigrationFailed(StoreError):
    """Migration {revision} of {module} failed: {reason}."""


class BackupFailed(StoreError, OperatorError):
    """No backup was made at {target}: {reason}."""


class SecretUnreadable(PlugbayError):
    """This secret was encrypted with a key that is not here; enter it again."""


class KeyRefused(OperatorError):
    """{variable} cannot be used: {reason}."""


class KeyMismatch(OperatorError):
    """{variable} is not the key that this store is used with: every process of one store needs the same."""


class AccountError(PlugbayError):
    """The account cannot be changed like this."""


class NameRefused(AccountError):
    """A user's name has 1 to {most} visible characters, no colon, and no space at either end."""


class NameTaken(AccountError):
    """There is already a user named {name!r}."""


class PasswordRefused(AccountError):
    """A password has {least} to {most} characters."""


class PasswordMissing(AccountError):
    """A password is needed: type it at the prompt, or give it on standard input."""


class LabelRefused(AccountError):
    """A token's name has 1 to {most} visible characters."""


class UnknownUser(AccountError):
    """There is no user named {name!r}."""


class UnknownToken(AccountError):
    """There is no token with the number {id}, or it is revoked already: see `plugbay token list`."""


class UnknownRole(AccountError):
    """The role must be viewer, editor or admin; not {role!r}."""


class LastAdmin(AccountError):
    """{name} is the only admin: make another user an admin first."""


class TooManyTokens(AccountError):
    """A user has at most {most} tokens: revoke one first."""


class UnknownScope(AccountError):
    """The scope of a token must be metrics, read, run or all; not {scope!r}."""


class DaysRefused(AccountError):
    """A token ends after 1 to {most} days, or not by itself."""


class TokenExpired(AccountError):
    """This API token ended on {end:%Y-%m-%d at %H:%M} UTC. Make a new one."""


class TooManyAttempts(PlugbayError):
    """Too many attempts. Try again in {retry_after} seconds."""

    @property
    def retry_after(self) -> int:
        return int(self.facts["retry_after"])
