import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import plugbay_ui_tools
import pytest

HOSTILE = """"><script>alert(1)</script><img src=x onerror=alert(1)>' onclick='alert(1)' {{ 7 * 7 }} &amp;"""
MACROS = Path(plugbay_ui_tools.__file__).parent / "templates/ui_tools/macros.html.j2"
# each macro with something hostile in every place that takes text
CALLS = {
    "table": "ui.table([h, h], [[h, 1], [h * 20, none], [true, '2026-11-15']], label=h, empty=h)",
    "cell": "ui.cell(ui_tools.cell(h * 20))",
    "pagination": "ui.pagination(2, 9, 90, 10, what=h, param=h, path=h, target=h)",
    "counter": "ui.counter(h, h, unit=h, spark=[1, 2], tone=h, icon=h, note=h, href=h)",
    "sparkline": "ui.sparkline([1, none, 2], tone=h, label=h)",
    "chart": "ui.chart([1, 2], [{'label': h, 'values': [1, 2], 'tone': h}], label=h, unit=h, kind=h, size=h)",
    "progress": "ui.progress(h, 1, 2, tone=h, text=h)",
    "raw": "ui.raw(h, label=h)",
    "status": "ui.status(h, tone=h)",
    "badge": "ui.badge(h, h, icon=h)",
    "ago": "ui.ago(none, missing=h)",
    "moment": "ui.moment(none, missing=h)",
    "countdown": "ui.countdown(none, missing=h)",
    "cron": "ui.cron(h)",
    "copy_button": "ui.copy_button(h, label=h) ~ ui.copy_button(from=h, label=h)",
    "confirm_button": "ui.confirm_button(h, h, h, h, h, tone=h, icon=h, fields={h: h}, button_class=h)",
    "toast_button": "ui.toast_button(h, h, h)",
    "empty": "ui.empty(h, h, icon=h)",
    "filter_search": "ui.filter_search(h, h, label=h, placeholder=h)",
    "filter_select": "ui.filter_select(h, h, [h, (h, h)], h)",
    "filter_dates": "ui.filter_dates(h, h, names=(h, h), label=h, ranges=((h, h),))",
    "sql_editor": "ui.sql_editor(h, h, label=h, dialect=h, quotes=h, schema={h: [h]}, schema_url=h,"
    " follow=h, run=h, placeholder=h, error=h, mark=h, hint=h)",
    "sql": "ui.sql('-- ' ~ h ~ '\n' ~ h, label=h)",
    "split_bar": "ui.split_bar(h, h, h)",
    "plot": "ui.plot(h, [h, 1], [{'label': h, 'values': [1, none]}], label=h, size=h, id=h, part=h)",
}
BLOCKS = {"filters": "{% call ui.filters(true, path=h, target=h) %}{{ h }}{% endcall %}"}


class Elements(HTMLParser):
    """What a browser would make of the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


def sources() -> list[tuple[str, str]]:
    return [(name, f"{{{{ {call} }}}}") for name, call in CALLS.items()] + list(BLOCKS.items())


def test_every_macro_is_attacked_here():
    offered = re.findall(r"set (\w+) = _", MACROS.read_text())
    assert sorted(offered) == sorted(name for name, _ in sources())


@pytest.mark.parametrize(("name", "source"), sources())
def test_a_macro_escapes_whatever_it_is_given(show: Callable[..., str], name: str, source: str):
    found = Elements(show(source, h=HOSTILE))
    assert not {"script", "img"} & set(found.tags)
    assert not [key for key, _ in found.attributes if key.startswith("on")]
    assert "49" not in show(source, h=HOSTILE)


@pytest.mark.parametrize(("name", "source"), sources())
def test_a_macro_needs_nothing_that_the_policy_forbids(show: Callable[..., str], name: str, source: str):
    keys = [key for key, _ in Elements(show(source, h="plain")).attributes]
    assert "style" not in keys


def test_a_table_shows_numbers_to_the_right_and_nothing_as_null(show: Callable[..., str]):
    html = show("{{ ui.table(['city', 'orders'], [['Tokyo', 1284], ['Lima', none]]) }}")
    assert 'class="ui-verbatim ui-number">orders</th>' in html
    assert '<td class="ui-number" data-sort="1284" title="1284">1,284</td>' in html
    assert '<td class="ui-null ui-number">NULL</td>' in html
    assert "<ui-table sortable>" in html


def test_long_text_unfolds_without_javascript(show: Callable[..., str]):
    html = show("{{ ui.table(['note'], [[text]]) }}", text="word " * 60)
    assert "<details" in html
    assert "word " * 60 in html


def test_an_empty_table_says_so(show: Callable[..., str]):
    html = show("{{ ui.table(['a', 'b'], [], empty='Nothing yet') }}")
    assert '<td colspan="2" class="text-secondary">Nothing yet</td>' in html
    assert "sortable" not in html


def test_a_scrolling_table_can_be_reached_by_keyboard_and_has_a_name(show: Callable[..., str]):
    assert 'role="region" aria-label="Orders" tabindex="0"' in show(
        "{{ ui.table(['a'], [], label='Orders') }}"
    )


def test_page_links_keep_the_other_parameters(show: Callable[..., str]):
    html = show("{{ ui.pagination(2, 3, 120, 50) }}", query="status=failed&page=2")
    assert 'href="?status=failed&amp;page=3"' in html
    assert 'aria-current="page">2</a>' in html
    assert "51–100 of 120 rows" in html


def test_one_page_needs_no_links(show: Callable[..., str]):
    assert "<nav" not in show("{{ ui.pagination(1, 1, 3, 50) }}")


def test_a_page_past_the_end_leads_back(show: Callable[..., str]):
    html = show("{{ ui.pagination(9, 3, 120, 50) }}")
    assert "120 rows" in html
    assert 'href="?page=3" aria-label="Previous page"' in html


def test_page_links_can_load_into_a_part_of_the_page(show: Callable[..., str]):
    html = show("{{ ui.pagination(1, 3, 120, 50, path='/history', target='#list') }}")
    assert 'hx-get="/history?page=2" hx-target="#list"' in html


def test_a_counter_tells_its_trend_also_to_those_who_see_no_colour(show: Callable[..., str]):
    html = show("{{ ui.counter('Users', 110, previous=100, good='up') }}")
    assert "<strong>110</strong>" in html
    assert "ui-green" in html
    assert "fa-arrow-trend-up" in html
    assert "+10 %" in html


def test_a_counter_shows_what_is_no_number_as_it_is(show: Callable[..., str]):
    assert "<strong>many</strong>" in show("{{ ui.counter('Users', 'many', previous=3) }}")


def test_a_drawing_has_words_for_those_who_do_not_see_it(show: Callable[..., str]):
    assert 'aria-label="Users: 2 values from 1 to 2, last 2"' in show(
        "{{ ui.sparkline([1, 2], label='Users') }}"
    )
    chart = show("{{ ui.chart([1, 2], [{'label': 'p95', 'values': [3, 4]}], label='Time') }}")
    assert 'aria-label="Time; p95: 2 values from 3 to 4, last 4"' in chart


def test_a_chart_is_drawn_without_javascript_too(show: Callable[..., str]):
    assert "<path" in show("{{ ui.chart([1, 2], [{'label': 'a', 'values': [3, 4]}], label='Time') }}")
    assert "<path" not in show("{{ ui.chart([], [], label='Time') }}")


@pytest.mark.parametrize(
    ("word", "tone"),
    [
        ("success", "green"),
        ("Failed", "red"),
        ("timeout", "orange"),
        ("running", "blue"),
        ("whatever", "secondary"),
    ],
)
def test_a_status_has_its_word_and_a_tone(show: Callable[..., str], word: str, tone: str):
    html = show("{{ ui.status(word) }}", word=word)
    assert f"ui-status ui-{tone}" in html
    assert f">{word}</span>" in html


def test_a_time_is_in_the_page_before_javascript_is(show: Callable[..., str]):
    html = show("{{ ui.ago('2026-11-15 11:58:00') }}")
    assert '<time datetime="2026-11-15T11:58:00Z" title="2026-11-15 11:58:00 UTC">2 min ago</time>' in html


def test_a_missing_time_has_a_word(show: Callable[..., str]):
    assert "never" in show("{{ ui.ago(none) }}")
    assert "not yet" in show("{{ ui.ago(none, missing='not yet') }}")


def test_a_schedule_stands_beside_its_meaning(show: Callable[..., str]):
    assert "every 5 minutes<code>*/5 * * * *</code>" in show("{{ ui.cron('*/5 * * * *') }}")


def test_progress_is_a_real_progress_element(show: Callable[..., str]):
    html = show("{{ ui.progress('Rows', 64, 100) }}")
    assert '<progress value="64" max="100">' in html
    assert "64 %" in html
    assert "<progress max=" in show("{{ ui.progress('Rows') }}")
    assert "0 %" in show("{{ ui.progress('Rows', 0, 0) }}")


def test_a_confirm_dialog_is_a_form_with_a_token(show: Callable[..., str]):
    html = show("{{ ui.confirm_button('Delete', '/delete/1', title='Sure?', fields={'version': 3}) }}")
    assert '<form method="post" action="/delete/1">' in html
    assert 'name="csrf_token" value="token"' in html
    assert 'name="version" value="3"' in html
    opener, dialog = (
        re.findall(r'commandfor="([^"]+)"', html)[0],
        re.findall(r'<dialog[^>]* id="([^"]+)"', html)[0],
    )
    assert opener == dialog


def test_two_dialogs_do_not_share_an_id(show: Callable[..., str]):
    html = show("{{ ui.confirm_button('A', '/a', title='A') }}{{ ui.confirm_button('B', '/b', title='B') }}")
    ids = re.findall(r'<dialog[^>]* id="([^"]+)"', html)
    assert len(set(ids)) == 2


def test_an_empty_state_says_what_to_do_next(show: Callable[..., str]):
    html = show("{% call ui.empty('No queries', 'Make one.') %}<a href='/create'>New query</a>{% endcall %}")
    assert "<a href='/create'>New query</a>" in html
    assert "btn-list" not in show("{{ ui.empty('No queries') }}")


def test_a_filter_bar_keeps_what_was_chosen(show: Callable[..., str]):
    html = show("{{ ui.filter_select('status', 'failed', [('all', 'All'), 'failed'], 'Status') }}")
    assert '<option value="failed" selected>failed</option>' in html
    assert '<option value="all">All</option>' in html


def test_a_filter_bar_can_be_cleared_when_it_filters(show: Callable[..., str]):
    assert "Clear" in show("{% call ui.filters(true) %}{% endcall %}")
    assert "Clear" not in show("{% call ui.filters(false) %}{% endcall %}")


def test_the_editor_is_a_text_field_that_keeps_its_text(show: Callable[..., str]):
    html = show("{{ ui.sql_editor('query', '\\nSELECT 1') }}")
    # the first newline after the tag is not part of the text
    assert ">\n\nSELECT 1</textarea>" in html
    assert 'name="query"' in html


def test_an_error_stands_at_the_editor(show: Callable[..., str]):
    html = show("{{ ui.sql_editor('query', 'DROP x', error='rejected: keyword drop') }}")
    assert "is-invalid" in html
    assert "rejected: keyword drop" in html
