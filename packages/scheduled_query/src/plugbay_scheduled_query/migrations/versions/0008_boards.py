"""Boards: cards in an order and size that people choose."""

import sqlalchemy as sa
from alembic import op
from plugbay import UTCDateTime

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "scheduled_query_boards",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(200), nullable=False, unique=True),
        sa.Column("span", sa.String(3), nullable=False),
        sa.Column("cards", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False, server_default="1"),
        sa.Column("created_by", sa.String(150)),
        sa.Column("created_at", UTCDateTime, nullable=False),
        sa.Column("updated_by", sa.String(150)),
        sa.Column("updated_at", UTCDateTime, nullable=False),
        sqlite_autoincrement=True,
    )
