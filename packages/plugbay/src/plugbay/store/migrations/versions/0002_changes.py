"""How often plugins were changed, so that processes see what others did."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "changes",
        sa.Column("kind", sa.String(16), primary_key=True),
        sa.Column("number", sa.BigInteger, nullable=False),
    )
