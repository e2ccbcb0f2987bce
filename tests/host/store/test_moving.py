"""A store that moves to the other kind of database, whole, also when it is cut off on the way."""

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from migration_scripts import write_plants, write_step
from plugbay.auth import add_user, create_token
from plugbay.store import HOST_MIGRATIONS, HOST_MODULE, Store, moving
from plugbay.store.moving import Move, MoveDiffers, MoveFailed, MoveRefused
from plugbay.store.tables import users

FORTH, BACK = ("sqlite", "postgresql"), ("postgresql", "sqlite")
MOMENT = datetime(2026, 11, 15, 12, 30, 0, 123456, UTC)


class Road:
    """Two stores, of which the first has something in it."""

    def __init__(self, source: Store, target: Store, scripts: Path) -> None:
        self.source, self.target, self._scripts = source, target, scripts
        self._migrate(source)
        add_user(source, "ada", "a long password", "admin")
        add_user(source, "eve", "a long password", "viewer")
        create_token(source, "ada", "scrape")
        with source.begin() as connection:
            connection.execute(sa.delete(users).where(users.c.name == "eve"))  # whose id is given for ever
            connection.exec_driver_sql("DELETE FROM plants WHERE id = 2")
            connection.exec_driver_sql("DELETE FROM beds WHERE id = 2")
            connection.exec_driver_sql("DELETE FROM names")

    def _migrate(self, store: Store) -> None:
        store.migrate(HOST_MODULE, HOST_MIGRATIONS)
        store.migrate("plants", self._scripts)

    def move(self) -> Move:
        return Move(self.source, self.target, lambda: self._migrate(self.target))

    def fill(self, count: int) -> None:
        """Rows whose key is a text, in which languages and bytes disagree about the order."""
        rows = [
            {"key": f"{letter}{n}", "at": MOMENT, "is_on": bool(n % 2), "size": n / 7, "blob": b"\x00\xff"}
            for n in range(count)
            for letter in "aBä\U0001f40d_ -"
        ]
        with self.source.begin() as connection:
            connection.execute(sa.insert(things), rows)


things = sa.Table(
    "things",
    sa.MetaData(),
    sa.Column("key", sa.String(20), primary_key=True),
    sa.Column("at", moving.UTCDateTime),
    sa.Column("is_on", sa.Boolean),
    sa.Column("size", sa.Double),
    sa.Column("blob", sa.LargeBinary),
)


@pytest.fixture(params=[FORTH, BACK], ids="-".join)
def road(request: pytest.FixtureRequest, postgres_url: str, tmp_path: Path) -> Iterator[Road]:
    scripts = write_plants(tmp_path / "scripts")
    columns = 'sa.Column("at", UTCDateTime), sa.Column("is_on", sa.Boolean), sa.Column("size", sa.Double)'
    key = 'sa.Column("key", sa.String(20), primary_key=True)'
    write_step(
        scripts,
        "0004",
        "0003",
        f'op.create_table("things", {key}, {columns}, sa.Column("blob", sa.LargeBinary))',
    )
    urls = {"sqlite": "", "postgresql": postgres_url}
    places = [Store(urls[kind], tmp_path / kind) for kind in request.param]
    with closing(places[0]) as source, closing(places[1]) as target:
        yield Road(source, target, scripts)


def names_of(store: Store) -> list[str]:
    with store.connect() as connection:
        return list(connection.scalars(sa.select(users.c.name)))


def test_everything_is_there_afterwards_and_the_same(road: Road):
    road.fill(3)
    moved = road.move().run()
    rows = {table.name: table.rows for table in moved.tables}
    assert {
        "users": 1,
        "api_tokens": 1,
        "beds": 1,
        "plants": 1,
        "names": 0,
        "things": 21,
    }.items() <= rows.items()
    assert names_of(road.target) == ["ada"]
    with road.target.connect() as connection:
        found = connection.execute(sa.select(things).where(things.c.key == "ä1")).one()
    assert tuple(found) == ("ä1", MOMENT, True, 1 / 7, b"\x00\xff")
    assert not sa.inspect(road.target.engine).has_table("plugbay_move")


def test_a_number_that_was_given_once_never_comes_back(road: Road):
    road.move().run()
    add_user(road.target, "bob", "a long password", "viewer")
    with road.target.connect() as connection:
        assert connection.scalar(sa.select(users.c.id).where(users.c.name == "bob")) == 3


def test_one_that_is_cut_off_goes_on_where_it_was(road: Road, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(moving, "STEP", 4)
    road.fill(3)
    told: list[tuple[str, int, int]] = []

    def cut_off(table: str, done: int, rows: int) -> None:
        told.append((table, done, rows))
        if table == "things" and done == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        road.move().run(cut_off)
    with pytest.raises(MoveRefused, match="is not empty"):
        Move(road.target, road.source, lambda: None).run()  # the wrong way round
    told.clear()
    moved = road.move().run(lambda *step: told.append(step))
    assert [done for table, done, _ in told if table == "things"] == [12, 16, 20, 21]
    assert {table.name: table.rows for table in moved.tables}["things"] == 21


def test_a_store_with_something_in_it_is_left_alone(road: Road):
    road.target.migrate(HOST_MODULE, HOST_MIGRATIONS)
    with pytest.raises(MoveRefused, match="is not empty"):
        road.move().run()
    assert names_of(road.target) == []


def test_a_store_of_the_same_kind_is_refused(road: Road):
    with pytest.raises(MoveRefused, match="the same kind"):
        Move(road.source, road.source, lambda: None)


def test_what_was_written_meanwhile_is_noticed(road: Road):
    def write(table: str, done: int, rows: int) -> None:
        if table == "users" and done == rows:
            with road.source.begin() as connection:
                connection.execute(sa.update(users).values(name="lovelace"))

    with pytest.raises(MoveDiffers, match="users"):
        road.move().run(write)


def test_what_the_other_kind_cannot_hold_is_named(postgres_url: str, tmp_path: Path):
    scripts = write_step(
        tmp_path / "scripts",
        "0001",
        None,
        'number = sa.Column("id", sa.Integer, primary_key=True)',
        'op.create_table("notes", number, sa.Column("text", sa.String(5)))',
    )
    with closing(Store("", tmp_path)) as source, closing(Store(postgres_url, tmp_path)) as target:
        make: Callable[[], None] = lambda: target.migrate("notes", scripts)  # noqa: E731
        source.migrate("notes", scripts)
        with source.begin() as connection:
            connection.exec_driver_sql("INSERT INTO notes VALUES (1, 'too long')")
        with pytest.raises(MoveFailed, match=r"notes .*too long.*goes on from here"):
            Move(source, target, make).run()
        with source.begin() as connection:
            connection.exec_driver_sql("UPDATE notes SET text = 'fits'")
        assert [table.rows for table in Move(source, target, make).run().tables] == [1]
        with target.begin() as connection:
            connection.exec_driver_sql("INSERT INTO notes (text) VALUES ('next')")  # has a number of its own


def test_tables_that_nobody_knows_any_more_stay_behind_and_are_named(road: Road):
    with road.source.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE forgotten (id INTEGER PRIMARY KEY)")
        connection.exec_driver_sql("CREATE TABLE empty_and_forgotten (id INTEGER PRIMARY KEY)")
        connection.exec_driver_sql("INSERT INTO forgotten VALUES (1)")
    assert road.move().run().left == ("forgotten",)
