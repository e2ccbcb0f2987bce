import json

import pytest
from plugbay import Plugbay
from plugbay.auth.local import add_user
from plugbay.plugins.service import PluginService
from plugbay_ui_tools.filters import FILTERS
from plugbay_ui_tools.gallery import EXAMPLES
from plugbay_ui_tools.plugin import UiTools
from ui_tools.conftest import PASSWORD
from visitor import Visitor


@pytest.fixture(scope="module")
def admin(host: Plugbay) -> Visitor:
    visitor = Visitor(host.app)
    visitor.login("admin", PASSWORD)
    return visitor


def test_it_is_found_and_loaded_under_its_name_and_version(host: Plugbay):
    assert host.modules.is_module_loaded("ui_tools")
    module = host.get_module("ui_tools")
    assert isinstance(module, UiTools)
    assert module.module_version == "0.0.4"


def test_its_filters_are_there_for_every_template(host: Plugbay):
    assert set(FILTERS) <= set(host.templates.env.filters)
    assert host.templates.env.from_string("{{ 1284 | number }}").render() == "1,284"


def test_taking_it_out_takes_back_all_that_it_brought(host: Plugbay, admin: Visitor):
    PluginService.disable_plugin("ui_tools", host)
    assert not set(FILTERS) & set(host.templates.env.filters)
    assert "ui_tools" not in host.templates.env.globals
    assert admin.get("/ui_tools/").status_code == 404
    assert "/static/ui_tools/" not in admin.get("/account").text
    PluginService.enable_plugin("ui_tools", host)
    assert admin.get("/ui_tools/").status_code == 200


def test_every_page_gets_the_style_sheet_and_the_script(admin: Visitor):
    page = admin.get("/account").text
    for name in ("ui.css", "ui.js"):
        stem, ending = name.split(".")
        assert f"/static/ui_tools/dist/{stem}-" in page, name
        assert f".{ending}" in page


def test_the_gallery_shows_every_tool_and_its_source(admin: Visitor):
    page = admin.get("/ui_tools/")
    assert page.status_code == 200
    for name, (title, _) in EXAMPLES.items():
        assert f'<section class="card" id="{name}"' in page.text
        assert title in page.text
    assert "{{ ui.table(columns, rows, label=&#34;Orders per country&#34;) }}" in page.text


def test_the_gallery_is_in_the_menu_of_developers_alone(host: Plugbay, admin: Visitor):
    assert 'href="/ui_tools/"' not in admin.get("/account").text
    host.config.debug = True
    host.get_module("ui_tools").on_load_complete(host)
    assert 'href="/ui_tools/"' in admin.get("/account").text
    add_user(host.store, "vera", PASSWORD, role="viewer")
    vera = Visitor(host.app)
    vera.login("vera", PASSWORD)
    assert 'href="/ui_tools/"' not in vera.get("/account").text
    assert vera.get("/ui_tools/").status_code == 403


def test_the_gallery_is_closed_to_strangers(host: Plugbay):
    assert Visitor(host.app).get("/ui_tools/").status_code == 303


def test_the_live_part_is_a_part_and_not_a_page(admin: Visitor):
    part = admin.get("/ui_tools/live").text
    assert "<html" not in part
    assert 'hx-trigger="every 2s"' in part


def test_the_confirm_dialog_leads_somewhere_and_needs_its_token(admin: Visitor):
    assert admin.post("/ui_tools/confirmed").status_code == 403
    answer = admin.post("/ui_tools/confirmed", data={"csrf_token": admin.csrf_token("/ui_tools/")})
    assert "was confirmed" in answer.text


def test_pages_under_a_sub_path_link_under_it(host: Plugbay):
    visitor = Visitor(host.app, root_path="/monitor")
    visitor.login("admin", PASSWORD)
    page = visitor.get("/monitor/ui_tools/").text
    assert 'action="/monitor/ui_tools/confirmed"' in page
    assert 'src="/monitor/static/ui_tools/dist/ui-' in page


def test_a_toast_travels_in_a_header_that_htmx_understands():
    header = UiTools.toast('Saved "Ü"\n', "success")["HX-Trigger"]
    assert json.loads(header) == {"toast": {"text": 'Saved "Ü"\n', "level": "success"}}
    assert header.isascii()
    assert "\n" not in header


def test_other_plugins_can_ask_it_for_a_schedule_in_words(host: Plugbay):
    module = host.get_module("ui_tools")
    assert module.describe_cron("*/5 * * * *") == "every 5 minutes"
