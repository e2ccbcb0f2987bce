"""The claimed ticks."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "task_worker_ticks",
        sa.Column("task", sa.String(255), primary_key=True),
        sa.Column("tick", sa.BigInteger, primary_key=True),
        sqlite_with_rowid=False,
    )
