"""Boards in the store: read without the cards of deleted queries, edited with a look at their version."""

import json
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from plugbay import Clock, Store

from plugbay_scheduled_query.core.boards import Board, BoardDraft, Span, read_card
from plugbay_scheduled_query.repository.rows import Row
from plugbay_scheduled_query.tables import boards, queries


class BoardNameTaken(Exception):
    """Another board has this name."""


class BoardConflict(Exception):
    """Somebody else saved this board meanwhile."""

    def __init__(self, current: Board) -> None:
        self.current = current
        who = current.updated_by or "somebody else"
        super().__init__(f"{who} saved this board meanwhile (it is now version {current.version})")


class Boards:
    """The table of boards."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def page(self, offset: int, limit: int) -> tuple[list[Board], int]:
        """A page of boards by name, and how many there are."""
        ordered = sa.select(boards).order_by(sa.func.lower(boards.c.name), boards.c.id)
        with self._store.connect() as connection:
            total = connection.scalar(sa.select(sa.func.count()).select_from(boards)) or 0
            rows = connection.execute(ordered.offset(offset).limit(limit))
            return _boards(connection, rows), total

    def get(self, board_id: int) -> Board | None:
        """One board, if there is one."""
        with self._store.connect() as connection:
            rows = connection.execute(sa.select(boards).where(boards.c.id == board_id))
            return next(iter(_boards(connection, rows)), None)

    def known_queries(self, query_ids: Collection[int]) -> set[int]:
        """Which of these queries there are."""
        with self._store.connect() as connection:
            return _living(connection, query_ids)

    def create(self, draft: BoardDraft, by: str | None) -> Board:
        """A new board; raises BoardNameTaken."""
        now = self._clock.now()
        made = {"created_by": by, "created_at": now, "updated_by": by, "updated_at": now}
        try:
            with self._store.begin() as connection:
                insert = sa.insert(boards).values(_values(draft) | made).returning(boards)
                return _board(connection.execute(insert).one())
        except sa.exc.IntegrityError:
            raise BoardNameTaken from None

    def update(self, board_id: int, draft: BoardDraft, by: str | None, version: int) -> Board | None:
        """Stores an edit of that version; None: it is gone. Raises BoardConflict or BoardNameTaken."""
        edited = {"updated_by": by, "updated_at": self._clock.now(), "version": version + 1}
        at_version = (boards.c.id == board_id) & (boards.c.version == version)
        update = sa.update(boards).where(at_version).values(_values(draft) | edited).returning(boards)
        try:
            with self._store.begin() as connection:
                if row := connection.execute(update).first():
                    return _board(row)
        except sa.exc.IntegrityError:
            raise BoardNameTaken from None
        if current := self.get(board_id):
            raise BoardConflict(current)
        return None

    def delete(self, board_id: int) -> bool:
        """Takes a board away; whether there was one."""
        with self._store.begin() as connection:
            return connection.execute(sa.delete(boards).where(boards.c.id == board_id)).rowcount > 0


def _boards(connection: sa.Connection, rows: Iterable[Row]) -> list[Board]:
    """Boards of these rows, with the cards of queries that are still there: one read for all of them."""
    found = [_board(row) for row in rows]
    wanted = {query_id for board in found for query_id in board.draft.query_ids}
    known = _living(connection, wanted)
    return [replace(board, draft=board.draft.only_with(known)) for board in found]


def _living(connection: sa.Connection, query_ids: Collection[int]) -> set[int]:
    select = sa.select(queries.c.id).where(queries.c.id.in_(query_ids), queries.c.deleted_at.is_(None))
    return set(connection.scalars(select)) if query_ids else set()


def _board(row: Row) -> Board:
    cards = tuple(read_card(card) for card in json.loads(row.cards))
    draft = BoardDraft(name=row.name, span=Span(row.span), cards=cards)
    return Board(
        id=row.id, draft=draft, version=row.version, updated_by=row.updated_by, updated_at=row.updated_at
    )


def _values(draft: BoardDraft) -> dict[str, Any]:
    cards = json.dumps([card.as_json() for card in draft.cards], ensure_ascii=False)
    return {"name": draft.name, "span": draft.span.value, "cards": cards}
