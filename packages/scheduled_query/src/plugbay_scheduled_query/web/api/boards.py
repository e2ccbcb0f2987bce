"""Boards over HTTP: viewers read them, editors write."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Path, Response
from plugbay import CurrentUser
from plugbay.web import PLAIN
from pydantic import BaseModel, ConfigDict, Field

from plugbay_scheduled_query.boards import Taken, UnknownBoard
from plugbay_scheduled_query.core.boards import MAX_CARDS, MAX_SIDE, Board
from plugbay_scheduled_query.core.draft import Refused
from plugbay_scheduled_query.core.paging import MAX_ID, paginate
from plugbay_scheduled_query.core.text import format_utc
from plugbay_scheduled_query.repository.boards import BoardConflict
from plugbay_scheduled_query.web.api.json_text import json_response
from plugbay_scheduled_query.web.api.requests import (
    FIRST_PAGE,
    PREFIX,
    USUAL_LIMIT,
    JsonBody,
    Limit,
    Page,
    conflict,
    documented_as,
    refusals,
    refused_body,
    storable,
    version_in,
)
from plugbay_scheduled_query.web.api.schemas import TIME, Description, Line, Pagination
from plugbay_scheduled_query.web.dependencies import ServiceParts

NO_BOARD = "There is no such board."
EXAMPLE: dict[str, Any] = {
    "name": "Shop",
    "span": "7d",
    "cards": [
        {"query_id": 1, "width": 2, "height": 2, "show": "chart"},
        {"text": "Ask Ada before you\nchange anything here."},
    ],
}

SpanWord = Literal["1h", "24h", "7d", "30d"]
ShowWord = Literal["auto", "value", "chart", "table", "text"]
Side = Annotated[int, Field(ge=1, le=MAX_SIDE)]


class CardShape(BaseModel):
    """A card: of a query or a text, one of the two."""

    query_id: int | None = Field(None, examples=[1])
    text: Description | None = Field(None, description="Shown as it is, with its line breaks.")
    width: Side = Field(1, description="Columns.")
    height: Side = Field(1, description="Rows.")
    show: ShowWord = Field("auto", description="How the result is shown; a text is shown as text.")


class NewBoard(BaseModel):
    """A board as it is sent."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    name: Line = Field(max_length=200)
    span: SpanWord = "24h"
    cards: list[CardShape] = Field([], max_length=MAX_CARDS)


class BoardEdit(BaseModel):
    """What is to be changed of a board; cards are replaced as a whole."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"span": "30d", "version": 2}]})

    name: Line | None = None
    span: SpanWord | None = None
    cards: list[CardShape] | None = None
    version: int | None = Field(None, description="That of the board that was read.")


class BoardAnswer(BaseModel):
    """A board; a card whose query was deleted is left out."""

    id: int = Field(examples=[1])
    name: str = Field(examples=["Shop"])
    span: SpanWord
    cards: list[CardShape]
    version: int = Field(examples=[2])
    updated_by: str | None = Field(examples=["ada"])
    updated_at: str | None = Field(examples=[TIME])


class BoardPage(BaseModel):
    """A page of boards, by name."""

    data: list[BoardAnswer]
    pagination: Pagination


BoardId = Annotated[int, Field(ge=1, le=MAX_ID), PLAIN, Path(description="The id of a board.", examples=[1])]
NewBoardBody = Annotated[JsonBody, documented_as(NewBoard)]
BoardEditBody = Annotated[JsonBody, documented_as(BoardEdit)]

router = APIRouter(prefix=PREFIX, tags=["Boards"])


@router.get("/boards", summary="List boards", response_model=BoardPage, responses=refusals())
def list_boards(parts: ServiceParts, page: Page = FIRST_PAGE, limit: Limit = USUAL_LIMIT) -> Response:
    """All boards by name, with their cards."""
    found, total = parts.boards.page(min((page - 1) * limit, MAX_ID), limit)
    data = [board_json(board) for board in found]
    return json_response({"data": data, "pagination": paginate(page, limit, total).as_json()})


@router.post(
    "/boards", status_code=201, summary="Create a board", response_model=BoardAnswer, responses=refusals(409)
)
def create_board(parts: ServiceParts, body: NewBoardBody, user: CurrentUser) -> Response:
    """An unknown query is 422, a name that is in use 409."""
    return _saved(parts.board_editing.create(body, user.name), body, 201)


@router.get("/boards/{board_id}", summary="Get a board", response_model=BoardAnswer, responses=refusals(404))
def get_board(parts: ServiceParts, board_id: BoardId) -> Response:
    """One board with its cards in their order."""
    board = parts.boards.get(storable(board_id, NO_BOARD))
    if board is None:
        raise HTTPException(404, NO_BOARD)
    return json_response(board_json(board))


@router.patch(
    "/boards/{board_id}", summary="Edit a board", response_model=BoardAnswer, responses=refusals(404, 409)
)
def edit_board(parts: ServiceParts, board_id: BoardId, body: BoardEditBody, user: CurrentUser) -> Response:
    """Changes the fields that are sent; `cards` are replaced as a whole.

    With a `version` that is not the newest, or a name that is in use, the answer is 409.
    """
    version = version_in(body)
    try:
        saved = parts.board_editing.edit(storable(board_id, NO_BOARD), body, user.name, version)
    except UnknownBoard:
        raise HTTPException(404, NO_BOARD) from None
    except BoardConflict as error:
        raise conflict(f"{error}: read it again and edit that") from None
    return _saved(saved, body, 200)


@router.delete("/boards/{board_id}", status_code=204, summary="Delete a board", responses=refusals(404))
def delete_board(parts: ServiceParts, board_id: BoardId, user: CurrentUser) -> Response:
    """The board is gone; the queries that it showed stay."""
    try:
        parts.board_editing.delete(storable(board_id, NO_BOARD), user.name)
    except UnknownBoard:
        raise HTTPException(404, NO_BOARD) from None
    return Response(status_code=204)


def board_json(board: Board) -> dict[str, Any]:
    """A board as the contract names its fields."""
    return {
        "id": board.id,
        "name": board.draft.name,
        "span": board.draft.span.value,
        "cards": [card.as_json() for card in board.draft.cards],
        "version": board.version,
        "updated_by": board.updated_by,
        "updated_at": format_utc(board.updated_at),
    }


def _saved(saved: Board | Refused | Taken, body: Mapping[str, Any], status_code: int) -> Response:
    if isinstance(saved, Refused):
        raise refused_body(saved, body)
    if isinstance(saved, Taken):
        raise conflict(f"The name is in use: {saved.sentence}.")
    return json_response(board_json(saved), status_code)
