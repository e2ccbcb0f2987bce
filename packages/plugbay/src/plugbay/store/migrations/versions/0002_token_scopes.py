"""What a token may do, and when it ends; those that exist may do all that they could, without an end."""

import sqlalchemy as sa
from alembic import op
from plugbay.store.tables import UTCDateTime

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("api_tokens", sa.Column("scope", sa.String(16), nullable=False, server_default="all"))
    op.add_column("api_tokens", sa.Column("expires_at", UTCDateTime))
