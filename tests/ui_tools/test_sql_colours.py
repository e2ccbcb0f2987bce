import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugbay_ui_tools.sql_colours import sql_pieces


@pytest.mark.parametrize(
    ("sql", "coloured"),
    [
        ("select a", [("keyword", "select")]),
        (
            "SELECT 'it''s FROM' -- FROM",
            [("keyword", "SELECT"), ("text", "'it''s FROM'"), ("comment", "-- FROM")],
        ),
        ('WITH "from" AS (1.5)', [("keyword", "WITH"), ("keyword", "AS"), ("number", "1.5")]),
        ("/* select\n1 */ x1", [("comment", "/* select\n1 */")]),
        ("'never ends", [("text", "'never ends")]),
        ("", []),
    ],
)
def test_keywords_texts_numbers_and_comments_have_colours(sql: str, coloured: list[tuple[str, str]]):
    assert [(kind, piece) for kind, piece in sql_pieces(sql) if kind] == coloured


@given(st.text())
def test_nothing_of_a_text_is_lost(sql: str):
    assert "".join(piece for _, piece in sql_pieces(sql)) == sql
