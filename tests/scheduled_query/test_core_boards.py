"""What a board may be: its name, span and cards, and a sentence for what is not good."""

from typing import Any

import pytest
from plugbay_scheduled_query.core.boards import (
    Board,
    BoardDraft,
    Card,
    Show,
    Span,
    check_board_edit,
    check_new_board,
    read_card,
)
from plugbay_scheduled_query.core.draft import Refused

KNOWN = {1, 2, 3}


def check(**given: Any) -> BoardDraft | Refused:
    return check_new_board({"name": "Shop", **given}, KNOWN.intersection)


def test_a_name_alone_is_a_board():
    assert check() == BoardDraft(name="Shop", span=Span.DAY, cards=())


def test_a_card_has_defaults():
    assert check(cards=[{"query_id": 2}, {"text": " Hello\nyou "}]) == BoardDraft(
        name="Shop", cards=(Card(query_id=2), Card(text="Hello\nyou", show=Show.TEXT))
    )


def test_cards_are_read_back_as_they_were_written():
    cards = (Card(query_id=3, width=4, height=2, show=Show.CHART), Card(text="é <b>", show=Show.TEXT))
    assert tuple(read_card(card.as_json()) for card in cards) == cards
    assert check(cards=[card.as_json() for card in cards]) == BoardDraft(name="Shop", cards=cards)


@pytest.mark.parametrize(
    ("field", "given", "sentence"),
    [
        ("name", " ", "a name is needed"),
        ("name", "x" * 201, "a name has at most 200 characters; this one has 201"),
        ("name", 5, "must be a text"),
        ("span", "2h", "must be one of: 1h, 24h, 7d, 30d"),
        ("span", ["1h"], "must be one of: 1h, 24h, 7d, 30d"),
        ("cards", {}, "must be a list such as"),
        ("cards", [{"query_id": 1}] * 101, "a board has at most 100 cards; these are 101"),
        ("cards", [{"query_id": 1}, 5], "card 2: must be an object"),
        ("cards", [{}], "card 1: needs either a query_id or a text"),
        ("cards", [{"query_id": 1, "text": "x"}], "card 1: needs either a query_id or a text"),
        ("cards", [{"query_id": 1}, {"query_id": 9}], "card 2: there is no query 9"),
        ("cards", [{"query_id": 2**31}], f"card 1: there is no query {2**31}"),
        ("cards", [{"query_id": 0}], "card 1: there is no query 0"),
        ("cards", [{"query_id": "1"}], "card 1: query_id must be the id of a query"),
        ("cards", [{"query_id": True}], "card 1: query_id must be the id of a query"),
        ("cards", [{"query_id": 1, "width": 0}], "card 1: width must be a whole number from 1 to 4"),
        ("cards", [{"query_id": 1, "width": 5}], "card 1: width must be a whole number from 1 to 4"),
        ("cards", [{"query_id": 1, "height": "2"}], "card 1: height must be a whole number from 1 to 4"),
        ("cards", [{"query_id": 1, "height": True}], "card 1: height must be a whole number from 1 to 4"),
        ("cards", [{"query_id": 1, "show": "pie"}], "card 1: show must be one of: auto, value, chart"),
        ("cards", [{"query_id": 1, "show": {}}], "card 1: show must be one of: auto, value, chart"),
        ("cards", [{"text": "x", "show": "chart"}], "card 1: a text is shown as text"),
        ("cards", [{"text": " \n"}], "card 1: its text is empty"),
        ("cards", [{"text": "x" * 2001}], "card 1: a description has at most 2,000 characters"),
        ("cards", [{"text": "a\0b"}], "card 1: must not have a NUL character"),
    ],
)
def test_what_is_not_good_is_said_at_its_field(field: str, given: Any, sentence: str):
    refused = check(**{field: given})
    assert isinstance(refused, Refused)
    assert list(refused.errors) == [field]
    assert refused.errors[field].startswith(sentence)


def test_an_edit_changes_what_was_sent():
    current = BoardDraft(name="Shop", span=Span.WEEK, cards=(Card(query_id=1),))
    edited = check_board_edit(current, {"name": "Sales", "id": 7, "nonsense": 1}, KNOWN.intersection)
    assert edited == BoardDraft(name="Sales", span=Span.WEEK, cards=(Card(query_id=1),))
    assert check_board_edit(current, {"cards": []}, KNOWN.intersection) == BoardDraft(
        name="Shop", span=Span.WEEK
    )
    assert isinstance(check_board_edit(current, {"span": None}, KNOWN.intersection), Refused)


def test_cards_of_queries_that_are_gone_are_left_out():
    cards = (Card(query_id=1), Card(text="x", show=Show.TEXT), Card(query_id=2), Card(query_id=1))
    board = Board(id=1, draft=BoardDraft(name="Shop", cards=cards))
    assert board.draft.query_ids == {1, 2}
    assert board.draft.only_with({2}).cards == (cards[1], cards[2])
