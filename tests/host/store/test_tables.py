"""The host's tables: what the migration makes is what the code believes, and the database guards it."""

from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from plugbay.store import Store
from plugbay.store.tables import (
    api_tokens,
    key_fingerprints,
    login_failures,
    menu_overrides,
    metadata,
    name_key,
    plugin_settings,
    plugin_states,
    sessions,
    users,
)

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


def add(store: Store, table: sa.Table, **values: Any) -> Any:
    with store.begin() as connection:
        key = connection.execute(sa.insert(table).values(**values)).inserted_primary_key
        assert key is not None
        return key[0]


def add_user(store: Store, name: str = "anna", **values: Any) -> int:
    given = {"role": "admin", "password_hash": "…", "created_at": NOW, "password_changed_at": NOW, **values}
    return int(add(store, users, name=name, **given))


def count(store: Store, table: sa.Table) -> int | None:
    with store.connect() as connection:
        return connection.scalar(sa.select(sa.func.count()).select_from(table))


def is_not_the_hosts(name: str | None, kind: str) -> bool:
    return kind == "table" and str(name).startswith("alembic_version")


def test_the_migrations_make_exactly_the_tables_that_the_code_believes_in(store: Store) -> None:
    ours = {"include_name": lambda name, kind, _: not is_not_the_hosts(name, kind)}
    with store.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts=ours)
        assert compare_metadata(context, metadata) == []


def constraint_names(store: Store, table: str) -> set[str | None]:
    inspector = sa.inspect(store.engine)
    found = [
        *inspector.get_unique_constraints(table),
        *inspector.get_check_constraints(table),
        *inspector.get_foreign_keys(table),
    ]
    return {constraint["name"] for constraint in found}


def test_every_constraint_has_the_name_that_the_code_gives_it(store: Store) -> None:
    for table in metadata.sorted_tables:
        ours = {each.name for each in table.constraints if not isinstance(each, sa.PrimaryKeyConstraint)}
        assert constraint_names(store, table.name) == ours, table.name


@pytest.mark.parametrize("other", ["anna", "ANNA", "Anna", "ａｎｎａ"])
def test_two_spellings_of_one_name_cannot_be_two_users(store: Store, other: str) -> None:
    add_user(store, "anna")
    with pytest.raises(sa.exc.IntegrityError):
        add_user(store, other)


def test_names_beyond_ascii_are_told_apart_and_together_as_people_do(store: Store) -> None:
    add_user(store, "Straße")
    add_user(store, "Strasse ")
    with pytest.raises(sa.exc.IntegrityError):
        add_user(store, "STRASSE")
    assert name_key("ΣΊΣΥΦΟΣ") == name_key("σίσυφος")


@pytest.mark.parametrize("values", [{"role": "owner"}, {"role": None}, {"name": ""}])
def test_a_user_has_a_name_and_one_of_three_roles(store: Store, values: dict[str, Any]) -> None:
    with pytest.raises(sa.exc.IntegrityError):
        add_user(store, **values)


def test_the_number_of_a_deleted_user_never_comes_back(store: Store) -> None:
    first = add_user(store, "anna")
    with store.begin() as connection:
        connection.execute(sa.delete(users))
    assert add_user(store, "berta") > first


def test_a_users_sessions_and_tokens_go_with_the_user(store: Store) -> None:
    user = add_user(store)
    add(store, sessions, id_hash="a", user_id=user, created_at=NOW, last_seen_at=NOW, expires_at=NOW)
    add(store, api_tokens, user_id=user, name="scraper", token_hash="b", created_at=NOW)
    with store.begin() as connection:
        connection.execute(sa.delete(users).where(users.c.id == user))
    assert (count(store, sessions), count(store, api_tokens)) == (0, 0)


def test_a_session_belongs_to_a_user_who_exists(store: Store) -> None:
    with pytest.raises(sa.exc.IntegrityError):
        add(store, sessions, id_hash="a", user_id=77, created_at=NOW, last_seen_at=NOW, expires_at=NOW)


def test_a_token_is_known_by_its_hash_alone(store: Store) -> None:
    user = add_user(store)
    add(store, api_tokens, user_id=user, name="scraper", token_hash="same", created_at=NOW)
    with pytest.raises(sa.exc.IntegrityError):
        add(store, api_tokens, user_id=user, name="other", token_hash="same", created_at=NOW)


def test_failures_count_per_name_and_address(store: Store) -> None:
    add(store, login_failures, name_key="anna", address="192.0.2.1", count=1, last_at=NOW)
    add(store, login_failures, name_key="anna", address="192.0.2.2", count=1, last_at=NOW)
    with pytest.raises(sa.exc.IntegrityError):
        add(store, login_failures, name_key="anna", address="192.0.2.2", count=1, last_at=NOW)
    with pytest.raises(sa.exc.IntegrityError):
        add(store, login_failures, name_key="berta", address="192.0.2.2", count=0, last_at=NOW)


def test_a_setting_is_not_secret_and_an_entry_not_hidden_unless_said(store: Store) -> None:
    add(store, plugin_settings, module="greeter", field="word", value='"hello"', updated_at=NOW)
    add(store, menu_overrides, entry_key="greeter:/hello")
    with store.connect() as connection:
        assert connection.scalar(sa.select(plugin_settings.c.is_secret)) is False
        assert connection.scalar(sa.select(menu_overrides.c.hidden)) is False


def test_a_plugin_has_one_state_and_a_field_one_value(store: Store) -> None:
    add(store, plugin_states, name="greeter", enabled=False, found_as="folder", updated_at=NOW)
    with pytest.raises(sa.exc.IntegrityError):
        add(store, plugin_states, name="greeter", enabled=True, found_as="folder", updated_at=NOW)


def test_only_the_two_keys_have_fingerprints(store: Store) -> None:
    add(store, key_fingerprints, kind="session", fingerprint="a")
    with pytest.raises(sa.exc.IntegrityError):
        add(store, key_fingerprints, kind="house", fingerprint="b")


def plan(store: Store, query: sa.Select[Any]) -> str:
    text = query.compile(store.engine, compile_kwargs={"literal_binds": True}).string
    with store.connect() as connection:
        return str(connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}").all())


@pytest.mark.parametrize(
    "condition",
    [
        users.c.name_key == "anna",
        sessions.c.id_hash == "a",
        sessions.c.user_id == 1,
        sessions.c.expires_at < NOW,
        api_tokens.c.token_hash == "a",
        api_tokens.c.user_id == 1,
        login_failures.c.last_at < NOW,
    ],
)
def test_what_is_looked_up_has_an_index(sqlite_store: Store, condition: sa.ColumnElement[bool]) -> None:
    assert "SEARCH" in plan(sqlite_store, sa.select(sa.literal(1)).where(condition))
