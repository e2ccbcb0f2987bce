"""Boards as people make, change and delete them: the same for form and API."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from plugbay import get_logger

from plugbay_scheduled_query.core.boards import Board, BoardDraft, check_board_edit, check_new_board
from plugbay_scheduled_query.core.draft import Refused
from plugbay_scheduled_query.repository.boards import BoardConflict, BoardNameTaken, Boards

PATIENCE = 10  # edits by others that an edit without a version lets go before it

log = get_logger("plugbay.scheduled_query")


class UnknownBoard(Exception):
    """A board that is not there, perhaps no longer."""

    def __init__(self) -> None:
        super().__init__("there is no such board")


@dataclass(frozen=True, slots=True)
class Taken:
    """A name that another board has."""

    name: str

    @property
    def sentence(self) -> str:
        return f"another board is called “{self.name}”"


class BoardEditing:
    """Checks what people write about boards, and stores it."""

    def __init__(self, boards: Boards) -> None:
        self._boards = boards

    def create(self, given: Mapping[str, Any], by: str | None) -> Board | Refused | Taken:
        """A new board from whatever was sent, or a sentence for each field that is wrong."""
        draft = check_new_board(given, self._boards.known_queries)
        if isinstance(draft, Refused):
            return draft
        try:
            return _told(self._boards.create(draft, by))
        except BoardNameTaken:
            return Taken(draft.name)

    def edit(
        self, board_id: int, given: Mapping[str, Any], by: str | None, version: int | None = None
    ) -> Board | Refused | Taken:
        """Changes the fields that were sent; raises UnknownBoard, or BoardConflict for an older version."""
        for _ in range(PATIENCE):
            current = self.existing(board_id)
            if version not in (None, current.version):
                raise BoardConflict(current)
            draft = check_board_edit(current.draft, given, self._boards.known_queries)
            if isinstance(draft, Refused) or draft == current.draft:
                return draft if isinstance(draft, Refused) else current
            try:
                return self._update(current, draft, by)
            except BoardConflict as error:
                conflict = error  # with no version asked for, the newest is the one to edit
                if version is not None:
                    raise
        raise conflict

    def delete(self, board_id: int, by: str | None) -> Board:
        """Takes a board away; its queries stay. Raises UnknownBoard."""
        board = self.existing(board_id)
        if not self._boards.delete(board_id):
            raise UnknownBoard
        log.info("board_deleted", board=board.draft.name, id=board.id, by=by)
        return board

    def existing(self, board_id: int) -> Board:
        """The board of that number; raises UnknownBoard."""
        board = self._boards.get(board_id)
        if board is None:
            raise UnknownBoard
        return board

    def _update(self, current: Board, draft: BoardDraft, by: str | None) -> Board | Taken:
        try:
            saved = self._boards.update(current.id, draft, by, current.version)
        except BoardNameTaken:
            return Taken(draft.name)
        if saved is None:
            raise UnknownBoard
        return _told(saved)


def _told(board: Board) -> Board:
    log.info("board_saved", board=board.draft.name, id=board.id, by=board.updated_by, version=board.version)
    return board
