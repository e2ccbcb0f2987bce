"""A server with samples and a past, and browsers that are logged in."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from browser.world import PASSWORD, WIDE, World
from live import served
from past import Past
from playwright.sync_api import Browser, BrowserContext, Page, expect
from plugbay.application import create_app
from plugbay.auth import add_user
from plugbay.auth.passwords import Costs, Passwords
from plugbay_scheduled_query.core.model import Query

# Parts refresh every 5 or 10 s, on a machine that may be busy; who finds what it expects does not wait.
expect.set_options(timeout=60_000)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Passwords, "costs", Costs(passes=1, memory_kib=64, lanes=1))
        config = {"data_dir": home / "data", "admin_password": PASSWORD, "samples": True}
        app = create_app(home, config)
        with served(app) as url:
            assert httpx2.get(f"{url}/healthz", timeout=60).status_code == 200  # it has started
            host = app.state.plugbay
            for role in ("editor", "viewer"):
                add_user(host.store, role, PASSWORD, role)
            world = World(url, host.get_module("scheduled_query").parts)
            world.rest()
            for query in world.parts.definitions.all():
                world.run(query)
            Past(host.store, host.data_dir, days=0.1).live()
            yield world


@pytest.fixture(scope="module")
def failing(world: World) -> Query:
    query = world.create("Broken report", "SELECT * FROM nowhere", description="It fails.", tags=["bad"])
    world.run(query)
    return query


@pytest.fixture(scope="module")
def sessions(browser: Browser, world: World, browser_context_args: dict[str, Any]) -> dict[str, Any]:
    """The cookies of an admin, an editor and a viewer."""
    found = {}
    for name in ("admin", "editor", "viewer"):
        with browser.new_context(**browser_context_args) as context:
            page = context.new_page()
            page.goto(f"{world.url}/login")
            page.get_by_label("Name").fill(name)
            page.get_by_label("Password").fill(PASSWORD)
            page.get_by_role("button", name="Log in").click()
            page.wait_for_url(lambda url: "login" not in url)
            found[name] = context.storage_state()
    return found


@pytest.fixture
def visit(
    new_context: Callable[..., BrowserContext], sessions: dict[str, Any], world: World
) -> Callable[..., Page]:
    """Opens a page; the browser is watched from the start."""

    def open_page(path: str, as_user: str = "editor", **options: Any) -> Page:
        options = {"viewport": WIDE, "base_url": world.url, **options}
        page = new_context(storage_state=sessions[as_user], **options).new_page()
        page.goto(path)
        return page

    return open_page
