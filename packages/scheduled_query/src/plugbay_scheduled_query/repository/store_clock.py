"""One clock for all nodes: PostgreSQL's own where they may be on many machines."""

from datetime import datetime

import sqlalchemy as sa
from plugbay import Clock, UTCDateTime

_NOW = sa.select(sa.func.clock_timestamp(type_=UTCDateTime))


def store_now(connection: sa.Connection, clock: Clock) -> datetime:
    """Now, for claims, leases, lanes and next times."""
    if connection.dialect.name == "sqlite":
        return clock.now()
    return connection.execute(_NOW).scalar_one()
