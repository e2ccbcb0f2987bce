"""Time zones by name: real ones, and nothing else that the file system may hold."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugbay_scheduled_query.core.schedule import UnknownTimezone, zone, zone_names


def test_a_zone_is_found_by_its_name() -> None:
    berlin = zone("Europe/Berlin")
    assert datetime(2026, 7, 1, tzinfo=berlin).utcoffset() == timedelta(hours=2)
    assert datetime(2026, 12, 1, tzinfo=berlin).utcoffset() == timedelta(hours=1)


def test_utc_is_the_plain_one_that_costs_least() -> None:
    assert zone("UTC") is UTC
    assert "UTC" in zone_names()


def test_a_zone_is_read_once() -> None:
    assert zone("America/Lima") is zone("America/Lima")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("europe/berlin", "Europe/Berlin"),
        ("America/New York", "America/New_York"),
        ("Europe/Berln", "Europe/Berlin"),
        ("utc ", "UTC"),
    ],
)
def test_a_near_miss_is_answered_with_the_name_that_was_meant(name: str, meant: str) -> None:
    with pytest.raises(UnknownTimezone, match=f"did you mean {meant}\\?"):
        zone(name)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            " ",
            ".",
            "..",
            "/",
            "/etc/passwd",
            "../../etc/passwd",
            "Europe/../../../etc/passwd",
            "Europe/",
        ),
        *(
            "Europe",
            "posixrules",
            "localtime",
            "tzdata.zi",
            "zone.tab",
            "Europe/Berlin\0",
            "\ud800",
            "+02:00",
        ),
        *("C:\\Windows", "Europe//Berlin", "./UTC", "x" * 10_000),
    ],
)
def test_what_is_no_zone_is_refused_and_never_a_path(name: str) -> None:
    with pytest.raises(UnknownTimezone) as refusal:
        zone(name)
    assert len(str(refusal.value)) < 200
    assert str(refusal.value).isprintable()


@given(st.text(max_size=80))
def test_any_text_is_a_zone_or_refused(name: str) -> None:
    if name in zone_names():
        assert zone(name)
    else:
        with pytest.raises(UnknownTimezone):
            zone(name)
