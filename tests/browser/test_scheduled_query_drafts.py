"""Nothing that somebody typed is lost: not by a session that ends, nor by a click too many."""

from collections.abc import Callable

from browser.world import PASSWORD, World
from playwright.sync_api import Page, expect


def log_in_again(page: Page, name: str = "editor") -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()


def test_a_session_that_ends_while_one_types_loses_nothing(visit: Callable[..., Page], world: World):
    query = world.create("Typed for long", enabled=False)
    page = visit(f"/scheduled_query/edit/{query.id}")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.type("SELECT 4711 AS kept")
    page.get_by_label("Description").fill("a long thought")
    page.get_by_label("Run on schedule").check()
    page.get_by_text("raw", exact=True).click()
    page.context.clear_cookies()
    page.get_by_label("Schedule", exact=True).fill("*/7 * * * *")  # its next runs are asked for
    page.wait_for_url(lambda url: "login" in url)
    log_in_again(page)
    expect(page.get_by_text("What you typed is back.")).to_be_visible()
    expect(page.locator(".cm-content")).to_contain_text("SELECT 4711 AS kept")
    expect(page.get_by_label("Description")).to_have_value("a long thought")
    expect(page.get_by_label("Schedule", exact=True)).to_have_value("*/7 * * * *")
    expect(page.locator("#next-runs")).to_contain_text("every 7 minutes")
    expect(page.get_by_label("Run on schedule")).to_be_checked()
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url(f"**/query/{query.id}")
    saved = world.parts.definitions.get(query.id)
    assert saved
    assert (saved.query, saved.description, saved.render_type) == (
        "SELECT 4711 AS kept",
        "a long thought",
        "raw",
    )


def test_a_form_sent_after_the_session_ended_comes_back_filled_in(visit: Callable[..., Page]):
    page = visit("/scheduled_query/create")
    page.get_by_label("Name").fill("Sent too late")
    page.context.clear_cookies()
    page.get_by_role("button", name="Create query").click()
    expect(page.get_by_text("Your session has ended.")).to_be_visible()
    page.get_by_role("link", name="Log in").click()
    log_in_again(page)
    expect(page.get_by_label("Name")).to_have_value("Sent too late")
    page.get_by_role("button", name="Discard it").click()
    expect(page.get_by_label("Name")).to_have_value("")


def test_what_one_typed_does_not_come_back_for_another(visit: Callable[..., Page]):
    page = visit("/scheduled_query/create")
    page.get_by_label("Name").fill("For my eyes only")
    page.context.clear_cookies()
    page.get_by_role("button", name="Create query").click()
    page.get_by_role("link", name="Log in").click()
    log_in_again(page, "admin")
    expect(page.get_by_role("heading", name="New query")).to_be_visible()
    expect(page.get_by_label("Name")).to_have_value("")


def test_what_was_left_on_purpose_does_not_come_back(visit: Callable[..., Page]):
    page = visit("/scheduled_query/create")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_label("Name").fill("Never mind")
    page.get_by_role("link", name="Cancel").click()
    page.wait_for_url("**/scheduled_query/")
    page.goto("/scheduled_query/create")
    expect(page.get_by_label("Name")).to_have_value("")


def test_a_second_click_makes_no_second_query(visit: Callable[..., Page], world: World):
    page = visit("/scheduled_query/create")
    page.get_by_label("Name").fill("Clicked twice")
    page.locator(".cm-content").click()
    page.keyboard.type("SELECT 1")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page.get_by_role("button", name="Create query").evaluate(
        "(button) => { button.click(); button.click(); }"
    )
    page.wait_for_url("**/query/*")
    assert sum(url.endswith("/create") for url in sent) == 1
