"""Names for constraints that nobody named, the same in a plugin's tables and in its migrations."""

import sqlalchemy as sa

# an unnamed constraint cannot be dropped later: SQLite has no name for it at all
NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


def new_metadata() -> sa.MetaData:
    """An empty MetaData for one plugin's tables, which names its constraints as migrations do."""
    return sa.MetaData(naming_convention=NAMING)
