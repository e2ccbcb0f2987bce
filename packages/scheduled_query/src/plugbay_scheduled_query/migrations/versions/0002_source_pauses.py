"""Sources are paused while a server does not end a session there, and history has a quota of bytes."""

import sqlalchemy as sa
from alembic import op
from plugbay import UTCDateTime

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "scheduled_query_pauses",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("source_id", sa.Integer, nullable=False),
        sa.Column("mark", sa.String(100), nullable=False),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("since", UTCDateTime, nullable=False),
        sa.UniqueConstraint("source_id", "mark"),
    )
    op.add_column(
        "scheduled_query_history",
        sa.Column("result_bytes", sa.Integer, nullable=False, server_default="0"),
    )
    op.add_column(
        "scheduled_query_states",
        sa.Column("kept_bytes", sa.BigInteger, nullable=False, server_default="0"),
    )
    op.add_column("scheduled_query_states", sa.Column("cut_at", UTCDateTime))
    _measure_what_is_kept()


def _measure_what_is_kept() -> None:
    length = "octet_length(text)" if op.get_bind().dialect.name == "postgresql" else "length(text)"
    op.execute(
        f"UPDATE scheduled_query_history SET result_bytes = (SELECT {length} FROM scheduled_query_results"  # noqa: S608
        " WHERE id = result_id) WHERE result_id IS NOT NULL"
        " AND EXISTS (SELECT 1 FROM scheduled_query_results WHERE id = result_id)"
    )
    op.execute(
        "UPDATE scheduled_query_states SET kept_bytes = (SELECT coalesce(sum(result_bytes), 0)"
        " FROM scheduled_query_history WHERE query_id = scheduled_query_states.query_id)"
    )
