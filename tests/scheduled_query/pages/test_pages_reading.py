"""Pages that show: one query, an execution, a difference, the dashboard and the widgets."""

import json
from datetime import UTC, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from plugbay_scheduled_query.repository import overview
from scheduled_query.api.conftest import Service
from scheduled_query.pages.reading import live, read

DASHBOARD = "/scheduled_query/dashboard"
QUERY, EXECUTION = "/scheduled_query/query/{}", "/scheduled_query/execution/{}"
HOSTILE = "<script>alert('x')</script>\"'&"


@pytest.fixture(scope="module")
def service(service_on_both: Service) -> Service:
    """Charts and history are read by each database in its own way."""
    return service_on_both


def result(*rows: list, columns: tuple[str, ...] = ("n",)) -> dict[str, Any]:
    return {"columns": columns, "result_json": json.dumps(rows), "row_count": len(rows)}


def executions(service: Service, query_id: int) -> list[dict]:
    return service.viewer.get(f"/api/execution-history/{query_id}").json()["data"]


def test_the_page_of_a_query_shows_all_about_it(service: Service):
    metric = {"metric_name": "page_total", "labels": {"region": "eu"}}
    made = service.create(
        "SELECT sum(total) AS total FROM orders",
        monitor_metric_config=metric,
        description="What is in the till.",
        tags=["money"],
    )
    service.run(made["id"])
    service.run(made["id"])
    page = read(service.viewer.get(QUERY.format(made["id"])).text)
    assert page.first("h1").text == made["name"]
    for words in (
        "What is in the till.",
        "money",
        "8.25",
        "SELECT sum(total)",
        'page_total{region="eu"} 8.25',
        "Run calendar",
        "Value over time",
    ):
        assert words in page.text
    assert len(page.all("ui-chart")) == 2
    for kind in ("csv", "json"):
        assert service.viewer.get(f"/api/results/{made['id']}.{kind}").status_code == 200
        assert page.first("a", href=f"/api/results/{made['id']}.{kind}")
    assert [link.text for link in page.first("ol", **{"class": "breadcrumb"}).all("a")][
        1
    ] == "Scheduled Queries"
    assert "Documentation of this page" in page.text


def test_the_metric_is_shown_as_it_is_published(service: Service):
    made = service.create("SELECT 8.25", monitor_metric_config={"metric_name": "shown_metric", "labels": {}})
    service.run(made["id"])
    for _ in range(30):  # as many as a sparkline remembers
        service.record(made["id"], "failed")
    page = read(service.viewer.get(QUERY.format(made["id"])).text)
    assert "shown_metric 8.25" in page.text
    renamed = {"monitor_metric_config": {"metric_name": "renamed_metric", "labels": {}}}
    assert service.editor.patch(f"/api/scheduled-queries/{made['id']}", json=renamed).status_code == 200
    page = read(service.viewer.get(QUERY.format(made["id"])).text)
    assert "# TYPE renamed_metric gauge" in page.text
    assert "renamed_metric 8.25" not in page.text


def test_failures_are_marked_in_the_chart_of_durations(service: Service):
    made = service.create()
    for status in ("success", "failed", "timeout", "success"):
        service.record(made["id"], status, duration_ms=40 if status == "success" else 9_000)
        service.clock.advance(60)
    page = read(service.viewer.get(QUERY.format(made["id"])).text)
    chart = json.loads(page.first("ui-chart").attributes["data-chart"])
    assert [one["label"] for one in chart["series"]] == ["success", "failed", "timeout"]
    assert [one["tone"] for one in chart["series"]] == ["primary", "red", "orange"]
    assert chart["series"][1]["values"][0] is None
    assert chart["series"][1]["values"][1] > 40
    assert "it broke" in page.text


def test_the_calendar_tells_each_day(service: Service):
    made = service.create()
    service.record(made["id"])
    service.record(made["id"], "failed")
    service.clock.advance(86_400)
    service.record(made["id"])
    page = read(service.viewer.get(QUERY.format(made["id"])).text)
    days = [rect.text for rect in page.all("rect") if "none" not in rect.attributes.get("class", "none")]
    assert days[0].endswith("2 executions, 1 failed")
    assert days[1].endswith("1 execution")
    assert "3 executions, 1 failed" in page.text


def test_history_is_filtered_by_status_and_days(service: Service):
    made = service.create()
    service.record(made["id"])
    service.record(made["id"], "failed")
    first_day = f"{service.clock.now():%Y-%m-%d}"
    service.clock.advance(86_400)
    service.record(made["id"])

    def rows(**params: str) -> int:
        page = read(service.viewer.get(QUERY.format(made["id"]), params=params).text)
        bodies = page.first("section", id="history").all("tbody")
        return len(bodies[0].all("tr")) if bodies else 0

    assert rows() == 3
    assert rows(status="failed") == 1
    assert rows(date_to=first_day) == 2
    assert rows(status="failed", date_from=f"{service.clock.now():%Y-%m-%d}") == 0
    assert rows(date_from="yesterday") == 3
    page = read(service.viewer.get(QUERY.format(made["id"]), params={"date_from": "yesterday"}).text)
    assert "must be YYYY-MM-DD" in page.text


def test_history_has_pages(service: Service):
    made = service.create()
    for _ in range(23):
        service.record(made["id"])
    page = read(service.viewer.get(QUERY.format(made["id"]), params={"page": "2"}).text)
    assert "21–23 of 23 executions" in page.text


def test_a_query_that_never_ran_says_what_will_come(service: Service):
    page = read(service.viewer.get(QUERY.format(service.create()["id"])).text)
    assert "No result yet" in page.text
    assert "It has not run yet" in page.text


def test_a_query_that_only_failed_is_not_said_to_have_no_result_yet(service: Service):
    made = service.create("SELECT *\nFROM nowhere")
    service.run(made["id"])
    page = read(service.viewer.get(QUERY.format(made["id"])).text)
    assert "No result yet" not in page.text
    assert "No result: it failed" in page.text


NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250)"
MANY = f"{NUMBERS} SELECT i, 2 * i AS j FROM n"


def test_a_long_result_leads_to_all_its_rows(service: Service):
    made = service.create(MANY)
    address = QUERY.format(made["id"])
    assert service.viewer.get(f"{address}/result").status_code == 404
    service.run(made["id"])
    page = read(service.viewer.get(address).text)
    assert "250 rows, the first 50 shown: sorting sorts these" in page.text
    link = next(one for one in page.all("a") if one.text == "All rows")
    assert link.attributes["href"] == f"{address}/result"
    last = read(service.viewer.get(f"{address}/result", params={"page": "2"}).text)
    assert "201–250 of 250 rows" in last.text


def test_a_result_that_was_cut_says_so_everywhere(service: Service):
    made = service.create(MANY)
    with service.settings(max_rows=100):
        service.run(made["id"])
    execution = executions(service, made["id"])[0]["id"]
    paths = [QUERY.format(made["id"]), f"{QUERY.format(made['id'])}/result", EXECUTION.format(execution)]
    for path in (*paths, f"/scheduled_query/results-widgets?search={made['name']}"):
        assert "cut at the limit" in read(service.viewer.get(path).text).text, path
    history = read(service.viewer.get(QUERY.format(made["id"])).text).first("section", id="history")
    assert "100 rows" in history.text
    assert "cut at the limit" in history.text


def test_history_shows_values_and_rows(service: Service):
    made = service.create("SELECT 1712 AS orders")
    service.run(made["id"])
    for path in (QUERY.format(made["id"]), f"{DASHBOARD}?query={made['name']}"):
        history = read(service.viewer.get(path).text).first("section", id="history").text
        assert "1,712 orders" in history
        assert "[[" not in history


def test_a_chart_is_drawn_on_the_page_and_on_its_card(service: Service):
    chart = {"kind": "line", "x": "i", "y": ["j"]}
    made = service.create(MANY, chart=chart)
    service.run(made["id"])
    for path in (QUERY.format(made["id"]), f"/scheduled_query/results-widgets?search={made['name']}"):
        drawn = read(service.viewer.get(path).text).all("ui-chart")
        data = json.loads(
            next(one.attributes["data-chart"] for one in drawn if '"x"' in one.attributes["data-chart"])
        )
        assert data["kind"] == "line"
        assert data["x"] == list(range(1, 251))  # more than the 50 rows that the table shows
        assert data["series"] == [{"label": "j", "values": [2.0 * n for n in range(1, 251)]}]


def test_a_chart_whose_columns_are_gone_says_so_and_shows_the_table(service: Service):
    made = service.create("SELECT 1 AS a, 2 AS b", chart={"kind": "bar", "x": "a", "y": ["c"]})
    service.run(made["id"])
    page = read(service.viewer.get(QUERY.format(made["id"])).text)
    assert "The chart needs columns that the result does not have: c." in page.text
    assert page.first("section", id="latest").all("table")


def test_the_days_of_a_filter_are_those_of_the_reader(service: Service):
    made = service.create()
    service.record(made["id"])
    now = service.clock.now()

    def rows(day: str, zone: str) -> int:
        asked = {"date_from": day, "date_to": day, "zone": zone}
        page = read(service.viewer.get(QUERY.format(made["id"]), params=asked).text)
        return len(page.first("section", id="history").all("tr"))

    for zone in ("Pacific/Kiritimati", "Pacific/Niue", "UTC", "Nowhere/At_all"):
        place = ZoneInfo(zone) if "Nowhere" not in zone else UTC
        there = now.astimezone(place)
        assert rows(f"{there:%Y-%m-%d}", zone) == 2
        assert rows(f"{there + timedelta(days=1):%Y-%m-%d}", zone) == 0


def test_the_live_part_of_a_query_is_sent_only_when_there_is_news(service: Service):
    made = service.create()
    page = read(service.viewer.get(QUERY.format(made["id"])).text)
    address, shown = live(page)
    assert service.viewer.get(address, headers=shown).status_code == 204
    service.run(made["id"])
    news = read(service.viewer.get(address, headers=shown).text)
    assert news.first("section", id="history").attributes["data-part"]
    assert "success" in news.text


def test_an_execution_shows_its_whole_result_in_pages(service: Service):
    made = service.create()
    service.record(made["id"], result=result(*([n] for n in range(450))))
    [execution] = executions(service, made["id"])
    page = read(service.viewer.get(EXECUTION.format(execution["id"]), params={"page": "3"}).text)
    assert "401–450 of 450 rows" in page.text
    assert page.first("tbody").all("tr")[-1].text == "449"
    for kind in ("csv", "json"):
        link = page.first("a", href=f"/api/executions/{execution['id']}/result.{kind}")
        assert service.viewer.get(link.attributes["href"]).status_code == 200


def test_an_execution_tells_its_error(service: Service):
    made = service.create("SELECT * FROM nowhere")
    service.run(made["id"])
    [execution] = executions(service, made["id"])
    page = read(service.viewer.get(EXECUTION.format(execution["id"])).text)
    assert "no such table: nowhere" in page.first("div", role="alert").text


@pytest.mark.parametrize("path", ["execution/999999", "execution/x", "diff", "diff?before=1", "query/0"])
def test_what_does_not_exist_is_not_found(service: Service, path: str):
    assert service.viewer.get(f"/scheduled_query/{path}").status_code == 404


def test_the_difference_of_two_results_is_told_in_either_order(service: Service):
    made = service.create()
    columns = ("country", "orders")
    service.record(made["id"], result=result(["de", 1], ["fr", 2], ["es", 3], columns=columns))
    service.clock.advance(60)
    service.record(made["id"], result=result(["de", 5], ["fr", 2], ["it", 4], columns=columns))
    new, old = (one["id"] for one in executions(service, made["id"]))
    for before, after in ((old, new), (new, old)):
        answer = service.viewer.get(f"/scheduled_query/diff?before={before}&after={after}")
        page = read(answer.text)
        assert "1 changed" in page.text
        assert "1 added" in page.text
        assert "1 removed" in page.text
        assert "matched by country" in page.text
        assert page.first("td", **{"class": "sq-before"}).text == "1"
        assert page.first("td", **{"class": "sq-after"}).text == "5"


def test_equal_results_have_no_difference(service: Service):
    made = service.create()
    service.record(made["id"])
    service.record(made["id"])
    new, old = (one["id"] for one in executions(service, made["id"]))
    assert "Nothing changed" in service.viewer.get(f"/scheduled_query/diff?before={old}&after={new}").text


def test_a_failure_has_nothing_to_compare(service: Service):
    made = service.create()
    service.record(made["id"])
    service.record(made["id"], "failed")
    new, old = (one["id"] for one in executions(service, made["id"]))
    assert "nothing to compare" in service.viewer.get(f"/scheduled_query/diff?before={old}&after={new}").text


def test_two_queries_are_not_compared(service: Service):
    one, two = service.create(), service.create()
    service.record(one["id"])
    service.record(two["id"])
    before, after = executions(service, one["id"])[0]["id"], executions(service, two["id"])[0]["id"]
    answer = service.viewer.get(f"/scheduled_query/diff?before={before}&after={after}")
    assert answer.status_code == 404


def test_the_dashboard_shows_history_over_all_queries(service: Service):
    one, two = service.create(), service.create()
    service.record(one["id"])
    service.record(two["id"], "failed")
    page = read(service.viewer.get("/scheduled_query/dashboard").text)
    for words in (one["name"], two["name"], "it broke", "Slowest", "Most failing", "Latest results"):
        assert words in page.text
    chart = json.loads(page.first("ui-chart").attributes["data-chart"])
    assert sum(chart["series"][0]["values"]) >= 1
    assert sum(chart["series"][1]["values"]) >= 1


def test_the_dashboard_filters_by_query_status_and_days(service: Service):
    made = service.create(name=service.unique("Filtered"))
    service.record(made["id"])
    service.record(made["id"], "timeout")
    today = f"{service.clock.now():%Y-%m-%d}"
    tomorrow = f"{service.clock.now() + timedelta(days=1):%Y-%m-%d}"

    def rows(**params: str) -> int:
        page = read(service.viewer.get("/scheduled_query/dashboard", params=params).text)
        bodies = page.first("section", id="history").all("tbody")
        return len(bodies[0].all("tr")) if bodies else 0

    assert rows(query=made["name"]) == 2
    assert rows(query=made["name"], status="timeout") == 1
    assert rows(query=made["name"], date_from=today, date_to=today) == 2
    assert rows(query=made["name"], date_from=tomorrow) == 0
    assert rows(query="nobody is called so") == 0
    page = service.viewer.get("/scheduled_query/dashboard", params={"query": "nobody is called so"})
    assert "No query has “nobody is called so” in its name." in page.text


def test_the_dashboard_filters_by_part_of_a_name_over_all_that_have_it(
    service: Service, monkeypatch: pytest.MonkeyPatch
):
    for name in ("Größe der Äpfel", "GRÖSSE der Birnen", "Größe der Birnen", "Größe der Birnen"):
        made = service.create(name=name, description="50%_ of them")
        for status in ("success", "failed") * 4:
            service.clock.advance(1)
            service.record(made["id"], status)
    service.create(description="nothing of Größe der Birnen")

    def footer(**params: str) -> str:
        page = read(service.viewer.get(DASHBOARD, params=params).text).first("section", id="history")
        return page.all("div", **{"class": "card-footer"})[-1].text if page.all("tbody") else ""

    tomorrow = f"{service.clock.now() + timedelta(days=1):%Y-%m-%d}"
    for few in (overview.FEW, 0):  # as a few queries are read, and as many are
        monkeypatch.setattr(overview, "FEW", few)
        assert footer(query="grösse DER").startswith("1–25 of 32 executions")
        assert footer(query="grösse DER", page="2").startswith("26–32 of 32 executions")
        assert footer(query="grösse DER", page="9").startswith("26–32 of 32 executions")
        assert "24 executions" in footer(query="Größe der Birnen")
        assert "12 executions" in footer(query="Größe der Birnen", status="failed")
        assert "24 executions" in footer(query=" birnen", date_to=tomorrow)
        assert footer(query="birnen", date_from=tomorrow) == ""
        assert footer(query="50%_") == ""


@pytest.mark.parametrize("span", ["24h", "7d", "30d", "nonsense"])
def test_the_dashboard_looks_back_as_far_as_asked(service: Service, span: str):
    page = read(service.viewer.get("/scheduled_query/dashboard", params={"span": span}).text)
    chart = json.loads(page.first("ui-chart").attributes["data-chart"])
    assert len(chart["t"]) == {"24h": 25, "7d": 169, "30d": 31, "nonsense": 25}[span]


@pytest.mark.parametrize(
    ("render_type", "rows", "kind"),
    [
        ("auto", [[1284]], "sq-counter"),
        ("auto", [[1, 2]], "ui-table-scroll"),
        ("auto", [], "ui-raw"),
        ("counter", [["eu", 7]], "sq-counter"),
        ("metric", [[7]], "sq-counter"),
        ("table", [[7]], "ui-table-scroll"),
        ("raw", [[7]], "ui-raw"),
    ],
)
def test_a_widget_shows_its_result_by_its_render_type(
    service: Service, render_type: str, rows: list, kind: str
):
    made = service.create(render_type=render_type)
    columns = tuple("abc"[: len(rows[0])]) if rows else ("a",)
    service.record(made["id"], result=result(*rows, columns=columns))
    page = read(service.viewer.get("/scheduled_query/results-widgets", params={"search": made["name"]}).text)
    card = page.first("article")
    assert card.all("div", **{"class": kind}), card.text


def test_a_counter_shows_a_formatted_number_and_its_trend(service: Service):
    made = service.create(render_type="counter")
    for value in (1000, 1284):
        service.record(made["id"], result=result([value]), value=float(value))
    page = read(service.viewer.get("/scheduled_query/results-widgets", params={"search": made["name"]}).text)
    assert "1,284" in page.first("article").text
    assert "+28.4 %" in page.first("article").text
    assert page.first("article").all("svg")


def test_the_wall_display_has_the_widgets_and_no_menu(service: Service):
    made = service.create()
    address = "/scheduled_query/results-widgets?full=1&search=" + made["name"].replace(" ", "+")
    page = read(service.viewer.get(address).text)
    assert made["name"] in page.text
    assert not page.all("nav")
    assert "full=1" in page.first("div", id="live").attributes["hx-get"]


def test_widgets_refresh_only_when_there_is_news(service: Service):
    made = service.create()
    params = {"search": made["name"]}
    page = read(service.viewer.get("/scheduled_query/results-widgets", params=params).text)
    address, shown = live(page)
    assert service.viewer.get(address, headers=shown).status_code == 204
    service.run(made["id"])
    assert "1" in read(service.viewer.get(address, headers=shown).text).first("article").text


def test_the_calendar_counts_each_day_by_how_it_went(service_on_both: Service):
    service, made = service_on_both, service_on_both.create()
    now = service.clock.now()
    for ago, status in ((40, "success"), (3, "success"), (3, "failed"), (1, "timeout"), (0, "success")):
        service.record(made["id"], status, executed_at=now - timedelta(days=ago))
    days = service.parts.histories.days(made["id"], (now - timedelta(days=30)).date(), now.date())
    assert days == {
        (now - timedelta(days=3)).date(): {"success": 1, "failed": 1},
        (now - timedelta(days=1)).date(): {"timeout": 1},
        now.date(): {"success": 1},
    }


def test_the_dashboard_refreshes_only_when_there_is_news(service_on_both: Service):
    service = service_on_both
    made = service.create()
    service.run(made["id"])
    address, shown = live(read(service.viewer.get(DASHBOARD).text))
    assert service.viewer.get(address, headers=shown).status_code == 204
    service.run(made["id"])
    news = read(service.viewer.get(address, headers=shown).text)
    assert news.first("section", id="latest")
    assert news.first("section", id="history")


def test_the_refreshed_dashboard_leaves_out_a_history_of_the_past(service: Service):
    made = service.create()
    service.run(made["id"])
    news = read(service.viewer.get(f"{DASHBOARD}/live", params={"date_to": "2020-01-01"}).text)
    assert news.first("div", id="live")
    assert not news.all("section", id="history")


def test_a_page_past_the_end_shows_the_last_one(service: Service):
    made = service.create()
    service.run(made["id"])
    for path in (DASHBOARD, QUERY.format(made["id"])):
        page = read(service.viewer.get(path, params={"page": "1000000"}).text)
        assert page.first("section", id="history").first("tbody").all("tr"), path
    widgets = read(service.viewer.get("/scheduled_query/results-widgets", params={"page": "9999"}).text)
    assert widgets.all("article")


def test_hostile_text_is_text_everywhere(service: Service):
    made = service.create(
        f"SELECT '{HOSTILE.replace(chr(39), chr(39) * 2)}' AS cell",
        name=f"{HOSTILE} name",
        description=f"{HOSTILE} about",
        tags=[HOSTILE[:20]],
        monitor_metric_config={"metric_name": "hostile", "labels": {"text": HOSTILE}},
    )
    service.record(made["id"], result=result([HOSTILE], columns=(HOSTILE,)))
    service.record(made["id"], "failed", error=HOSTILE)
    last, first = (one["id"] for one in executions(service, made["id"]))
    paths = [
        f"?search={made['id']}",
        "",
        f"row/{made['id']}",
        f"query/{made['id']}",
        f"edit/{made['id']}",
        f"execution/{first}",
        f"execution/{last}",
        f"diff?before={first}&after={last}",
        "dashboard",
        "results-widgets",
        "results-widgets?full=1",
    ]
    for path in paths:
        text = service.editor.get(f"/scheduled_query/{path}").text
        assert "<script>alert" not in text, path
    assert "&lt;script&gt;alert" in service.editor.get(f"/scheduled_query/query/{made['id']}").text
    typed = {"name": HOSTILE, "query": HOSTILE, "cron_schedule": HOSTILE, "data_source": HOSTILE}
    for path in ("create", "try"):
        assert "<script>alert" not in service.editor.post(f"/scheduled_query/{path}", data=typed).text
    service.editor.delete(f"/api/scheduled-queries/{made['id']}")


@pytest.mark.parametrize("path", ["", "dashboard", "results-widgets", "create", "help", "sources"])
def test_every_page_has_a_title_a_breadcrumb_and_help(service: Service, path: str):
    answer = service.admin.get(f"/scheduled_query/{path}")
    page = read(answer.text)
    assert answer.status_code == 200
    assert page.first("title").text.endswith("· Plugbay")
    assert page.first("h1").text
    assert page.first("ol", **{"class": "breadcrumb"}).text
    assert page.first("a", **{"class": "sq-help"}).attributes["href"].startswith("/scheduled_query/help#")


def test_nobody_sees_anything_without_a_login(service: Service):
    for path in ("", "dashboard", "results-widgets", "sources", "query/1", "rows"):
        assert service.client().get(f"/scheduled_query/{path}").status_code in (303, 401)


def test_a_disk_that_is_nearly_full_is_told_on_every_page_and_by_readyz(service, monkeypatch):
    monkeypatch.setattr(service.parts.disk, "_measure", lambda: 12_000_000)
    service.clock.advance(60)
    told = "The disk of the store is nearly full: 12 MB are free"
    for path in ("/scheduled_query/", "/scheduled_query/dashboard", "/scheduled_query/results-widgets"):
        assert told in service.viewer.get(path).text
    ready = service.viewer.get("/readyz")
    assert ready.status_code == 200
    assert told in ready.json()["warnings"]["scheduled_query"]
    assert "plugbay_scheduled_query_free_bytes 12000000.0" in service.viewer.get("/metrics").text
    monkeypatch.undo()
    service.clock.advance(60)
    assert "nearly full" not in service.viewer.get("/scheduled_query/").text
    assert service.viewer.get("/readyz").json() == {"status": "ready"}


def test_sorting_all_rows_sorts_the_whole_result(service: Service):
    made = service.create()
    rows = [[number * 7 % 250, None if number == 3 else f"n{number}"] for number in range(250)]
    service.record(made["id"], result=result(*rows, columns=("n", "word")))
    page = f"/scheduled_query/query/{made['id']}/result"

    def first(**asked: str) -> str:
        return read(service.viewer.get(page, params=asked).text).first("tbody").first("td").text

    assert first() == "0"
    assert first(sort="0", order="desc") == "249"
    assert first(sort="0", order="desc", page="2") == "49"
    assert first(sort="1") == "0"
    shown = service.viewer.get(page, params={"sort": "0", "order": "desc"}).text
    assert 'aria-sort="descending"' in shown
    assert "sortable" not in shown
    for nonsense in ("9", "-1", "x", "0 "):
        assert service.viewer.get(page, params={"sort": nonsense}).status_code == 200
