"""The table and the SQL editor on a page of a plugin's own, with what is hard for them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from live import served
from playwright.sync_api import BrowserContext, Locator, Page, expect
from plugbay.application import create_app
from plugbay.auth.passwords import Costs, Passwords
from plugbay.plugins.discovery import find_installed

PASSWORD = "correct horse battery staple"

PLUGIN = """
from fastapi import APIRouter, Request
from plugbay import BaseModule

class Desk(BaseModule):
    def on_load(self):
        self.module_router = APIRouter()

        @self.module_router.get("/")
        def page(request: Request):
            return self.host.templates.response(request, "source_editing/page.html.j2")

    def after_setup_templates(self, fast_pluggy):
        self.host = fast_pluggy
"""

PAGE = """
{% extends "plugbay/base.html.j2" %}
{% import "ui_tools/macros.html.j2" as ui with context %}
{% block title %}Desk{% endblock %}
{% block body %}
{% set amounts = (9007199254740993, 9007199254740992, 12345678901234567890124, 12345678901234567890123,
                  -9007199254740993, -9007199254740992, 10, 9.5) %}
{{ ui.table(["amount"], amounts | batch(1), label="Amounts") }}
{{ ui.table(["amount"], range(60) | batch(1), label="Many") }}
<label for="source">Source</label>
<select id="source">
  {% for name in ("sqlite", "postgresql", "mysql", "duckdb") %}
  <option data-dialect="{{ name }}">{{ name }}</option>
  {% endfor %}
  <option data-dialect="MSSQL">mssql</option>
  <option data-dialect="clickhouse">unknown</option>
  <option data-dialect="clickhouse" data-quotes="`">quoted</option>
</select>
{{ ui.sql_editor("query", follow="#source") }}
{% endblock %}
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("home")
    write_plugin(home / "plugins/source_editing")
    only = [source for source in find_installed() if source.name == "ui_tools"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("plugbay.plugins.manager.find_installed", lambda: only)
        patch.setattr(Passwords, "costs", Costs(passes=1, memory_kib=64, lanes=1))
        app = create_app(home, {"data_dir": home / "data", "admin_password": PASSWORD})
        with served(app) as url:
            yield url


def write_plugin(folder: Path) -> None:
    pages = folder / "templates/source_editing"
    pages.mkdir(parents=True)
    (folder / "plugin.py").write_text(PLUGIN)
    (pages / "page.html.j2").write_text(PAGE)


@pytest.fixture
def page(new_context: Callable[..., BrowserContext], address: str) -> Page:
    """The page of the plugin, as the administrator sees it."""
    page = new_context(viewport={"width": 1440, "height": 900}, base_url=address).new_page()
    page.goto("/login?next=/source_editing/")
    page.get_by_label("Name").fill("admin")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.locator(".cm-content")).to_be_visible()
    return page


def write(page: Page, dialect: str, sql: str) -> Locator:
    """Chooses a source of that dialect, and writes into the editor."""
    page.get_by_label("Source").select_option(dialect)
    editor = page.locator(".cm-content")
    editor.fill(sql)
    return editor


def test_whole_numbers_of_any_length_are_sorted_by_their_size(page: Page):
    table = page.get_by_role("region", name="Amounts")
    head = table.get_by_role("columnheader")
    amounts = [
        "-9007199254740993",
        "-9007199254740992",
        "9.5",
        "10",
        "9007199254740992",
        "9007199254740993",
        "12345678901234567890123",
        "12345678901234567890124",
    ]
    for order, expected in {"ascending": amounts, "descending": amounts[::-1]}.items():
        head.get_by_role("button").click()
        expect(head).to_have_attribute("aria-sort", order)
        cells = table.locator("tbody td")
        assert cells.evaluate_all("(cells) => cells.map((cell) => cell.dataset.sort)") == expected


def test_the_head_of_a_scrolled_table_stays_in_sight_above_its_rows(page: Page):
    table = page.get_by_role("region", name="Many")
    table.scroll_into_view_if_needed()
    table.evaluate("(region) => region.scrollTo(0, region.scrollHeight)")
    expect(table.get_by_role("cell", name="59", exact=True)).to_be_in_viewport()
    expect(table.get_by_role("cell", name="0", exact=True)).not_to_be_in_viewport()
    head = table.get_by_role("columnheader")
    expect(head).to_be_in_viewport(ratio=1)
    assert head.evaluate(
        """(head) => {
            const { left, right, top, bottom } = head.getBoundingClientRect();
            return head.contains(document.elementFromPoint((left + right) / 2, (top + bottom) / 2));
        }"""
    )
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")


@pytest.mark.parametrize(
    ("dialect", "words"),
    [
        ("sqlite", ["select", "pragma"]),
        ("postgresql", ["select", "ilike"]),
        ("mysql", ["select", "straight_join"]),
        ("duckdb", ["select", "ilike", "qualify"]),
    ],
)
def test_the_editor_highlights_the_words_of_the_dialect(page: Page, dialect: str, words: list[str]):
    editor = write(page, dialect, "select x, pragma, x, ilike, x, straight_join, x, qualify")
    for word in ("select", "pragma", "ilike", "straight_join", "qualify"):
        shown = editor.get_by_text(word, exact=True)
        if word in words:
            expect(shown).to_have_css("font-weight", "600")
        else:
            expect(shown).to_have_count(0)  # a plain word has no element of its own


def test_a_dialect_that_the_editor_brings_needs_only_its_name(page: Page):
    editor = write(page, "mssql", "select getdate from x qualify")
    expect(editor.get_by_text("getdate", exact=True)).to_have_count(1)
    expect(editor.get_by_text("qualify", exact=True)).to_have_count(0)


def test_the_page_says_which_signs_quote_a_name(page: Page):
    for source, count in {"unknown": 0, "quoted": 1, "sqlite": 1, "postgresql": 0}.items():
        editor = write(page, source, "select `a b` from t")
        expect(editor.get_by_text("`a b`", exact=True)).to_have_count(count)


@pytest.mark.parametrize(
    ("dialect", "written", "formatted"),
    [
        ("sqlite", "select a from t where b regexp 'x'", "SELECT\n  a\nFROM\n  t\nWHERE\n  b REGEXP 'x'"),
        ("postgresql", "select a::int from t", "SELECT\n  a::int\nFROM\n  t"),
        ("mysql", r"select 'it\'s', `b c` from t", "SELECT\n  'it\\'s',\n  `b c`\nFROM\n  t"),
        ("duckdb", "select a from t qualify b = 1", "SELECT\n  a\nFROM\n  t\nQUALIFY\n  b = 1"),
        ("quoted", "select a from t final", "SELECT\n  a\nFROM\n  t FINAL"),
    ],
)
def test_the_editor_formats_by_the_dialect(page: Page, dialect: str, written: str, formatted: str):
    write(page, dialect, written)
    page.get_by_role("button", name="Format").click()
    expect(page.locator("ui-sql textarea")).to_have_value(formatted)


def test_what_another_dialect_would_understand_is_left_as_it_is_and_told(page: Page):
    write(page, "sqlite", "select a::int from t")
    page.get_by_role("button", name="Format").click()
    expect(page.get_by_text("This SQL could not be formatted")).to_be_visible()
    expect(page.locator("ui-sql textarea")).to_have_value("select a::int from t")
