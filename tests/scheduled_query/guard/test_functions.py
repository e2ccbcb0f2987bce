"""The lists of functions, held against what the real databases say of their own functions."""

import sqlite3
from contextlib import closing

import duckdb
import mariadb
import psycopg
import pytest
import sqlalchemy as sa
from plugbay_scheduled_query.core.guard.calls import BEFORE_BRACKET, SIZED_TYPES, functions
from plugbay_scheduled_query.core.guard.lexis import words
from plugbay_scheduled_query.dialects import language_named

DIALECTS = ["sqlite", "postgresql", "mysql", "duckdb"]

# Volatile, because they look at the clock, at chance or at the server; each was read about.
LOOKING_POSTGRESQL = words("""
    array_sample array_shuffle bernoulli clock_timestamp current_query currval gen_random_uuid lastval
    pg_blocking_pids pg_collation_actual_version pg_control_checkpoint pg_control_init pg_control_recovery
    pg_control_system pg_current_wal_flush_lsn pg_current_wal_insert_lsn pg_current_wal_lsn
    pg_database_collation_actual_version pg_database_size pg_get_wait_events pg_get_wal_replay_pause_state
    pg_indexes_size pg_is_in_recovery pg_is_wal_replay_paused pg_jit_available pg_last_committed_xact
    pg_last_wal_receive_lsn pg_last_wal_replay_lsn pg_last_xact_replay_timestamp pg_lock_status
    pg_notification_queue_usage pg_partition_ancestors pg_partition_tree pg_prepared_xact pg_relation_size
    pg_safe_snapshot_blocking_pids pg_sequence_last_value pg_stat_get_io pg_stat_have_stats pg_table_size
    pg_tablespace_size pg_total_relation_size pg_xact_commit_timestamp pg_xact_commit_timestamp_origin
    pg_xact_status random random_normal system timeofday txid_status uuidv4 uuidv7
""")
LOOKING_DUCKDB = {"current_query", "error", "gen_random_uuid", "random", "uuid", "uuidv4", "uuidv7"}
TABLES_DUCKDB = words("""
    duckdb_approx_database_count duckdb_columns duckdb_constraints duckdb_databases duckdb_dependencies
    duckdb_extensions duckdb_functions duckdb_indexes duckdb_keywords duckdb_memory duckdb_optimizers
    duckdb_schemas duckdb_sequences duckdb_settings duckdb_table_sample duckdb_tables duckdb_types
    duckdb_variables duckdb_views generate_series histogram icu_calendar_names json_each json_tree
    pg_timezone_names pragma_collations pragma_database_size pragma_metadata_info pragma_platform
    pragma_show pragma_storage_info pragma_table_info pragma_user_agent pragma_version range repeat
    repeat_row summary unnest
""")


def test_a_family_of_names_is_written_with_stars() -> None:
    some = functions("lo_fine", {"it does harm": "lo_* exact"})
    assert some.danger("lo_create") == "it does harm"
    assert some.danger("exact") == "it does harm"
    assert some.danger("exactly") is None
    assert some.danger("lo_fine") is None


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_word_of_the_language_hides_a_dangerous_function(dialect: str) -> None:
    lists = language_named(dialect).functions
    assert [word for word in BEFORE_BRACKET | SIZED_TYPES if lists.danger(word.lower())] == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_names_are_written_as_they_are_compared(dialect: str) -> None:
    harmless = language_named(dialect).functions.harmless
    assert all(name == name.lower() and name.isascii() for name in harmless)


def test_what_postgresql_calls_volatile_is_harmless_only_where_it_was_looked_into(
    postgres_url: str,
) -> None:
    url = sa.make_url(postgres_url).set(drivername="postgresql").render_as_string(hide_password=False)
    volatile = "SELECT DISTINCT proname FROM pg_proc WHERE provolatile = 'v' AND pronamespace = 11"
    with psycopg.connect(url) as connection:
        names = {name for (name,) in connection.execute(volatile)}
    assert names & language_named("postgresql").functions.harmless <= LOOKING_POSTGRESQL


def test_what_has_effects_in_duckdb_is_harmless_only_where_it_was_looked_into() -> None:
    effects = "SELECT function_name FROM duckdb_functions() WHERE has_side_effects"
    with duckdb.connect() as connection:
        names = {name for (name,) in connection.execute(effects).fetchall()}
    assert names & language_named("duckdb").functions.harmless <= LOOKING_DUCKDB


def test_the_table_functions_of_duckdb_that_are_harmless_are_these() -> None:
    kinds = "('table', 'table_macro', 'pragma')"
    tables = f"SELECT function_name FROM duckdb_functions() WHERE function_type IN {kinds}"
    with duckdb.connect() as connection:
        names = {name for (name,) in connection.execute(tables).fetchall()}
    assert names & language_named("duckdb").functions.harmless <= TABLES_DUCKDB | {
        "collations",
        "version",
    }


def test_every_function_of_sqlite_is_on_one_of_the_lists() -> None:
    lists = language_named("sqlite").functions
    with closing(sqlite3.connect(":memory:")) as connection:
        names = {name.lower() for name, *_ in connection.execute("PRAGMA function_list")}
    names -= {"->", "->>", "match", "rank"}  # operators, and columns in disguise
    unknown = {name for name in names if name not in lists.harmless and not lists.danger(name)}
    assert not {name for name in unknown if "load" in name or "file" in name or "exec" in name}
    assert len(unknown) < 10  # what newer versions bring is refused until it is listed


def test_functions_of_mariadb_that_wait_lock_or_read_files_are_not_harmless(mariadb_url: str) -> None:
    with mariadb.connect(mariadb_url) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT LOWER(function) FROM information_schema.sql_functions")
        names = {name for (name,) in cursor.fetchall()}
    lists = language_named("mysql").functions
    effects = {
        name for name in names if any(part in name for part in ("lock", "wait", "sleep", "file", "bench"))
    }
    assert effects & lists.harmless == {"is_free_lock", "is_used_lock"}
    assert all(lists.danger(name) for name in effects - lists.harmless)
