import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from browser.watching import Watch, barriers
from live import served
from playwright.sync_api import Browser, BrowserContext, Page, expect
from plugbay.application import create_app
from plugbay.plugins.discovery import find_installed
from ui_tools.test_macros import HOSTILE, sources

PASSWORD = "correct horse battery staple"
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 375, "height": 780}

ATTACK = """
from fastapi import APIRouter, Request, Response
from plugbay import BaseModule

class Attack(BaseModule):
    def on_load(self):
        self.module_router = APIRouter()

        @self.module_router.get("/")
        def page(request: Request):
            return self.host.templates.response(request, "attack/page.html.j2", {{"h": {hostile!r}}})

        @self.module_router.post("/saved")
        def saved():
            return Response("", headers=self.host.get_module("ui_tools").toast("<b>Saved</b>", "success"))

    def after_setup_templates(self, fast_pluggy):
        self.host = fast_pluggy
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with ui_tools and a plugin whose only page is hostile in every place."""
    home = tmp_path_factory.mktemp("home")
    write_attack(home / "plugins/attack")
    only = [source for source in find_installed() if source.name == "ui_tools"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("plugbay.plugins.manager.find_installed", lambda: only)
        app = create_app(home, {"data_dir": home / "data", "admin_password": PASSWORD})
        with served(app) as url:
            yield url


def write_attack(folder: Path) -> None:
    pages = folder / "templates/attack"
    pages.mkdir(parents=True)
    (folder / "plugin.py").write_text(ATTACK.format(hostile=HOSTILE))
    head = (
        '{% extends "plugbay/base.html.j2" %}{% import "ui_tools/macros.html.j2" as ui with context %}'
        "{% block title %}{{ h }}{% endblock %}{% block body %}"
    )
    body = "\n".join(source for _, source in sources())
    body += '<button hx-post="/attack/saved" hx-swap="none">Save it</button>'
    body += '<button hx-post="/attack/missing">Lose it</button>'
    (pages / "page.html.j2").write_text(head + body + "{% endblock %}")


@pytest.fixture(scope="module")
def session(browser: Browser, address: str, browser_context_args: dict[str, Any]) -> Any:
    """The cookies of someone who is logged in."""
    with browser.new_context(**browser_context_args) as context:
        page = context.new_page()
        page.goto(f"{address}/login")
        page.get_by_label("Name").fill("admin")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url(lambda url: "login" not in url)
        return context.storage_state()


@pytest.fixture
def opened(new_context: Callable[..., BrowserContext], session: Any, address: str) -> Callable[..., Page]:
    """Opens a page as the administrator."""

    def visit(path: str = "/ui_tools/", **options: Any) -> Page:
        page = new_context(storage_state=session, **{"viewport": WIDE, **options}).new_page()
        page.goto(address + path)
        return page

    return visit


def stop_time(page: Page) -> None:
    """From now on time passes in the page only as a test lets it."""
    page.clock.install()
    page.clock.pause_at(datetime.now(UTC) + timedelta(hours=1))


@pytest.fixture
def gallery(opened: Callable[..., Page]) -> Page:
    return opened()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_gallery_is_silent_fits_and_keeps_nobody_out(
    new_context: Callable[..., BrowserContext], session: Any, address: str, scheme: str, viewport: Any
):
    page = new_context(storage_state=session, color_scheme=scheme, viewport=viewport).new_page()
    watch = Watch(page)
    page.goto(f"{address}/ui_tools/")
    expect(page.locator("ui-chart canvas").first).to_be_visible()
    expect(page.locator(".cm-content")).to_be_visible()
    assert barriers(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == viewport["width"]
    watch.expect_silence()


def test_what_is_hostile_stays_text(new_context: Callable[..., BrowserContext], session: Any, address: str):
    page = new_context(storage_state=session, viewport=WIDE).new_page()
    watch = Watch(page)
    page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    page.goto(f"{address}/attack/")
    expect(page.locator(".cm-content")).to_contain_text("<script>alert(1)</script>")
    expect(page.locator("ui-chart canvas")).to_have_count(2)
    assert page.locator("main img").count() == 0
    assert watch.violations == []


def test_a_live_part_refreshes_and_nothing_moves(
    new_context: Callable[..., BrowserContext], session: Any, address: str
):
    page = new_context(storage_state=session, viewport=WIDE).new_page()
    watch = Watch(page)
    page.goto(f"{address}/ui_tools/")
    expect(page.locator("ui-chart canvas").first).to_be_visible()
    expect(page.locator(".cm-content")).to_be_visible()
    live = page.locator("#live")
    live.evaluate("part => part.scrollIntoView()")  # at once: it may be replaced at any moment
    for _ in range(2):
        shown = live.locator(".ui-counter-note").inner_text()
        expect(live.locator(".ui-counter-note")).not_to_have_text(shown)
    assert watch.shifts < 0.001
    watch.expect_silence()


def test_a_column_sorts_by_click_and_by_key(gallery: Page):
    table = gallery.locator("#table ui-table")
    first = table.locator("tbody tr").first
    head = table.get_by_role("columnheader", name="orders")
    button = head.get_by_role("button")
    button.click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    expect(first).to_contain_text("Poland")
    button.press("Enter")
    expect(head).to_have_attribute("aria-sort", "descending")
    expect(first).to_contain_text("Germany")
    button.press("Space")
    expect(head).to_have_attribute("aria-sort", "none")


def test_nothing_comes_last_whichever_way_it_is_sorted(gallery: Page):
    table = gallery.locator("#table ui-table")
    button = table.get_by_role("columnheader", name="revenue").get_by_role("button")
    for _ in range(2):
        button.click()
        expect(table.locator("tbody tr").last).to_contain_text("Poland")


def test_long_text_unfolds(gallery: Page):
    cell = gallery.locator("#table .ui-long").first
    expect(cell.get_by_text("The last 3 attempts failed")).to_be_hidden()
    cell.locator("summary").click()
    expect(cell.get_by_text("The last 3 attempts failed")).to_be_visible()


def test_a_dialog_asks_first_and_is_used_by_keyboard(gallery: Page):
    delete = gallery.locator("#confirm").get_by_role("button", name="Delete", exact=True)
    delete.press("Enter")
    dialog = gallery.get_by_role("dialog", name="Delete “Orders per country”?")
    expect(dialog).to_be_visible()
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    gallery.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(delete).to_be_focused()
    delete.press("Enter")
    dialog.get_by_role("button", name="Delete the query").click()
    expect(gallery.get_by_text("The dialog was confirmed")).to_be_visible()


def test_an_open_dialog_keeps_nobody_out(gallery: Page):
    gallery.locator("#confirm").get_by_role("button", name="Delete", exact=True).click()
    assert barriers(gallery) == []


def test_a_toast_is_told_and_can_be_closed(gallery: Page):
    gallery.locator("#toast").get_by_role("button", name="Error").click()
    message = gallery.get_by_role("alert")
    expect(message).to_contain_text("The server could not be reached.")
    message.get_by_role("button", name="Close").press("Enter")
    expect(message).to_have_count(0)


def test_an_answer_to_htmx_brings_its_message_with_it(opened: Callable[..., Page]):
    page = opened("/attack/")
    page.get_by_role("button", name="Save it").click()
    expect(page.locator(".message-success")).to_have_text("<b>Saved</b>")


def test_a_failed_request_of_htmx_tells_its_reason(opened: Callable[..., Page]):
    page = opened("/attack/")
    page.get_by_role("button", name="Lose it").click()
    expect(page.get_by_role("alert")).to_contain_text("Not Found")


def test_good_news_leaves_by_itself_and_trouble_stays(opened: Callable[..., Page]):
    page = opened()
    stop_time(page)
    for name in ("Success", "Error"):
        page.locator("#toast").get_by_role("button", name=name).click()
    expect(page.locator(".message")).to_have_count(2)
    page.locator("#toast h2").hover()
    page.clock.run_for(9000)
    expect(page.locator(".message")).to_have_count(1)
    expect(page.get_by_role("alert")).to_be_visible()


def test_text_is_copied(opened: Callable[..., Page]):
    page = opened(permissions=["clipboard-read", "clipboard-write"])
    stop_time(page)  # else “Copied” would soon be gone
    command = "plugbay token create --user ada --name prometheus"
    for button, text in {"Copy the command": command, "Copy the field": "what stands here"}.items():
        copy = page.locator("ui-copy").filter(has=page.get_by_role("button", name=button))
        copy.get_by_role("button").click()
        expect(copy.get_by_role("status")).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == text


def test_times_stay_current_and_tell_the_exact_one(opened: Callable[..., Page], address: str):
    page = opened("/account")
    page.clock.install()
    page.goto(f"{address}/ui_tools/")
    moment = page.locator("#times ui-time time").nth(2)
    expect(moment).to_have_text("2 min ago")
    expect(moment).to_have_attribute("title", re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"))
    page.clock.run_for(60_000)
    expect(moment).to_have_text("3 min ago")


def test_times_are_the_visitors_own(browser: Browser, browser_context_args: Any, session: Any, address: str):
    options = {**browser_context_args, "timezone_id": "Asia/Tokyo", "storage_state": session}
    page = browser.new_context(**options).new_page()
    page.goto(f"{address}/ui_tools/")
    time = page.locator("#times ui-time[mode=absolute] time").first
    utc = time.get_attribute("datetime") or ""
    expect(time).not_to_have_text(utc.replace("T", " ").removesuffix("Z"))
    expect(time).to_have_attribute("title", re.compile(r"Asia/Tokyo$"))
    page.context.close()


def test_a_choice_applies_itself_and_stays_chosen(gallery: Page):
    gallery.locator("[name=status_filter]").select_option("failed")
    gallery.wait_for_url(re.compile("status_filter=failed"))
    expect(gallery.locator("[name=status_filter]")).to_have_value("failed")
    gallery.get_by_role("link", name="Clear").click()
    gallery.wait_for_url(lambda url: "status_filter" not in url)


def test_a_usual_range_fills_in_both_days(gallery: Page):
    gallery.get_by_role("button", name="7 d").click()
    gallery.wait_for_url(re.compile(r"date_from=\d{4}-\d\d-\d\d&date_to=\d{4}-\d\d-\d\d"))


def test_the_search_waits_for_enter(gallery: Page):
    search = gallery.get_by_label("Search")
    search.fill("orders")
    search.press("Enter")
    gallery.wait_for_url(re.compile("search=orders"))


def test_page_links_keep_what_was_filtered(opened: Callable[..., Page]):
    page = opened("/ui_tools/?search=orders")
    page.get_by_role("link", name="Next page").click()
    page.wait_for_url(re.compile(r"search=orders&page=8"))


def test_what_is_typed_into_the_editor_is_in_the_form(gallery: Page):
    gallery.locator(".cm-content").click()
    gallery.keyboard.press("Control+End")
    gallery.keyboard.type("\n-- more")
    expect(gallery.locator("ui-sql textarea")).to_have_value(re.compile(r"-- more$"))


def test_the_editor_completes_from_the_schema(gallery: Page):
    gallery.locator(".cm-content").click()
    gallery.keyboard.press("Control+End")
    gallery.keyboard.type("\nselect sess")
    expect(gallery.locator(".cm-tooltip-autocomplete")).to_contain_text("sessions")


def test_the_editor_formats_and_colours(gallery: Page):
    gallery.locator("ui-sql").get_by_role("button", name="Format").click()
    expect(gallery.locator("ui-sql textarea")).to_have_value(re.compile(r"\nFROM\n  sessions\nWHERE"))
    expect(gallery.locator(".cm-content").get_by_text("WHERE", exact=True)).to_have_css("font-weight", "600")


def test_control_enter_runs(gallery: Page):
    gallery.locator(".cm-content").click()
    gallery.keyboard.press("Control+Enter")
    expect(gallery.get_by_role("status").filter(has_text="This would run the query.")).to_be_visible()


def test_the_editor_keeps_its_frame_while_one_writes(gallery: Page):
    editor = gallery.locator(".cm-editor")
    before = editor.evaluate("(editor) => getComputedStyle(editor).borderTopWidth")
    gallery.locator(".cm-content").click()
    expect(editor).to_have_class(re.compile("cm-focused"))
    expect(editor).to_have_css("border-top-width", before)
    assert before == "1px"


def test_tab_leaves_the_editor(gallery: Page):
    content = gallery.locator(".cm-content")
    content.click()
    expect(content).to_be_focused()
    gallery.keyboard.press("Tab")
    expect(content).not_to_be_focused()


def test_a_chart_follows_the_theme_and_the_width(gallery: Page):
    chart = gallery.locator("#chart ui-chart")
    expect(chart.locator("canvas")).to_be_visible()
    before = chart.locator("canvas").evaluate("canvas => canvas.toDataURL()")
    gallery.get_by_role("button", name="Switch between light and dark").click()
    expect(chart.locator("canvas")).to_be_visible()
    assert chart.locator("canvas").evaluate("canvas => canvas.toDataURL()") != before
    gallery.set_viewport_size(NARROW)
    expect(chart.locator(".uplot")).to_have_css("width", re.compile(r"^(2\d\d|3[0-6]\d)"))


@pytest.mark.parametrize(
    ("values", "lowest", "highest", "marks"),
    [
        ([0.011, 0.034, 0.02], 0, 0.037, "0.01 0.02 0.03"),
        ([1_000_010, 1_000_040, 1_000_090], 999_998, 1_000_102, "1.00004M"),
        ([-0.002, -0.0005, -0.001], -0.0022, 0, "-0.002"),
        ([7, 7, 7], 0, 7.5, "6"),
        ([0, 0, 0], 0, 1, "0.4"),
        ([None, None, None], 0, 1, "0.4"),
        ([5], 0, 5.4, "4"),
    ],
    ids=["shares", "far from zero", "below zero", "constant", "zero", "nothing", "one"],
)
def test_a_chart_shows_any_values_and_tells_its_marks_apart(
    gallery: Page, values: list[float | None], lowest: float, highest: float, marks: str
):
    expect(gallery.locator("#chart canvas")).to_be_visible()
    drawn = gallery.locator("#chart ui-chart").evaluate(
        """async (chart, values) => {
            const t = values.map((_, i) => 1794744000 + i * 60);
            chart.dataset.chart = JSON.stringify({ t, series: [{ label: "one", values }] });
            await new Promise(requestAnimationFrame);
            const { plot } = chart;
            return { low: plot.scales.y.min, high: plot.scales.y.max, marks: plot.axes[1]._values };
        }""",
        values,
    )
    assert drawn["low"] >= lowest
    assert drawn["high"] <= highest
    assert len(set(drawn["marks"])) == len(drawn["marks"])
    assert marks in " ".join(drawn["marks"])


def test_bars_stand_on_each_other_and_are_told_apart(gallery: Page):
    chart = gallery.locator("#bars ui-chart")
    expect(chart.locator("canvas")).to_be_visible()
    drawn, told = chart.evaluate(
        """async (chart) => {
            const series = [{ label: "good", values: [5, 0] }, { label: "failed", values: [2, 3] }];
            chart.dataset.chart = JSON.stringify({ t: [1794744000, 1794747600], kind: "bars", series });
            await new Promise(requestAnimationFrame);
            chart.plot.setLegend({ idx: 0 });
            const cells = [...chart.querySelectorAll(".u-value")];
            return [chart.plot.data.slice(1), cells.map((cell) => cell.textContent)];
        }"""
    )
    assert drawn == [[7, None], [2, 3]]
    assert told[1:] == ["5", "2"]


def test_without_javascript_everything_is_still_there(opened: Callable[..., Page]):
    page = opened(java_script_enabled=False)
    expect(page.locator("ui-chart svg").first).to_be_visible()
    expect(page.locator("ui-sql textarea")).to_be_visible()
    expect(page.locator("#table")).to_contain_text("98,412.50")
    expect(page.locator("#times")).to_contain_text("2 min ago")
    expect(page.get_by_role("button", name="Copy the command")).to_be_hidden()
    page.locator("#confirm").get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete the query").click()
    expect(page.get_by_text("The dialog was confirmed")).to_be_visible()
