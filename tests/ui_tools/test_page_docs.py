"""The examples of docs/ui-tools.md, run as they stand there."""

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from fakes import FakeClock
from fastapi import FastAPI
from plugbay import Plugbay
from plugbay.plugins.discovery import find_installed
from plugbay_ui_tools.filters import FILTERS
from ui_tools.conftest import PASSWORD
from visitor import Visitor

DOC = (Path(__file__).parents[2] / "docs/ui-tools.md").read_text()
FILES = re.findall(r"`(plugins/[^`]+)`:\n\n```\w+\n(.*?)```", DOC, re.DOTALL)
SNIPPETS = [text for text in re.findall(r"```jinja\n(.*?)```", DOC, re.DOTALL) if "extends" not in text]
VALUES = re.findall(r"^\| `(\{\{.*?\}\})` \| ([^;,|]+(?:,\d{3})?)", DOC, re.MULTILINE)


def test_the_plugin_of_the_first_section_works(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
):
    for name, text in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    only = [source for source in find_installed() if source.name == "ui_tools"]
    monkeypatch.setattr("plugbay.plugins.manager.find_installed", lambda: only)
    host = Plugbay(FastAPI(), tmp_path, config={"admin_password": PASSWORD}, clock=clock)
    with Visitor(host.app) as visitor:
        visitor.login("admin", PASSWORD)
        page = visitor.get("/shop/").text
    assert '<h1 class="page-title">Orders</h1>' in page
    assert "98,412.5" in page
    assert "NULL" in page
    assert "Start page" in page
    assert '<i class="fas fa-store"></i>Orders' in page


@pytest.mark.parametrize("snippet", SNIPPETS, ids=range(len(SNIPPETS)))
def test_a_snippet_renders(show: Callable[..., str], clock: FakeClock, snippet: str):
    assert show(snippet, now=clock.now(), later=clock.now() + timedelta(minutes=4)).strip()


@pytest.mark.parametrize(("expression", "text"), VALUES)
def test_a_filter_gives_what_the_table_says(
    show: Callable[..., str], clock: FakeClock, expression: str, text: str
):
    assert show(expression.replace("\\|", "|"), now=clock.now()).strip() == text.strip()


def test_every_filter_and_macro_is_documented():
    macros = (
        Path(__file__).parents[2] / "packages/ui_tools/src/plugbay_ui_tools/templates/ui_tools/macros.html.j2"
    )
    for name in re.findall(r"set (\w+) = _", macros.read_text()):
        assert f"ui.{name}(" in DOC, name
    for name in FILTERS:
        assert f"\\| {name}" in DOC, name
