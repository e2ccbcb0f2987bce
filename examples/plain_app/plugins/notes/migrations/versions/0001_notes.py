"""The notes."""

import sqlalchemy as sa
from alembic import op
from plugbay import UTCDateTime

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "notes",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("author", sa.String(150), nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("written_at", UTCDateTime, nullable=False),
    )
