"""`plugbay cron`: the next times of a schedule, from a terminal and without a store."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from plugbay_scheduled_query.cli import cron


def run(*args: str, **env: str) -> Result:
    return CliRunner().invoke(cron, args, env=env)


def test_the_next_times_come_one_a_line_in_iso_8601() -> None:
    found = run("*/5 * * * *", "--after", "2026-11-15T12:01:00Z", "--count", "3")
    assert (found.exit_code, found.stderr) == (0, "")
    assert found.stdout == "2026-11-15T12:05:00+00:00\n2026-11-15T12:10:00+00:00\n2026-11-15T12:15:00+00:00\n"


def test_times_are_those_of_the_time_zone() -> None:
    found = run("30 2 * * *", "--timezone", "Europe/Berlin", "--after", "2026-03-28T12:00:00", "--count", "2")
    assert found.stdout.split() == ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"]


def test_a_time_without_an_offset_is_one_of_the_time_zone() -> None:
    local = run("0 * * * *", "--timezone", "Asia/Tokyo", "--after", "2026-11-15T12:30:00", "--count", "1")
    absolute = run(
        "0 * * * *", "--timezone", "Asia/Tokyo", "--after", "2026-11-15T03:30:00+00:00", "--count", "1"
    )
    assert local.stdout == absolute.stdout == "2026-11-15T13:00:00+09:00\n"


def test_without_a_time_it_begins_now_and_tells_five() -> None:
    before = datetime.now(UTC)
    times = [datetime.fromisoformat(line) for line in run("* * * * *").stdout.split()]
    assert len(times) == 5
    assert times == sorted(times)
    assert times[0] > before


def test_the_time_zone_of_the_service_is_taken_from_the_environment() -> None:
    found = run(
        "0 6 * * *", "--after", "2026-11-15", "--count", "1", SCHEDULED_QUERY_TIMEZONE="Europe/Berlin"
    )
    assert found.stdout == "2026-11-15T06:00:00+01:00\n"


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("* * * *", "has five fields"),
        ("0 * * * * *", "this one has 6"),
        ("61 * * * *", "the minute “61” is not valid"),
        ("0 0 30 2 *", "never fires"),
        ("@reboot", "is not known"),
        ("", "a cron expression is needed"),
    ],
)
def test_a_bad_expression_ends_with_2_and_a_message(expression: str, words: str) -> None:
    found = run(expression)
    assert found.exit_code == 2
    assert words in found.stderr
    assert found.stdout == ""


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--timezone", "europe/berlin", "did you mean Europe/Berlin?"),
        ("--after", "tomorrow", "not a time such as"),
        ("--count", "0", "0 is not in the range"),
        ("--count", "1001", "1001 is not in the range"),
        ("--after", "9999-12-31T23:59:00Z", "the calendar ends"),
    ],
)
def test_a_bad_option_ends_with_2_and_a_message(option: str, value: str, words: str) -> None:
    found = run("* * * * *", option, value)
    assert found.exit_code == 2
    assert words in found.stderr


def test_no_store_is_opened(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert run("@daily", "--data-dir", str(data), PLUGBAY_DATA_DIR=str(data)).exit_code == 0
    assert not data.exists()
