"""A lane remembers when its last run ended: how long it rests from there is the setting's to say."""

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.execute("ALTER TABLE scheduled_query_lanes RENAME COLUMN free_at TO ended_at")
