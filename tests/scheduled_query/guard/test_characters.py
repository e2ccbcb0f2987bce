import pytest
from plugbay_scheduled_query.core.guard.judging import reject_characters


def rule(sql: str, max_length: int = 1000) -> str | None:
    rejection = reject_characters(sql, max_length)
    return rejection.rule if rejection else None


def test_a_text_as_long_as_allowed_passes_and_one_character_more_does_not() -> None:
    assert rule("x" * 1000) is None
    assert rule("x" * 1001) == "length"


def test_the_reason_names_both_lengths() -> None:
    rejection = reject_characters("x" * 1234, 1000)
    assert rejection is not None
    assert rejection.reason == "The query has 1,234 characters; at most 1,000 are allowed."


@pytest.mark.parametrize("blank", ["", " ", "\n\t \r\n"])
def test_a_blank_text_is_empty(blank: str) -> None:
    assert rule(blank) == "empty"


@pytest.mark.parametrize(
    "character",
    [
        "\x00",
        "\x01",
        "\x07",
        "\x08",
        "\x0b",
        "\x0c",
        "\x1b",
        "\x1f",
        "\x7f",
        "\x85",
        "\x9f",
        "\u2028",
        "\u2029",
    ],
)
def test_control_characters_are_refused_wherever_they_stand(character: str) -> None:
    assert rule(f"SELECT 1{character}") == "characters"
    assert rule(f"SELECT 'a{character}b'") == "characters"
    assert rule(f"SELECT 1 -- {character}") == "characters"


@pytest.mark.parametrize("character", ["\u202a", "\u202e", "\u2066", "\u2069"])
def test_marks_that_turn_the_direction_of_writing_are_refused(character: str) -> None:
    assert rule(f"SELECT '{character}'") == "characters"


def test_a_half_character_that_no_database_can_be_sent_is_refused() -> None:
    assert rule("SELECT '\ud800'") == "characters"


def test_line_ends_of_every_system_but_the_oldest_pass() -> None:
    assert rule("SELECT 1\nFROM a\r\nWHERE b\t= c") is None
    assert rule("SELECT 1 -- comment\rDELETE") == "characters"


def test_letters_of_every_script_and_emoji_pass() -> None:
    assert rule("SELECT 'Zoë', '日本語', 'שלום', '👩‍💻', '\u00a0'") is None


def test_the_reason_names_line_and_character() -> None:
    rejection = reject_characters("SELECT 1\n, '\u202e'", 100)
    assert rejection is not None
    assert (
        rejection.reason == "Line 2 holds the invisible character U+202E (RIGHT-TO-LEFT OVERRIDE); remove it."
    )
    assert rejection.found == "U+202E"
