"""The moment of a change, which is also its version: no two changes of one query share a moment."""

from datetime import datetime, timedelta

import sqlalchemy as sa

from plugbay_scheduled_query.tables import states

TICK = timedelta(microseconds=1)


def moment_after(last: datetime, now: datetime) -> datetime:
    """Now, or right after the last change, whatever the clocks of nodes say."""
    return max(now, last + TICK)


def touch(connection: sa.Connection, query_id: int, now: datetime, **values: object) -> None:
    """Says that a query changed, and with it these values of its state."""
    of_query = states.c.query_id == query_id
    last = connection.execute(sa.select(states.c.changed_at).where(of_query).with_for_update()).scalar_one()
    changed_at = moment_after(last, now)
    connection.execute(sa.update(states).where(of_query).values(changed_at=changed_at, **values))
