"""The host's first tables."""

import sqlalchemy as sa
from alembic import op
from plugbay.store.tables import UTCDateTime

revision = "0001"
down_revision = None


def upgrade() -> None:
    _plugins()
    _users()
    _logins()
    op.create_table(
        "key_fingerprints",
        sa.Column("kind", sa.String(16), primary_key=True),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.CheckConstraint("kind IN ('session', 'encryption')", name="kind"),
    )


def _plugins() -> None:
    op.create_table(
        "plugin_states",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("enabled", sa.Boolean, nullable=False),
        sa.Column("found_as", sa.String(255), nullable=False),  # where: kind:name of its place
        sa.Column("updated_at", UTCDateTime, nullable=False),
    )
    op.create_table(
        "plugin_settings",
        sa.Column("module", sa.String(64), primary_key=True),
        sa.Column("field", sa.String(128), primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("is_secret", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("updated_at", UTCDateTime, nullable=False),
    )
    op.create_table(
        "menu_overrides",
        sa.Column("entry_key", sa.String(255), primary_key=True),
        sa.Column("label", sa.String(255)),
        sa.Column("hidden", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("position", sa.Integer),
    )


def _users() -> None:
    op.create_table(
        "users",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(150), nullable=False),
        sa.Column("name_key", sa.String(450), nullable=False, unique=True),
        sa.Column("password_hash", sa.String(255), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("created_at", UTCDateTime, nullable=False),
        sa.Column("password_changed_at", UTCDateTime, nullable=False),
        sa.CheckConstraint("role IN ('viewer', 'editor', 'admin')", name="role"),
        sa.CheckConstraint("name <> ''", name="name"),
        sqlite_autoincrement=True,
    )


def _logins() -> None:
    op.create_table(
        "sessions",
        sa.Column("id_hash", sa.String(64), primary_key=True),
        _user_id(),
        sa.Column("created_at", UTCDateTime, nullable=False),
        sa.Column("last_seen_at", UTCDateTime, nullable=False),
        sa.Column("expires_at", UTCDateTime, nullable=False, index=True),
        sa.Column("address", sa.String(64)),
        sa.Column("user_agent", sa.String(255)),
    )
    op.create_table(
        "api_tokens",
        sa.Column("id", sa.Integer, primary_key=True),
        _user_id(),
        sa.Column("name", sa.String(150), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False, unique=True),
        sa.Column("created_at", UTCDateTime, nullable=False),
        sa.Column("last_used_at", UTCDateTime),
        sa.Column("revoked_at", UTCDateTime),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "login_failures",
        sa.Column("name_key", sa.String(450), primary_key=True),
        sa.Column("address", sa.String(64), primary_key=True),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("last_at", UTCDateTime, nullable=False, index=True),
        sa.Column("blocked_until", UTCDateTime),
        sa.CheckConstraint("count > 0", name="count"),
    )
    op.create_table(
        "changes",
        sa.Column("kind", sa.String(16), primary_key=True),
        sa.Column("number", sa.BigInteger, nullable=False),
    )


def _user_id() -> sa.Column[int]:
    user = sa.ForeignKey("users.id", ondelete="CASCADE")
    return sa.Column("user_id", sa.Integer, user, nullable=False, index=True)
