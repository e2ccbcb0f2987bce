"""Boards and versions in a browser: made, arranged by keyboard and by mouse, compared and brought back."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from browser.watching import Watch, barriers
from browser.world import NARROW, WIDE, World, message
from playwright.sync_api import Locator, Page, expect
from plugbay_scheduled_query.core.boards import Board

BOARDS = "/scheduled_query/boards"


@pytest.fixture(scope="module")
def board(world: World) -> Board:
    """A board with a card of each kind, of queries with a past."""
    shows = ("auto", "value", "chart", "table", "text")
    cards: list[dict[str, Any]] = [
        {"query_id": n, "width": 1 + n % 3, "show": show} for n, show in enumerate(shows, start=1)
    ]
    text = {"text": "Ask Ada before you\nchange <b>anything</b> here.", "height": 2}
    made = world.parts.board_editing.create({"name": "All kinds", "cards": [*cards, text, text]}, "ada")
    assert isinstance(made, Board), made
    world.parts.editing.edit(1, {"query": "SELECT 2 AS two\nUNION ALL\nSELECT 3", "tags": ["v"]}, "ada")
    return made


PAGES = {
    "boards": BOARDS,
    "board": f"{BOARDS}/{{board}}",
    "wall": f"{BOARDS}/{{board}}/wall",
    "edit": f"{BOARDS}/{{board}}/edit",
    "new": f"{BOARDS}/new",
    "versions": "/scheduled_query/query/1/versions",
    "first version": "/scheduled_query/query/1/versions?version=1",
    "against now": "/scheduled_query/query/1/versions?version=1&against=now",
}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(
    ("scheme", "viewport"), [("light", WIDE), ("dark", NARROW)], ids=["wide and light", "narrow and dark"]
)
def test_each_page_is_silent_fits_and_keeps_nobody_out(
    visit: Callable[..., Page], board: Board, name: str, scheme: str, viewport: Any
):
    page = visit("/healthz", color_scheme=scheme, viewport=viewport, reduced_motion="reduce")
    watch = Watch(page)
    page.goto(PAGES[name].format(board=board.id))
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert barriers(page) == []
    watch.expect_silence()


def names(page: Page) -> list[str]:
    return page.locator(".sq-board-form > li strong").all_inner_texts()


def card(page: Page, name: str) -> Locator:
    return page.locator(".sq-board-form > li").filter(has_text=name)


def test_a_board_is_made_and_ordered_with_the_keyboard_alone(visit: Callable[..., Page], world: World):
    for name in ("Key one", "Key two"):
        world.run(world.create(name, "SELECT 42 AS answer"))
    page = visit(BOARDS)
    page.get_by_role("link", name="New board").first.press("Enter")
    page.get_by_label("Name").press_sequentially("By keyboard")
    page.get_by_label("Find a query").press_sequentially("Key")
    page.get_by_label("Find a query").press("Enter")
    expect(page.get_by_role("button", name="Add “Visitors now”")).to_have_count(0)
    for name in ("Key one", "Key two"):
        page.get_by_role("button", name=f"Add “{name}”").press("Enter")
        expect(card(page, name)).to_be_visible()
    page.get_by_role("button", name="Add a text").press("Enter")
    page.get_by_label("Text of card 3").fill("Mind\nthe gap")

    later = page.get_by_role("button", name="Move “Key one” later")
    later.press("Enter")
    expect(page.locator("#board-did")).to_have_text("It is now card 2 of 3.")
    expect(later).to_be_focused()  # so that one can go on
    later.press("Enter")
    expect(page.locator("#board-did")).to_have_text("It is now card 3 of 3.")
    assert names(page) == ["Key two", "Text", "Key one"]
    expect(page.get_by_label("Text of card 2")).to_have_value("Mind\nthe gap")
    page.get_by_role("button", name="Add “Key two”").press("Enter")
    expect(page.locator("#board-did")).to_have_text("“Key two” is added as card 4.")
    page.get_by_role("button", name="Take “Key two” off the board").last.press("Enter")
    expect(page.get_by_role("button", name="Take “Key one” off the board")).to_be_focused()
    card(page, "Key two").get_by_label("Width").select_option("2")
    expect(card(page, "Key two")).to_have_class(re.compile("sq-w-2"))
    page.get_by_role("button", name="Save").press("Enter")

    expect(message(page, "The board “By keyboard” is saved.")).to_be_visible()
    expect(page.locator(".sq-board > article")).to_have_count(3)
    expect(page.locator(".sq-board > article").first).to_contain_text("Key two")
    expect(page.locator(".sq-text-card")).to_have_text("Mind\nthe gap")

    page.get_by_role("link", name="Wall display").press("Enter")
    expect(page.get_by_role("heading", name="By keyboard")).to_be_visible()
    expect(page.get_by_role("navigation")).to_have_count(0)
    expect(page.get_by_role("article", name="Key one")).to_contain_text("42")
    page.get_by_role("link", name="Back to the pages").press("Enter")
    expect(page.get_by_role("link", name="Edit", exact=True)).to_be_visible()


def test_a_card_is_dragged_to_its_place(visit: Callable[..., Page], world: World):
    cards = [{"text": text} for text in ("One", "Two", "Three")]
    made = world.parts.board_editing.create({"name": "By mouse", "cards": cards}, "ada")
    assert isinstance(made, Board)
    page = visit(f"{BOARDS}/{made.id}/edit")
    third = page.locator(".sq-board-form > li").nth(2)
    third.locator(".sq-grip").drag_to(page.locator(".sq-board-form > li").first)
    expect(page.locator(".sq-board-form > li").first.get_by_role("textbox")).to_have_value("Three")
    page.get_by_label("Name").press("Enter")
    expect(page.locator(".sq-board > article")).to_have_text(["Three", "One", "Two"])


def test_a_card_keeps_up_by_itself(visit: Callable[..., Page], world: World):
    query = world.create("Seen on a board", "SELECT 7 AS seven")
    given = {"name": "Live", "cards": [{"query_id": query.id, "show": "value"}]}
    made = world.parts.board_editing.create(given, "ada")
    assert isinstance(made, Board)
    page = visit(f"{BOARDS}/{made.id}")
    expect(page.get_by_role("article")).to_contain_text("no result yet")
    world.run(query)
    expect(page.locator(".sq-counter strong")).to_have_text("7")


def test_leaving_a_board_that_is_not_saved_asks_first(visit: Callable[..., Page]):
    page = visit(f"{BOARDS}/new")
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    page.get_by_role("button", name="Add a text").click()
    expect(page.get_by_label("Text of card 1")).to_be_visible()
    page.get_by_role("link", name="Dashboard").click()
    expect(page.get_by_role("heading", name="Dashboard")).to_be_visible()
    assert asked == ["beforeunload"]


def test_a_board_is_arranged_without_javascript(visit: Callable[..., Page]):
    page = visit(f"{BOARDS}/new", java_script_enabled=False)
    page.get_by_label("Name").fill("Without scripts")
    for text in ("First", "Second"):
        page.get_by_role("button", name="Add a text").click()
        page.get_by_role("textbox", name="Text of card").last.fill(text)
    page.get_by_role("button", name="Move card 2 earlier").click()
    expect(page.get_by_label("Text of card 1")).to_have_value("Second")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".sq-board > article")).to_have_text(["Second", "First"])


def test_an_edit_is_seen_as_a_difference_and_taken_back(visit: Callable[..., Page], world: World):
    query = world.create("Taken back", "SELECT 1 AS one\nFROM (SELECT 1)")
    page = visit(f"/scheduled_query/edit/{query.id}")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+Home")
    page.keyboard.press("Shift+End")
    page.keyboard.type("SELECT 2 AS two")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("link", name="Version 2: all versions")).to_be_visible()
    page.get_by_role("link", name="Version 2: all versions").click()
    expect(page.locator(".sq-line-removed")).to_have_text(re.compile(r"removed\s*SELECT 1 AS one"))
    expect(page.locator(".sq-line-added")).to_have_text(re.compile(r"added\s*SELECT 2 AS two"))

    page.get_by_role("link", name="Version 1").click()
    page.get_by_role("link", name="Against now").click()
    expect(page.get_by_role("heading", name=re.compile("From version 1 to"))).to_be_visible()
    page.get_by_role("button", name="Restore version 1").click()
    expect(message(page, "Version 1 is in force again, as version 3.")).to_be_visible()
    expect(page.locator(".sq-version-list > li").first).to_contain_text("in force")
    assert page.locator(".sq-version-list > li").count() == 3
    found = world.parts.definitions.get(query.id)
    assert found
    assert (found.query, found.updated_by) == ("SELECT 1 AS one\nFROM (SELECT 1)", "editor")
