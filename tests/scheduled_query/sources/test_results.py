import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from plugbay_scheduled_query.dialects.contract import Rows
from plugbay_scheduled_query.runner.protocol import HEADER, Caps
from plugbay_scheduled_query.runner.results import ResultWriter


class CountedRows:
    """A result that counts how many of its rows were fetched."""

    def __init__(self, rows: Sequence[Sequence[Any]]) -> None:
        self._rows = rows
        self.fetched = 0

    def fetch(self, count: int) -> Sequence[Sequence[Any]]:
        part = self._rows[self.fetched : self.fetched + count]
        self.fetched += len(part)
        return part


class Written:
    """The text of a result, put together as the parent does."""

    def __init__(self, names: Sequence[str], rows: Sequence[Sequence[Any]], **caps: int) -> None:
        self.frames: list[bytes] = []
        self.source = CountedRows(rows)
        self.writer = ResultWriter(Caps(**caps), self.frames.append)
        self.writer.write(Rows(names, self.source.fetch))
        self.text = b"".join(map(_payloads, [*self.frames, self.writer.rest()]))

    @property
    def rows(self) -> list[list[Any]]:
        found = json.loads(self.text)
        assert len(found) == self.writer.row_count
        return found


def _payloads(frames: bytes) -> bytes:
    text = b""
    while frames:
        length = HEADER.unpack_from(frames)[1]
        text += frames[HEADER.size : HEADER.size + length]
        frames = frames[HEADER.size + length :]
    return text


def test_a_small_result_goes_whole_with_the_last_frame():
    written = Written(["a", "b"], [(1, "x"), (2, None)])
    assert written.frames == []
    assert written.text == b'[[1,"x"],[2,null]]'
    assert not written.writer.is_truncated


def test_an_empty_result_is_an_empty_array():
    written = Written(["a"], [])
    assert written.text == b"[]"
    assert (written.writer.columns, written.writer.row_count) == (["a"], 0)


@pytest.mark.parametrize("value", [1, Decimal("1.50"), "é" * 50])
def test_a_long_result_goes_in_parts_and_comes_together_again(value: Any):
    rows = [(number, value) for number in range(9_999)]
    written = Written(["n", "v"], rows)
    assert written.frames
    assert [row[0] for row in written.rows] == list(range(9_999))
    assert not written.writer.is_truncated


def test_columns_of_the_same_name_stay_apart():
    written = Written(["a", "a"], [(1, 2)])
    assert (written.writer.columns, written.rows) == (["a", "a"], [[1, 2]])


@pytest.mark.parametrize("count", [10_001, 20_000, 10_000_000])
def test_at_the_row_limit_no_more_is_fetched(count: int):
    written = Written(["n"], _Many(count))  # type: ignore[arg-type]
    assert written.writer.row_count == len(written.rows) == 10_000
    assert written.writer.is_truncated
    assert written.source.fetched < 11_000


class _Many:
    """As many rows as one likes, made only when asked for."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __getitem__(self, part: slice) -> list[tuple[int]]:
        return [(number,) for number in range(self._count)[part]]


def test_exactly_as_many_rows_as_allowed_are_not_truncated():
    assert not Written(["n"], [(n,) for n in range(10_000)]).writer.is_truncated


def test_columns_beyond_the_limit_are_left_out():
    written = Written(["a", "b", "c"], [(1, 2, 3)], columns=2)
    assert (written.writer.columns, written.rows) == (["a", "b"], [[1, 2]])
    assert written.writer.is_truncated


def test_a_cell_beyond_the_limit_is_cut():
    written = Written(["a", "b"], [("x" * 100, 1)], cell_bytes=10)
    assert written.rows == [["x" * 7 + "…", 1]]
    assert written.writer.is_truncated


@pytest.mark.parametrize("value", ["x" * 90, Decimal("1" * 90)])
def test_a_result_never_grows_beyond_its_limit(value: Any):
    written = Written(["a"], [(value,)] * 1000, result_bytes=10_000)
    assert 9_800 < len(written.text) <= 10_000
    assert written.writer.is_truncated
    assert written.source.fetched < 1000
    assert len(written.rows) > 100


def test_a_row_that_does_not_fit_at_all_leaves_an_empty_result():
    written = Written(["a"], [("x" * 500,)], result_bytes=100)
    assert written.text == b"[]"
    assert written.writer.is_truncated


def test_a_result_of_exactly_the_limit_is_whole():
    whole = Written(["a"], [("x" * 40,)] * 20)
    assert not Written(["a"], [("x" * 40,)] * 20, result_bytes=len(whole.text) + 1).writer.is_truncated
    assert Written(["a"], [("x" * 40,)] * 20, result_bytes=len(whole.text) - 1).writer.is_truncated


def test_long_rows_are_fetched_a_few_at_a_time():
    sizes: list[int] = []

    class Watched(CountedRows):
        def fetch(self, count: int) -> Sequence[Sequence[Any]]:
            sizes.append(count)
            return super().fetch(count)

    source = Watched([("x" * 60_000,)] * 50)
    ResultWriter(Caps(), lambda frame: None).write(Rows(["a"], source.fetch))
    assert max(sizes[1:]) <= 2


def test_a_column_named_after_a_whole_expression_gets_a_short_name():
    written = Written(["x" * 5000], [(1,)])
    assert written.writer.columns == ["x" * 999 + "…"]
