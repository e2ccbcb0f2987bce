"""Boards: cards in an order and size that people choose, and a sentence for each field that is not good."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from plugbay_scheduled_query.core.draft import FieldRefused, Refused, check_description, check_name

MAX_CARDS = 100
MAX_SIDE = 4  # columns of a card, and rows
LARGEST_ID = 2**31 - 1  # of an integer column on PostgreSQL: a larger one names no query


class Show(StrEnum):
    """How a card shows a result."""

    AUTO = "auto"
    VALUE = "value"
    CHART = "chart"
    TABLE = "table"
    TEXT = "text"


class Span(StrEnum):
    """The time that charts and sparklines of a board look back."""

    HOUR = "1h"
    DAY = "24h"
    WEEK = "7d"
    MONTH = "30d"

    @property
    def length(self) -> timedelta:
        return _LENGTHS[self]


_LENGTHS = {
    Span.HOUR: timedelta(hours=1),
    Span.DAY: timedelta(hours=24),
    Span.WEEK: timedelta(days=7),
    Span.MONTH: timedelta(days=30),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """The result of a query, or a text."""

    query_id: int | None = None
    text: str | None = None
    width: int = 1
    height: int = 1
    show: Show = Show.AUTO

    def as_json(self) -> dict[str, Any]:
        """The card as the API takes it, with the one of `query_id` and `text` that it has."""
        what = {"text": self.text} if self.query_id is None else {"query_id": self.query_id}
        return {**what, "width": self.width, "height": self.height, "show": self.show.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardDraft:
    """What a person writes of a board, all of it good."""

    name: str
    span: Span = Span.DAY
    cards: tuple[Card, ...] = ()

    @property
    def query_ids(self) -> set[int]:
        """The queries that it shows."""
        return {card.query_id for card in self.cards if card.query_id is not None}

    def only_with(self, known: Collection[int]) -> "BoardDraft":
        """The same without the cards of queries that are not there any more."""
        cards = tuple(card for card in self.cards if card.query_id is None or card.query_id in known)
        return replace(self, cards=cards)


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """A board as it is stored."""

    id: int
    draft: BoardDraft
    version: int = 1
    updated_by: str | None = None
    updated_at: datetime | None = None


Known = Callable[[Collection[int]], Collection[int]]  # which of these queries there are
FIELDS = ("name", "span", "cards")


def check_new_board(given: Mapping[str, Any], known: Known) -> BoardDraft | Refused:
    """A new board from whatever was sent; what is optional and missing, or null, gets its default."""
    sent = {name: given[name] for name in FIELDS if given.get(name) is not None}
    checked, errors = _check_each({"name": ""} | sent, known)
    return Refused(errors) if errors else BoardDraft(**checked)


def check_board_edit(current: BoardDraft, given: Mapping[str, Any], known: Known) -> BoardDraft | Refused:
    """A board with the fields that were sent changed."""
    sent = {name: value for name, value in given.items() if name in FIELDS}
    checked, errors = _check_each(sent, known)
    return Refused(errors) if errors else replace(current, **checked)


def read_card(stored: Mapping[str, Any]) -> Card:
    """A card that was checked before it was stored."""
    return Card(**{**stored, "show": Show(stored["show"])})


def _check_each(given: Mapping[str, Any], known: Known) -> tuple[dict[str, Any], dict[str, str]]:
    checks: dict[str, Callable[[Any], Any]] = {
        "name": check_name,
        "span": _check_span,
        "cards": lambda cards: _check_cards(cards, known),
    }
    checked: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for name, value in given.items():
        try:
            checked[name] = checks[name](value)
        except FieldRefused as refusal:
            errors[name] = str(refusal)
    return checked, errors


def _check_span(given: Any) -> Span:
    if given not in list(Span):
        raise FieldRefused(f"must be one of: {', '.join(Span)}")
    return Span(given)


def _check_cards(given: Any, known: Known) -> tuple[Card, ...]:
    if not isinstance(given, list | tuple):
        raise FieldRefused('must be a list such as [{"query_id": 1, "width": 2, "show": "chart"}]')
    if len(given) > MAX_CARDS:
        raise FieldRefused(f"a board has at most {MAX_CARDS} cards; these are {len(given)}")
    cards = tuple(_check_card(number, card) for number, card in enumerate(given, start=1))
    there = known({card.query_id for card in cards if card.query_id is not None})
    for number, card in enumerate(cards, start=1):
        if card.query_id is not None and card.query_id not in there:
            raise FieldRefused(f"card {number}: there is no query {card.query_id}")
    return cards


def _check_card(number: int, given: Any) -> Card:
    try:
        return _card(given)
    except FieldRefused as refusal:
        raise FieldRefused(f"card {number}: {refusal}") from None


def _card(given: Any) -> Card:
    if not isinstance(given, Mapping):
        raise FieldRefused("must be an object")
    query_id, text = given.get("query_id"), given.get("text")
    if (query_id is None) == (text is None):
        raise FieldRefused("needs either a query_id or a text")
    card = Card(width=_side("width", given.get("width")), height=_side("height", given.get("height")))
    if query_id is None:
        return replace(card, text=_check_text(text, given.get("show")), show=Show.TEXT)
    return replace(card, query_id=_check_id(query_id), show=_check_show(given.get("show")))


def _check_id(given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, int):
        raise FieldRefused("query_id must be the id of a query")
    if not 1 <= given <= LARGEST_ID:
        raise FieldRefused(f"there is no query {given}")
    return given


def _check_text(given: Any, show: Any) -> str:
    if show not in (None, Show.AUTO, Show.TEXT):
        raise FieldRefused("a text is shown as text")
    text = check_description(given)
    if not text:
        raise FieldRefused("its text is empty")
    return text


def _check_show(given: Any) -> Show:
    if given is None:
        return Show.AUTO
    if given not in list(Show):
        raise FieldRefused(f"show must be one of: {', '.join(Show)}")
    return Show(given)


def _side(name: str, given: Any) -> int:
    if given is None:
        return 1
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= MAX_SIDE:
        raise FieldRefused(f"{name} must be a whole number from 1 to {MAX_SIDE}")
    return given
