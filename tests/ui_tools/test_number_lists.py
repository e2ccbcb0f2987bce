import pytest
from plugbay_ui_tools.cron_words import is_unbroken, join_words, list_numbers, ordinal, step_of


@pytest.mark.parametrize(
    ("words", "text"), [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_words_are_joined_as_one_says_them(words: list[str], text: str):
    assert join_words(words) == text


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([4], "4"),
        ([1, 2], "1 and 2"),
        ([1, 2, 3], "1–3"),
        ([1, 2, 3, 4, 5, 8, 10], "1–5, 8 and 10"),
        ([1, 3, 4, 5], "1 and 3–5"),
    ],
)
def test_three_in_a_row_are_a_range(numbers: list[int], text: str):
    assert list_numbers(numbers) == text


@pytest.mark.parametrize(
    ("numbers", "last", "step"),
    [
        ([0, 15, 30, 45], 59, 15),
        ([0, 15, 30], 59, None),
        ([3, 18, 33, 48], 59, 15),
        ([0, 7, 14, 21, 28, 35, 42, 49, 56], 59, 7),
        ([0, 1, 5], 59, None),
        ([5], 59, None),
    ],
)
def test_a_step_goes_on_to_the_end(numbers: list[int], last: int, step: int | None):
    assert step_of(numbers, last) == step


def test_unbroken_numbers_have_no_gap():
    assert is_unbroken([9, 10, 11])
    assert not is_unbroken([9, 11])


def test_ordinals_are_spelled_as_one_says_them():
    assert [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 31)] == (
        ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "23rd", "31st"]
    )
