"""The store on PostgreSQL, for more than one machine."""

import importlib.util

import sqlalchemy as sa

from plugbay.errors import PostgresqlDriverMissing
from plugbay.store.failures import WAIT_S, name_failures

CONNECTIONS_KEPT, CONNECTIONS_MOST = 5, 20  # per process; a server's default limit is 100
CONNECT_ARGUMENTS = {
    "connect_timeout": WAIT_S,
    "application_name": "plugbay",
    # a peer that vanished without a word is noticed after a minute, not after two hours
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "options": "-c timezone=UTC",
}


def open_postgresql(url: sa.URL) -> tuple[sa.Engine, sa.Engine]:
    """The engine for writing and the engine for reading: one pool, two kinds of transaction."""
    if importlib.util.find_spec("psycopg") is None:
        raise PostgresqlDriverMissing
    given = {name: value for name, value in CONNECT_ARGUMENTS.items() if name not in url.query}
    engine = sa.create_engine(
        url,
        connect_args=given,
        pool_size=CONNECTIONS_KEPT,
        max_overflow=CONNECTIONS_MOST - CONNECTIONS_KEPT,
        pool_timeout=WAIT_S,
        pool_pre_ping=True,
        hide_parameters=True,  # what is stored may be secret, and an error is logged
    )
    name_failures(engine)
    return engine, engine.execution_options(postgresql_readonly=True)
