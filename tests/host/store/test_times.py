"""Times in the store: aware in, aware out, in the right order, on both databases."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plugbay.store import Store, UTCDateTime, new_metadata

moments = sa.Table(
    "moments",
    new_metadata(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("at", UTCDateTime),
)
INSTANT = datetime(2026, 11, 15, 12, 30, 15, 250_000, tzinfo=UTC)


@pytest.fixture
def store(store: Store) -> Iterator[Store]:
    with store.begin() as connection:
        moments.create(connection)
    return store


def put(store: Store, *times: datetime | None) -> None:
    with store.begin() as connection:
        connection.execute(sa.insert(moments), [{"at": time} for time in times])


def ordered(store: Store) -> list[datetime | None]:
    with store.connect() as connection:
        return list(connection.scalars(sa.select(moments.c.at).order_by(moments.c.at)))


def test_a_time_comes_back_as_it_went_in(store: Store) -> None:
    put(store, INSTANT)
    assert ordered(store) == [INSTANT]


def test_a_time_comes_back_in_utc_wherever_it_was_told(store: Store) -> None:
    put(store, INSTANT.astimezone(ZoneInfo("Asia/Kolkata")))
    (found,) = ordered(store)
    assert found == INSTANT
    assert found is not None
    assert found.tzinfo is UTC


def test_no_time_comes_back_as_none(store: Store) -> None:
    put(store, None)
    assert ordered(store) == [None]


def test_a_time_without_a_zone_is_refused(store: Store) -> None:
    with pytest.raises(sa.exc.StatementError, match="without a time zone"):
        put(store, datetime(2026, 11, 15, 12, 0))  # noqa: DTZ001


def test_order_is_that_of_time_whatever_the_fraction_and_the_zone(store: Store) -> None:
    times = [
        INSTANT.replace(microsecond=0),
        INSTANT.replace(microsecond=1),
        INSTANT.replace(microsecond=10),
        (INSTANT + timedelta(seconds=1)).astimezone(timezone(timedelta(hours=-11))),
        INSTANT.replace(year=2101),
    ]
    put(store, *reversed(times))
    assert ordered(store) == times


def test_comparisons_in_the_database_agree_with_those_in_python(store: Store) -> None:
    put(store, INSTANT, INSTANT + timedelta(microseconds=1))
    later = INSTANT.astimezone(ZoneInfo("America/New_York"))
    with store.connect() as connection:
        found = connection.scalars(sa.select(moments.c.at).where(moments.c.at > later))
        assert list(found) == [INSTANT + timedelta(microseconds=1)]


def test_a_time_can_stand_in_a_statement_as_text(store: Store) -> None:
    put(store, INSTANT)
    query = sa.select(sa.func.count()).where(moments.c.at == INSTANT)
    text = query.compile(store.engine, compile_kwargs={"literal_binds": True}).string
    with store.connect() as connection:
        assert connection.exec_driver_sql(text.replace("%", "%%")).scalar() == 1


def test_the_greatest_time_comes_back_as_a_time(store: Store) -> None:
    put(store, INSTANT, INSTANT + timedelta(days=1))
    with store.connect() as connection:
        assert connection.scalar(sa.select(sa.func.max(moments.c.at))) == INSTANT + timedelta(days=1)


def test_sqlite_holds_readable_text_of_one_length(sqlite_store: Store) -> None:
    with sqlite_store.begin() as connection:
        moments.create(connection)
    put(sqlite_store, INSTANT.replace(microsecond=0))
    with sqlite_store.connect() as connection:
        stored = connection.exec_driver_sql("SELECT at, datetime(at) FROM moments").one()
    assert stored == ("2026-11-15 12:30:15.000000", "2026-11-15 12:30:15")


def test_postgresql_holds_a_timestamp_with_time_zone(store: Store) -> None:
    column = sa.inspect(store.engine).get_columns("moments")[1]
    expected = "VARCHAR(26)" if store.dialect == "sqlite" else "TIMESTAMP"
    assert str(column["type"]) == expected


ANY_TIMES = st.lists(
    st.datetimes(
        min_value=datetime(1, 1, 3),  # noqa: DTZ001
        max_value=datetime(9999, 12, 29),  # noqa: DTZ001
        timezones=st.timezones(),
    ),
    min_size=1,
    max_size=8,
)


@given(times=ANY_TIMES)
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_times_come_back_the_same_and_in_order(store: Store, times: list[datetime]) -> None:
    with store.begin() as connection:
        connection.execute(sa.delete(moments))
    put(store, *times)
    assert ordered(store) == sorted(time.astimezone(UTC) for time in times)
