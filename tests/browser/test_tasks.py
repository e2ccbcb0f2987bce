"""The tasks page in a browser: call a task, cancel a job, see the page keep up by itself."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from browser.watching import Watch, barriers
from live import served
from playwright.sync_api import BrowserContext, Page, expect
from plugbay import Plugbay
from plugbay.application import create_app
from plugbay.plugins.discovery import find_installed
from plugbay_task_worker import Engine
from task_worker.world import Stoppable, opened_at_last

PASSWORD = "correct horse battery staple"
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 375, "height": 780}
# the next time that the page has fetched its live part and shown it
KEPT_UP = """() => new Promise((done) => document.addEventListener("htmx:afterSettle", () => {
  requestAnimationFrame(() => requestAnimationFrame(done));
}))"""


@pytest.fixture(scope="module")
def served_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Plugbay]]:
    """A server with the task worker alone."""
    home = tmp_path_factory.mktemp("home")
    only = [source for source in find_installed() if source.name == "task_worker"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("plugbay.plugins.manager.find_installed", lambda: only)
        app = create_app(home, {"data_dir": home / "data", "admin_password": PASSWORD})
        with served(app) as url:
            yield url, app.state.plugbay


@pytest.fixture
def engine(served_host: tuple[str, Plugbay]) -> Iterator[Engine]:
    """Its engine, with a good and a bad task of a shop."""
    engine: Engine = served_host[1].get_module("task_worker").engine
    engine.every(owner="shop", name="count_stock", seconds=86_400, call=lambda job: None)
    engine.every(owner="shop", name="reach_warehouse", seconds=86_400, call=lambda job: 1 / 0)
    yield engine
    engine.remove_owner("shop")


@pytest.fixture
def open_page(
    new_context: Callable[..., BrowserContext], served_host: tuple[str, Plugbay], engine: Engine
) -> Callable[..., Page]:
    def open_page(**options: Any) -> Page:
        page = new_context(**{"viewport": WIDE, "base_url": served_host[0], **options}).new_page()
        page.goto("/login?next=/task_worker/")
        page.get_by_label("Name").fill("admin")
        page.get_by_label("Password").fill(PASSWORD)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Tasks", level=1)).to_be_visible()
        return page

    return open_page


def test_a_task_is_called_and_what_became_of_it_is_shown(open_page: Callable[..., Page]) -> None:
    page = open_page()
    watch = Watch(page)
    page.get_by_role("button", name="Run now reach_warehouse").click()
    expect(page.get_by_text("reach_warehouse is being called.")).to_be_visible()
    page.reload()

    row = page.get_by_role("row").filter(has_text="reach_warehouse").first
    expect(row).to_contain_text("ZeroDivisionError: division by zero")
    expect(row).to_contain_text("failed")
    watch.expect_silence()


def test_a_running_job_comes_up_by_itself_and_is_cancelled(
    open_page: Callable[..., Page], engine: Engine
) -> None:
    page, work = open_page(), Stoppable()
    engine.handle(owner="shop", name="restock", call=work)
    with opened_at_last(work):
        engine.submit("shop", "restock", {"article": 7})
        cancel = page.get_by_role("button", name="Cancel restock")
        expect(cancel).to_be_visible()
        cancel.click()

        expect(page.get_by_text("The job was asked to stop.")).to_be_visible()
        expect(page.get_by_role("row").filter(has_text="restock")).to_contain_text(["cancelled by admin"])


def test_the_keyboard_keeps_its_place_and_nothing_moves_when_the_page_keeps_up(
    open_page: Callable[..., Page],
) -> None:
    page = open_page()
    watch = Watch(page)
    page.reload()
    button = page.get_by_role("button", name="Run now count_stock")
    button.focus()
    page.evaluate(KEPT_UP)

    expect(button).to_be_focused()
    assert watch.shifts < 0.01
    watch.expect_silence()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_everyone_can_read_it(
    open_page: Callable[..., Page], engine: Engine, viewport: dict[str, int], scheme: str
) -> None:
    work = Stoppable()
    engine.handle(owner="shop", name="restock", call=work)
    with opened_at_last(work):
        engine.submit("shop", "restock", {"article": 7})
        engine.run_task("shop", "reach_warehouse")
        work.wait_begun()
        page = open_page(viewport=viewport, color_scheme=scheme)

        assert barriers(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") == viewport["width"]
