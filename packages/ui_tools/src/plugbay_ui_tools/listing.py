"""Sets of numbers in words: lists, ranges and steps."""

from collections.abc import Callable, Sequence
from itertools import pairwise

RANGE_FROM = 3  # so many in a row are told as "1–3"

SUFFIXES = {1: "st", 2: "nd", 3: "rd"}


def join_words(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def list_numbers(numbers: Sequence[int], name: Callable[[int], str] = str, to: str = "–") -> str:
    """Sorted numbers as `1–5, 8 and 10`."""
    words: list[str] = []
    for run in _runs(numbers):
        if len(run) >= RANGE_FROM:
            words.append(f"{name(run[0])}{to}{name(run[-1])}")
        else:
            words.extend(map(name, run))
    return join_words(words)


def step_of(numbers: Sequence[int], last: int) -> int | None:
    """The even step of sorted numbers that go on as far as `last` allows."""
    steps = {after - before for before, after in pairwise(numbers)}
    if len(steps) != 1 or numbers[-1] + min(steps) <= last:
        return None
    return steps.pop()


def is_unbroken(numbers: Sequence[int]) -> bool:
    """Whether sorted numbers follow each other without a gap."""
    return numbers[-1] - numbers[0] == len(numbers) - 1


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `11th`."""
    return f"{number}{'th' if number // 10 % 10 == 1 else SUFFIXES.get(number % 10, 'th')}"


def _runs(numbers: Sequence[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs
