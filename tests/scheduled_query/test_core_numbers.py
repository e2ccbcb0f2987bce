"""Which cells count as numbers, which one comes first, and how people read it."""

from datetime import UTC, date, datetime, time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugbay_scheduled_query.core.metric import first_number, format_number, number_in
from plugbay_scheduled_query.core.results import iter_rows

NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        (0, 0),
        (42, 42),
        (-7, -7),
        (10**30, 10**30),
        (1.5, 1.5),
        (Decimal("12.50"), Decimal("12.50")),
        ("42", 42),
        ("-42", -42),
        ("+42", 42),
        ("12.50", Decimal("12.50")),
        ("-.5", Decimal("-0.5")),
        ("007", 7),
    ],
)
def test_integers_floats_decimals_and_texts_that_spell_one_are_numbers(cell: object, number: object) -> None:
    assert number_in(cell) == number


@pytest.mark.parametrize(
    "cell",
    [
        *(None, True, False, "", " ", "abc", "NaN", "Infinity", "inf", "-inf"),
        *(
            "1e5",
            "1.",
            ".",
            "-",
            "1,000",
            "1 000",
            "1_000",
            " 1",
            "1 ",
            "1\n",
            "0x10",
            "12%",
            "€5",
            "--1",
            "1.2.3",
        ),
        *("１２", "٣", "²", "½"),
        *(date(2026, 11, 15), datetime(2026, 11, 15, tzinfo=UTC), time(12), "2026-11-15", "12:00"),
        *(b"12", [1], {"a": 1}, (1, 2)),
        *(NAN, INFINITY, -INFINITY, Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity")),
    ],
)
def test_everything_else_is_none(cell: object) -> None:
    assert number_in(cell) is None


@pytest.mark.parametrize("cell", [10**400, -(10**400), "9" * 400, Decimal("1E+400")])
def test_what_no_float_can_hold_does_not_count(cell: object) -> None:
    assert number_in(cell) is None


def test_a_very_long_fraction_is_a_number_like_any_other() -> None:
    assert float(number_in("0." + "3" * 5000) or 0) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("rows", "number"),
    [
        ([], None),
        ([[]], None),
        ([["a", None, True]], None),
        ([["a", 5, 6], [7, 8, 9]], 5),
        ([["a", None], [True, "2.5"], [3, 4]], Decimal("2.5")),
        ([[NAN, INFINITY, 1]], 1),
        ([["2026-11-15", 0]], 0),
        ([[10**400, 3]], 3),
    ],
)
def test_the_first_number_is_found_row_by_row_from_left_to_right(
    rows: list[list[object]], number: object
) -> None:
    assert first_number(rows) == number


def test_the_first_number_of_a_stored_result_is_exact() -> None:
    assert first_number(iter_rows('[["n/a",null,true],[12345678901234567890.10,1]]')) == Decimal(
        "12345678901234567890.10"
    )


def test_rows_after_the_first_number_are_not_even_decoded() -> None:
    assert first_number(iter_rows("[[1],[this is not JSON")) == 1


@given(st.one_of(st.integers(), st.floats(), st.decimals(), st.text(), st.booleans(), st.binary(), st.none()))
def test_a_number_is_one_that_a_gauge_can_show(cell: object) -> None:
    number = number_in(cell)
    assert number is None or abs(float(number)) < INFINITY


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**12), max_value=10**12))
def test_a_decimal_and_its_text_are_the_same_number(decimal: Decimal) -> None:
    assert number_in(format(decimal, "f")) == number_in(decimal) == decimal


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (-0.0, "0"),
        (1284, "1,284"),
        (-1234567, "-1,234,567"),
        (842.0, "842"),
        (Decimal("842.00"), "842"),
        (3.1, "3.1"),
        (98412.5, "98,412.5"),
        (1234567.891, "1,234,567.89"),
        (0.1 + 0.2, "0.3"),
        (Decimal("0.33333333"), "0.3333"),
        (0.00001234, "1.234e-05"),
        (999_999_999_999_999, "999,999,999,999,999"),
        (10**15, "1e+15"),
        (1.23456e300, "1.235e+300"),
        (Decimal("1E+30"), "1e+30"),
        (-(10**20), "-1e+20"),
    ],
)
def test_a_number_is_written_for_people(number: float | Decimal, text: str) -> None:
    assert format_number(number) == text


@given(st.one_of(st.integers(-(10**300), 10**300), st.floats(-1e300, 1e300)))
def test_a_formatted_number_is_short_and_near(number: float) -> None:
    text = format_number(number)
    assert len(text) <= 23
    assert float(text.replace(",", "")) == pytest.approx(float(number), rel=0.01, abs=1e-300)
