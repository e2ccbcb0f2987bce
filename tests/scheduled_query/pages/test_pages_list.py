"""The list of queries through HTTP: what it shows, how it is filtered, and how it refreshes."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from scheduled_query.api.conftest import FOREVER, Service
from scheduled_query.pages.reading import Element, live, read
from service_world import until

LIST = "/scheduled_query/"


def row(page: Element, query_id: int) -> Element:
    return page.first("tr", id=f"q-{query_id}")


def names(page: Element) -> list[str]:
    return [link.text for link in page.all("a", **{"class": "sq-name"})]


def test_a_row_tells_all_that_matters(service: Service):
    made = service.create("SELECT total FROM orders\nWHERE region = 'eu'", cron_schedule="*/5 * * * *")
    service.run(made["id"])
    told = row(read(service.editor.get(LIST, params={"search": made["name"]}).text), made["id"]).text
    for words in (made["name"], "SELECT total FROM orders", "every 5 minutes", "success", "Run Now"):
        assert words in told
    assert "WHERE" not in told


@pytest.mark.parametrize(
    ("sql", "render_type", "value"),
    [
        ("SELECT 1712 AS orders", "auto", "1,712"),
        ("SELECT 'eu', 3, 4", "counter", "3"),
        ("SELECT 'fine'", "auto", "fine"),
        ("SELECT 1 AS a, NULL AS b", "table", "a: 1, b: NULL"),
        ("SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3", "auto", "3 rows"),
        ("SELECT 1 WHERE 0", "auto", "no rows"),
        ("SELECT * FROM nowhere", "auto", "–"),
    ],
)
def test_a_row_shows_the_value(service: Service, sql: str, render_type: str, value: str):
    made = service.create(sql, render_type=render_type)
    service.run(made["id"])
    page = read(service.viewer.get(LIST, params={"search": made["name"]}).text)
    shown = row(page, made["id"]).first("td", **{"class": "sq-c-value"})
    assert shown.text.split(" Values")[0] == value


def test_every_column_has_a_head_of_its_own_and_the_source_one_when_there_are_several(
    make_service: Callable[..., Any],
):
    with make_service() as service:
        made = service.create()
        heads = ["Query", "Value", "Schedule", "Status", "Last run", "Took", "Next run"]
        assert heads_of(service) == heads
        added = service.admin.post(
            "/api/data-sources", json={"name": "second", "url": f"sqlite:///{service.shop}"}
        )
        assert added.status_code == 201
        assert heads_of(service) == [*heads[:2], "Source", *heads[2:]]
        assert "shop" in row(read(service.viewer.get(LIST).text), made["id"]).text


def heads_of(service: Any) -> list[str]:
    table = read(service.viewer.get(LIST).text).first("table", id="queries")
    return [
        head.text for head in table.all("th") if head.text and head.text not in ("On schedule", "Actions")
    ]


def test_the_counters_count(service: Service):
    before = re.findall(r"<strong>([\d,]+)</strong>", service.viewer.get(LIST).text)
    failing = service.create("SELECT * FROM nowhere")
    service.run(failing["id"])
    service.create(enabled=False)
    after = re.findall(r"<strong>([\d,]+)</strong>", service.viewer.get(LIST).text)
    assert int(after[0]) == int(before[0]) + 2
    assert int(after[1]) == int(before[1]) + 1


def test_the_next_due_query_is_named(make_service: Callable[..., Any]):
    with make_service() as service:
        service.create()
        made = service.create(cron_schedule="* * * * *", name="Due first")
        assert made["name"] in read(service.viewer.get(LIST).text).first("div", id="counters").text


def test_a_source_that_is_too_full_is_told_at_the_top_and_no_other(make_service: Callable[..., Any]):
    with make_service() as service:
        made = [service.create(cron_schedule="* * * * *") for _ in range(2)]
        assert fill_of_shop(service) == 100
        address = f"/api/scheduled-queries/{made[0]['id']}"
        service.editor.patch(address, json={"cron_schedule": "*/2 * * * *"})
        assert fill_of_shop(service) is None  # an edit by API shows at once
        with service.settings(interval=60):
            assert fill_of_shop(service) == 150
        service.editor.delete(address)
        assert fill_of_shop(service) is None


def fill_of_shop(service: Any) -> int | None:
    counters = read(service.viewer.get(LIST).text).first("div", id="counters")
    found = re.search(r"shop .*\((\d+) %\)", counters.text)
    return int(found[1]) if found else None


@pytest.mark.parametrize("role", ["editor", "viewer"])
def test_viewers_see_no_button_that_they_may_not_press(service: Service, role: str):
    made = service.create()
    page = read(getattr(service, role).get(LIST, params={"search": made["name"]}).text)
    buttons = row(page, made["id"]).all("button")
    assert bool(buttons) == (role == "editor")
    assert ("New query" in page.text) == (role == "editor")


def test_search_looks_at_name_sql_tags_and_source(service: Service):
    word = service.unique("needle").replace(" ", "")
    by_name = service.create(name=f"A {word}")
    by_sql = service.create(f"SELECT 1 AS {word}")
    by_tag = service.create(tags=[word])
    service.create()
    found = names(read(service.viewer.get(LIST, params={"search": word.upper()}).text))
    assert sorted(found) == sorted([by_name["name"], by_sql["name"], by_tag["name"]])


def test_filters_are_kept_in_the_page(service: Service):
    page = read(service.viewer.get(LIST, params={"search": "abc", "status": "failing", "sort": "name"}).text)
    assert page.first("input", name="search").attributes["value"] == "abc"
    assert "selected" in page.first("option", value="failing").attributes


def test_only_the_asked_state_is_shown(service: Service):
    tag = service.unique("state").replace(" ", "-")
    on = service.create(tags=[tag])
    off = service.create(tags=[tag], enabled=False)
    bad = service.create("SELECT * FROM nowhere", tags=[tag])
    service.run(bad["id"])

    def shown(status: str) -> set[str]:
        return set(names(read(service.viewer.get(LIST, params={"tag": tag, "status": status}).text)))

    assert shown("all") == {on["name"], off["name"], bad["name"]}
    assert shown("enabled") == {on["name"], bad["name"]}
    assert shown("disabled") == {off["name"]}
    assert shown("failing") == {bad["name"]}
    assert shown("running") == set()
    assert shown("nonsense") == shown("all")


def test_a_column_sorts_both_ways(service: Service):
    tag = service.unique("sort").replace(" ", "-")
    for name in ("b", "A", "c"):
        service.create(name=f"{name} {tag}", tags=[tag])
    up = read(service.viewer.get(LIST, params={"tag": tag, "sort": "name"}).text)
    assert [name[0] for name in names(up)] == ["A", "b", "c"]
    head = next(th for th in up.all("th") if th.text.startswith("Query"))
    assert head.attributes["aria-sort"] == "ascending"
    down = service.viewer.get(LIST + head.first("a").attributes["href"].removeprefix(LIST))
    assert [name[0] for name in names(read(down.text))] == ["c", "b", "A"]


def test_pages_have_fifty_rows_and_one_past_the_end_is_the_last(service: Service):
    tag = service.unique("many").replace(" ", "-")
    for number in range(52):
        service.create(name=f"{tag} {number:02d}", tags=[tag])
    first = read(service.viewer.get(LIST, params={"tag": tag}).text)
    assert len(names(first)) == 50
    assert "1–50 of 52 queries" in first.text
    for page in ("2", "999", "100000"):
        assert len(names(read(service.viewer.get(LIST, params={"tag": tag, "page": page}).text))) == 2


@pytest.mark.parametrize(
    "params", [{"page": "0"}, {"page": "-1"}, {"page": "x"}, {"page": "9" * 30}, {"sort": "id; drop"}]
)
def test_nonsense_in_the_address_shows_the_first_page(service: Service, params: dict[str, str]):
    assert service.viewer.get(LIST, params=params).status_code == 200


def test_nothing_found_offers_to_show_all(service: Service):
    page = read(service.viewer.get(LIST, params={"search": "no query is called like this"}).text)
    assert "No matches" in page.text
    assert "Show all queries" in page.text


def test_a_refresh_without_news_sends_nothing(service: Service):
    made = service.create()
    page = read(service.viewer.get(LIST, params={"search": made["name"]}).text)
    address, shown = live(page)
    assert service.viewer.get(address, headers=shown).status_code == 204
    service.run(made["id"])
    news = service.viewer.get(address, headers=shown)
    assert news.status_code == 200
    assert "success" in row(read(news.text), made["id"]).text
    assert read(news.text).first("div", id="counters")


def test_each_part_of_a_refresh_tells_whether_it_has_news(service: Service):
    made, other = (service.create(name=service.unique("Parted")) for _ in range(2))
    before = read(service.viewer.get("/scheduled_query/rows", params={"search": "Parted"}).text)
    service.run(made["id"])
    after = read(service.viewer.get("/scheduled_query/rows", params={"search": "Parted"}).text)
    for query, has_news in ((made, True), (other, False)):
        parts = {row(page, query["id"]).attributes["data-part"] for page in (before, after)}
        assert (len(parts) == 2) is has_news


def test_links_of_a_refreshed_list_are_those_of_the_page(service: Service):
    service.create()
    page, news = (read(service.viewer.get(path).text) for path in (LIST, "/scheduled_query/rows"))
    links = [[a.attributes["href"] for a in one.first("thead").all("a")] for one in (page, news)]
    assert links[0] == links[1]


def test_a_running_query_shows_how_far_it_is_and_asks_again_each_second(service: Service):
    made = service.create(FOREVER, timeout=300)
    service.editor.post(f"/api/run-now/{made['id']}?wait=0")
    shown = read(service.editor.get(f"/scheduled_query/row/{made['id']}").text)
    assert row(shown, made["id"]).attributes["hx-trigger"] == "every 1s"
    assert shown.first("progress").attributes["max"] == "300"
    assert "Cancel" in shown.text
    service.editor.post(f"/api/cancel/{made['id']}")
    service.run(made["id"], wait=0)
    service.editor.post(f"/api/cancel/{made['id']}")


def test_the_row_of_a_running_query_is_sent_only_when_there_is_news(service: Service):
    made = service.create(FOREVER, timeout=300)
    service.editor.post(f"/api/run-now/{made['id']}?wait=0")
    shown = row(read(service.editor.get(f"/scheduled_query/row/{made['id']}").text), made["id"]).attributes
    seen = {"X-Seen": shown["data-seen"]}
    assert service.editor.get(shown["hx-get"], headers=seen).status_code == 204
    service.editor.post(f"/api/cancel/{made['id']}")
    until(lambda: service.editor.get(shown["hx-get"], headers=seen).status_code == 200)


def test_a_query_that_is_due_and_cannot_start_yet_waits(service: Service):
    made = service.create(cron_schedule="* * * * *")
    with service.parts.service._claiming._lock:  # as long as another claim is under way
        service.clock.advance(61)
        shown = read(service.viewer.get(f"/scheduled_query/row/{made['id']}").text)
    assert "waiting" in shown.text
    service.editor.delete(f"/api/scheduled-queries/{made['id']}")


def test_a_run_far_away_is_told_in_days(service: Service):
    made = service.create()
    due = service.parts.definitions.get(made["id"])
    assert due
    assert due.next_run_at
    assert due.next_run_at - service.clock.now() > timedelta(days=2)
    assert re.search(
        r"in \d+ (d|mo)", read(service.viewer.get(f"/scheduled_query/row/{made['id']}").text).text
    )
