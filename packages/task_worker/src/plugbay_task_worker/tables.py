"""The task worker's one table: which ticks somebody has claimed."""

import sqlalchemy as sa
from plugbay import new_metadata

metadata = new_metadata()

ticks = sa.Table(
    "task_worker_ticks",
    metadata,
    sa.Column("task", sa.String(255), primary_key=True),  # owner.name
    sa.Column("tick", sa.BigInteger, primary_key=True),  # seconds since the epoch
    sqlite_with_rowid=False,  # the key is all there is
)
