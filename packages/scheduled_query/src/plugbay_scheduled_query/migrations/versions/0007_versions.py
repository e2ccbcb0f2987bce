"""What definitions were before they were edited."""

import sqlalchemy as sa
from alembic import op
from plugbay import UTCDateTime

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "scheduled_query_versions",
        sa.Column("query_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("at", UTCDateTime, nullable=False),
        sa.Column("by", sa.String(150)),
        sa.Column("source_id", sa.Integer, nullable=False),
        sa.Column("definition", sa.Text, nullable=False),
    )
