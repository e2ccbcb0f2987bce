"""Several queries of the list at once, without JavaScript."""

from urllib.parse import unquote_plus

import pytest
from scheduled_query.api.conftest import Service
from scheduled_query.pages.reading import read

LIST = "/scheduled_query/"
BULK = "/scheduled_query/bulk"


def send(service: Service, action: str, ids: list[int], **more: str):
    return service.editor.post(BULK, data={"action": action, "ids": [str(one) for one in ids], **more})


def said(service: Service, answer) -> str:
    assert answer.status_code == 303
    return read(service.editor.get(answer.headers["location"]).text).text


def test_every_row_has_a_box_and_a_link_ticks_them_all(service: Service):
    made = service.create()
    page = service.editor.get(LIST, params={"search": made["name"]}).text
    assert f'name="ids" value="{made["id"]}" form="bulk"' in page
    assert "select=all" in page
    ticked = service.editor.get(LIST, params={"search": made["name"], "select": "all"}).text
    assert f'aria-label="Select “{made["name"]}”" checked' in ticked


def test_viewers_see_no_boxes(service: Service):
    service.create()
    page = service.viewer.get(LIST).text
    assert 'name="ids"' not in page
    assert 'id="bulk"' not in page


def test_a_form_of_the_list_does_it_and_says_how_many(service: Service):
    ids = [service.create()["id"] for _ in range(2)]
    assert "2 disabled." in said(service, send(service, "disable", ids))
    assert not service.parts.definitions.get(ids[0]).enabled
    assert "1 tagged." in said(service, send(service, "tag", ids[:1], tag="night"))
    assert "2 started." in said(service, send(service, "run", ids))


def test_what_was_refused_is_told_with_its_name(service: Service):
    full = service.create(tags=[f"t{n}" for n in range(20)])
    text = said(service, send(service, "tag", [full["id"]], tag="more"))
    assert f"0 tagged, 1 refused: {full['name']}: tags: at most 20 tags" in text


@pytest.mark.parametrize(
    ("action", "more", "sentence"),
    [
        ("enable", {}, "Select queries first"),
        ("tag", {"tag": "night"}, "Select queries first"),
        ("tag", {"tag": " "}, "Write the tag into its field first"),
        ("tag", {"tag": "a,b"}, "is not valid"),
    ],
)
def test_what_is_missing_is_asked_for(service: Service, action: str, more: dict, sentence: str):
    assert sentence in said(service, send(service, action, [], **more))


def test_an_unknown_action_is_refused(service: Service):
    assert send(service, "explode", [1]).status_code == 422


def test_deleting_asks_first_with_the_count_and_the_names(service: Service):
    made = [service.create() for _ in range(2)]
    address = f"{BULK}/delete?" + "&".join(f"ids={one['id']}" for one in made)
    page = read(service.editor.get(address).text)
    assert "Delete 2 queries?" in page.text
    assert all(one["name"] in page.text for one in made)
    part = service.editor.get(address, headers={"HX-Request": "true"}).text
    assert part.lstrip().startswith("<form")
    assert service.viewer.get(address).status_code == 403
    assert "2 deleted." in said(service, send(service, "delete", [one["id"] for one in made]))


def test_the_question_about_nothing_leads_back(service: Service):
    answer = service.editor.get(f"{BULK}/delete")
    assert answer.status_code == 303
    assert unquote_plus(answer.headers["location"]) == LIST


def test_one_comes_back_to_the_list_as_it_was(service: Service):
    [one] = [service.create()["id"]]
    referer = {"Referer": f"http://testserver{LIST}?search=x&page=2"}
    answer = service.editor.post(BULK, data={"action": "disable", "ids": str(one)}, headers=referer)
    assert answer.headers["location"] == f"{LIST}?search=x&page=2"
