"""Boards and trends in the store, on both databases."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from fakes import FakeClock
from plugbay import Store
from plugbay_scheduled_query.boards import BoardEditing, Taken, UnknownBoard
from plugbay_scheduled_query.core.boards import Board, BoardDraft, Card, Show, Span
from plugbay_scheduled_query.core.model import Query
from plugbay_scheduled_query.repository.boards import BoardConflict, Boards
from plugbay_scheduled_query.repository.claims import Claims
from plugbay_scheduled_query.repository.definitions import Definitions
from plugbay_scheduled_query.repository.pruning import Keeping
from plugbay_scheduled_query.repository.recording import Recording
from plugbay_scheduled_query.repository.trends import Trends


@pytest.fixture
def boards(store: Store, clock: FakeClock) -> Boards:
    return Boards(store, clock)


@pytest.fixture
def editing(boards: Boards) -> BoardEditing:
    return BoardEditing(boards)


@pytest.fixture
def board(boards: Boards, add_query: Callable[..., Query]) -> Board:
    query = add_query()
    text = Card(text="é\n<b>", show=Show.TEXT, width=4, height=2)
    return boards.create(
        BoardDraft(name="Shop", span=Span.WEEK, cards=(Card(query_id=query.id), text)), "ada"
    )


def test_a_board_is_read_as_it_was_written(boards: Boards, board: Board):
    assert boards.get(board.id) == board
    assert boards.page(0, 50) == ([board], 1)
    assert (board.version, board.updated_by) == (1, "ada")
    assert boards.get(board.id + 1) is None


def test_boards_come_by_name(boards: Boards):
    for name in ("b", "C", "a"):
        boards.create(BoardDraft(name=name), None)
    assert [one.draft.name for one in boards.page(0, 50)[0]] == ["a", "b", "C"]
    assert ([one.draft.name for one in boards.page(1, 1)[0]], boards.page(9, 1)) == (["b"], ([], 3))


def test_an_edit_counts_the_version_up_and_an_older_one_is_refused(editing: BoardEditing, board: Board):
    saved = editing.edit(board.id, {"name": "Sales"}, "bob", version=1)
    assert isinstance(saved, Board)
    assert (saved.version, saved.updated_by, saved.draft.cards) == (2, "bob", board.draft.cards)
    with pytest.raises(BoardConflict, match="bob saved this board meanwhile"):
        editing.edit(board.id, {"name": "Later"}, "eve", version=1)
    assert editing.edit(board.id, {"name": "Sales"}, "eve", version=2) == saved  # nothing changed


def test_two_that_save_one_version_at_once_do_not_both_win(boards: Boards, board: Board):
    assert boards.update(board.id, BoardDraft(name="First"), "bob", 1)
    with pytest.raises(BoardConflict):
        boards.update(board.id, BoardDraft(name="Second"), "eve", 1)
    assert boards.update(board.id + 1, BoardDraft(name="None"), "eve", 1) is None


def test_a_name_is_used_once(editing: BoardEditing, board: Board):
    assert editing.create({"name": "Shop"}, "bob") == Taken("Shop")
    other = editing.create({"name": "Other"}, "bob")
    assert isinstance(other, Board)
    assert editing.edit(other.id, {"name": "Shop"}, "bob") == Taken("Shop")
    assert isinstance(editing.create({"name": "shop"}, "bob"), Board)  # as sources, by their letters


def test_a_card_of_a_deleted_query_is_left_out(
    boards: Boards, board: Board, definitions: Definitions, editing: BoardEditing
):
    definitions.delete(board.draft.cards[0].query_id or 0)
    for found in (boards.get(board.id), boards.page(0, 50)[0][0]):
        assert found
        assert found.draft.cards == board.draft.cards[1:]
    saved = editing.edit(board.id, {"name": "Without it"}, "bob")
    assert isinstance(saved, Board)
    assert saved.draft.cards == board.draft.cards[1:]


def test_a_deleted_board_is_gone(editing: BoardEditing, board: Board):
    assert editing.delete(board.id, "bob") == board
    for call in (editing.existing, lambda number: editing.delete(number, "bob")):
        with pytest.raises(UnknownBoard):
            call(board.id)


@pytest.fixture
def run(claims: Claims, recording: Recording, finished, clock: FakeClock) -> Callable[..., None]:
    """One more execution, so many seconds later."""

    def execute(query: Query, after_s: float, status: str = "success", **fields: object) -> None:
        clock.advance(after_s)
        started, _ = claims.start_now(query.id, "ada")
        assert started
        recording.record([finished(started, status, **fields)], clock.now(), Keeping())

    return execute


def test_a_trend_has_the_last_success_of_each_step(store: Store, add_query, run, clock: FakeClock):
    busy, idle, other = add_query("Busy"), add_query("Idle"), add_query("Other")
    since = clock.now()
    for n in range(10):  # half a minute is a step of an hour
        run(busy, 10, value=float(n))
    run(busy, 10, "failed")
    run(other, 1, value=5.0)
    found = Trends(store).values([busy.id, idle.id], since, since + timedelta(hours=1))
    assert [point.value for point in found.pop(busy.id)] == [2.0, 5.0, 8.0, 9.0]
    assert found == {}


def test_a_trend_begins_and_ends_where_it_was_asked_to(store: Store, add_query, run, clock: FakeClock):
    query, start = add_query(), clock.now()
    for n in range(3):
        run(query, 3600, value=float(n))
    hour = timedelta(hours=1)
    found = Trends(store).values([query.id], start + hour, start + 2 * hour)
    assert [point.value for point in found[query.id]] == [1.0]
    assert Trends(store).values([], start, clock.now()) == {}
