"""Boards on pages: what their cards show, and the form that arranges them without JavaScript."""

from typing import Any

import pytest
import sqlalchemy as sa
from plugbay_scheduled_query.web.pages.board_form import FormCard, cards_in, moved
from scheduled_query.pages.reading import Element, live, read

BOARDS = "/scheduled_query/boards"


def make(service, *cards: dict[str, Any], **fields: Any) -> dict[str, Any]:
    given = {"name": service.unique("Board"), "cards": list(cards), **fields}
    answer = service.editor.post("/api/boards", json=given)
    assert answer.status_code == 201, answer.text
    board: dict[str, Any] = answer.json()
    return board


def result(columns: tuple[str, ...], text: str, rows: int = 1) -> dict[str, Any]:
    return {"columns": columns, "result_json": text, "row_count": rows}


@pytest.fixture
def trending(service) -> dict[str, Any]:
    """A query whose value went from 1 to 3 within three hours."""
    made = service.create("SELECT 1 AS n")
    for value in (1, 2, 3):
        service.clock.advance(3600)
        service.record(made["id"], result=result(("n",), f"[[{value}]]"), value=float(value))
    return made


def board_page(service, board: dict[str, Any], path: str = "", **params: Any) -> Element:
    answer = service.viewer.get(f"{BOARDS}/{board['id']}{path}", params=params)
    assert answer.status_code == 200, answer.text
    return read(answer.text)


def test_the_list_of_boards_has_the_board_of_everything(service):
    board = make(service, {"text": "Hello"}, span="7d")
    found = read(service.viewer.get(BOARDS).text)
    texts = [item.text for item in found.first("ul", **{"class": "sq-boards"}).all("li")]
    assert any(text.startswith(f"{board['name']} 1 card · 7d saved ") for text in texts)
    assert texts[-1].startswith("Results Widgets")
    assert found.first("a", href="/scheduled_query/results-widgets")


def test_each_card_shows_its_query_as_it_was_asked_to(service, trending):
    shows = ("auto", "value", "chart", "table", "text")
    board = make(service, *({"query_id": trending["id"], "show": show, "width": 2} for show in shows))
    auto, value, chart, table, text = board_page(service, board).all("article")
    for counter in (auto, value):
        assert counter.first("strong").text == "3"
        assert counter.first("svg").attributes["aria-label"].startswith("Values: 3 values")
    assert chart.first("ui-chart").attributes["aria-label"].startswith(f"{trending['name']} over time")
    assert table.first("table").text == "n 3"
    assert text.first("pre").text == "[[3]]"
    assert {"sq-w-2", "sq-h-1"} <= set(auto.attributes["class"].split())


def test_lines_follow_the_span(service, trending):
    board = make(service, {"query_id": trending["id"], "show": "chart"}, span="24h")
    day = board_page(service, board).first("ui-chart").attributes["aria-label"]
    assert "3 values" in day
    short = board_page(service, board, span="1h").first("article")
    assert "no two numbers" in short.text
    current = board_page(service, board, span="7d").first("nav", **{"aria-label": "Time span"})
    assert [one.text for one in current.all("a") if "aria-current" in one.attributes] == ["7d"]
    unknown = board_page(service, board, span="2h").first("nav", **{"aria-label": "Time span"})
    assert [one.text for one in unknown.all("a") if "aria-current" in one.attributes] == ["24h"]


def test_a_query_that_says_how_it_is_drawn_is_drawn_so(service):
    chart = {"kind": "bar", "x": "region", "y": ["n"]}
    made = service.create("SELECT 'eu' AS region, 3 AS n", chart=chart, render_type="raw")
    service.record(made["id"], result=result(("region", "n"), '[["eu",3],["us",4]]', 2))
    board = make(
        service, {"query_id": made["id"], "show": "chart"}, {"query_id": made["id"], "show": "table"}
    )
    drawn, table = board_page(service, board).all("article")
    assert '"bar"' in drawn.first("ui-chart").attributes["data-chart"]
    assert not table.all("ui-chart")
    assert table.first("table").text.startswith("region n")


def test_without_history_sparklines_show_the_recent_values(service, trending):
    board = make(service, {"query_id": trending["id"]}, span="1h")
    with service.settings(enable_history=False):
        card = board_page(service, board).first("article")
    assert card.first("svg").attributes["aria-label"].startswith("Values: 3 values")


def test_a_text_keeps_its_lines_and_is_escaped(service):
    board = make(service, {"text": "One <b>bold</b>\n<script>alert(1)</script>", "height": 3})
    html = service.viewer.get(f"{BOARDS}/{board['id']}").text
    assert "One &lt;b&gt;bold&lt;/b&gt;\n&lt;script&gt;" in html
    assert "<script>alert" not in html


def test_what_went_wrong_and_what_was_cut_is_shown_as_on_widgets(service):
    broken, cut = service.create(), service.create()
    service.record(broken["id"], "failed")
    service.record(cut["id"], result=result(("a", "b"), "[[1,2],[3,4]]", 2), truncated=True)
    unknown = service.create()
    cards = [{"query_id": one["id"]} for one in (broken, cut, unknown)]
    raw = {"query_id": cut["id"], "show": "text"}
    failed, short, new, text = board_page(service, make(service, *cards, raw)).all("article")
    assert "failed" in failed.first("header").text
    assert "it broke" in failed.text
    assert "sq-bad" in failed.attributes["class"]
    for card in (short, text):
        assert "cut at the limit" in card.first("footer").text
    assert "no result yet" in new.text


def test_an_alert_that_fires_is_shown_on_its_card(service):
    made = service.create("SELECT 5 AS n")
    rule = {"kind": "value", "op": ">", "value": 1}
    service.editor.post("/api/alerts", json={"query_id": made["id"], "condition": rule, "name": "High"})
    service.run(made["id"])
    card = board_page(service, make(service, {"query_id": made["id"]})).first("article")
    assert "firing" in card.first("header").text
    assert "sq-alarming" in card.attributes["class"]


def test_the_card_of_a_deleted_query_is_gone(service):
    made = service.create()
    board = make(service, {"query_id": made["id"]}, {"text": "stays"})
    service.editor.delete(f"/api/scheduled-queries/{made['id']}")
    assert [card.text for card in board_page(service, board).all("article")] == ["stays"]
    assert "1 card ·" in service.viewer.get(BOARDS).text


def test_the_cards_refresh_once_something_happened(service):
    made = service.create()
    board = make(service, {"query_id": made["id"]})
    address, headers = live(board_page(service, board))
    assert address.rstrip("?") == f"{BOARDS}/{board['id']}/live"
    assert service.viewer.get(address, headers=headers).status_code == 204
    service.record(made["id"])
    fresh = service.viewer.get(address, headers=headers)
    assert fresh.status_code == 200
    assert read(fresh.text).first("strong").text == "1"
    address, headers = live(read(fresh.text))
    service.editor.patch(f"/api/boards/{board['id']}", json={"span": "1h"})
    assert service.viewer.get(address, headers=headers).status_code == 200


def test_lines_move_on_though_nothing_runs(service, trending):
    board = make(service, {"query_id": trending["id"], "show": "chart"}, span="24h")
    address, headers = live(board_page(service, board))
    service.clock.advance(23 * 3600)
    fresh = service.viewer.get(address, headers=headers)
    assert fresh.status_code == 200
    assert "no two numbers" in read(fresh.text).text


def test_the_wall_shows_the_cards_alone(service, trending):
    board = make(service, {"query_id": trending["id"]})
    wall = board_page(service, board, "/wall")
    assert wall.first("h1").text == board["name"]
    assert wall.first("strong").text == "3"
    assert not wall.all("nav")
    back = wall.first("a", **{"aria-label": "Back to the pages"})
    assert back.attributes["href"].rstrip("?") == f"{BOARDS}/{board['id']}"


def test_a_board_of_forty_cards_costs_as_many_reads_as_one_of_four(service, trending):
    ids = [trending["id"], *(service.create()["id"] for _ in range(39))]
    few, many = (make(service, *({"query_id": one} for one in ids[:count])) for count in (4, 40))
    told: list[str] = []

    def count(connection, cursor, statement, *rest):
        told.append(statement)

    def reads(board: dict[str, Any]) -> int:
        told.clear()
        board_page(service, board)
        return len(told)

    reads(few)  # what is remembered for a moment is asked for once
    sa.event.listen(sa.Engine, "before_cursor_execute", count)
    try:
        assert reads(many) == reads(few) > 0
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", count)


@pytest.mark.parametrize("path", ["", "/wall", "/live", "/edit"])
@pytest.mark.parametrize("number", ["999999", "0", "x", "99999999999"])
def test_a_board_that_is_not_there_is_404(service, path, number):
    assert service.editor.get(f"{BOARDS}/{number}{path}").status_code == 404


def test_viewers_look_and_change_nothing(service):
    board = make(service)
    here = f"{BOARDS}/{board['id']}"
    for path in (BOARDS, here, f"{here}/wall", f"{here}/live"):
        assert service.viewer.get(path).status_code == 200
    for path in (f"{BOARDS}/new", f"{here}/edit"):
        assert service.viewer.get(path).status_code == 403
        assert service.viewer.post(path, data={"name": "x"}).status_code == 403
    assert service.viewer.post(f"{here}/delete").status_code == 403
    assert "Edit" not in board_page(service, board).first("main").text


class Form:
    """The form of a board, as somebody without JavaScript uses it."""

    def __init__(self, service, path: str) -> None:
        self.service, self.path = service, path
        self.page = read(service.editor.get(path).text)

    @property
    def element(self) -> Element:
        return self.page.first("form", id="board-form")

    def names(self) -> list[str]:
        return [item.first("strong").text for item in self.element.all("li") if "data-key" in item.attributes]

    def press(self, label: str, **typed: str) -> "Form":
        [button] = [one for one in self.element.all("button") if one.attributes.get("aria-label") == label]
        return self.send(act=button.attributes["value"], **typed)

    def send(self, **typed: str) -> "Form":
        sent = self.service.editor.post(self.path, data=self.element.fields() | typed)
        assert sent.status_code == 200, sent.text
        self.page = read(sent.text)
        return self

    def save(self, **typed: str) -> Any:
        return self.service.editor.post(self.path, data=self.element.fields() | typed)


def stored(service, answer: Any) -> dict[str, Any]:
    assert answer.status_code == 303, answer.text
    number = answer.headers["location"].rpartition("/")[2]
    found: dict[str, Any] = service.viewer.get(f"/api/boards/{number}").json()
    return found


def test_a_board_is_made_by_buttons_alone(service):
    names = [service.unique("Pressed") for _ in range(2)]
    ids = [service.create(name=name)["id"] for name in names]
    form = Form(service, f"{BOARDS}/new")
    form.send(act="find", search="Pressed", name="By buttons")
    form.press(f"Add “{names[0]}”").press(f"Add “{names[1]}”").press("Add a text")
    assert form.names() == [*names, "Text"]
    form.send(act="find", **{"text-2": "Mind\r\nthe gap", "width-2": "4", "show-1": "chart"})
    form.press("Move card 3 earlier").press("Move card 2 earlier").press("Move card 1 earlier")
    assert form.names() == ["Text", *names]
    assert "It is now card 1 of 3." in form.page.first("p", id="board-did").text
    form.press(f"Take “{names[0]}” off the board")
    assert service.viewer.get("/api/boards").text.count("By buttons") == 0  # nothing is stored yet
    board = stored(service, form.save(span="7d"))
    assert (board["name"], board["span"]) == ("By buttons", "7d")
    assert board["cards"] == [
        {"text": "Mind\nthe gap", "width": 4, "height": 1, "show": "text"},
        {"query_id": ids[1], "width": 1, "height": 1, "show": "chart"},
    ]


def test_a_stored_board_comes_into_the_form_and_back_as_it_was(service):
    cards = [
        {"query_id": service.create()["id"], "width": 3, "height": 4, "show": "table"},
        {"text": "\n\nx"},
    ]
    board = make(service, *cards, span="30d")
    saved = stored(service, Form(service, f"{BOARDS}/{board['id']}/edit").save())
    assert saved == board  # the version, too: nothing changed


def test_what_is_wrong_comes_back_with_the_form(service):
    other = make(service)
    form = Form(service, f"{BOARDS}/new").press("Add a text", name="Texts")
    empty = form.save()
    assert empty.status_code == 422
    assert "Card 1: its text is empty." in read(empty.text).text
    taken = form.save(name=other["name"], **{"text-0": "x"})
    assert taken.status_code == 422
    page = read(taken.text)
    assert f"another board is called “{other['name']}”" in page.text
    assert page.first("form", id="board-form").fields()["text-0"] == "x"


def test_who_saves_an_older_version_is_told_and_keeps_what_was_typed(service):
    board = make(service, {"text": "first"})
    form = Form(service, f"{BOARDS}/{board['id']}/edit")
    service.editor.patch(f"/api/boards/{board['id']}", json={"span": "1h"})
    answer = form.save(**{"text-0": "mine"})
    assert answer.status_code == 409
    page = read(answer.text)
    assert "Editor saved this board meanwhile (it is now version 2): what you typed" in page.text
    assert page.first("form", id="board-form").fields()["text-0"] == "mine"


def test_a_board_is_deleted_and_its_queries_stay(service):
    made = service.create()
    board = make(service, {"query_id": made["id"]})
    gone = service.editor.post(f"{BOARDS}/{board['id']}/delete")
    assert (gone.status_code, gone.headers["location"]) == (303, BOARDS)
    assert service.viewer.get(f"{BOARDS}/{board['id']}").status_code == 404
    assert service.viewer.get(f"/api/scheduled-queries/{made['id']}").status_code == 200


@pytest.mark.parametrize(
    "act", ["earlier", "later x", "remove 99", "add", "add 0", "add 99999999999", "?", " "]
)
def test_buttons_that_nobody_made_do_no_harm(service, act):
    form = Form(service, f"{BOARDS}/new").press("Add a text")
    assert service.editor.post(form.path, data=form.element.fields() | {"act": act}).status_code == 200


@pytest.mark.parametrize(
    ("order", "keys"),
    [("2,0,1", [2, 0, 1]), ("1,1,1", [1]), ("9,x,,-1,1.5,0", [0]), ("", []), ("0," * 500, [0])],
)
def test_the_order_of_a_form_is_read_strictly(order, keys):
    typed = {"order": order, "text-0": "a", "query-1": "5", "text-2": "c"}
    assert [card.key for card in cards_in(typed)] == keys


def test_cards_move_a_place_at_a_time_and_stop_at_the_ends():
    cards = [FormCard(key=key) for key in (5, 7, 9)]
    keys = lambda key, step: [card.key for card in moved(cards, key, step)]  # noqa: E731
    assert keys(7, -1) == [7, 5, 9]
    assert keys(7, 1) == [5, 9, 7]
    assert keys(5, -1) == keys(9, 1) == keys(4, 1) == [5, 7, 9]
