from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.execute("CREATE TABLE this is not SQL")
