"""Several queries of the list at once: by mouse, by keyboard, and without scripts."""

import re
from collections.abc import Callable

from browser.watching import barriers
from browser.world import World, message, row
from playwright.sync_api import Page, expect


def box(page: Page, name: str):
    return page.get_by_role("checkbox", name=f"Select “{name}”")


def test_ticked_rows_are_disabled_and_stay_ticked_while_rows_are_renewed(
    visit: Callable[..., Page], world: World
):
    first, second = (world.create(f"Ticked {word}") for word in ("first", "second"))
    page = visit("/scheduled_query/?search=ticked")
    expect(page.locator("#bulk")).to_be_hidden()
    box(page, "Ticked first").check()
    box(page, "Ticked second").check()
    expect(page.locator("#bulk")).to_contain_text("2 selected")
    world.run(first)
    expect(row(page, first)).to_contain_text("success")
    expect(box(page, "Ticked first")).to_be_checked()
    assert barriers(page) == []
    page.reload()
    box(page, "Ticked first").check()
    box(page, "Ticked second").check()
    page.locator("#bulk").get_by_role("button", name="Disable").click()
    expect(message(page, "2 disabled.")).to_be_visible()
    assert not world.parts.definitions.get(second.id).enabled


def test_by_keyboard_all_are_selected_and_tagged(visit: Callable[..., Page], world: World):
    made = world.create("Keyed")
    page = visit("/scheduled_query/?search=keyed")
    page.get_by_role("checkbox", name="Select all on this page").press("Space")
    expect(page.locator("#bulk")).to_contain_text("1 selected")
    field = page.get_by_label("Tag", exact=True)
    field.fill("night")
    field.press("Enter")
    expect(message(page, "1 tagged.")).to_be_visible()
    assert world.parts.definitions.get(made.id).tags == ("night",)


def test_a_range_is_deleted_after_a_question_with_the_count(visit: Callable[..., Page], world: World):
    made = [world.create(f"Ranged {number}") for number in (1, 2, 3)]
    page = visit("/scheduled_query/?search=ranged")
    box(page, "Ranged 1").click()
    box(page, "Ranged 3").click(modifiers=["Shift"])
    page.get_by_role("button", name="Delete…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Delete 3 queries?")
    expect(dialog).to_contain_text("Ranged 2")
    dialog.get_by_role("button", name="Delete 3").click()
    expect(message(page, "3 deleted.")).to_be_visible()
    assert world.parts.definitions.get_many([one.id for one in made]) == {}


def test_without_scripts_a_link_ticks_them_all(visit: Callable[..., Page], world: World):
    world.create("Plain one")
    page = visit("/scheduled_query/?search=plain+one", java_script_enabled=False)
    page.get_by_role("link", name="Select all on this page").click()
    expect(box(page, "Plain one")).to_be_checked()
    page.get_by_role("button", name="Delete…").click()
    expect(page.get_by_role("heading", name="Delete 1 query?")).to_be_visible()
    page.get_by_role("button", name="Delete 1").click()
    expect(page.get_by_text(re.compile("1 deleted"))).to_be_visible()
