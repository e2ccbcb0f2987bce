"""Boards: the list of them, one on a page or on a wall, and what its cards show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fastapi import APIRouter, HTTPException
from fastapi.responses import Response
from plugbay.web import row_id

from plugbay_scheduled_query.core.boards import Board, Card, Show, Span
from plugbay_scheduled_query.core.model import Query, RenderType
from plugbay_scheduled_query.repository.history import Point
from plugbay_scheduled_query.repository.overview import Latest
from plugbay_scheduled_query.web.pages.charts import Shown, results_of, shown, value_chart
from plugbay_scheduled_query.web.pages.listing import page_number
from plugbay_scheduled_query.web.pages.site import (
    HOME,
    PREFIX,
    UNCHANGED,
    CurrentSite,
    Site,
    list_fingerprint,
)
from plugbay_scheduled_query.web.pages.widgets import Tile

BOARDS = f"{PREFIX}/boards"
CRUMBS = (HOME, ("Boards", BOARDS))
LIMIT = 50  # boards on a page
MOVES = 12  # of the lines within a time span, while nothing runs
NO_BOARD = "There is no such board. It may have been deleted."
NO_LINE = "In this time there are no two numbers to draw a line between."
RENDERED_AS = {Show.VALUE: RenderType.COUNTER, Show.TABLE: RenderType.TABLE, Show.TEXT: RenderType.RAW}

TOPIC = {"topic": "boards"}

_Made = Mapping[tuple[int, Show], Shown | None]  # results made ready, by query and how it is shown

router = APIRouter(prefix=PREFIX, include_in_schema=False)


@router.get("/boards")
def boards(site: CurrentSite) -> Response:
    """All of them, with the board of everything."""
    page = page_number(site.asked)
    found, total = site.parts.boards.page((page - 1) * LIMIT, LIMIT)
    pages = -(-total // LIMIT)
    context = {"boards": found, "page": page, "pages": pages, "total": total, "limit": LIMIT}
    return site.page("boards", {**context, "everything": site.parts.definitions.counts()["all"]} | TOPIC)


@router.get("/boards/{board_id}")
def show(site: CurrentSite, board_id: str) -> Response:
    """One board."""
    return site.page("board", _whole(site, board_id) | {"crumbs": CRUMBS} | TOPIC)


@router.get("/boards/{board_id}/wall")
def wall(site: CurrentSite, board_id: str) -> Response:
    """Its cards alone, for a display on the wall."""
    return site.page("wall", _whole(site, board_id))


@router.get("/boards/{board_id}/live")
def live(site: CurrentSite, board_id: str) -> Response:
    """The cards alone, once one of them changed."""
    board = found(site, board_id)
    context = board_context(site, board)
    if site.has_seen(context["seen"]):
        return Response(status_code=UNCHANGED)
    return site.page("board_live", context | {"tiles": tiles(site, board, context)})


def found(site: Site, board_id: str) -> Board:
    """The board of that number, or 404."""
    board = site.parts.boards.get(row_id(board_id, NO_BOARD))
    if board is None:
        raise HTTPException(404, NO_BOARD)
    return board


def board_context(site: Site, board: Board) -> dict[str, Any]:
    """A board with the state of its queries, in three reads; what they brought is not among them."""
    queries = site.parts.definitions.get_many(board.draft.query_ids)
    alarms = site.parts.alerts.states.alarming(list(queries))
    asked = site.asked.get("span", "")
    span = Span(asked) if asked in list(Span) else board.draft.span
    # lines move on though nothing runs
    moment = site.parts.clock.now().timestamp() // (span.length.total_seconds() / MOVES)
    state = (board.id, board.version, span, moment)
    return {
        "board": board,
        "queries": queries,
        "alarms": alarms,
        "span": span,
        "spans": list(Span),
        "is_board": True,
        "seen": list_fingerprint(queries.values(), site.parts.clock.now(), alarms, state),
        "wall_title": board.draft.name,
        "wall_part": "scheduled_query/board_live.html.j2",
        "wall_back": f"{BOARDS}/{board.id}",
    }


def tiles(site: Site, board: Board, context: Mapping[str, Any]) -> list[Tile]:
    """The cards as they are drawn: so many reads for all of them, however many there are."""
    queries: Mapping[int, Query] = context["queries"]
    latest, beginnings = results_of(site.parts.overview, list(queries.values()))
    wanted = {(card.query_id or 0, card.show) for card in board.draft.cards if card.query_id in queries}
    made = {(one, show): shown_as(queries[one], show, latest, beginnings) for one, show in wanted}
    now = site.parts.clock.now()
    lines = site.parts.trends.values(_with_lines(made), now - context["span"].length, now)
    drawn = _Drawn(queries, latest, made, lines, site.parts.settings().enable_history)
    return [
        drawn.tile(number, card)
        for number, card in enumerate(board.draft.cards, start=1)
        if card.query_id is None or card.query_id in queries
    ]


def shown_as(
    query: Query, show: Show, latest: Mapping[int, Latest], beginnings: Mapping[int, str]
) -> Shown | None:
    """The latest result of a query as a card wants it."""
    if show is Show.CHART and query.chart:
        query = replace(query, render_type=RenderType.TABLE)
    elif show in RENDERED_AS:
        query = replace(query, render_type=RENDERED_AS[show], chart=None)
    return shown(query, latest.get(query.id), beginnings.get(query.id))


@dataclass(frozen=True, slots=True)
class _Drawn:
    """All that the cards of a board are made of, by query."""

    queries: Mapping[int, Query]
    latest: Mapping[int, Latest]
    made: _Made
    lines: Mapping[int, Sequence[Point]]
    keeps_history: bool

    def tile(self, number: int, card: Card) -> Tile:
        tile = Tile(id=f"card-{number}", size=f"sq-w-{card.width} sq-h-{card.height}", text=card.text or "")
        if card.query_id is None:
            return tile
        query, points = self.queries[card.query_id], self.lines.get(card.query_id, ())
        made = self.made[query.id, card.show]
        values = [point.value for point in points] if self.keeps_history else query.recent_values
        tile = replace(tile, query=query, latest=self.latest.get(query.id), shown=made, values=values)
        if not _is_line(card.show, made):
            return tile
        line = value_chart(points)
        return replace(tile, over_time=line, problem="" if line or not made else NO_LINE)


def _with_lines(made: _Made) -> set[int]:
    """The queries with a card that shows how their value went."""
    return {
        query_id
        for (query_id, show), one in made.items()
        if _is_line(show, one) or (one and one.rendered.kind is RenderType.COUNTER)
    }


def _is_line(show: Show, made: Shown | None) -> bool:
    return show is Show.CHART and not (made and made.drawing)


def _whole(site: Site, board_id: str) -> dict[str, Any]:
    board = found(site, board_id)
    context = board_context(site, board)
    return context | {"tiles": tiles(site, board, context)}
