"""Render types: how each of them is displayed."""

from typing import Any

import pytest
from scheduled_query.pages.reading import Element, read

ONE_NUMBER = "SELECT 1284567 AS visitors"
ROWS = "SELECT region, total FROM orders WHERE region = 'us'"
NOTHING = "SELECT region FROM orders WHERE region = 'nowhere'"


def widget(service, sql: str, render_type: str) -> Element:
    """The card of a query that ran."""
    made: dict[str, Any] = service.create(sql, render_type=render_type)
    service.run(made["id"])
    page = service.viewer.get("/scheduled_query/results-widgets", params={"search": made["name"]})
    return read(page.text).first("article", id=f"card-{made['id']}")


def is_table(card: Element) -> bool:
    return bool(card.all("table"))


def is_large_number(card: Element) -> bool:
    return bool(card.all("div", **{"class": "sq-counter"}))


def is_raw_text(card: Element) -> bool:
    return bool(card.all("pre"))


@pytest.mark.parametrize(
    ("sql", "detected"),
    [
        pytest.param(ONE_NUMBER, is_large_number, id="one_number_is_a_counter"),
        pytest.param(ROWS, is_table, id="rows_and_columns_are_a_table"),
        pytest.param("SELECT 'fine' AS state", is_table, id="one_text_is_a_table"),
        pytest.param(NOTHING, is_raw_text, id="nothing_is_raw"),
    ],
)
def test_auto_detects_the_format_from_the_structure_of_the_result(service, sql, detected):
    card = widget(service, sql, "auto")
    assert [shows(card) for shows in (is_large_number, is_table, is_raw_text)] == [
        shows is detected for shows in (is_large_number, is_table, is_raw_text)
    ]


@pytest.mark.parametrize("sql", [ROWS, ONE_NUMBER], ids=["rows", "one_number"])
def test_table_shows_results_in_a_table(service, sql):
    card = widget(service, sql, "table")
    columns = [heading.text for heading in card.first("table").all("th")]
    assert columns in (["region", "total"], ["visitors"])
    assert not is_large_number(card)


def test_table_has_a_cell_for_each_value(service):
    table = widget(service, ROWS, "table").first("table")
    assert [cell.text for cell in table.all("td")] == ["us", "4.25"]


@pytest.mark.parametrize("render_type", ["counter", "metric"])
def test_counter_and_metric_show_a_large_formatted_number(service, render_type):
    card = widget(service, ONE_NUMBER, render_type)
    assert card.first("div", **{"class": "sq-counter"}).first("strong").text == "1,284,567"
    assert not is_table(card)


def test_metric_is_shown_as_a_counter_is(service):
    counter, metric = (widget(service, ONE_NUMBER, kind) for kind in ("counter", "metric"))
    inside = {"class": "sq-widget-body"}
    assert counter.first("div", **inside) == metric.first("div", **inside)


def test_raw_shows_the_raw_text_of_the_result(service):
    card = widget(service, "SELECT region, total FROM orders", "raw")
    assert card.first("pre").text == '[["eu",1.5],["eu",2.5],["us",4.25]]'
    assert not is_table(card)
