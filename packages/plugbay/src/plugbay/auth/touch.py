"""`last used` is written at most once a minute, and never fails a request."""

from datetime import datetime, timedelta

import sqlalchemy as sa

from plugbay.errors import PlugbayError
from plugbay.logs import get_logger
from plugbay.store import Store

log = get_logger(__name__)

WRITE_EVERY_S = 60  # a scraper asks every few seconds; the page shows minutes


def is_stale(last: datetime | None, now: datetime) -> bool:
    return last is None or now - last >= timedelta(seconds=WRITE_EVERY_S)


def touch(store: Store, row: sa.ColumnElement[bool], column: sa.Column[datetime], now: datetime) -> None:
    """Writes the time, unless another process was quicker."""
    before = now - timedelta(seconds=WRITE_EVERY_S)
    update = sa.update(column.table).where(row, (column <= before) | column.is_(None))
    try:
        with store.begin() as connection:
            connection.execute(update.values({column: now}))
    except PlugbayError as error:
        log.warning("last_used_not_written", reason=error)
