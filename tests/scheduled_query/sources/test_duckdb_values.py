import duckdb
import pytest
from plugbay_scheduled_query.dialects.contract import JsonText, NumberText, iso_text
from plugbay_scheduled_query.dialects.duckdb.session import Conversion, cast_of, conversion_of


def kind(text: str) -> object:
    return duckdb.connect().query(f"SELECT NULL::{text}").types[0]


@pytest.mark.parametrize(
    "text", ["INTEGER", "HUGEINT", "DECIMAL(38,10)", "VARCHAR", "BLOB", "UUID", "BOOLEAN", "BIT", "DOUBLE"]
)
def test_what_python_can_hold_stays_as_it_is(text: str):
    assert conversion_of(kind(text)) == Conversion(None, None)


@pytest.mark.parametrize(
    "text",
    [
        "DATE",
        "TIME",
        "TIMETZ",
        "TIMESTAMP",
        "TIMESTAMPTZ",
        "TIMESTAMP_NS",
        "TIMESTAMP_S",
        "TIMESTAMP_MS",
        "INTERVAL",
    ],
)
def test_what_python_would_lose_comes_as_text(text: str):
    assert conversion_of(kind(text)) == Conversion("VARCHAR", iso_text)


def test_json_numbers_and_variants_come_as_what_they_are():
    assert conversion_of(kind("JSON")) == Conversion(None, JsonText)
    assert conversion_of(kind("BIGNUM")) == Conversion(None, NumberText)
    assert conversion_of(kind("VARIANT")) == Conversion("JSON", JsonText)


@pytest.mark.parametrize(
    ("text", "cast"),
    [
        ("INTEGER[]", None),
        ("DATE[]", "VARCHAR[]"),
        ("DATE[][]", "VARCHAR[][]"),
        ("DATE[3]", "VARCHAR[3]"),
        ("MAP(VARCHAR, INTEGER)", None),
        ("MAP(DATE, INTEGER)", "MAP(VARCHAR, INTEGER)"),
        ("MAP(VARCHAR, INTERVAL[])", "MAP(VARCHAR, VARCHAR[])"),
        ("STRUCT(a INTEGER)", None),
        ('STRUCT("a ""b" DATE, c DECIMAL(5,2))', 'STRUCT("a ""b" VARCHAR, "c" DECIMAL(5,2))'),
        ("STRUCT(a STRUCT(b TIMESTAMP_NS[]))", 'STRUCT("a" STRUCT("b" VARCHAR[]))'),
        ("UNION(a INTEGER)", None),
        ("UNION(a INTEGER, b DATE)", "VARCHAR"),
    ],
)
def test_a_nested_type_is_rewritten_only_where_it_must_be(text: str, cast: str | None):
    found = cast_of(kind(text))
    assert found == cast
    if found is not None:
        duckdb.connect().execute(f"SELECT CAST(NULL::{text} AS {found})")


def test_nesting_too_deep_for_a_reader_comes_as_text():
    assert "VARCHAR" in (cast_of(kind("INTEGER" + "[]" * 100)) or "")
