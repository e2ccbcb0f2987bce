"""The host's own tables. Plugins bring theirs, with no foreign key to these."""

import unicodedata
from typing import Any

import sqlalchemy as sa

from plugbay.store.metadata import new_metadata
from plugbay.store.times import UTCDateTime

metadata = new_metadata()


def name_key(name: str) -> str:
    """What two spellings of one user's name have in common: `users.name_key` is unique on it."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def _key_of_name(context: Any) -> str:
    return name_key(context.get_current_parameters()["name"])


def _user_id() -> sa.Column[int]:
    user = sa.ForeignKey("users.id", ondelete="CASCADE")
    return sa.Column("user_id", sa.Integer, user, nullable=False, index=True)


plugin_states = sa.Table(
    "plugin_states",
    metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("enabled", sa.Boolean, nullable=False),
    sa.Column("found_as", sa.String(255), nullable=False),  # where: kind:name of its place
    sa.Column("updated_at", UTCDateTime, nullable=False),
)

plugin_settings = sa.Table(
    "plugin_settings",
    metadata,
    sa.Column("module", sa.String(64), primary_key=True),
    sa.Column("field", sa.String(128), primary_key=True),
    sa.Column("value", sa.Text, nullable=False),  # JSON; a secret's is the encrypted JSON
    sa.Column("is_secret", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("updated_at", UTCDateTime, nullable=False),
)

menu_overrides = sa.Table(
    "menu_overrides",
    metadata,
    sa.Column("entry_key", sa.String(255), primary_key=True),
    sa.Column("label", sa.String(255)),  # null: as the owner named it
    sa.Column("hidden", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("position", sa.Integer),  # null: where the owner put it
)

changes = sa.Table(
    "changes",
    metadata,
    sa.Column("kind", sa.String(16), primary_key=True),  # plugins: switched or set; reload: loaded anew
    sa.Column("number", sa.BigInteger, nullable=False),  # how often, by any process
)

users = sa.Table(
    "users",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(150), nullable=False),
    sa.Column("name_key", sa.String(450), nullable=False, unique=True, default=_key_of_name),
    sa.Column("password_hash", sa.String(255), nullable=False),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("created_at", UTCDateTime, nullable=False),
    sa.Column("password_changed_at", UTCDateTime, nullable=False),
    sa.CheckConstraint("role IN ('viewer', 'editor', 'admin')", name="role"),
    sa.CheckConstraint("name <> ''", name="name"),
    sqlite_autoincrement=True,  # the id of a deleted user never comes back
)

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("id_hash", sa.String(64), primary_key=True),  # SHA-256 of the cookie's value, in hex
    _user_id(),
    sa.Column("created_at", UTCDateTime, nullable=False),
    sa.Column("last_seen_at", UTCDateTime, nullable=False),
    sa.Column("expires_at", UTCDateTime, nullable=False, index=True),
    sa.Column("address", sa.String(64)),
    sa.Column("user_agent", sa.String(255)),
)

api_tokens = sa.Table(
    "api_tokens",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    _user_id(),
    sa.Column("name", sa.String(150), nullable=False),
    sa.Column("token_hash", sa.String(64), nullable=False, unique=True),  # SHA-256 in hex
    sa.Column("created_at", UTCDateTime, nullable=False),
    sa.Column("last_used_at", UTCDateTime),
    sa.Column("revoked_at", UTCDateTime),
    sqlite_autoincrement=True,
)

login_failures = sa.Table(
    "login_failures",
    metadata,
    sa.Column("name_key", sa.String(450), primary_key=True),
    sa.Column("address", sa.String(64), primary_key=True),
    sa.Column("count", sa.Integer, nullable=False),
    sa.Column("last_at", UTCDateTime, nullable=False, index=True),
    sa.Column("blocked_until", UTCDateTime),
    sa.CheckConstraint("count > 0", name="count"),
)

key_fingerprints = sa.Table(
    "key_fingerprints",
    metadata,
    sa.Column("kind", sa.String(16), primary_key=True),
    sa.Column("fingerprint", sa.String(64), nullable=False),
    sa.CheckConstraint("kind IN ('session', 'encryption')", name="kind"),
)
