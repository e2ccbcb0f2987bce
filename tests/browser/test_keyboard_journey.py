"""From the login to a setting without a mouse: Tab leads to what one needs, and it does what it says."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from browser.watching import barriers
from browser.world import PASSWORD, WIDE, World, message
from playwright.sync_api import BrowserContext, Page, expect

MOST_TABS = 60  # from the top of a page to anything on it
IS_AT = """(wanted) => {
  const at = document.activeElement;
  const label = at.getAttribute("aria-label") ?? at.labels?.[0]?.innerText ?? at.innerText ?? "";
  return at.name === wanted || at.id === wanted || label.trim() === wanted;
}"""


def tab_to(page: Page, wanted: str) -> None:
    """Presses Tab until the focus is on what has this name, id or label."""
    for _ in range(MOST_TABS):
        if page.evaluate(IS_AT, wanted):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to {wanted}")


def test_from_the_login_to_a_run_and_a_setting_by_keyboard(
    new_context: Callable[..., BrowserContext], world: World, tmp_path: Path
):
    with closing(sqlite3.connect(tmp_path / "shop.db")) as shop, shop:
        shop.execute("CREATE TABLE orders (region TEXT, total REAL)")
        shop.execute("INSERT INTO orders VALUES ('eu', 12.5)")
    page = new_context(base_url=world.url, viewport=WIDE).new_page()
    keys = page.keyboard

    page.goto("/login")
    keys.type("admin")
    tab_to(page, "password")
    keys.type(PASSWORD)
    keys.press("Enter")
    expect(page.get_by_role("heading", name="Scheduled Queries", level=1)).to_be_visible()

    page.goto("/scheduled_query/sources")
    tab_to(page, "Connect a database")
    keys.press("Enter")
    expect(page.get_by_label("URL")).to_be_visible()
    tab_to(page, "name")
    keys.type("keyed")
    tab_to(page, "url")
    keys.type(f"sqlite:///{tmp_path / 'shop.db'}")
    keys.press("Enter")
    expect(page.get_by_text("“keyed” is connected.")).to_be_visible()

    page.goto("/scheduled_query/")
    keys.press("n")
    expect(page.locator("[name=data_source]")).to_be_focused()
    keys.type("keyed")
    tab_to(page, "name")
    keys.type("By keyboard")
    tab_to(page, "SQL")
    keys.type("SELECT region, SUM(total) AS total\nFROM orders GROUP BY region")
    keys.press("Control+Enter")
    expect(page.locator("#tried")).to_contain_text("1 row in")
    keys.press("Escape")  # out of the editor, in which Tab is for the text
    tab_to(page, "Create query")
    keys.press("Enter")
    expect(message(page, "“By keyboard” is created.")).to_be_visible()
    keys.press("r")
    expect(page.locator("#latest")).to_contain_text("12.5")
    expect(page.locator("#history tbody tr")).to_have_count(1)

    page.goto("/admin/base_module/scheduled_query/settings")
    tab_to(page, "limit_history")
    keys.type("500")
    box = page.locator("[name=limit_history][type=checkbox]")
    expect(box).not_to_be_checked()
    assert barriers(page) == []
    expect(page.get_by_role("button", name="Save settings")).to_be_in_viewport()
    keys.press("Enter")
    expect(message(page, "Saved for scheduled_query: limit_history.")).to_be_visible()
    assert world.parts.settings().limit_history == 500
    tab_to(page, "no limit")
    keys.press("Space")
    keys.press("Enter")
    expect(box).to_be_checked()
    assert world.parts.settings().limit_history == -1


def test_a_test_message_without_an_address_says_what_to_do_and_keeps_what_was_typed(
    visit: Callable[..., Page],
):
    page = visit("/admin/base_module/scheduled_query/settings", "admin")
    page.locator("#forbidden_keywords").fill("drop")
    page.get_by_role("button", name="Send a test message").click()
    expect(page.get_by_text("There is no address yet")).to_be_visible()
    expect(page.locator("#forbidden_keywords")).to_have_value("drop")
