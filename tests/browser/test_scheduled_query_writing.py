"""Writing a query: keys, proposals and tables, trying and stopping, errors and charts, and the way back."""

import re
from collections.abc import Callable

import pytest
from browser.watching import Watch, barriers
from browser.world import NEVER, SLOW, WIDE, World
from playwright.sync_api import Page, expect
from service_world import until

LIST = ".cm-tooltip-autocomplete"
VISIT = Callable[..., Page]


@pytest.fixture
def page(visit: VISIT) -> Page:
    """The form of a new query, with the tables known and the cursor in the SQL."""
    opened = visit("/scheduled_query/create")
    expect(opened.locator("#schema")).to_contain_text("countries")
    opened.locator(".cm-content").click()
    return opened


def text(page: Page) -> str:
    return str(page.locator("ui-sql textarea").input_value())


def write(page: Page, sql: str) -> None:
    """Another text, and the list of proposals closed."""
    page.locator("ui-sql textarea").evaluate(
        "(area, sql) => { area.value = sql; area.dispatchEvent(new Event('change')); }", sql
    )
    expect(page.locator("ui-sql textarea")).to_have_value(sql)


def try_it(page: Page, sql: str) -> None:
    write(page, sql)
    page.locator(".cm-content").press("Control+Enter")


# --- keys and proposals ----------------------------------------------------------------------------------


def test_enter_ends_a_line_whatever_is_proposed(page: Page):
    for line in ("SELECT o.country AS r", "FROM orders o", "WHERE o.coun"):
        page.keyboard.type(line)
        page.keyboard.press("Enter")
    assert text(page) == "SELECT o.country AS r\nFROM orders o\nWHERE o.coun\n"


def test_enter_ends_a_line_under_an_open_list(page: Page):
    page.keyboard.type("SELECT * FROM coun")
    expect(page.locator(LIST)).to_contain_text("countries")
    page.wait_for_timeout(100)  # the editor takes no proposal in the first moment, whatever the key
    page.keyboard.press("Enter")
    assert text(page) == "SELECT * FROM coun\n"
    expect(page.locator(LIST)).to_have_count(0)


@pytest.mark.parametrize("key", ["Tab", "ArrowDown ArrowUp Enter", "Control+Space Enter"])
def test_a_proposal_is_taken_by_tab_or_by_those_who_chose_it(page: Page, key: str):
    page.keyboard.type("SELECT * FROM coun")
    expect(page.locator(LIST)).to_contain_text("countries")
    page.wait_for_timeout(100)
    for one in key.split():
        page.keyboard.press(one)
        page.wait_for_timeout(100)
    expect(page.locator("ui-sql textarea")).to_have_value("SELECT * FROM countries")


def test_columns_come_before_tables_functions_and_keywords(page: Page):
    page.keyboard.type("SELECT o.country FROM orders o WHERE co")
    options = page.locator(f"{LIST} li .cm-completionLabel")
    expect(options.first).to_have_text("country")
    found = options.all_inner_texts()
    assert found.index("country") < found.index("countries") < found.index("count")
    page.keyboard.press("Tab")
    expect(page.locator("ui-sql textarea")).to_have_value("SELECT o.country FROM orders o WHERE country")


def test_a_function_is_proposed_with_its_brackets(page: Page):
    page.keyboard.type("SELECT strft")
    expect(page.locator(LIST)).to_contain_text("strftime")
    page.wait_for_timeout(100)
    page.keyboard.press("Tab")
    page.keyboard.type("1")
    assert text(page) == "SELECT strftime(1)"


# --- the tables beside the editor ------------------------------------------------------------------------


def test_tables_are_searched_opened_and_put_into_the_text(page: Page):
    page.keyboard.type("SELECT ")
    panel = page.locator("#schema")
    panel.get_by_label("Search tables and columns").fill("reven")
    expect(panel.get_by_role("button", name="revenue")).to_be_visible()
    expect(panel.get_by_role("button", name="countries", exact=True)).to_have_count(0)
    panel.get_by_role("button", name="revenue").click()
    page.keyboard.type(" FROM")
    panel.get_by_role("button", name="orders", exact=True).click()
    assert text(page) == "SELECT revenue FROM orders"
    panel.get_by_label("Search tables and columns").fill("nothing like that")
    expect(panel).to_contain_text("No matches")


def test_the_tables_are_used_without_a_mouse(page: Page):
    search = page.get_by_label("Search tables and columns")
    search.focus()
    page.keyboard.type("coun")
    page.keyboard.press("Enter")  # is no way to send the form
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Columns of countries")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".cm-content")).to_be_focused()
    assert text(page) != ""
    expect(page.get_by_role("heading", name="New query")).to_be_visible()


# --- trying ----------------------------------------------------------------------------------------------


def in_sight(page: Page, selector: str) -> bool:
    box = page.locator(selector).first.bounding_box()
    assert box
    return box["y"] >= 0 and box["y"] + min(box["height"], 60) <= WIDE["height"]


@pytest.mark.parametrize(
    ("sql", "words", "marked"),
    [
        ("SELECT country,\n  orderz\nFROM orders", "no such column: orderz", "orderz"),
        ("SELECT country\nFORM orders", "could not be understood", "orders"),
        ("SELECT 1\nFROM orders\nWHERE country = 'delete'", "the whole text is scanned", "delete"),
        ("SELECT 1;\nSELECT 2", "more than one statement", "SELECT"),
    ],
)
def test_an_error_is_in_sight_and_marks_its_place(page: Page, sql: str, words: str, marked: str):
    try_it(page, sql)
    expect(page.locator("#tried pre")).to_contain_text(words)
    expect(page.locator(".cm-mistake")).to_have_text(marked)
    assert in_sight(page, "#tried pre")
    lines = page.locator("#tried pre").inner_text().rstrip().split("\n")
    assert lines[-2][lines[-1].index("^") :].startswith(marked)
    page.locator(".cm-content").press("End")
    page.keyboard.type(" ")
    expect(page.locator(".cm-mistake")).to_have_count(0)


def test_a_result_is_in_sight_and_looks_old_after_a_change(page: Page):
    try_it(page, "SELECT country, orders FROM orders")
    expect(page.locator("#tried")).to_contain_text("6 rows in")
    assert in_sight(page, "#tried table")
    expect(page.locator(".sq-stale")).to_be_hidden()
    page.locator(".cm-content").press("End")
    page.keyboard.type(" LIMIT 1")
    expect(page.locator("#tried")).to_have_class(re.compile("is-stale"))
    expect(page.locator(".sq-stale")).to_be_visible()


@pytest.mark.parametrize("way", ["button", "Escape"])
def test_what_is_tried_can_be_stopped(page: Page, world: World, way: str):
    try_it(page, "SELECT country FROM orders LIMIT 1")
    expect(page.locator("#tried")).to_contain_text("1 row in")
    page.get_by_label("Time limit").fill("120")
    try_it(page, SLOW)
    cancel = page.get_by_role("button", name="Cancel")
    expect(cancel).to_be_visible()
    expect(page.locator("#tried")).to_have_css("opacity", "0.5")
    until(lambda: any(runner.is_busy for runner in world.parts.executor.runners()))
    if way == "button":
        cancel.click()
    else:
        page.keyboard.press("Escape")
    expect(page.locator("#try-state")).to_contain_text("Cancelled after")
    expect(page.get_by_role("button", name="Try it")).to_be_visible()
    until(lambda: not any(runner.is_busy for runner in world.parts.executor.runners()))
    try_it(page, "SELECT 4711 AS after")
    expect(page.locator("#tried")).to_contain_text("4,711")


def test_the_divider_is_moved_with_keys_and_stays(page: Page):
    bar = page.get_by_role("separator", name="Height of the editor")
    before = page.locator("#write").bounding_box()
    bar.press("ArrowDown")
    bar.press("ArrowDown")
    expect(bar).to_have_attribute("aria-valuenow", "55")
    after = page.locator("#write").bounding_box()
    assert before
    assert after
    assert after["height"] > before["height"] + 30
    page.reload()
    expect(bar).to_have_attribute("aria-valuenow", "55")
    bar.press("End")
    expect(bar).to_have_attribute("aria-valuenow", "85")
    bar.press("Enter")
    expect(bar).to_have_attribute("aria-valuenow", "45")


# --- the form --------------------------------------------------------------------------------------------


def test_every_error_is_told_in_one_round_at_its_field(page: Page):
    page.keyboard.type("SELECT 'delete'")
    page.get_by_label("Schedule", exact=True).fill("99 * * * *")
    page.get_by_label("Time zone").fill("Nowhere")
    page.get_by_label("Time limit").fill("-1")
    page.get_by_role("textbox", name="Metric").fill("up")
    page.get_by_role("button", name="Create query").click()
    expect(page.locator(".sq-alert", has_text="Not saved.")).to_contain_text("6 fields need")
    for name in ("name", "cron_schedule", "timezone", "timeout"):
        expect(page.locator(f"#f-{name}-error")).to_be_visible()
    expect(page.locator("#monitor_metric_config-error")).to_be_visible()
    expect(page.locator(".cm-mistake")).to_have_text("delete")


def test_the_way_back_into_a_form_keeps_everything(page: Page):
    page.on("dialog", lambda dialog: dialog.accept())
    page.keyboard.type("SELECT 4711")
    page.get_by_label("Name").fill("Left and found")
    page.get_by_label("Schedule", exact=True).fill("*/7 * * * *")
    page.get_by_label("Description").fill("kept")
    page.get_by_role("link", name="Dashboard").click()
    page.wait_for_url("**/dashboard")
    page.go_back()
    expect(page.get_by_label("Name")).to_have_value("Left and found")
    expect(page.get_by_label("Schedule", exact=True)).to_have_value("*/7 * * * *")
    expect(page.get_by_label("Description")).to_have_value("kept")
    expect(page.locator(".cm-content")).to_contain_text("SELECT 4711")


def test_the_way_back_after_saving_finds_a_fresh_form(page: Page):
    page.keyboard.type("SELECT 1")
    page.get_by_label("Name").fill("Saved, then back")
    page.get_by_label("Schedule", exact=True).fill(NEVER)
    page.get_by_role("button", name="Create query").click()
    page.wait_for_url("**/query/*")
    page.go_back()
    expect(page.get_by_role("heading", name="New query")).to_be_visible()
    expect(page.get_by_label("Name")).to_have_value("")
    expect(page.get_by_text("What you typed is back.")).to_be_hidden()


def test_the_same_times_are_shown_once(page: Page):
    runs = page.locator(".sq-runs")
    expect(runs.locator("th").first).to_have_text("UTC, your time")
    expect(runs.locator("th").last).to_be_hidden()
    page.get_by_label("Time zone").fill("Asia/Tokyo")
    expect(runs.locator("th").first).to_have_text("Asia/Tokyo")
    expect(runs.locator("th").last).to_be_visible()


# --- charts ----------------------------------------------------------------------------------------------


def test_a_chart_is_chosen_after_trying_and_shown_everywhere(page: Page, visit: VISIT):
    try_it(page, "SELECT country, orders, revenue FROM orders")
    page.get_by_label("Draw as").select_option("bars")
    expect(page.locator("#tried ui-chart canvas")).to_be_visible()
    page.get_by_role("checkbox", name="revenue").uncheck()
    expect(page.locator("#tried ui-chart")).to_have_attribute("aria-label", "orders along country")
    page.get_by_label("Name").fill("Drawn as bars")
    page.get_by_label("Schedule", exact=True).fill(NEVER)
    page.get_by_role("button", name="Create query").click()
    page.wait_for_url("**/query/*")
    expect(page.locator(".sq-definition")).to_contain_text("drawn as bars")
    page.get_by_role("button", name="Run Now").click()
    expect(page.locator("#latest ui-chart canvas")).to_be_visible()
    page.get_by_role("link", name="Edit").click()
    expect(page.get_by_label("Draw as")).to_have_value("bar")
    card = visit("/scheduled_query/results-widgets?search=Drawn+as+bars").get_by_role("article")
    expect(card.locator("ui-chart canvas")).to_be_visible()


# --- for everybody ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_kept_out_while_writing(visit: VISIT, scheme: str):
    page = visit("/scheduled_query/create", color_scheme=scheme)
    expect(page.locator("#schema")).to_contain_text("countries")
    page.get_by_role("button", name="Columns of orders").click()
    try_it(page, "SELECT country, orders FROM orders")
    page.get_by_label("Draw as").select_option("lines")
    expect(page.locator("#tried ui-chart canvas")).to_be_visible()
    assert barriers(page) == []


def test_nobody_is_kept_out_by_an_error_and_nothing_is_said_aside(visit: VISIT, world: World):
    page = visit("/scheduled_query/login")
    watch = Watch(page)
    page.goto("/scheduled_query/create")
    try_it(page, "SELECT nothing FROM nowhere")
    expect(page.locator("#tried pre")).to_be_visible()
    watch.expect_silence()
    assert barriers(page) == []
