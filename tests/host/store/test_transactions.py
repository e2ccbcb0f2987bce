"""The four ways into the store: what they keep, what they take back, and who waits for whom."""

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from plugbay.errors import StoreBusy
from plugbay.store import Store, UntilChanged, new_metadata
from plugbay.store import engines as store_failures
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class Base(DeclarativeBase):
    metadata = new_metadata()


class Note(Base):
    __tablename__ = "notes"
    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str]


notes = Base.metadata.tables["notes"]


@pytest.fixture
def store(store: Store) -> Store:
    with store.begin() as connection:
        Base.metadata.create_all(connection)
    return store


@pytest.fixture
def sqlite_store(sqlite_store: Store) -> Store:
    with sqlite_store.begin() as connection:
        Base.metadata.create_all(connection)
    return sqlite_store


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch, data_dir: Path) -> Iterator[Store]:
    """A SQLite store that waits for a twentieth of a second instead of ten."""
    monkeypatch.setattr("plugbay.store.engines.WAIT_S", 0.05)
    monkeypatch.setattr(store_failures, "WAIT_S", 0.05)
    store = Store("", data_dir)
    with store.begin() as connection:
        Base.metadata.create_all(connection)
    yield store
    store.close()


def texts(store: Store) -> list[str]:
    with store.connect() as connection:
        return list(connection.scalars(sa.select(notes.c.text).order_by(notes.c.id)))


def test_what_is_written_in_a_block_is_kept(store: Store) -> None:
    with store.begin() as connection:
        connection.execute(sa.insert(notes).values(text="kept"))
    assert texts(store) == ["kept"]


def test_an_exception_takes_the_whole_block_back(store: Store) -> None:
    def write_and_fail() -> None:
        with store.begin() as connection:
            connection.execute(sa.insert(notes).values(text="lost"))
            raise RuntimeError("on second thoughts")

    with pytest.raises(RuntimeError):
        write_and_fail()
    assert texts(store) == []


def test_a_session_keeps_what_was_added(store: Store) -> None:
    with store.session() as session:
        session.add(Note(text="kept"))
    assert texts(store) == ["kept"]


def test_what_a_session_loaded_can_be_read_after_it(store: Store) -> None:
    with store.session() as session:
        session.add(note := Note(text="still here"))
    assert note.text == "still here"


def test_an_exception_takes_the_whole_session_back(store: Store) -> None:
    def add_and_fail() -> None:
        with store.session() as session:
            session.add(Note(text="lost"))
            session.flush()
            raise RuntimeError("on second thoughts")

    with pytest.raises(RuntimeError):
        add_and_fail()
    assert texts(store) == []


def test_schema_changes_are_taken_back_like_all_else(store: Store) -> None:
    def create_and_fail() -> None:
        with store.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE extra (id integer)")
            raise RuntimeError("on second thoughts")

    with pytest.raises(RuntimeError):
        create_and_fail()
    assert not sa.inspect(store.engine).has_table("extra")


def test_a_connection_for_reading_cannot_write(store: Store) -> None:
    with store.connect() as connection, pytest.raises(sa.exc.DBAPIError, match=r"(?i)read-?only"):
        connection.execute(sa.insert(notes).values(text="smuggled"))
    assert texts(store) == []


def test_a_session_for_reading_reads_and_cannot_write(store: Store) -> None:
    with store.begin() as connection:
        connection.execute(sa.insert(notes).values(text="there"))
    with store.read_session() as session:
        assert [note.text for note in session.scalars(sa.select(Note))] == ["there"]
        session.add(Note(text="smuggled"))
        with pytest.raises(sa.exc.DBAPIError, match=r"(?i)read-?only"):
            session.flush()


def test_a_reader_after_a_reader_that_tried_to_write_is_none_the_worse(store: Store) -> None:
    for _ in range(3):
        with store.connect() as connection, pytest.raises(sa.exc.DBAPIError):
            connection.execute(sa.delete(notes))
    with store.begin() as connection:
        connection.execute(sa.insert(notes).values(text="written"))
    assert texts(store) == ["written"]


def test_an_insert_can_do_nothing_or_replace_when_the_row_is_there(store: Store) -> None:
    with store.begin() as connection:
        connection.execute(sa.insert(notes).values(id=1, text="first"))
        connection.execute(store.insert(notes).values(id=1, text="second").on_conflict_do_nothing())
    assert texts(store) == ["first"]
    upsert = store.insert(notes).values(id=1, text="third")
    with store.begin() as connection:
        connection.execute(upsert.on_conflict_do_update(index_elements=["id"], set_={"text": "third"}))
    assert texts(store) == ["third"]


def test_a_reader_does_not_wait_for_a_writer_and_sees_what_was_before(store: Store) -> None:
    with store.begin() as connection:
        connection.execute(sa.insert(notes).values(text="unfinished"))
        assert texts(store) == []
    assert texts(store) == ["unfinished"]


def test_a_sqlite_reader_sees_one_moment_through_several_statements(sqlite_store: Store) -> None:
    count = sa.select(sa.func.count()).select_from(notes)
    with sqlite_store.connect() as reader:
        assert reader.scalar(count) == 0
        with sqlite_store.begin() as writer:
            writer.execute(sa.insert(notes).values(text="meanwhile"))
        assert reader.scalar(count) == 0
    assert texts(sqlite_store) == ["meanwhile"]


def test_threads_that_read_and_then_write_lose_no_update(store: Store) -> None:
    lock_row = sa.select(notes.c.text).where(notes.c.id == 1).with_for_update()  # no such words on SQLite

    def count_up(_: int) -> None:
        with store.begin() as connection:
            text = connection.scalars(lock_row).one()
            connection.execute(sa.update(notes).where(notes.c.id == 1).values(text=str(int(text) + 1)))

    with store.begin() as connection:
        connection.execute(sa.insert(notes).values(id=1, text="0"))
    with ThreadPoolExecutor(12) as threads:
        list(threads.map(count_up, range(120)))
    assert texts(store) == ["120"]


def test_orm_threads_that_read_and_then_write_lose_no_update(store: Store) -> None:
    def count_up(_: int) -> None:
        with store.session() as session:
            note = session.get_one(Note, 1, with_for_update=True)
            note.text = str(int(note.text) + 1)

    with store.begin() as connection:
        connection.execute(sa.insert(notes).values(id=1, text="0"))
    with ThreadPoolExecutor(12) as threads:
        list(threads.map(count_up, range(60)))
    assert texts(store) == ["60"]


COUNT_UP = """
import sys
from pathlib import Path
from plugbay.store import Store
store = Store("", Path(sys.argv[1]))
for _ in range(30):
    with store.begin() as connection:
        text = connection.exec_driver_sql("SELECT text FROM notes WHERE id = 1").scalar()
        connection.exec_driver_sql("UPDATE notes SET text = ? WHERE id = 1", (str(int(text) + 1),))
store.close()
"""


def test_processes_that_read_and_then_write_lose_no_update(sqlite_store: Store, data_dir: Path) -> None:
    with sqlite_store.begin() as connection:
        connection.execute(sa.insert(notes).values(id=1, text="0"))
    command = [sys.executable, "-c", COUNT_UP, str(data_dir)]
    processes = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert texts(sqlite_store) == ["90"]


def test_as_many_threads_can_read_at_once_as_promised(store: Store) -> None:
    promised = {"sqlite": 40, "postgresql": 20}[store.dialect]
    together = threading.Barrier(promised, timeout=60)

    def read(_: int) -> int:
        with store.connect() as connection:
            found = connection.scalar(sa.select(sa.func.count()).select_from(notes))
            together.wait()
            return int(found or 0)

    with ThreadPoolExecutor(promised) as threads:
        assert list(threads.map(read, range(promised))) == [0] * promised


def test_a_second_writer_of_this_process_that_waits_too_long_is_told_so(impatient: Store) -> None:
    with impatient.begin(), pytest.raises(StoreBusy, match="busy for more than"), impatient.begin():
        pass


def test_a_session_that_waits_too_long_is_told_so(impatient: Store) -> None:
    with impatient.begin(), pytest.raises(StoreBusy), impatient.session() as session:
        session.add(Note(text="late"))


def test_another_process_that_holds_the_store_is_named_busy(impatient: Store, data_dir: Path) -> None:
    other = sqlite3.connect(data_dir / "plugbay.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy), impatient.begin():
        pass
    other.close()
    with impatient.begin() as connection:
        connection.execute(sa.insert(notes).values(text="at last"))
    assert texts(impatient) == ["at last"]


WRITE_WITHOUT_END = """
import itertools, sys
from pathlib import Path
from plugbay.store import Store
store = Store("", Path(sys.argv[1]))
for number in itertools.count(1):
    with store.begin() as connection:
        connection.exec_driver_sql("INSERT INTO notes (text) VALUES (?)", (str(number),))
    print(number, flush=True)
"""


def test_what_was_reported_as_written_survives_a_kill(sqlite_store: Store, data_dir: Path) -> None:
    command = [sys.executable, "-c", WRITE_WITHOUT_END, str(data_dir)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        while writer.stdout.readline() != "50\n":
            pass
        writer.kill()
        reported = [50, *map(int, writer.stdout)][-1]
    assert len(texts(sqlite_store)) in (reported, reported + 1)
    with sqlite_store.begin() as connection:
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"


def test_orm_is_not_loaded_until_a_session_is_asked_for(data_dir: Path) -> None:
    program = """if True:
        import sys
        from pathlib import Path
        from plugbay.store import open_store
        store = open_store("", Path(sys.argv[1]))
        print("sqlalchemy.orm" in sys.modules)
        with store.session():
            print("sqlalchemy.orm" in sys.modules)
    """
    said = subprocess.run([sys.executable, "-c", program, str(data_dir)], capture_output=True, text=True)
    assert said.stdout.split() == ["False", "True"]


def test_a_stamp_stays_until_somebody_changes_something(store: Store):
    before = store.stamp()
    assert store.stamp() == before
    assert texts(store) == []
    assert store.stamp() == before
    with store.begin() as connection:
        connection.execute(sa.insert(notes).values(text="new"))
        assert store.stamp() == before or store.dialect == "postgresql"  # not seen by others yet
    after = store.stamp()
    assert after != before
    assert store.stamp() == after


def test_a_stamp_tells_of_changes_by_other_processes(sqlite_store: Store):
    before = sqlite_store.stamp()
    change = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit()"
    insert = "INSERT INTO notes (text) VALUES ('theirs')"
    subprocess.run([sys.executable, "-c", change, str(sqlite_store.url.database), insert], check=True)
    assert sqlite_store.stamp() != before


def test_what_was_read_is_kept_until_somebody_changes_something(store: Store):
    asked: list[int] = []
    count = UntilChanged(store, lambda: (asked.append(1), len(texts(store)))[1])
    assert (count(), count(), len(asked)) == (0, 0, 1)
    with store.begin() as connection:
        connection.execute(sa.insert(notes).values(text="new"))
    assert (count(), count(), len(asked)) == (1, 1, 2)
