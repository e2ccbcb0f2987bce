"""The form of a board: cards are added, moved, sized and taken away; nothing is stored until it is saved.

Each button sends the whole form, which comes back rearranged: so it works without JavaScript; with it, only
the part that changed is replaced.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from fastapi import APIRouter, HTTPException
from fastapi.responses import Response
from plugbay import CurrentUser, FlashMessage
from plugbay.web import Typed, plain_integer, row_id

from plugbay_scheduled_query.boards import Taken, UnknownBoard
from plugbay_scheduled_query.core.boards import MAX_CARDS, MAX_SIDE, Board, Show, Span
from plugbay_scheduled_query.core.draft import Refused
from plugbay_scheduled_query.core.paging import MAX_SEARCH
from plugbay_scheduled_query.repository.boards import BoardConflict
from plugbay_scheduled_query.repository.definitions import Listing
from plugbay_scheduled_query.web.pages.boards import BOARDS, CRUMBS, NO_BOARD, TOPIC, found
from plugbay_scheduled_query.web.pages.listing import briefs
from plugbay_scheduled_query.web.pages.site import CONFLICT, EDITOR, PREFIX, REFUSED, CurrentSite, Site

FOUND = 8  # queries that are offered at a time
MOST_FORM_CARDS = MAX_CARDS + 1  # one too many, so that the checks can say so

router = APIRouter(prefix=PREFIX, include_in_schema=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FormCard:
    """A card in the form; its key stays while it is moved about."""

    key: int
    query_id: int | None = None
    text: str = ""
    width: int = 1
    height: int = 1
    show: str = Show.AUTO.value

    def as_json(self) -> dict[str, Any]:
        """As the API would take it."""
        what = {"text": self.text} if self.query_id is None else {"query_id": self.query_id}
        return {**what, "width": self.width, "height": self.height, "show": self.show}


@router.get("/boards/new", dependencies=EDITOR)
def new(site: CurrentSite) -> Response:
    """An empty form."""
    return form_page(site, {"span": Span.DAY.value}, [])


@router.post("/boards/new")
def create(site: CurrentSite, typed: Typed, user: CurrentUser) -> Response:
    """Stores a new board, or does what a button of the form says."""
    if typed.get("act"):
        return rearranged(site, typed)
    saved = site.parts.board_editing.create(_given(typed), user.name)
    return _after_saving(site, typed, saved)


@router.get("/boards/{board_id}/edit", dependencies=EDITOR)
def edit(site: CurrentSite, board_id: str) -> Response:
    """The form of a stored board."""
    board = found(site, board_id)
    draft = board.draft
    cards = [
        FormCard(
            key=key,
            query_id=card.query_id,
            text=card.text or "",
            width=card.width,
            height=card.height,
            show=card.show.value,
        )
        for key, card in enumerate(draft.cards)
    ]
    typed = {"name": draft.name, "span": draft.span.value, "version": str(board.version)}
    return form_page(site, typed, cards, board)


@router.post("/boards/{board_id}/edit")
def save(site: CurrentSite, board_id: str, typed: Typed, user: CurrentUser) -> Response:
    """Stores what was typed, or does what a button of the form says."""
    board = found(site, board_id)
    if typed.get("act"):
        return rearranged(site, typed, board)
    version = row_id(typed["version"], NO_BOARD) if typed.get("version") else None
    try:
        saved = site.parts.board_editing.edit(board.id, _given(typed), user.name, version)
    except UnknownBoard:
        raise HTTPException(404, NO_BOARD) from None
    except BoardConflict as error:
        errors = {"version": f"{error}: what you typed is below and not saved"}
        return form_page(site, typed, cards_in(typed), board, errors, CONFLICT)
    return _after_saving(site, typed, saved, board)


@router.post("/boards/{board_id}/delete")
def delete(site: CurrentSite, board_id: str, user: CurrentUser) -> Response:
    """Deletes a board; its queries stay."""
    board = found(site, board_id)
    try:
        site.parts.board_editing.delete(board.id, user.name)
    except UnknownBoard:
        raise HTTPException(404, NO_BOARD) from None
    return site.to(BOARDS, FlashMessage(f"The board “{board.draft.name}” is deleted. Its queries stay."))


def rearranged(site: Site, typed: dict[str, str], board: Board | None = None) -> Response:
    """The form again, after what one of its buttons did."""
    act, _, which = typed["act"].partition(" ")
    cards, number, focused = cards_in(typed), _number(which), typed["act"]
    if act in ("earlier", "later"):
        cards = moved(cards, number, -1 if act == "earlier" else 1)
    elif act == "remove":
        focused = f"remove {_neighbour(cards, number)}"
        cards = [card for card in cards if card.key != number]
    elif act in ("add", "text") and len(cards) < MOST_FORM_CARDS:
        cards = [*cards, _new_card(cards, number if act == "add" else None)]
    return form_page(site, typed | {"focused": focused}, cards, board, did=(act, number))


def moved(cards: list[FormCard], key: int | None, step: int) -> list[FormCard]:
    """The cards with one of them a place earlier or later; at either end it stays where it is."""
    places = {card.key: place for place, card in enumerate(cards)}
    if key not in places:
        return cards
    place = places[key]
    rest = [card for card in cards if card.key != key]
    rest.insert(max(0, place + step), cards[place])
    return rest


def _neighbour(cards: list[FormCard], key: int | None) -> int | None:
    """The card that is next to the eye once another is gone."""
    keys = [card.key for card in cards]
    if key not in keys:
        return None
    place = keys.index(key)
    return next(iter(keys[place + 1 :] + keys[:place][::-1]), None)


def cards_in(typed: Mapping[str, str]) -> list[FormCard]:
    """The cards of the form in the order that it names; what it does not name is not there."""
    keys = [_number(word) for word in typed.get("order", "").split(",")[:MOST_FORM_CARDS]]
    known = [key for key in dict.fromkeys(keys) if key is not None]
    return [_card_in(typed, key) for key in known if f"query-{key}" in typed or f"text-{key}" in typed]


def form_page(
    site: Site,
    typed: Mapping[str, str],
    cards: list[FormCard],
    board: Board | None = None,
    errors: Mapping[str, str] | None = None,
    status_code: int = 200,
    did: tuple[str, int | None] = ("", None),
) -> Response:
    """The form of a board, filled in with what was typed."""
    names = site.parts.definitions.get_many({card.query_id for card in cards if card.query_id is not None})
    search = typed.get("search", "").strip()[:MAX_SEARCH]
    offered, total = site.parts.definitions.page(Listing(search=search), 0, FOUND)
    context = {
        "board": board,
        "typed": {"name": "", "version": "", "focused": "", **typed, "search": search},
        "cards": cards,
        "queries": names,
        "briefs": briefs(site, list(names.values())),
        "offered": offered,
        "offered_total": total,
        "spans": [span.value for span in Span],
        "shows": [show.value for show in Show],
        "sides": range(1, MAX_SIDE + 1),
        "errors": errors or {},
        "did": _told(cards, names, did),
        "crumbs": (*CRUMBS, (board.draft.name, f"{BOARDS}/{board.id}")) if board else CRUMBS,
    }
    return site.page("board_form", context | TOPIC, status_code)


def _after_saving(
    site: Site, typed: Mapping[str, str], saved: Board | Refused | Taken, board: Board | None = None
) -> Response:
    if isinstance(saved, Board):
        return site.to(f"{BOARDS}/{saved.id}", FlashMessage(f"The board “{saved.draft.name}” is saved."))
    errors = {"name": saved.sentence} if isinstance(saved, Taken) else saved.errors
    return form_page(site, typed, cards_in(typed), board, errors, REFUSED)


def _given(typed: Mapping[str, str]) -> dict[str, Any]:
    """What a form sent, as the API would have sent it."""
    fields = {name: typed[name] for name in ("name", "span") if name in typed}
    return {**fields, "cards": [card.as_json() for card in cards_in(typed)]}


def _card_in(typed: Mapping[str, str], key: int) -> FormCard:
    card = FormCard(
        key=key,
        width=_number(typed.get(f"width-{key}", "")) or 1,
        height=_number(typed.get(f"height-{key}", "")) or 1,
        show=typed.get(f"show-{key}", Show.AUTO.value),
    )
    if f"query-{key}" in typed:
        return replace(card, query_id=_number(typed[f"query-{key}"]) or 0)
    return replace(card, text=typed[f"text-{key}"].replace("\r\n", "\n"), show=Show.TEXT.value)


def _new_card(cards: list[FormCard], query_id: int | None) -> FormCard:
    key = max((card.key for card in cards), default=-1) + 1
    show = Show.AUTO if query_id else Show.TEXT
    return FormCard(key=key, query_id=query_id, show=show.value)


def _told(cards: list[FormCard], names: Mapping[int, Any], did: tuple[str, int | None]) -> str:
    """What a button did, for who cannot see it."""
    act, key = did
    places = {card.key: place for place, card in enumerate(cards, start=1)}
    if act in ("earlier", "later") and key in places:
        return f"It is now card {places[key]} of {len(cards)}."
    if act in ("add", "text") and cards:
        query = names.get(cards[-1].query_id or 0)
        what = f"“{query.name}”" if query else "A text"
        return f"{what} is added as card {len(cards)}."
    return f"{len(cards)} cards are left." if act == "remove" else ""


def _number(text: str) -> int | None:
    try:
        number = plain_integer(text)
    except ValueError:
        return None
    return number if 0 <= number < 2**31 else None
