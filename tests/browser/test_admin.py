"""The admin pages in a browser: what an admin sees and does, on a real server."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser.watching import Watch, barriers
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect
from servers import PASSWORD, Server, serving

SAMPLES = Path(__file__).parents[1] / "plugins"
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 375, "height": 780}
PATHS = {
    "list": "/admin/plugins",
    "overview": "/admin/base_module/greeter/overview",
    "failed": "/admin/base_module/raises_in_on_load/overview",
    "settings": "/admin/base_module/shop/settings",
    "empty settings": "/admin/base_module/polite/settings",
    "menu": "/admin/menu",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("bay")
    for plugin in ("good/greeter", "good/polite", "admin/shop", "broken/raises_in_on_load"):
        shutil.copytree(SAMPLES / plugin, folder / "plugins" / Path(plugin).name)
    variables = {"SHOP_REGION": "eu", "PIP_NO_INDEX": "1"}
    with serving(folder, PLUGBAY_INSTALL_MODULE_REQUIREMENT_AT_START="false", **variables) as server:
        assert server.url
        yield server


@pytest.fixture(scope="module")
def session(browser: Browser, server: Server, browser_context_args: dict[str, Any]) -> Any:
    with browser.new_context(**browser_context_args) as context:
        page = context.new_page()
        page.goto(f"{server.url}/login")
        page.get_by_label("Name").fill("admin")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url(lambda url: "login" not in url)
        return context.storage_state()


@pytest.fixture
def opened(new_context: Callable[..., BrowserContext], session: Any, server: Server) -> Callable[..., Page]:
    def visit(path: str, **options: Any) -> Page:
        page = new_context(storage_state=session, **{"viewport": WIDE, **options}).new_page()
        page.goto(server.url + path)
        return page

    return visit


def row(page: Page, name: str) -> Locator:
    """The row of one plugin; its name is the link in it."""
    return page.locator("tbody tr").filter(has=page.get_by_role("link", name=name, exact=True))


def menu(page: Page) -> Locator:
    return page.get_by_role("navigation", name="Main")


@pytest.mark.parametrize(
    ("scheme", "viewport"), [("light", WIDE), ("dark", NARROW)], ids=["wide and light", "narrow and dark"]
)
@pytest.mark.parametrize("name", PATHS)
def test_each_page_is_silent_fits_and_keeps_nobody_out(
    new_context: Callable[..., BrowserContext],
    session: Any,
    server: Server,
    name: str,
    scheme: str,
    viewport: Any,
):
    page = new_context(storage_state=session, color_scheme=scheme, viewport=viewport).new_page()
    watch = Watch(page)
    page.goto(server.url + PATHS[name])
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert barriers(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == viewport["width"]
    watch.expect_silence()


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
def test_a_plugin_is_switched_off_and_on_at_once(opened: Callable[..., Page], server: Server, script: bool):
    page = opened(PATHS["list"], java_script_enabled=script)
    row(page, "polite").get_by_role("button", name="Disable").click()
    expect(row(page, "polite")).to_contain_text("disabled")
    row(page, "greeter").get_by_role("button", name="Disable").click()
    expect(page.get_by_text("greeter is disabled. Its tables stay in the store.")).to_be_visible()
    expect(menu(page).get_by_role("link", name="Greetings")).to_have_count(0)
    assert page.request.get(f"{server.url}/greeter/").status == 404
    row(page, "greeter").get_by_role("button", name="Enable").click()
    expect(menu(page).get_by_role("link", name="Greetings", exact=True)).to_be_visible()
    row(page, "polite").get_by_role("button", name="Enable").click()
    expect(row(page, "polite")).to_contain_text("loaded")
    menu(page).get_by_role("link", name="Greetings", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_the_action_leads_back_to_the_page_it_was_on(opened: Callable[..., Page]):
    page = opened("/admin/base_module/polite/overview")
    page.get_by_role("button", name="Disable").click()
    expect(page.get_by_text("polite is disabled.")).to_be_visible()
    page.get_by_role("button", name="Enable").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("polite")
    expect(page.get_by_role("button", name="Disable")).to_be_visible()


def test_settings_are_changed_refused_and_reset(opened: Callable[..., Page]):
    page = opened(PATHS["settings"])
    expect(page.get_by_label("Region", exact=True)).to_be_disabled()
    expect(page.get_by_text("SHOP_REGION")).to_be_visible()
    size = page.get_by_label("Page size", exact=True)
    size.fill("999")
    page.get_by_label("Greeting", exact=True).fill("Hello <b>you</b>")
    page.get_by_role("button", name="Save settings").click()
    expect(page.get_by_text("Input should be less than or equal to 200")).to_be_visible()
    expect(size).to_have_value("999")
    size.fill("20")
    page.get_by_label("Is open", exact=True).uncheck()
    page.get_by_label("Colour", exact=True).select_option("red")
    page.get_by_label("Tags", exact=True).fill("one\ntwo")
    page.get_by_label("Api key", exact=True).fill("hunter2")
    page.get_by_role("button", name="Save settings").click()
    expect(page.get_by_text("Saved for shop:")).to_be_visible()
    assert barriers(page) == []  # what was changed has a button that resets it
    page.reload()
    expect(size).to_have_value("20")
    expect(page.get_by_label("Greeting", exact=True)).to_have_value("Hello <b>you</b>")
    expect(page.get_by_label("Is open", exact=True)).not_to_be_checked()
    expect(page.get_by_label("Tags", exact=True)).to_have_value("one\ntwo")
    expect(page.get_by_label("Api key", exact=True)).to_have_value("••••••••")
    for field in ("Greeting", "Is open", "Colour", "Tags", "Api key", "Page size"):
        page.get_by_role("button", name=f"Reset {field} to its default").click()
        expect(page.get_by_text(f"Back to the default: {field.lower().replace(' ', '_')}.")).to_be_visible()
    expect(size).to_have_value("50")


def test_the_enter_key_saves_and_does_not_reset(opened: Callable[..., Page]):
    page = opened("/admin/base_module/greeter/settings")
    times = page.get_by_label("Times", exact=True)
    for value in ("4", "3"):
        times.fill(value)
        times.press("Enter")
        expect(page.get_by_text("Saved for greeter: times.")).to_be_visible()
        expect(times).to_have_value(value)


def test_more_actions_are_in_a_menu_that_works_by_keyboard(opened: Callable[..., Page]):
    page = opened(PATHS["list"], java_script_enabled=False)
    button = row(page, "shop").get_by_role("button", name="More about shop")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Remove…")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Remove…")).to_be_hidden()


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
def test_a_plugin_is_removed_only_after_a_second_yes(
    opened: Callable[..., Page], server: Server, script: bool
):
    folder = server.folder / "plugins/passing"
    shutil.copytree(SAMPLES / "broken/fine", folder)
    page = opened(PATHS["list"], java_script_enabled=script)
    page.get_by_role("button", name="Reload").click()
    row(page, "passing").get_by_role("button", name="More about passing").click()
    page.get_by_role("link", name="Remove…").click()
    expect(page.get_by_text(f"The folder {folder} is deleted with all that is in it.")).to_be_visible()
    assert folder.exists()
    page.get_by_role("button", name="Yes, remove passing").click()
    expect(page.get_by_text("passing is removed. Its tables stay in the store.")).to_be_visible()
    expect(row(page, "passing")).to_have_count(0)
    assert not folder.exists()


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
def test_the_output_of_the_installer_grows_before_ones_eyes(
    opened: Callable[..., Page], server: Server, script: bool
):
    declared = server.folder / "plugins/polite/requirements.txt"
    declared.write_text("no-such-package-xyz>=2\n")
    page = opened("/admin/base_module/polite/overview", java_script_enabled=script)
    page.get_by_role("button", name="Install requirements").click()
    expect(
        page.get_by_text("No matching distribution found for no-such-package-xyz>=2").first
    ).to_be_visible()
    expect(page.get_by_text("Installing no-such-package-xyz>=2 failed")).to_be_visible()
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    declared.unlink()


def test_menu_entries_are_renamed_moved_hidden_and_reset(opened: Callable[..., Page]):
    page = opened(PATHS["menu"], java_script_enabled=False)
    links = menu(page).get_by_role("listitem")
    own = links.first.inner_text()
    page.get_by_role("textbox", name=f"Label of {own}", exact=True).fill("Salutations")
    page.get_by_role("button", name="Save menu").click()
    expect(links.first).to_have_text("Salutations")
    page.get_by_role("button", name="Move Salutations down").click()
    expect(links.nth(1)).to_have_text("Salutations")
    page.get_by_role("switch", name="Show Salutations").uncheck()
    page.get_by_role("button", name="Save menu").click()
    expect(links.filter(has_text="Salutations")).to_have_count(0)
    page.get_by_role("button", name="Reset all").click()
    expect(links.first).to_have_text(own)


@pytest.mark.parametrize(
    ("button", "answer"),
    [("Restart", "Restart now"), ("Force restart", "Restart without waiting")],
)
def test_the_page_comes_back_by_itself_after_a_restart(
    opened: Callable[..., Page], server: Server, button: str, answer: str
):
    starts = server.text.count("running on http")
    page = opened(PATHS["list"], java_script_enabled=False)
    page.get_by_role("button", name=button, exact=True).click()
    page.get_by_role("button", name=answer).click()
    server.wait_for("running on http", times=starts + 1)
    expect(page.get_by_text("The server restarts. This page comes back by itself.")).to_be_hidden()
    expect(row(page, "greeter")).to_contain_text("loaded")
    assert server.process.poll() is None
