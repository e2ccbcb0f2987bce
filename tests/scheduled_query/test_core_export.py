"""Results to take away: CSV that every reader reads back and no spreadsheet runs, and JSON."""

import csv
import io
import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugbay_scheduled_query.core.results import CHUNK, csv_chunks, json_chunks


def as_csv(columns: list[str], rows: list[list[object]]) -> str:
    return "".join(csv_chunks(columns, json.dumps(rows)))


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def test_a_header_and_a_line_for_each_row_end_with_cr_lf() -> None:
    assert as_csv(["id", "name"], [[1, "Ada"], [2, "Bob"]]) == "id,name\r\n1,Ada\r\n2,Bob\r\n"


def test_a_result_without_rows_is_a_header() -> None:
    assert as_csv(["id", "name"], []) == "id,name\r\n"


def test_columns_of_one_name_survive() -> None:
    assert read(as_csv(["n", "n"], [[1, 2]])) == [["n", "n"], ["1", "2"]]


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, ""),
        ("", '""'),
        (True, "true"),
        (False, "false"),
        (-5, "-5"),
        (1.5, "1.5"),
        ("a,b", '"a,b"'),
        ('say "hi"', '"say ""hi"""'),
        ("two\nlines", '"two\nlines"'),
        ("a;b", '"a;b"'),
        (" padded ", '" padded "'),
        ("naïve 😀", "naïve 😀"),
        ([1, "ä"], '"[1, ""ä""]"'),
        ({"a": None}, '"{""a"": null}"'),
    ],
)
def test_how_each_kind_of_cell_is_written(cell: object, text: str) -> None:
    assert as_csv(["x", "y"], [[cell, 0]]) == f"x,y\r\n{text},0\r\n"


def test_decimals_keep_their_digits() -> None:
    assert "".join(csv_chunks(["n"], "[[12345678901234567890.10]]")) == "n\r\n12345678901234567890.10\r\n"
    assert "".join(csv_chunks(["n"], '[[{"a": 1.10}]]')) == 'n\r\n"{""a"": ""1.10""}"\r\n'


def test_a_single_empty_cell_is_still_a_line() -> None:
    assert read(as_csv(["n"], [[None], [1]])) == [["n"], [""], ["1"]]


# --- spreadsheets ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "formula",
    [
        *(
            "=1+1",
            "+1+1",
            "-1+1",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            "\n=1",
            " =1",
            "=cmd|' /C calc'!A0",
            "-",
            "+",
            "=",
        ),
        *("＝1", "＋1", "－1", "＠x", "  @x", "-1e5", "+1 2"),
    ],
)
def test_what_a_spreadsheet_would_run_gets_an_apostrophe(formula: str) -> None:
    assert read(as_csv(["n", "m"], [[formula, 1]]))[1] == [f"'{formula}", "1"]


@pytest.mark.parametrize("text", ["-12.5", "+7", "-5", "1+1", "a=b", "x@y.z", "2026-11-15", "", "plain"])
def test_numbers_and_plain_words_are_left_alone(text: str) -> None:
    assert read(as_csv(["n", "m"], [[text, 1]]))[1] == [text, "1"]


def test_names_of_columns_are_made_harmless_too() -> None:
    assert as_csv(["=1+1", "ok"], []) == "'=1+1,ok\r\n"


@given(st.lists(st.lists(st.text(max_size=30), min_size=2, max_size=2), max_size=10))
def test_any_text_is_read_back_but_for_the_apostrophe(rows: list[list[str]]) -> None:
    back = read(as_csv(["a", "b"], [list(row) for row in rows]))[1:]
    clean = [[cell.encode(errors="replace").decode() for cell in row] for row in rows]
    assert len(back) == len(rows)
    for written, original in zip(back, clean, strict=True):
        assert [cell.removeprefix("'") for cell in written] == [cell.removeprefix("'") for cell in original]
        assert not any(cell.lstrip(" ")[:1] in tuple("=@\t\r") for cell in written)


# --- streaming -------------------------------------------------------------------------------------------


def test_a_large_result_comes_in_chunks_and_is_decoded_as_it_goes() -> None:
    rows = json.dumps([["x" * 100]] * 2_000)
    chunks = list(csv_chunks(["n"], rows))
    assert len(chunks) > 5
    assert max(map(len, chunks)) < 2 * CHUNK
    assert len(read("".join(chunks))) == 2_001
    unfinished = csv_chunks(["n"], rows[:-1] + ",[not JSON")
    assert next(unfinished).startswith("n\r\n")


# --- JSON ------------------------------------------------------------------------------------------------


def test_json_has_columns_and_rows() -> None:
    text = "".join(json_chunks(["n", "n", 'a "b"'], "[[1,2.50,null]]"))
    assert json.loads(text, parse_float=Decimal) == {
        "columns": ["n", "n", 'a "b"'],
        "rows": [[1, Decimal("2.50"), None]],
    }


def test_json_of_a_large_result_comes_in_chunks() -> None:
    rows = json.dumps([["x" * 100]] * 2_000)
    chunks = list(json_chunks(["n"], rows))
    assert max(map(len, chunks)) <= CHUNK
    assert json.loads("".join(chunks))["rows"] == json.loads(rows)
