"""Sources have a pace of their own and remember their last test; standstills and switches are kept."""

import sqlalchemy as sa
from alembic import op
from plugbay import UTCDateTime

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("scheduled_query_sources", sa.Column("pace_s", sa.Integer))
    op.add_column("scheduled_query_sources", sa.Column("max_parallel", sa.Integer))
    op.add_column("scheduled_query_sources", sa.Column("last_test", sa.Text))
    op.create_table(
        "scheduled_query_standstills",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("source_id", sa.Integer),
        sa.Column("since", UTCDateTime, nullable=False),
        sa.Column("until", UTCDateTime),
        sa.Column("by", sa.String(150)),
        sa.Column("ended_by", sa.String(150)),
    )
    op.create_index("ix_scheduled_query_standstills", "scheduled_query_standstills", ["kind", "until"])
    op.create_table(
        "scheduled_query_switches",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("query_id", sa.Integer, nullable=False),
        sa.Column("at", UTCDateTime, nullable=False),
        sa.Column("enabled", sa.Boolean, nullable=False),
        sa.Column("by", sa.String(150)),
    )
    op.create_index("ix_scheduled_query_switches", "scheduled_query_switches", ["query_id", "at"])
