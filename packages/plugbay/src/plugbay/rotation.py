"""Encrypts stored secrets anew with the first key, so that older keys can be dropped."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from plugbay.errors import SecretUnreadable
from plugbay.secrets import SecretColumn, Secrets
from plugbay.store import Store

Outcome = Literal["renewed", "current", "unreadable"]
OUTCOMES: tuple[Outcome, ...] = ("renewed", "current", "unreadable")


@dataclass(frozen=True)
class Rotation:
    """What became of the secrets in one column; no key fits those that are unreadable."""

    kept: SecretColumn
    counts: Counter[Outcome]


def rotate(store: Store, secrets: Secrets) -> list[Rotation]:
    """Renews all secrets that an older key encrypted; servers may go on meanwhile."""
    return [Rotation(kept, _rotate(store, secrets, kept)) for kept in secrets.columns]


def _rotate(store: Store, secrets: Secrets, kept: SecretColumn) -> Counter[Outcome]:
    is_secret = sa.true() if kept.where is None else kept.where
    query = sa.select(*kept.column.table.primary_key, kept.column.label("token"))
    with store.begin() as connection:
        rows = connection.execute(query.where(is_secret, kept.column != "")).all()
        return Counter(_renew(connection, secrets, kept, key, token) for *key, token in rows)


def _renew(
    connection: sa.Connection, secrets: Secrets, kept: SecretColumn, key: Sequence[Any], token: str
) -> Outcome:
    try:
        fresh = secrets.renewed(token)
    except SecretUnreadable:
        return "unreadable"
    if fresh == token:
        return "current"
    table = kept.column.table
    is_this_row = [column == value for column, value in zip(table.primary_key, key, strict=True)]
    # only the token that was read: somebody may have entered another secret just now
    update = sa.update(table).where(*is_this_row, kept.column == token)
    connection.execute(update.values({kept.column.name: fresh}))
    return "renewed"
