import json
import math
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugbay_scheduled_query.dialects.contract import (
    NESTING_LIMIT,
    JsonText,
    NumberText,
    decode_text,
    iso_text,
)
from plugbay_scheduled_query.runner.results import RowEncoder, encode_value

CELL_BYTES = 100


def row_text(*values: Any, cell_bytes: int = 65_536) -> str:
    return RowEncoder(cell_bytes).encode_row(values).decode()


def cut_row(*values: Any) -> list[Any]:
    encoder = RowEncoder(CELL_BYTES)
    row = json.loads(encoder.encode_row(values))
    assert encoder.has_cut
    return row


def test_plain_values_are_plain_json():
    assert row_text(None, True, False, 1, -2.5, "tea") == '[null,true,false,1,-2.5,"tea"]'


def test_an_integer_keeps_every_digit():
    assert row_text(2**127 - 1, -(10**300)) == f"[{2**127 - 1},{-(10**300)}]"


def test_an_integer_beyond_what_python_reads_back_is_a_string():
    [value] = json.loads(row_text(1 << 20_000))
    assert int(value, 16) == 1 << 20_000


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("1.10"), "1.10"),
        (Decimal("-0.00000000000000000001"), "-0.00000000000000000001"),
        (Decimal("12345678901234567890.123456789"), "12345678901234567890.123456789"),
        (Decimal("1E+5"), "100000"),
        (Decimal("NaN"), '"NaN"'),
        (Decimal("-Infinity"), '"-Infinity"'),
        (NumberText("0.50"), "0.50"),
        (NumberText("00012.50"), "12.50"),
        (NumberText("NaN"), '"NaN"'),
        (NumberText("9" * 5000), '"' + "9" * 5000 + '"'),
    ],
)
def test_a_decimal_keeps_every_digit(value: Any, text: str):
    assert row_text(value) == f"[{text}]"


def test_what_is_no_number_is_a_string():
    assert row_text(math.nan, math.inf, -math.inf) == '["NaN","Infinity","-Infinity"]'
    assert row_text([math.nan, {"deep": math.inf}]) == '[["NaN",{"deep":"Infinity"}]]'


def test_a_float_comes_back_as_it_was():
    assert json.loads(row_text(0.1, 5e-324, 1.7976931348623157e308)) == [0.1, 5e-324, 1.7976931348623157e308]


def test_bytes_are_hex():
    assert row_text(b"\x00\xff", bytearray(b"\x01"), memoryview(b"\x02")) == '["00ff","01","02"]'


def test_dates_and_times_are_iso():
    moment = datetime(2026, 11, 15, 12, 30, 1, 5, tzinfo=timezone(timedelta(hours=1)))
    assert row_text(date(44, 3, 15), time(1, 2), moment, datetime(2026, 1, 1, tzinfo=UTC)) == (
        '["0044-03-15","01:02:00","2026-11-15T12:30:01.000005+01:00","2026-01-01T00:00:00+00:00"]'
    )


def test_a_uuid_is_its_text():
    value = UUID("6d3d2541-710b-4bde-b3af-4711738636bf")
    assert row_text(value) == f'["{value}"]'


def test_an_unknown_type_is_its_text():
    assert row_text(timedelta(days=1), 1j) == '["1 day, 0:00:00","1j"]'


def test_a_subclass_is_what_it_extends():
    class Name(str):
        __slots__ = ()

    class Amount(Decimal):
        pass

    assert row_text(Name("tea"), Amount("1.50")) == '["tea",1.50]'


def test_nested_values_are_nested_json():
    value = {"a": [1, (2, Decimal("3.30"))], 5: {"b": b"\xaa"}, date(2026, 1, 1): None}
    assert row_text(value) == '[{"a":[1,[2,3.30]],"5":{"b":"aa"},"2026-01-01":null}]'


def test_nesting_too_deep_for_a_reader_becomes_text():
    value: Any = Decimal(1)
    for _ in range(NESTING_LIMIT + 10):
        value = [value]
    text = row_text(value)
    json.loads(text)
    assert "Decimal" in text


def test_json_of_a_database_stays_as_it_is():
    assert row_text(JsonText('{"a": [1.10, 1e400], "a": 2}')) == '[{"a": [1.10, 1e400], "a": 2}]'


@pytest.mark.parametrize(
    "text",
    [
        "{broken",
        "[NaN]",
        "[1" + "0" * 5000 + "]",
        "[" * 100 + "]" * 100,
        '["' + "]" * 200 + '",' + "[" * 100 + "]" * 100 + "]",
        "[" * 5000 + "]" * 5000,
    ],
)
def test_json_that_a_reader_would_choke_on_is_a_string(text: str):
    [value] = json.loads(row_text(JsonText(text)))
    assert value == text


def test_brackets_inside_strings_are_no_nesting():
    text = json.dumps(["[{" * 200, '\\"[[['] * 40)
    assert json.loads(row_text(JsonText(text))) == [json.loads(text)]


def test_a_nul_character_is_escaped():
    assert row_text("a\0b") == '["a\\u0000b"]'


def test_a_lone_surrogate_is_escaped_and_the_text_around_it_is_not():
    encoded = RowEncoder(1000).encode_row(("é\ud800☕", Decimal(1)))
    assert encoded.decode("utf-8") == '["é\\ud800☕",1]'
    assert json.loads(encoded)[0] == "é\ud800☕"


def test_text_that_is_not_utf_8_keeps_its_bytes():
    assert decode_text("é".encode()) == "é"
    assert decode_text(b"\xed\xa0\x80") == "\ud800"
    assert decode_text(b"a\xff").encode("utf-8", "surrogateescape") == b"a\xff"


def test_a_long_cell_is_cut_and_marked():
    [cut, whole] = cut_row("x" * 500, "y" * CELL_BYTES)
    assert cut == "x" * (CELL_BYTES - 3) + "…"
    assert len(cut.encode()) == CELL_BYTES
    assert whole == "y" * CELL_BYTES


def test_a_cut_never_splits_a_character():
    [cut] = cut_row("é" * 500)
    assert cut == "é" * 48 + "…"


def test_escapes_do_not_count_against_a_cell():
    encoder = RowEncoder(CELL_BYTES)
    text = '"' * CELL_BYTES
    assert json.loads(encoder.encode_row([text])) == [text]
    assert not encoder.has_cut


def test_long_bytes_are_cut_before_they_are_encoded():
    [cut] = cut_row(bytes(10_000_000))
    assert cut == "0" * (CELL_BYTES - 3) + "…"


def test_a_long_number_or_array_is_cut_to_a_string():
    assert cut_row(NumberText("1" * 500)) == ["1" * (CELL_BYTES - 3) + "…"]
    assert cut_row([1] * 500)[0].startswith("[1,1,")
    assert cut_row({"a": "b" * 500})[0].startswith('{"a":"bbb')


def test_many_plain_rows_are_encoded_at_once():
    assert RowEncoder(100).encode_rows([(1, "a"), (2, None)]) == b'[1,"a"],[2,null]'


@pytest.mark.parametrize("rows", [[(Decimal(1),)], [(math.nan,)], [("x" * 200,)]])
def test_rows_that_need_care_are_left_to_be_taken_one_by_one(rows: list[Any]):
    assert RowEncoder(100).encode_rows(rows) is None


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2026-11-15 12:00:00", "2026-11-15T12:00:00"),
        ("2026-11-15 12:00:00.5+01", "2026-11-15T12:00:00.5+01:00"),
        ("2026-11-15 12:00:00-03:30", "2026-11-15T12:00:00-03:30"),
        ("2026-11-15", "2026-11-15"),
        ("12:00:00+02", "12:00:00+02"),
        ("infinity", "infinity"),
        ("0044-03-15 10:00:00 BC", "0044-03-15 10:00:00 BC"),
        ("294247-01-10 04:00:54", "294247-01-10 04:00:54"),
        ("0000-00-00 00:00:00", "0000-00-00T00:00:00"),
    ],
)
def test_a_moment_is_written_as_iso_when_iso_can_write_it(text: str, iso: str):
    assert iso_text(text) == iso


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary()
    | st.decimals()
    | st.dates()
    | st.datetimes()
    | st.times()
    | st.uuids(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
    max_leaves=20,
)


def strictly(text: str | bytes) -> Any:
    def refuse(name: str) -> None:
        raise AssertionError(name)

    return json.loads(text, parse_constant=refuse)


@given(st.lists(anything))
def test_whatever_is_in_a_row_it_is_valid_json_in_valid_utf_8(values: list[Any]):
    row = strictly(RowEncoder(200).encode_row(values).decode("utf-8"))
    assert len(row) == len(values)


@given(st.text(st.characters()))
def test_every_text_comes_back_as_it_was(text: str):
    assert strictly(RowEncoder(1_000_000).encode_row([text])) == [text]
    assert strictly(encode_value(text)) == text


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_every_decimal_comes_back_as_it_was(value: Decimal):
    text = RowEncoder(1_000_000).encode_row([value]).decode()[1:-1]
    assert Decimal(text.strip('"')) == value
