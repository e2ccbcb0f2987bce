"""Sources are paused while a server does not end a session there."""

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
