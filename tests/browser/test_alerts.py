"""An alert's life in a browser: made in the form, it fires after Run Now, is muted, and is resolved."""

import re
from collections.abc import Callable

from browser.world import NARROW, World, message
from playwright.sync_api import Page, expect


def test_an_alert_is_made_fires_is_muted_and_resolves(visit: Callable[..., Page], world: World):
    query = world.create("A dial", "SELECT 5 AS five")
    world.run(query)
    page = visit(f"/scheduled_query/edit/{query.id}")
    tell = page.locator("#alert-section")
    expect(tell.get_by_label("Limit")).to_be_hidden()
    tell.get_by_label("Tell me when").select_option("value")
    tell.get_by_label("Limit").fill("4")
    expect(page.locator("#alert-preview")).to_contain_text("would fire now")
    expect(page.locator("#alert-preview")).to_contain_text("would have fired once")
    tell.get_by_label("Limit").fill("6")
    expect(page.locator("#alert-preview")).to_contain_text("fine now")
    tell.get_by_label("Limit").fill("4")
    tell.get_by_label("Call it").fill("The dial is high")
    page.get_by_role("button", name="Save").click()
    expect(message(page, "You are told when the value is above 4.")).to_be_visible()
    watching = page.locator("#query-alerts")
    expect(watching).to_contain_text("unknown")

    page.get_by_role("button", name="Run Now").click()
    expect(watching).to_contain_text("firing")
    page.get_by_role("link", name=re.compile("alert.? fire")).click()
    alert = page.locator(".sq-alerts > li").filter(has_text="The dial is high").first
    expect(alert).to_contain_text("firing")

    alert.get_by_role("button", name="Mute").click()
    alert.get_by_role("button", name="for an hour").click()
    expect(message(page, "“The dial is high” is muted.")).to_be_visible()
    expect(alert).to_contain_text("muted")
    alert.get_by_role("button", name="Unmute").click()
    expect(message(page, "“The dial is high” speaks again.")).to_be_visible()

    world.parts.editing.edit(query.id, {"query": "SELECT 3 AS three"}, "ada")
    world.run(query)
    expect(alert).to_contain_text("ok")  # by itself, while one looks at it
    expect(page.locator("#live")).to_contain_text("It is over: the value is 3.")


def test_the_sentence_shows_the_fields_of_its_kind_and_fits_a_phone(visit: Callable[..., Page], world: World):
    query = world.create("A sentence")
    page = visit(f"/scheduled_query/alerts/new?query_id={query.id}", viewport=NARROW, color_scheme="dark")
    shown = {
        "value": ["Column", "In which rows", "Comparison", "Limit"],
        "rows": ["Comparison", "Limit"],
        "change": ["What changes", "Column", "By how much"],
        "no_data": [],
        "failing": ["How many"],
        "stale": ["Minutes"],
    }
    every = {label for labels in shown.values() for label in labels}
    for kind, labels in shown.items():
        page.get_by_label("Tell me when").select_option(kind)
        for label in every:
            field = page.get_by_label(label, exact=True)
            expect(field).to_be_visible() if label in labels else expect(field).to_be_hidden()
    page.get_by_label("Tell me when").select_option("change")
    page.get_by_label("What changes").select_option("result")
    expect(page.get_by_label("By how much")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
