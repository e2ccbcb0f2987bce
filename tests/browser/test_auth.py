"""Accounts in a browser: logging in and out, tokens, users; with keyboard and screen reader in mind."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from browser.watching import Watch, barriers
from live import served
from playwright.sync_api import Browser, Page, expect
from plugbay.application import create_app
from plugbay.auth import add_user, create_token

PASSWORD = "correct horse battery staple"
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 375, "height": 780}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server without any plugin, with three users."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("plugbay.plugins.manager.find_installed", list)
        app = create_app(home, {"data_dir": home / "data", "admin_password": PASSWORD})
        store = app.state.plugbay.store
        add_user(store, "Ada Moreau", PASSWORD, "editor")
        add_user(store, "vic", PASSWORD, "viewer")
        create_token(store, "Ada Moreau", "Prometheus")
        with served(app) as url:
            yield url


@pytest.fixture
def visitor(
    browser: Browser, browser_context_args: dict[str, Any], address: str
) -> Iterator[Callable[..., Page]]:
    """Somebody's browser, at a page; logged in, if a name is given."""
    with ExitStack() as opened:

        def visit(path: str, name: str = "", **options: Any) -> Page:
            settings = {**browser_context_args, "viewport": WIDE, "base_url": address, **options}
            page = opened.enter_context(browser.new_context(**settings)).new_page()
            page.goto(path)
            if name:
                log_in(page, name)
                page.wait_for_url(lambda url: "/login" not in url, wait_until="networkidle")
            return page

        yield visit


def log_in(page: Page, name: str, password: str = PASSWORD) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.keyboard.press("Enter")


def test_a_wrong_password_is_told_and_the_right_one_leads_on(visitor: Callable[..., Page]) -> None:
    page = visitor("/account")
    log_in(page, "vic", "not the password")
    expect(page.get_by_role("alert")).to_have_text("The name or the password is wrong.")
    expect(page.get_by_label("Name")).to_have_value("vic")
    expect(page.get_by_label("Password")).to_be_focused()
    log_in(page, "vic")
    expect(page.get_by_role("heading", name="Account", level=1)).to_be_visible()
    assert page.url.endswith("/account")


def test_after_logging_out_the_old_cookie_is_dead(visitor: Callable[..., Page], address: str) -> None:
    page = visitor("/account", "vic")
    expect(page.get_by_role("heading", name="Account", level=1)).to_be_visible()
    [session] = [cookie for cookie in page.context.cookies() if cookie["name"] == "plugbay_session"]
    assert session["httpOnly"]
    page.get_by_role("button", name="Your account: vic").click()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    page.context.add_cookies([{"name": "plugbay_session", "value": session["value"], "url": address}])
    page.goto("/account")
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()


def test_a_token_is_made_copied_used_and_revoked(visitor: Callable[..., Page]) -> None:
    page = visitor("/account", "Ada Moreau", permissions=["clipboard-read", "clipboard-write"])
    watch = Watch(page)
    page.get_by_label("What is it for?").fill("Nightly export")
    page.get_by_role("button", name="New token").click()
    token = page.get_by_label("The new token", exact=True).input_value()
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == token
    machine = page.context.browser
    assert machine
    with machine.new_context(extra_http_headers={"Authorization": f"Bearer {token}"}) as context:
        assert context.request.get(page.url.replace("/account/tokens", "/metrics")).status == 200
        page.get_by_role("button", name="Revoke Nightly export").click()
        expect(page.get_by_text("The token Nightly export is revoked.")).to_be_visible()
        assert context.request.get(page.url.replace("/account", "/metrics")).status == 401
    watch.expect_silence()


def test_times_are_those_of_the_visitor(visitor: Callable[..., Page]) -> None:
    utc = visitor("/account", "Ada Moreau").locator("time").first
    there = visitor("/account", "Ada Moreau", timezone_id="Asia/Tokyo").locator("time").first
    expect(utc).to_be_attached()
    expect(there).to_be_attached()
    assert utc.get_attribute("title") == there.get_attribute("title")
    assert utc.text_content() != there.text_content()


def test_an_admin_adds_a_user_who_then_changes_the_password(visitor: Callable[..., Page]) -> None:
    admin = visitor("/admin/users", "admin")
    admin.get_by_label("Name", exact=True).fill("eve")
    admin.get_by_label("Password", exact=True).fill(PASSWORD)
    admin.get_by_label("Role").select_option("viewer")
    admin.get_by_role("button", name="Add user").click()
    expect(admin.get_by_text("The user eve is added as viewer.")).to_be_visible()
    eve = visitor("/account", "eve")
    eve.get_by_label("Current password").fill(PASSWORD)
    eve.get_by_label("New password", exact=True).fill("another horse")
    eve.get_by_label("New password again").fill("another horse")
    eve.get_by_role("button", name="Change password").click()
    expect(eve.get_by_text("Your password is changed")).to_be_visible()
    admin.get_by_role("link", name="eve", exact=True).click()
    admin.get_by_text("Remove eve…").click()
    admin.get_by_role("button", name="Yes, remove eve").click()
    expect(admin.get_by_text("The user eve is removed.")).to_be_visible()
    eve.goto("/account")
    expect(eve.get_by_role("heading", name="Log in")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_every_page_is_silent_fits_and_keeps_nobody_out(
    visitor: Callable[..., Page], viewport: dict[str, int], scheme: str
) -> None:
    page = visitor("/account", "admin", viewport=viewport, color_scheme=scheme)
    watch = Watch(page)
    for path in ("/account", "/admin/users", "/admin/users/2"):
        page.goto(path)
        expect(page.locator("h1")).to_be_visible()
        assert barriers(page) == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"], path
        watch.expect_silence()
