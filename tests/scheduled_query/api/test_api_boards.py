"""Boards over HTTP: made, read, edited with a version, deleted."""

from typing import Any

import pytest
from plugbay_scheduled_query.web.api.boards import BoardAnswer, BoardPage
from scheduled_query.api.test_api_hostile import VALUES


def post(service, **given: Any) -> Any:
    return service.editor.post("/api/boards", json={"name": service.unique("Board"), **given})


def make(service, **given: Any) -> dict[str, Any]:
    answer = post(service, **given)
    assert answer.status_code == 201, answer.text
    board: dict[str, Any] = answer.json()
    BoardAnswer.model_validate(board, strict=True)
    return board


def test_a_board_is_made_and_read(service_on_both):
    service = service_on_both
    made = service.create()
    board = make(service, cards=[{"query_id": made["id"], "width": 2, "show": "chart"}, {"text": "a\nb"}])
    assert board["span"] == "24h"
    assert (board["version"], board["updated_by"]) == (1, "editor")
    assert board["cards"] == [
        {"query_id": made["id"], "width": 2, "height": 1, "show": "chart"},
        {"text": "a\nb", "width": 1, "height": 1, "show": "text"},
    ]
    assert service.viewer.get(f"/api/boards/{board['id']}").json() == board
    page = service.viewer.get("/api/boards").json()
    BoardPage.model_validate(page, strict=True)
    assert board in page["data"]
    assert page["pagination"]["total_count"] == len(page["data"])


def test_what_was_read_can_be_sent_back(service_on_both):
    service = service_on_both
    board = make(service, cards=[{"query_id": service.create()["id"]}, {"text": "x"}], span="30d")
    answer = service.editor.patch(f"/api/boards/{board['id']}", json=board)
    assert (answer.status_code, answer.json()) == (200, board)


def test_an_edit_changes_what_was_sent_and_counts_up(service_on_both):
    service = service_on_both
    board = make(service, cards=[{"text": "x"}])
    path = f"/api/boards/{board['id']}"
    answer = service.editor.patch(path, json={"span": "1h", "version": 1, "id": 99, "more": True})
    assert answer.status_code == 200
    assert answer.json() | {"updated_at": ""} == board | {"span": "1h", "version": 2, "updated_at": ""}
    late = service.editor.patch(path, json={"span": "7d", "version": 1})
    assert late.status_code == 409
    assert "editor saved this board meanwhile (it is now version 2)" in late.json()["detail"]
    assert service.editor.patch(path, json={"span": "7d"}).json()["version"] == 3


def test_a_name_in_use_is_409(service_on_both):
    service = service_on_both
    one, other = make(service), make(service)
    assert post(service, name=one["name"]).status_code == 409
    answer = service.editor.patch(f"/api/boards/{other['id']}", json={"name": one["name"]})
    assert answer.status_code == 409
    assert answer.json()["detail"] == f"The name is in use: another board is called “{one['name']}”."
    assert service.editor.patch(f"/api/boards/{one['id']}", json={"name": one["name"]}).status_code == 200


def test_a_card_whose_query_was_deleted_is_left_out(service):
    made = service.create()
    board = make(service, cards=[{"query_id": made["id"]}, {"text": "stays"}])
    service.editor.delete(f"/api/scheduled-queries/{made['id']}")
    read = service.viewer.get(f"/api/boards/{board['id']}").json()
    assert [card.get("text") for card in read["cards"]] == ["stays"]
    assert read["version"] == 1
    again = service.editor.patch(f"/api/boards/{board['id']}", json={"cards": board["cards"]})
    assert again.status_code == 422
    assert f"there is no query {made['id']}" in again.json()["detail"][0]["msg"]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"cards": [{"query_id": 999_999}]}, "cards"),
        ({"cards": [{"query_id": 2**70}]}, "cards"),
        ({"cards": [{"width": 1}]}, "cards"),
        ({"cards": "x"}, "cards"),
        ({"span": "1y"}, "span"),
        ({"name": ""}, "name"),
        ({"name": ["x"]}, "name"),
    ],
)
def test_what_is_wrong_is_422_at_its_field(service, given, field):
    board = make(service)
    for answer in (post(service, **given), service.editor.patch(f"/api/boards/{board['id']}", json=given)):
        assert answer.status_code == 422
        assert answer.json()["detail"][0]["loc"] == ["body", field]


def test_a_version_that_is_no_number_is_422(service):
    board = make(service)
    answer = service.editor.patch(f"/api/boards/{board['id']}", json={"version": "1"})
    assert answer.status_code == 422


def test_a_deleted_board_is_404(service):
    path = f"/api/boards/{make(service)['id']}"
    assert service.editor.delete(path).status_code == 204
    assert service.viewer.get(path).status_code == 404
    assert service.editor.delete(path).status_code == 404
    assert service.editor.patch(path, json={}).status_code == 404


@pytest.mark.parametrize("number", [2**31, 2**63 - 1])
def test_a_number_that_no_board_has_is_404(service, number):
    assert service.viewer.get(f"/api/boards/{number}").status_code == 404


@pytest.mark.parametrize("number", ["0", "-1", "x", "1.0", str(2**63)])
def test_what_is_no_number_is_422(service, number):
    assert service.viewer.get(f"/api/boards/{number}").status_code == 422


def test_boards_come_in_pages(service):
    for _ in range(3):
        make(service)
    first = service.viewer.get("/api/boards", params={"limit": 2}).json()
    second = service.viewer.get("/api/boards", params={"limit": 2, "page": 2}).json()
    assert len(first["data"]) == 2
    assert first["pagination"]["has_next"]
    assert not {one["id"] for one in first["data"]} & {one["id"] for one in second["data"]}
    far = service.viewer.get("/api/boards", params={"limit": 200, "page": 2**63 - 1})
    assert (far.status_code, far.json()["data"]) == (200, [])


@pytest.mark.parametrize("field", ["name", "span", "cards", "version"])
@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_nothing_that_is_sent_for_a_field_is_too_much(service, hostile, field, value):
    assert post(service, **{field: value}).status_code in (201, 409, 422)
    assert service.editor.patch(hostile, json={field: value}).status_code in (200, 409, 422)


@pytest.mark.parametrize("field", ["query_id", "text", "width", "height", "show"])
@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_nothing_that_is_sent_for_a_card_is_too_much(service, hostile, field, value):
    for card in ({field: value}, {"text": "x", field: value}, {"query_id": 1, field: value}):
        assert service.editor.patch(hostile, json={"cards": [card]}).status_code in (200, 422)


@pytest.fixture(scope="module")
def hostile(service) -> str:
    return f"/api/boards/{make(service)['id']}"
