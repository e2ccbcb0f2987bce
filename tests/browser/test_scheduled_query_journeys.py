"""Ways through the service's pages that people take: back, into the past, to a copy and off the wall."""

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from browser.world import World, message
from playwright.sync_api import Browser, Page, expect

MANY = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250) SELECT i FROM n"


def test_the_dashboard_goes_back_through_filters_and_pages(visit: Callable[..., Page], world: World):
    for name in ("Looked back at, first", "Looked back at, second"):
        query = world.create(name)
        for _ in range(14):
            world.run(query)
    page = visit("/scheduled_query/dashboard")
    history = page.locator("#history")
    name = history.locator("input[type=search]")
    name.fill("looked BACK at")
    name.press("Enter")
    expect(history).to_contain_text("1–25 of 28 executions")
    history.get_by_role("link", name="2", exact=True).click()
    expect(history).to_contain_text("26–28 of 28 executions")
    history.get_by_label("Status").select_option("failed")
    expect(history).to_contain_text("No matches")
    page.go_back()
    expect(history).to_contain_text("26–28 of 28 executions")
    page.go_back()
    expect(history).to_contain_text("1–25 of 28 executions")
    expect(name).to_have_value("looked BACK at")


def test_the_whole_result_of_an_execution_opens_from_the_history(visit: Callable[..., Page], world: World):
    query = world.create("With many rows", MANY, render_type="table")
    world.run(query)
    page = visit(f"/scheduled_query/query/{query.id}", "viewer")
    page.locator("#history tbody").get_by_role("link").click()
    expect(page.get_by_role("heading", name=re.compile("^Execution"), level=1)).to_be_visible()
    expect(page.locator("main")).to_contain_text("of 250 rows")
    page.get_by_role("link", name="2", exact=True).click()
    expect(page.get_by_role("cell", name="250", exact=True)).to_be_visible()
    page.get_by_role("link", name="With many rows").first.click()
    expect(page.get_by_role("heading", name="With many rows", level=1)).to_be_visible()


def test_a_query_is_duplicated(visit: Callable[..., Page], world: World):
    query = world.create("An original", "SELECT 5 AS five", description="kept", tags=["copied"])
    page = visit(f"/scheduled_query/query/{query.id}")
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("button", name="Duplicate").click()
    expect(message(page, re.compile("This is a copy of “An original”"))).to_be_visible()
    found = [one for one in world.parts.definitions.all() if one.tags == ("copied",)]
    assert [(one.query, one.description) for one in found] == [("SELECT 5 AS five", "kept")] * 2
    assert not found[1].enabled


def test_a_source_is_edited(visit: Callable[..., Page], tmp_path: Path):
    for name in ("old", "new"):
        with closing(sqlite3.connect(tmp_path / f"{name}.db")) as connection, connection:
            connection.execute(f"CREATE TABLE {name}_things (id INTEGER)")
    page = visit("/scheduled_query/sources/add", "admin")
    page.get_by_label("Name").fill("moving")
    page.get_by_label("URL").fill(f"sqlite:///{tmp_path / 'old.db'}")
    page.get_by_role("button", name="Test and add").click()
    page.get_by_role("link", name="Edit “moving”").click()
    page.get_by_label("Name").fill("moved")
    page.get_by_label("URL").fill(f"sqlite:///{tmp_path / 'new.db'}")
    page.get_by_role("button", name="Test and save").click()
    expect(message(page, re.compile("“moved”"))).to_be_visible()
    page.get_by_role("link", name="Tables of “moved”").click()
    expect(page.get_by_text("new_things")).to_be_visible()


def test_the_next_runs_are_told_in_the_zone_of_the_reader_too(
    browser: Browser, browser_context_args: dict[str, Any], sessions: dict[str, Any], world: World
):
    query = world.create("Far away", cron_schedule="30 12 * * *", timezone="UTC", enabled=False)
    there = {**browser_context_args, "timezone_id": "Asia/Kolkata", "storage_state": sessions["editor"]}
    with browser.new_context(**there) as context:
        page = context.new_page()
        for path in (f"query/{query.id}", f"edit/{query.id}"):
            page.goto(f"{world.url}/scheduled_query/{path}")
            times = page.locator(".sq-runs tbody tr").first.locator("td")
            expect(times.first).to_contain_text("12:30")
            expect(times.last).to_contain_text("18:00")


def test_a_display_on_the_wall_is_left_with_its_filters(visit: Callable[..., Page], world: World):
    world.run(world.create("Seen on the wall", tags=["hung"]))
    page = visit("/scheduled_query/results-widgets?tag=hung")
    page.get_by_role("link", name="Wall display").click()
    expect(page.get_by_role("article", name="Seen on the wall")).to_be_visible()
    expect(page.get_by_role("navigation")).to_have_count(0)
    page.get_by_role("link", name="Back to the pages").click()
    expect(page).to_have_url(re.compile(r"/results-widgets\?tag=hung$"))
    expect(page.get_by_role("link", name="Dashboard")).to_be_visible()
    expect(page.get_by_role("article", name="Seen on the wall")).to_be_visible()
