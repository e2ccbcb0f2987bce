"""The service's pages in a real browser: every page, and the journeys that people make."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from browser.watching import Watch, barriers
from browser.world import NARROW, SLOW, WIDE, World, message, row
from playwright.sync_api import BrowserContext, Page, expect
from plugbay_scheduled_query.core.model import Query

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=alert(1)>"
PAGES = {
    "list": "/scheduled_query/",
    "nothing found": "/scheduled_query/?search=nothing-is-called-so",
    "query": "/scheduled_query/query/1",
    "failing query": "/scheduled_query/query/{failing}",
    "new query": "/scheduled_query/create",
    "editor": "/scheduled_query/edit/3",
    "dashboard": "/scheduled_query/dashboard",
    "widgets": "/scheduled_query/results-widgets",
    "wall": "/scheduled_query/results-widgets?full=1",
    "execution": "/scheduled_query/execution/1",
    "diff": "/scheduled_query/diff?before={first}&after={last}",
    "alerts": "/scheduled_query/alerts",
    "no alert": "/scheduled_query/alerts?state=pending",
    "alert": "/scheduled_query/alerts/1",
    "new alert": "/scheduled_query/alerts/new?query_id=1",
    "channels": "/scheduled_query/channels",
    "channel": "/scheduled_query/channels/add",
    "sources": "/scheduled_query/sources",
    "source": "/scheduled_query/sources/1",
    "schema": "/scheduled_query/sources/1/schema",
    "help": "/scheduled_query/help",
}


@pytest.mark.parametrize(
    ("scheme", "viewport"), [("light", WIDE), ("dark", NARROW)], ids=["wide and light", "narrow and dark"]
)
@pytest.mark.parametrize("name", PAGES)
def test_each_page_is_silent_fits_and_keeps_nobody_out(
    new_context: Callable[..., BrowserContext],
    sessions: dict[str, Any],
    world: World,
    failing: Query,
    name: str,
    scheme: str,
    viewport: Any,
):
    options = {"color_scheme": scheme, "viewport": viewport, "reduced_motion": "reduce"}
    page = new_context(storage_state=sessions["admin"], **options).new_page()
    watch = Watch(page)
    points = world.parts.histories.page(1, world_filter(), 1, 2)[0]
    path = PAGES[name].format(failing=failing.id, first=points[1].id, last=points[0].id)
    page.goto(world.url + path)
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert barriers(page) == []
    watch.expect_silence()


def world_filter() -> Any:
    from plugbay_scheduled_query.repository.history import HistoryFilter

    return HistoryFilter(status="success")


def test_a_scheduled_run_shows_by_itself_and_moves_nothing(visit: Callable[..., Page], world: World):
    query = world.create("Live on schedule")
    page = visit("/scheduled_query/?search=Live+on+schedule")
    expect(row(page, query)).to_contain_text("not run yet")
    before = row(page, query).bounding_box()
    world.make_due(query)
    expect(row(page, query)).to_contain_text("success")
    assert row(page, query).bounding_box() == before


def test_run_now_of_a_slow_query_shows_progress_and_can_be_cancelled(
    visit: Callable[..., Page], world: World
):
    query = world.create("Slow one", SLOW, timeout=120)
    page = visit("/scheduled_query/?search=Slow+one")
    row(page, query).get_by_role("button", name="Run now").click()
    expect(message(page, "“Slow one” is running.")).to_be_visible()
    expect(row(page, query).locator("progress")).to_be_visible()
    cancel = row(page, query).get_by_role("button", name="Cancel")
    cancel.evaluate("(button) => { button.isTheSame = true; }")
    expect(row(page, query)).to_contain_text(re.compile(r"[3-9] s"))
    assert cancel.evaluate("(button) => button.isTheSame")  # it does not vanish under a finger
    cancel.click()
    expect(row(page, query)).to_contain_text("cancelled by editor")
    expect(row(page, query).get_by_role("button", name="Run now")).to_be_visible()


def test_the_first_visit_of_the_list_is_small(visit: Callable[..., Page]):
    page = visit("/scheduled_query/")
    page.wait_for_load_state("networkidle")
    loaded = """() => ["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind))
        .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)"""
    assert page.evaluate(loaded) < 150_000


def test_the_switch_works_in_place(visit: Callable[..., Page], world: World):
    query = world.create("Switched")
    page = visit("/scheduled_query/?search=Switched")
    switch = row(page, query).get_by_role("switch")
    expect(switch).to_be_checked()
    switch.click()
    expect(switch).not_to_be_checked()
    expect(row(page, query)).to_contain_text("off")


def test_deleting_asks_first(visit: Callable[..., Page], world: World):
    query = world.create("To be deleted")
    page = visit("/scheduled_query/?search=To+be+deleted")
    for answer in ("Cancel", "Delete"):
        row(page, query).get_by_role("button", name="More about").click()
        page.get_by_role("link", name="Delete…").click()
        dialog = page.get_by_role("dialog", name="Delete “To be deleted”?")
        dialog.get_by_role("button", name=answer, exact=True).click()
        expect(dialog).to_be_hidden()
    expect(message(page, "“To be deleted” and its history are deleted.")).to_be_visible()
    expect(row(page, query)).to_have_count(0)


def test_filters_follow_typing_and_the_back_button(visit: Callable[..., Page]):
    page = visit("/scheduled_query/")
    search = page.get_by_role("searchbox", name="Search")
    search.press_sequentially("visitors")
    expect(page.locator("#queries tbody tr")).to_have_count(1)
    expect(page).to_have_url(re.compile(r"\?search=visitors$"))
    page.get_by_label("Status").select_option("disabled")
    expect(page.get_by_text("No matches")).to_be_visible()
    page.go_back()
    expect(page).to_have_url(re.compile(r"\?search=visitors$"))
    expect(page.locator("#queries tbody tr")).to_have_count(1)
    expect(search).to_have_value("visitors")


def test_a_column_sorts_by_a_click(visit: Callable[..., Page]):
    page = visit("/scheduled_query/?tag=shop")
    page.get_by_role("link", name="Query", exact=True).click()
    expect(page).to_have_url(re.compile("sort=name&order=desc"))
    expect(page.locator("#queries tbody tr").first).to_contain_text("Visitors now")


def test_keys_search_make_run_and_help(visit: Callable[..., Page], world: World):
    page = visit("/scheduled_query/")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox", name="Search")).to_be_focused()
    page.keyboard.type("n?")
    expect(page.get_by_role("searchbox", name="Search")).to_have_value("n?")
    page.locator("h1").click()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_hidden()
    page.keyboard.press("n")
    expect(page.get_by_role("heading", name="New query")).to_be_visible()
    query = world.create("Run by a key")
    page.goto(f"/scheduled_query/query/{query.id}")
    page.keyboard.press("r")
    expect(message(page, re.compile("“Run by a key”"))).to_be_visible()
    expect(page.locator("#live").get_by_text("success").first).to_be_visible()
    page.keyboard.press("e")
    expect(page.get_by_role("heading", name="Edit query")).to_be_visible()


def test_the_key_that_runs_a_query_leaves_one_that_runs_alone(visit: Callable[..., Page], world: World):
    query = world.create("Run by a key and kept", SLOW, timeout=120)
    page = visit(f"/scheduled_query/query/{query.id}")
    page.keyboard.press("r")
    cancel = page.get_by_role("button", name="Cancel")
    expect(cancel).to_be_visible()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.method))
    page.keyboard.press("r")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    assert "POST" not in sent
    page.keyboard.press("Escape")
    cancel.click()
    expect(page.locator("#reason")).to_contain_text("cancelled by editor")


def test_after_try_it_columns_are_chosen_by_a_click_and_the_samples_are_shown(visit: Callable[..., Page]):
    page = visit("/scheduled_query/create")
    page.locator(".cm-content").fill("SELECT 'de' AS country, 7 AS n UNION ALL SELECT 'fr', 5")
    page.get_by_role("button", name="Try it").click()
    expect(page.locator("#tried")).to_contain_text("2 rows in")
    page.fill("[name=metric_name]", "shop_by_country")
    chip = page.locator("#label-columns").get_by_role("button", name="country")
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "true")
    expect(page.locator("[name=metric_label_columns]")).to_have_value("country")
    expect(page.locator("#metric-line")).to_contain_text("2 series of the latest Try it")
    expect(page.locator("#metric-line")).to_contain_text('shop_by_country{country="fr"} 5.0')
    page.locator(".cm-content").fill("SELECT 'es' AS country, 1 AS n")
    expect(page.locator("#metric-line")).to_contain_text("before the SQL was edited")
    chip.click()
    expect(page.locator("#metric-line")).to_contain_text("shop_by_country 7.0")


def test_a_query_is_written_tried_and_made(visit: Callable[..., Page]):
    page = visit("/scheduled_query/create")
    page.get_by_label("Name").fill("Made in a browser")
    editor = page.locator(".cm-content")
    editor.click()
    page.keyboard.type("SELECT orders, country FROM orders ORDER BY 1 DESC LIMIT 2")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#tried")).to_contain_text("2 rows in")
    expect(page.locator(".sq-form-table")).to_be_visible()
    expect(page.locator(".sq-form-counter")).to_be_hidden()
    page.get_by_text("counter", exact=True).click()
    expect(page.locator(".sq-form-counter")).to_be_visible()
    expect(page.locator(".sq-form-table")).to_be_hidden()
    page.get_by_label("Common schedules").select_option("30 2 * * *")
    expect(page.locator("#next-runs")).to_contain_text("daily at 02:30")
    page.get_by_label("Time zone").fill("Asia/Tokyo")
    expect(page.locator("#next-runs")).to_contain_text("Asia/Tokyo")
    expect(page.locator("#next-runs td").first).to_contain_text("02:30")
    page.get_by_role("textbox", name="Metric", exact=True).fill("made_in_a_browser")
    expect(page.locator("#metric-line")).to_contain_text(re.compile(r"made_in_a_browser \d+\.0"))
    page.get_by_role("button", name="Create query").click()
    expect(message(page, "“Made in a browser” is created.")).to_be_visible()
    expect(page.get_by_role("heading", name="Made in a browser", level=1)).to_be_visible()


def test_the_editor_completes_from_the_schema(visit: Callable[..., Page]):
    page = visit("/scheduled_query/create")
    schema = page.request.get("/scheduled_query/schema/1").json()["tables"]
    expect(page.locator("ui-sql")).to_have_js_property("schema", schema)
    page.locator(".cm-content").click()
    page.keyboard.type("SELECT * FROM coun")
    expect(page.locator(".cm-tooltip-autocomplete")).to_contain_text("countries")


def test_a_rejected_form_loses_nothing(visit: Callable[..., Page]):
    page = visit("/scheduled_query/create")
    page.get_by_label("Name").fill("Rejected")
    page.locator(".cm-content").click()
    page.keyboard.type("DROP TABLE orders")
    page.get_by_label("Schedule", exact=True).fill("99 * * * *")
    page.get_by_label("Tags").fill("kept")
    page.get_by_role("button", name="Create query").click()
    expect(page.get_by_text("Not saved.")).to_be_visible()
    expect(page.get_by_text(re.compile("“DROP” in line 1 is forbidden"))).to_be_visible()
    expect(page.locator("#f-cron_schedule-error")).to_be_visible()
    expect(page.get_by_label("Name")).to_have_value("Rejected")
    expect(page.get_by_label("Tags")).to_have_value("kept")
    expect(page.locator(".cm-content")).to_contain_text("DROP TABLE orders")


def test_leaving_with_unsaved_changes_warns(visit: Callable[..., Page]):
    page = visit("/scheduled_query/edit/1")
    page.on("dialog", lambda dialog: dialog.dismiss())
    page.get_by_label("Description").fill("half a thought")
    with page.expect_event("dialog") as asked:
        page.get_by_role("link", name="Dashboard").click(no_wait_after=True)
    assert asked.value.type == "beforeunload"
    expect(page.get_by_label("Description")).to_have_value("half a thought")


def test_an_edit_conflict_is_told_and_solved_knowingly(visit: Callable[..., Page], world: World):
    query = world.create("Wanted by two")
    page = visit(f"/scheduled_query/edit/{query.id}")
    world.parts.editing.edit(query.id, {"description": "theirs"}, "grace")
    page.get_by_label("Description").fill("mine")
    page.get_by_role("button", name="Save", exact=True).click()
    conflict = page.locator("#conflict")
    expect(conflict).to_contain_text("grace saved this query meanwhile")
    expect(page.get_by_label("Description")).to_have_value("mine")
    conflict.get_by_text("Where they differ").click()
    expect(conflict).to_contain_text("theirs")
    conflict.get_by_role("button", name="Save mine over it").click()
    expect(message(page, "“Wanted by two” is saved.")).to_be_visible()
    saved = world.parts.definitions.get(query.id)
    assert saved
    assert saved.description == "mine"


def test_widgets_show_each_render_type_and_refresh(visit: Callable[..., Page], world: World):
    kinds = {"counter": ".sq-counter", "metric": ".sq-counter", "table": "table", "raw": "pre"}
    for kind in (*kinds, "auto"):
        world.run(world.create(f"Widget {kind}", "SELECT 1284 AS users", render_type=kind, tags=["w"]))
    page = visit("/scheduled_query/results-widgets?tag=w")
    for kind, inside in (kinds | {"auto": ".sq-counter"}).items():
        card = page.get_by_role("article", name=f"Widget {kind}", exact=True)
        expect(card.locator(inside)).to_be_visible()
    expect(page.get_by_role("article", name="Widget counter").locator("strong")).to_have_text("1,284")
    world.run(world.create("Widget late", "SELECT 7 AS late", tags=["w"]))
    expect(page.get_by_role("article", name="Widget late")).to_be_visible()


def test_hostile_text_stays_text(
    new_context: Callable[..., BrowserContext], sessions: dict[str, Any], world: World
):
    sql = "SELECT '" + HOSTILE.replace("'", "''") + "' AS cell"
    query = world.create(
        f"{HOSTILE} hostile", sql, description=HOSTILE, tags=["hostile"], render_type="table"
    )
    world.run(query)
    page = new_context(storage_state=sessions["editor"], viewport=WIDE).new_page()
    watch = Watch(page)
    for path in ("?tag=hostile", f"query/{query.id}", "results-widgets?tag=hostile", "dashboard"):
        page.goto(f"{world.url}/scheduled_query/{path}")
        page.wait_for_load_state("networkidle")
        expect(page.get_by_text(HOSTILE).first).to_be_visible()
        assert "owned" not in page.title().replace(HOSTILE, "")
        watch.expect_silence()


def test_two_executions_are_compared_from_the_history(visit: Callable[..., Page]):
    page = visit("/scheduled_query/query/3", "viewer")
    page.get_by_role("button", name="What changed between the two").click()
    expect(page.get_by_role("heading", name="What changed")).to_be_visible()


def test_viewers_can_look_and_nothing_else(visit: Callable[..., Page]):
    page = visit("/scheduled_query/", "viewer")
    main = page.locator("main")
    for name in ("Run now", "New query", "More about", "Edit"):
        expect(main.get_by_role("button", name=name)).to_have_count(0)
        expect(main.get_by_role("link", name=name)).to_have_count(0)
    expect(main.get_by_role("switch")).to_have_count(0)
    expect(page.get_by_role("link", name="Data sources")).to_have_count(0)
    page.goto("/scheduled_query/query/1")
    expect(main.get_by_role("button", name="Run now")).to_have_count(0)


def test_everything_works_without_javascript(visit: Callable[..., Page]):
    page = visit("/scheduled_query/create", java_script_enabled=False)
    page.get_by_label("Name").fill("Made by hand")
    page.get_by_label("SQL").fill("SELECT 42 AS answer")
    page.get_by_role("button", name="Try it").click()
    expect(page.locator("#tried")).to_contain_text("1 row in")
    page.get_by_role("button", name="Create query").click()
    expect(page.get_by_text("“Made by hand” is created.")).to_be_visible()
    page.get_by_role("button", name="Run now").click()
    expect(page.get_by_text(re.compile("“Made by hand” (ran in|is running)"))).to_be_visible()
    page.goto("/scheduled_query/")
    page.get_by_role("searchbox", name="Search").fill("Made by hand")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator("#queries tbody tr")).to_have_count(1)
    page.get_by_role("switch").click()
    expect(page.get_by_text("“Made by hand” no longer runs on schedule.")).to_be_visible()
    expect(page.get_by_role("switch")).not_to_be_checked()


def test_a_source_is_added_tested_and_deleted(visit: Callable[..., Page], world: World, tmp_path: Any):
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(tmp_path / "more.db")) as connection, connection:
        connection.execute("CREATE TABLE things (id INTEGER)")
    page = visit("/scheduled_query/sources", "admin")
    page.get_by_role("link", name="Connect a database").click()
    page.get_by_label("Name").fill("more")
    page.get_by_label("URL").fill("nonsense")
    page.get_by_role("button", name="Test and add").click()
    expect(page.locator("#f-url-error")).to_be_visible()
    page.get_by_label("URL").fill("postgresql://reader:secret@127.0.0.1:1/more")
    page.get_by_role("button", name="Test and add").click()
    expect(page.locator("#f-url-error")).to_contain_text("it cannot be reached now")
    expect(page.get_by_role("button", name="Add anyway")).to_be_visible()
    page.get_by_label("URL").fill(f"sqlite:///{tmp_path / 'more.db'}")
    page.get_by_role("button", name="Test and add").click()
    expect(page.get_by_role("link", name="New query on this source").first).to_be_visible()
    row = page.get_by_role("rowgroup").filter(has_text="more.db")
    expect(row).to_contain_text("when due")
    row.get_by_role("button", name="Test “more”").click()
    expect(row).to_contain_text("answers: SQLite")
    row.get_by_role("link", name="Tables of “more”").click()
    expect(page.get_by_text("things")).to_be_visible()
    page.go_back()
    row.get_by_role("link", name="Delete “more”").click()
    expect(page.get_by_role("dialog")).to_contain_text("No query uses it.")
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(message(page, "The data source “more” is deleted.")).to_be_visible()


def test_before_a_source_is_deleted_what_uses_it_is_shown(visit: Callable[..., Page]):
    page = visit("/scheduled_query/sources", "admin")
    page.get_by_role("link", name="Delete “samples”").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("“samples” is in use")
    expect(dialog.get_by_role("listitem").first).to_be_visible()
    expect(dialog.get_by_role("button", name="Delete", exact=True)).to_have_count(0)


@pytest.mark.parametrize("has_javascript", [True, False])
def test_who_misses_a_run_asks_and_is_answered(visit: Callable[..., Page], has_javascript: bool):
    page = visit("/scheduled_query/query/1", java_script_enabled=has_javascript)
    page.get_by_label("Why did it not run at").fill("2001-02-03T04:05")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#why-answer")).to_contain_text("Not there yet. The query was made")
    expect(page.get_by_label("Why did it not run at")).to_have_value("2001-02-03T04:05")


def test_an_admin_pauses_all_queries_and_lets_them_go_on(visit: Callable[..., Page]):
    page = visit("/scheduled_query/", "admin")
    page.get_by_role("button", name="Pause all").click()
    banner = page.get_by_role("alert").filter(has_text="All queries are paused.")
    expect(banner).to_contain_text("admin paused the schedule")
    page.goto("/scheduled_query/dashboard")
    assert barriers(page) == []
    banner.get_by_role("button", name="Resume all").click()
    expect(message(page, "All queries run on schedule again.")).to_be_visible()
    expect(banner).to_have_count(0)
