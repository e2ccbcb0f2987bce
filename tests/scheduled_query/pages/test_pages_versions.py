"""The versions of a query on a page: what changed, in words, and the way back."""

from typing import Any

import pytest
from plugbay_scheduled_query.core.draft import FIELDS
from plugbay_scheduled_query.web.pages.versions import WORDS
from scheduled_query.pages.reading import Element, read

HERE = "/scheduled_query/query/{}/versions"


def edit(service, made: dict[str, Any], **fields: Any) -> None:
    assert service.editor.patch(f"/api/scheduled-queries/{made['id']}", json=fields).status_code == 200


def page(service, made: dict[str, Any], **params: Any) -> Element:
    answer = service.viewer.get(HERE.format(made["id"]), params=params)
    assert answer.status_code == 200, answer.text
    return read(answer.text)


def lines(found: Element) -> list[str]:
    return [row.text for row in found.first("table", **{"class": "sq-lines"}).first("tbody").all("tr")]


def test_every_field_has_its_word():
    assert tuple(WORDS) == FIELDS


def test_versions_are_listed_with_who_when_and_what_changed(service):
    made = service.create("SELECT 1 AS one")
    edit(service, made, query="SELECT 2 AS two", tags=["x"])
    first, second = page(service, made).first("ol", **{"class": "sq-version-list"}).all("li")
    assert first.text.startswith("Version 2 in force")
    assert first.text.endswith("by editor SQL, Tags")
    assert second.text.startswith("Version 1")
    assert second.text.endswith("by editor created")
    link = service.viewer.get(f"/scheduled_query/query/{made['id']}").text
    assert HERE.format(made["id"]) in link


def test_lines_and_fields_are_compared_in_words(service):
    made = service.create("SELECT 1 AS one\nFROM orders", description="Old")
    edit(service, made, query="SELECT 2 AS two\nFROM orders", description="New")
    found = page(service, made)
    assert lines(found) == ["1 − removed SELECT 1 AS one", "1 + added SELECT 2 AS two", "2 2 FROM orders"]
    assert "Description Old New" in found.first("table").text
    assert "1 removed 1 added lines" in found.text


def test_an_older_version_is_compared_with_what_is_in_force(service):
    made = service.create("SELECT 1 AS one")
    for n in (2, 3):
        edit(service, made, query=f"SELECT {n} AS one")
    before = page(service, made, version=2)
    assert lines(before) == ["1 − removed SELECT 1 AS one", "1 + added SELECT 2 AS one"]
    now = page(service, made, version=1, against="now")
    assert lines(now) == ["1 − removed SELECT 1 AS one", "1 + added SELECT 3 AS one"]
    assert "From version 1 to what is in force (version 3)" in now.text


def test_the_first_version_is_shown_as_it_is(service):
    made = service.create("SELECT 1 AS one")
    found = page(service, made)
    assert "This is how it was created." in found.text
    assert "SELECT 1 AS one" in found.text
    assert not found.all("form", method="post", action=f"/scheduled_query/query/{made['id']}/restore")


def test_restoring_without_javascript_is_one_form(service):
    made = service.create("SELECT 1 AS one", enabled=True)
    edit(service, made, query="SELECT 2 AS two", enabled=False)
    answer = service.editor.get(HERE.format(made["id"]), params={"version": 1})
    found = read(answer.text)
    assert "Restoring it also switches the query on." in found.text
    [form] = [one for one in found.all("form") if one.attributes["action"].endswith("/restore")]
    sent = service.editor.post(form.attributes["action"], data=form.fields())
    assert (sent.status_code, sent.headers["location"]) == (303, HERE.format(made["id"]))
    after = service.viewer.get(f"/api/scheduled-queries/{made['id']}").json()
    assert (after["query"], after["enabled"], after["version"]) == ("SELECT 1 AS one", True, 3)


def test_what_is_refused_is_told_and_changes_nothing(service):
    made = service.create("SELECT 1 AS truncated")
    edit(service, made, query="SELECT 2 AS two")
    with service.settings(forbidden_keywords="truncated"):
        sent = service.editor.post(f"/scheduled_query/query/{made['id']}/restore", data={"version": "1"})
    assert sent.status_code == 303
    assert sent.headers["location"].endswith("versions?version=1&against=now")
    assert service.viewer.get(f"/api/scheduled-queries/{made['id']}").json()["version"] == 2


@pytest.mark.parametrize("version", ["9", "0", "-1", "x", "99999999999"])
def test_a_version_that_is_not_there_is_404(service, version):
    made = service.create()
    assert service.viewer.get(HERE.format(made["id"]), params={"version": version}).status_code == 404
    sent = service.editor.post(f"/scheduled_query/query/{made['id']}/restore", data={"version": version})
    assert sent.status_code == 404


def test_viewers_see_versions_and_no_way_to_restore(service):
    made = service.create("SELECT 1 AS one")
    edit(service, made, query="SELECT 2 AS two")
    assert "Restore" not in page(service, made, version=1).text
    sent = service.viewer.post(f"/scheduled_query/query/{made['id']}/restore", data={"version": "1"})
    assert sent.status_code == 403


def test_what_people_wrote_is_escaped(service):
    made = service.create("SELECT 1 AS one -- <script>alert(1)</script>", description="<b>old</b>")
    edit(service, made, query="SELECT 2 AS two -- <i>", description="<b>new</b>")
    html = service.viewer.get(HERE.format(made["id"])).text
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "&lt;b&gt;old&lt;/b&gt;" in html


def test_many_versions_have_pages(service):
    made = service.create()
    for n in range(22):
        edit(service, made, description=f"{n}")
    assert len(page(service, made).first("ol", **{"class": "sq-version-list"}).all("li")) == 20
    assert len(page(service, made, page=2).first("ol", **{"class": "sq-version-list"}).all("li")) == 3
