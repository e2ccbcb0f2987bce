"""How the rows of a table are drawn."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("scheduled_queries", sa.Column("chart", sa.Text))
