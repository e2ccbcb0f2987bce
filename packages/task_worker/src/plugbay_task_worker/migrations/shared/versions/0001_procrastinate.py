"""Procrastinate's own tables, and the processes that share them; on PostgreSQL alone."""

import sqlalchemy as sa
from alembic import op
from procrastinate.schema import SchemaManager

revision = "0001"
down_revision = None


def upgrade() -> None:
    # its text is full of signs that would be taken for parameters
    op.get_bind().exec_driver_sql(SchemaManager.get_schema().replace("%", "%%"))
    op.create_table(
        "task_worker_nodes",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("worker", sa.BigInteger),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("workers", sa.Integer, nullable=False),
        sa.Column("report", sa.Text, nullable=False),
    )
