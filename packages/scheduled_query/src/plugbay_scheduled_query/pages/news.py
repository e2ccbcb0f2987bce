"""What a page has shown already: short marks that change with the news of each of its parts. Pure."""

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from plugbay_scheduled_query.core.model import Query


def mark(*shown: Any) -> str:
    """A short text that changes when anything of this does."""
    return hashlib.blake2b(repr(shown).encode(errors="replace"), digest_size=8).hexdigest()


def mark_of(query: Query, now: datetime) -> str:
    """Changes when anything that a row or a card shows of its query does."""
    is_waiting = query.next_run_at is not None and query.next_run_at <= now
    ran = (query.last_executed, query.last_status, query.last_duration_ms)
    return mark(query.id, query.version, query.running, *ran, query.next_run_at, is_waiting)


def mark_of_all(queries: Iterable[Query], now: datetime, *more: Any) -> str:
    """Changes when anything on a page of queries does."""
    return mark([mark_of(query, now) for query in queries], more)
