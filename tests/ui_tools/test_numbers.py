import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugbay_ui_tools.filters import (
    as_float,
    format_bytes,
    format_compact,
    format_number,
    format_percent,
    read_number,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0, "0"),
        (1284, "1,284"),
        (-1284, "-1,284"),
        (10**30, "1,000,000,000,000,000,000,000,000,000,000"),
        (98412.5, "98,412.5"),
        (1234567.891, "1,234,567.891"),
        (0.1 + 0.2, "0.3"),
        (-0.5, "-0.5"),
        (5.0, "5"),
        (1e21, "1e+21"),
        (0.0000123, "1.23e-05"),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (Decimal("98412.50"), "98,412.50"),
        (Decimal("0.1000"), "0.1000"),
        # floats that were read from text as decimals
        (Decimal("0.30000000000000004"), "0.3"),
        (Decimal("33.333333333333336"), "33.3333333333"),
        (Decimal("6.652951762124805E+21"), "6.65295e+21"),
        (Decimal("1E+400"), "1E+400"),
        (Decimal("12345678901234567890.123456"), "12,345,678,901,234,567,890.123456"),
        ("98412.50", "98,412.50"),
        ("-7", "-7"),
        ("007", "007"),
        ("1e5", "1e5"),
        ("٣", "٣"),
        ("a word", "a word"),
        ("", ""),
        (True, "True"),
    ],
)
def test_a_number_is_grouped_and_anything_else_stays(value: object, text: str):
    assert format_number(value) == text


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (98412.5, 2, "98,412.50"),
        (3, 1, "3.0"),
        (Decimal("2.005"), 2, "2.00"),
        ("1.25", 1, "1.2"),
        (None, 2, "–"),
    ],
)
def test_decimals_can_be_asked_for(value: object, decimals: int, text: str):
    assert format_number(value, decimals) == text


def test_an_integer_longer_than_python_spells_is_no_error():
    assert format_number(10**5000).replace(",", "") == "1" + "0" * 5000


@given(st.integers(min_value=-(10**40), max_value=10**40))
def test_no_digit_of_an_integer_is_lost(number: int):
    assert int(format_number(number).replace(",", "")) == number


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20, places=4))
def test_no_digit_of_a_decimal_is_lost(number: Decimal):
    assert Decimal(format_number(number).replace(",", "")) == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_near_enough(number: float):
    assert math.isclose(float(format_number(number).replace(",", "")), number, rel_tol=1e-5)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1284, "1,284"),
        (9999, "9,999"),
        (10_000, "10 K"),
        (12_840, "12.8 K"),
        (999_949, "999.9 K"),
        (999_950, "1 M"),
        (-1_250_000, "-1.2 M"),
        (4_200_000_000, "4.2 B"),
        (7e12, "7 T"),
        ("12840000", "12.8 M"),
        (None, "–"),
        ("many", "many"),
        (math.inf, "Infinity"),
    ],
)
def test_a_large_number_can_be_short(value: object, text: str):
    assert format_compact(value) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (640, "640 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (64_000, "64 kB"),
        (999_950, "1 MB"),
        (10_000_000, "10 MB"),
        (1_400_000_000, "1.4 GB"),
        (5 * 10**18, "5,000 PB"),
        (-2048, "-2 kB"),
        (None, "–"),
    ],
)
def test_bytes_are_told_in_thousands(count: object, text: str):
    assert format_bytes(count) == text


@pytest.mark.parametrize(
    ("part", "options", "text"),
    [
        (0.062, {}, "6.2 %"),
        (1, {}, "100 %"),
        (0.5, {"decimals": 0}, "50 %"),
        (0.062, {"signed": True}, "+6.2 %"),
        (-0.062, {"signed": True}, "-6.2 %"),
        (12.5, {}, "1,250 %"),
        (None, {}, "–"),
    ],
)
def test_a_part_is_told_in_percent(part: object, options: dict[str, object], text: str):
    assert format_percent(part, **options) == text


@pytest.mark.parametrize(
    "value", [True, False, None, "1,284", "1.", ".5", "+1", " 1", "0x1", "NaN", b"1", [1]]
)
def test_what_is_not_plainly_a_number_is_none(value: object):
    assert read_number(value) is None
    assert as_float(value) is None


def test_a_number_too_large_for_a_float_has_none():
    assert as_float("9" * 400) is None
