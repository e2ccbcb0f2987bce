"""The host's own tables, and what those of plugins are made with. Plugins have no foreign key to these."""

import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect

# an unnamed constraint cannot be dropped later: SQLite has no name for it at all
NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


def new_metadata() -> sa.MetaData:
    """An empty MetaData for one plugin's tables, which names its constraints as migrations do."""
    return sa.MetaData(naming_convention=NAMING)


class UTCDateTime(sa.types.TypeDecorator[datetime]):
    """A column of aware datetimes: `timestamptz` on PostgreSQL, sortable UTC text on SQLite."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> sa.types.TypeEngine[Any]:
        return sa.String(26) if dialect.name == "sqlite" else sa.DateTime(timezone=True)

    # the processors are given whole: a TypeDecorator's usual two-step way takes twice as long per value
    def bind_processor(self, dialect: Dialect) -> Callable[[datetime | None], Any]:
        return _to_text if dialect.name == "sqlite" else _to_utc

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], datetime | None]:
        return _from_text if dialect.name == "sqlite" else _to_utc

    def literal_processor(self, dialect: Dialect) -> Callable[[datetime], str]:
        return lambda value: f"'{_to_text(value) if dialect.name == 'sqlite' else _to_utc(value)}'"


def _to_utc(value: datetime | None) -> datetime | None:
    if value is None:
        return None
    if value.tzinfo is None:
        raise ValueError(f"a datetime without a time zone does not go into the store: {value}")
    return value.astimezone(UTC)


def _to_text(value: datetime | None) -> str | None:
    utc = _to_utc(value)
    if utc is None:
        return None
    naive = datetime.combine(utc, utc.time())  # half the time of `replace`, and each run writes a dozen
    return naive.isoformat(" ", "microseconds")  # always 26 characters, so that text order is time order


def _from_text(value: str | None) -> datetime | None:
    return None if value is None else datetime.fromisoformat(f"{value}+00:00")


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
    sa.Column("scope", sa.String(16), nullable=False, server_default="all"),
    sa.Column("expires_at", UTCDateTime),  # null: it does not end by itself
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
