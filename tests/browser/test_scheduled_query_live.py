"""Pages that keep up by themselves: the news comes in, and nothing that somebody is doing is disturbed."""

from collections.abc import Callable

import pytest
from browser.watching import Watch
from browser.world import World, row
from playwright.sync_api import Locator, Page, expect
from plugbay_scheduled_query.core.model import Query

ROWS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40) SELECT i FROM n"
# whether the page refrained from looking for news when it was time to
REMEMBER = """document.addEventListener("htmx:beforeRequest", (event) => {
  window.hasRefrained = event.defaultPrevented;
})"""


@pytest.fixture
def visit(visit: Callable[..., Page]) -> Callable[..., Page]:
    """Opens a page whose time the test can hurry on."""

    def open_page(path: str) -> Page:
        page = visit("/healthz")
        page.clock.install()
        page.goto(path)
        return page

    return open_page


def keep_up(page: Page) -> None:
    """So much time passes in the page that it looks for news."""
    page.clock.run_for(10_000)


def card(page: Page, query: Query) -> Locator:
    return page.locator(f"#card-{query.id}")


def scroll(part: Locator, to: int) -> None:
    part.evaluate("(part, to) => { part.scrollTop = to; }", to)


def scrolled(part: Locator) -> int:
    return int(part.evaluate("(part) => part.scrollTop"))


def test_the_dashboard_keeps_up_and_moves_nothing(visit: Callable[..., Page], world: World):
    query = world.create("News for the dashboard", "SELECT 4711 AS n")
    page = visit("/healthz")
    watch = Watch(page)
    page.goto("/scheduled_query/dashboard")
    expect(page.locator("#activity canvas")).to_be_visible()
    page.locator("#activity").evaluate("(chart) => { chart.isTheSame = true; }")
    before = page.locator("#history").bounding_box()
    world.run(query)
    keep_up(page)
    expect(page.locator("#latest")).to_contain_text("4,711")
    expect(page.locator("#history tbody tr").first).to_contain_text("News for the dashboard")
    assert page.locator("#history").bounding_box() == before
    assert page.locator("#activity").evaluate("(chart) => chart.isTheSame")  # it was drawn anew in place
    watch.expect_silence()


def test_a_history_of_older_days_stays_as_it_is(visit: Callable[..., Page], world: World):
    query = world.create("News that nobody asked for")
    page = visit("/scheduled_query/dashboard?page=2")
    first = page.locator("#history tbody tr").first.inner_text()
    world.run(query)
    keep_up(page)
    expect(page.locator("#latest")).to_contain_text("News that nobody asked for")
    expect(page.locator("#history tbody tr").first).to_have_text(first, use_inner_text=True)


def test_a_card_without_news_is_left_alone(visit: Callable[..., Page], world: World):
    read, busy = world.create("Being read", ROWS), world.create("Being run", "SELECT 1 AS n")
    world.run(read)
    page = visit("/scheduled_query/results-widgets?search=Being")
    scroll(card(page, read).locator(".ui-table-scroll"), 200)
    card(page, read).locator(".ui-table-scroll").click()
    world.run(busy)
    keep_up(page)
    expect(card(page, busy)).to_contain_text("just now")
    assert scrolled(card(page, read).locator(".ui-table-scroll")) == 200


def test_a_card_with_news_keeps_its_place_its_order_and_the_focus(visit: Callable[..., Page], world: World):
    query = world.create("Sorted by its reader", f"{ROWS} UNION ALL SELECT 1000 + random() % 1000")
    world.run(query)
    page = visit("/scheduled_query/results-widgets?search=Sorted+by+its+reader")
    table = card(page, query)
    table.get_by_role("button", name="i").click()
    scroll(table.locator(".ui-table-scroll"), 120)
    before = table.get_attribute("data-part") or ""
    world.run(query)
    keep_up(page)
    expect(table).not_to_have_attribute("data-part", before)
    assert scrolled(table.locator(".ui-table-scroll")) == 120
    expect(table.locator("th")).to_have_attribute("aria-sort", "ascending")
    expect(table.get_by_role("button", name="i")).to_be_focused()


def test_the_keyboard_keeps_its_place_in_the_list(visit: Callable[..., Page], world: World):
    query = world.create("Under the keyboard")
    page = visit("/scheduled_query/?search=Under+the+keyboard")
    row(page, query).get_by_role("link", name="Under the keyboard", exact=True).focus()
    world.run(query)
    keep_up(page)
    expect(row(page, query)).to_contain_text("success")
    expect(row(page, query).get_by_role("link", name="Under the keyboard", exact=True)).to_be_focused()


def test_what_is_being_selected_stays_selected(visit: Callable[..., Page], world: World):
    query = world.create("Selected with the mouse")
    page = visit("/scheduled_query/?search=Selected+with+the+mouse")
    row(page, query).locator(".sq-sql").select_text()
    chosen = page.evaluate("getSelection().toString()")
    assert chosen
    page.evaluate(REMEMBER)
    world.run(query)
    keep_up(page)
    assert page.evaluate("hasRefrained")
    assert page.evaluate("getSelection().toString()") == chosen
    page.evaluate("getSelection().removeAllRanges()")
    keep_up(page)
    expect(row(page, query)).to_contain_text("success")


def test_what_is_typed_into_the_filter_of_a_history_stays(visit: Callable[..., Page], world: World):
    query = world.create("News while somebody types")
    page = visit("/scheduled_query/dashboard")
    name = page.locator("#history input[type=search]")
    name.fill("half a na")
    name.blur()
    world.run(query)
    keep_up(page)
    expect(page.locator("#latest")).to_contain_text("News while somebody types")
    expect(name).to_have_value("half a na")


def test_a_zoomed_chart_stays_zoomed(visit: Callable[..., Page], world: World):
    query = world.parts.definitions.get(1)
    assert query
    page = visit("/scheduled_query/query/1")
    chart = page.locator("#values")
    expect(chart.locator("canvas")).to_be_visible()
    box = chart.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 80)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 80, steps=4)
    page.mouse.up()
    zoomed = chart.evaluate("(chart) => chart.plot.scales.x.max - chart.plot.scales.x.min")
    before = chart.get_attribute("data-part") or ""
    world.run(query)
    keep_up(page)
    expect(chart).not_to_have_attribute("data-part", before)
    assert chart.evaluate("(chart) => chart.plot.scales.x.max - chart.plot.scales.x.min") == zoomed


def test_the_comparison_begins_with_the_two_newest_results(visit: Callable[..., Page], world: World):
    query = world.create("Now and then", "SELECT 1 AS n")
    world.run(query)
    world.parts.editing.edit(query.id, {"query": "SELECT n FROM nowhere"}, "ada")
    world.run(query)
    page = visit(f"/scheduled_query/query/{query.id}")
    expect(page.get_by_role("button", name="What changed between the two")).to_have_count(0)
    world.parts.editing.edit(query.id, {"query": "SELECT 2 AS n"}, "ada")
    world.run(query)
    page.reload()
    page.get_by_role("button", name="What changed between the two").click()
    expect(page.get_by_role("heading", name="What changed")).to_be_visible()
