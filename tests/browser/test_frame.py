"""The frame that all pages share, in a browser: menu, theme, keyboard, and the host's own plain pages."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from browser.watching import Watch, barriers
from live import served
from playwright.sync_api import Browser, BrowserContext, Page, expect
from plugbay.application import create_app

PASSWORD = "correct horse battery staple"
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 375, "height": 780}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server without any plugin."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("plugbay.plugins.manager.find_installed", list)
        app = create_app(home, {"data_dir": home / "data", "admin_password": PASSWORD})
        with served(app) as url:
            yield url


@pytest.fixture(scope="module")
def session(browser: Browser, address: str, browser_context_args: dict[str, Any]) -> Any:
    with browser.new_context(**browser_context_args) as context:
        page = context.new_page()
        log_in(page, address)
        return context.storage_state()


def log_in(page: Page, address: str) -> None:
    page.goto(f"{address}/login")
    page.get_by_label("Name").fill("admin")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(lambda url: "login" not in url)


@pytest.fixture
def opened(new_context: Callable[..., BrowserContext], session: Any, address: str) -> Callable[..., Page]:
    def visit(path: str = "/", **options: Any) -> Page:
        page = new_context(storage_state=session, **{"viewport": WIDE, **options}).new_page()
        page.goto(address + path)
        return page

    return visit


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize(("path", "anonymous"), [("/", False), ("/nowhere", False), ("/login", True)])
def test_a_plain_page_is_silent_fits_and_keeps_nobody_out(
    new_context: Callable[..., BrowserContext],
    session: Any,
    address: str,
    path: str,
    anonymous: bool,
    scheme: str,
    viewport: Any,
):
    state = {} if anonymous else {"storage_state": session}
    page = new_context(color_scheme=scheme, viewport=viewport, **state).new_page()
    watch = Watch(page)
    page.goto(address + path)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert barriers(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == viewport["width"]
    if path == "/nowhere":  # the browser itself notes a page that is not there
        watch.messages = [text for text in watch.messages if "404" not in text]
    watch.expect_silence()


def test_the_documentation_of_the_api_is_silent(
    new_context: Callable[..., BrowserContext], session: Any, address: str
):
    page = new_context(storage_state=session, viewport=WIDE).new_page()
    watch = Watch(page)
    page.goto(f"{address}/docs")
    operation = page.locator(".opblock").first
    expect(operation).to_be_visible()
    operation.locator(".opblock-summary-control").click()
    expect(operation.locator(".opblock-body")).to_be_visible()
    page.get_by_role("button", name="Switch between light and dark").click()
    watch.expect_silence()


def test_a_request_from_the_documentation_is_answered(opened: Callable[..., Page]):
    page = opened("/docs")
    operation = page.locator(".opblock-get", has_text="/healthz")
    operation.locator(".opblock-summary-control").click()
    operation.get_by_role("button", name="Execute").click()
    expect(operation.locator(".live-responses-table .response-col_status").last).to_contain_text("200")


def test_the_theme_follows_the_system_until_it_is_switched(opened: Callable[..., Page]):
    page = opened(color_scheme="dark")
    root = page.locator("html")
    expect(root).to_have_attribute("data-bs-theme", "dark")
    page.emulate_media(color_scheme="light")
    expect(root).to_have_attribute("data-bs-theme", "light")
    page.get_by_role("button", name="Switch between light and dark").click()
    expect(root).to_have_attribute("data-bs-theme", "dark")
    page.reload()
    expect(root).to_have_attribute("data-bs-theme", "dark")
    page.get_by_role("button", name="Switch between light and dark").click()
    page.emulate_media(color_scheme="dark")
    expect(root).to_have_attribute("data-bs-theme", "dark")


@pytest.mark.parametrize(("scheme", "background"), [("light", "oklch(0.984"), ("dark", "oklch(0.207")])
def test_without_javascript_the_system_decides(opened: Callable[..., Page], scheme: str, background: str):
    page = opened(java_script_enabled=False, color_scheme=scheme)
    colour = page.locator("body").evaluate("body => getComputedStyle(body).backgroundColor")
    assert colour.startswith(background)


def test_the_first_tab_skips_to_the_content(opened: Callable[..., Page]):
    page = opened()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#content")).to_be_focused()


@pytest.mark.parametrize("javascript", [True, False])
def test_on_a_small_screen_the_menu_opens_and_closes(opened: Callable[..., Page], javascript: bool):
    page = opened(viewport=NARROW, java_script_enabled=javascript)
    entry = page.get_by_role("link", name="Plugins", exact=True)
    expect(entry).to_be_hidden()
    page.get_by_role("button", name="Menu", exact=True).click()
    expect(entry).to_be_visible()
    page.keyboard.press("Escape")
    expect(entry).to_be_hidden()


@pytest.mark.parametrize("javascript", [True, False])
def test_the_user_menu_logs_out(new_context: Callable[..., BrowserContext], address: str, javascript: bool):
    page = new_context(java_script_enabled=javascript, viewport=WIDE).new_page()
    log_in(page, address)
    page.get_by_role("button", name="Your account: admin").click()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()


def test_an_icon_beyond_the_usual_ones_is_fetched(opened: Callable[..., Page]):
    page = opened()
    assert page.locator("link[href*=icons-rest]").count() == 0
    page.locator("main").evaluate("""main => {
      main.insertAdjacentHTML("beforeend", '<i class="fas fa-dragon" id="rare"></i>');
      document.dispatchEvent(new CustomEvent("htmx:afterSettle"));
    }""")
    expect(page.locator("link[href*=icons-rest]")).to_have_count(1)
    expect(page.locator("#rare")).to_have_css("--fa", '"\\f6d5"')


def test_the_first_page_is_small(opened: Callable[..., Page], address: str):
    page = opened("/account")
    sizes = page.evaluate(
        """() => performance.getEntriesByType("resource").map((entry) => entry.encodedBodySize)"""
    )
    assert sum(sizes) < 150_000
