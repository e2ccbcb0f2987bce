"""What goes wrong in a running store has a name; what a programmer did wrong keeps SQLAlchemy's."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from plugbay.errors import StoreBusy, StoreDamaged, StoreFull, StoreNotADatabase, StoreUnavailable
from plugbay.store import Store, open_store
from plugbay.store.engines import sqlite_failure
from plugbay.store.tables import menu_overrides


def fill(connection: sa.Connection) -> None:
    rows = [{"entry_key": f"entry {number}", "label": "x" * 200} for number in range(1000)]
    connection.execute(sa.insert(menu_overrides), rows)


def count(store: Store) -> int | None:
    with store.connect() as connection:
        return connection.scalar(sa.select(sa.func.count()).select_from(menu_overrides))


def test_a_full_disk_is_named_and_nothing_of_the_change_is_stored(sqlite_store: Store) -> None:
    with sqlite_store.engine.connect() as connection:
        # SQLite's own limit on the file gives the very error that a full disk gives
        connection.exec_driver_sql("PRAGMA max_page_count=40")
    message = r"the disk is full\. Nothing of the change was stored"
    with pytest.raises(StoreFull, match=message), sqlite_store.begin() as connection:
        fill(connection)
    assert count(sqlite_store) == 0


def test_the_store_goes_on_once_there_is_room_again(sqlite_store: Store) -> None:
    with sqlite_store.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=40")
    with pytest.raises(StoreFull), sqlite_store.begin() as connection:
        fill(connection)
    with sqlite_store.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=1000000")
    with sqlite_store.begin() as connection:
        fill(connection)
    assert count(sqlite_store) == 1000


def test_a_full_disk_of_postgresql_is_named(postgres_url: str, data_dir: Path) -> None:
    store = open_store(postgres_url, data_dir)
    server_says = "DO $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$"
    with pytest.raises(StoreFull), store.begin() as connection:
        connection.exec_driver_sql(server_says)
    store.close()


def end_sessions(postgres_url: str) -> None:
    """Ends every other connection to this database, as a restarting server does, and waits for their end."""
    engine = sa.create_engine(postgres_url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def test_a_server_that_ends_a_transaction_is_named(postgres_url: str, data_dir: Path) -> None:
    store = open_store(postgres_url, data_dir)

    def write_while_it_ends() -> None:
        with store.begin() as connection:
            end_sessions(postgres_url)
            fill(connection)

    with pytest.raises(StoreUnavailable, match="does not answer"):
        write_while_it_ends()
    assert count(store) == 0
    store.close()


def test_a_server_that_restarted_in_between_is_not_noticed(postgres_url: str, data_dir: Path) -> None:
    store = open_store(postgres_url, data_dir)
    with store.begin() as connection:
        fill(connection)
    end_sessions(postgres_url)
    assert count(store) == 1000
    store.close()


def test_a_wrong_statement_stays_the_programmers_fault(store: Store) -> None:
    with pytest.raises(sa.exc.DBAPIError), store.connect() as connection:
        connection.exec_driver_sql("SELEKT 1")


def test_a_violated_constraint_stays_an_integrity_error(store: Store) -> None:
    def write_twice() -> None:
        with store.begin() as connection:
            for _ in range(2):
                connection.execute(sa.insert(menu_overrides).values(entry_key="same"))

    with pytest.raises(sa.exc.IntegrityError):
        write_twice()
    assert count(store) == 0


def test_an_error_of_our_own_code_inside_a_block_passes_through(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.begin():
        _ = 1 / 0


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (sqlite3.SQLITE_FULL, StoreFull),
        (sqlite3.SQLITE_BUSY, StoreBusy),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, StoreBusy),
        (sqlite3.SQLITE_CORRUPT, StoreDamaged),
        (sqlite3.SQLITE_NOTADB, StoreNotADatabase),
        (sqlite3.SQLITE_IOERR_FSYNC, StoreUnavailable),
        (sqlite3.SQLITE_CANTOPEN, StoreUnavailable),
        (sqlite3.SQLITE_ERROR, type(None)),
        (sqlite3.SQLITE_CONSTRAINT_UNIQUE, type(None)),
    ],
)
def test_every_code_that_an_operator_must_act_on_has_a_name(code: int, name: type) -> None:
    error: Any = sqlite3.OperationalError("as SQLite words it")
    error.sqlite_errorcode = code
    assert type(sqlite_failure(error, "the store")) is name


def test_an_error_that_may_be_logged_does_not_tell_what_was_to_be_stored(store: Store) -> None:
    row = {"entry_key": "one", "label": "hunter2"}
    with pytest.raises(sa.exc.IntegrityError) as refused, store.begin() as connection:
        connection.execute(sa.insert(menu_overrides), [row, row])
    assert "hunter2" not in str(refused.value)
