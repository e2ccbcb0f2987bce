"""The metrics of a query on pages: typed into the form, previewed with real values, shown beside a query."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from plugbay_scheduled_query.core.model import MetricConfig, MetricType, OnFailure, Status
from plugbay_scheduled_query.queries.tried import MOST_RESULTS, Tried, TriedResults
from plugbay_scheduled_query.repository.gauges import Publication
from plugbay_scheduled_query.repository.history import SnapshotPoint
from plugbay_scheduled_query.web.pages.metric_form import (
    KnownResult,
    endings,
    metric_preview,
    metrics_as_form,
    metrics_from_form,
)
from plugbay_scheduled_query.web.pages.series_view import metric_view, series_chart
from scheduled_query.pages.reading import read

NOON = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
ORDERS = MetricConfig("orders", {"shop": "a"}, ("country",))
SQL = "SELECT 'de' AS country, 7 AS n UNION ALL SELECT 'fr', 5"
RESULT = KnownResult(Tried(SQL, ("country", "n"), '[["de", 7], ["fr", 5]]'), "of the latest Try it")
HX = {"HX-Request": "true"}


# --- the form ----------------------------------------------------------------------------------------------


def test_every_field_of_every_metric_goes_into_the_form_and_back():
    full = MetricConfig(
        "orders", {"a": "b=c"}, ("x", "y"), "n", MetricType.COUNTER, "Orders.", OnFailure.DROP
    )
    form = metrics_as_form([full, ORDERS])
    assert metrics_from_form(form) == {"metrics": [full.as_json(), ORDERS.as_json()]}
    assert endings(form) == ["", "_2", "_3"]


def test_a_form_with_one_metric_leaves_the_others_alone():
    assert metrics_from_form({"metric_name": ""}) == {"monitor_metric_config": None}
    found = metrics_from_form({"metric_name": "n", "metric_labels": ""})
    assert found == {"monitor_metric_config": {"metric_name": "n", "labels": {}}}


def test_an_emptied_metric_is_left_out_and_twenty_are_the_most():
    form = metrics_as_form([ORDERS, MetricConfig("other")]) | {"metric_name": "", "metric_labels": ""}
    form["metric_label_columns"] = " "
    assert metrics_from_form(form) == {"metrics": [{"metric_name": "other", "labels": {}}]}
    assert len(endings({f"metric_name_{n}": "x" for n in range(2, 40)})) == 20


def test_the_preview_has_the_values_of_the_result_that_is_known():
    found = metric_preview(metrics_as_form([ORDERS]) | {"query": SQL}, RESULT, 1000)
    assert found.text.endswith('orders{shop="a",country="de"} 7.0\norders{shop="a",country="fr"} 5.0\n')
    assert (found.series, found.of, found.warnings) == (2, "of the latest Try it", ())


def test_the_preview_speaks_of_the_sql_as_it_is_typed_and_of_values_from_before():
    found = metric_preview(metrics_as_form([ORDERS]) | {"query": "SELECT 'x', 1"}, RESULT, 1000)
    assert "metric for query SELECT 'x', 1\n" in found.text
    assert found.of == "of the latest Try it, before the SQL was edited"


@pytest.mark.parametrize(
    ("metric", "most", "series", "words"),
    [
        (ORDERS, 1, 1, "1 rows are left out"),
        (MetricConfig("orders", {}, ("land",)), 9, 0, "no column “land”"),
        (
            MetricConfig("orders", {}, ("country",), type=MetricType.COUNTER),
            9,
            2,
            "end in _total: orders_total",
        ),
    ],
)
def test_the_preview_warns(metric: MetricConfig, most: int, series: int, words: str):
    found = metric_preview(metrics_as_form([metric]) | {"query": SQL}, RESULT, most)
    assert found.series == series
    assert words in found.warnings[0]


def test_a_preview_needs_a_name_and_without_a_result_invents_nothing():
    assert metric_preview({}, RESULT, 9).text == ""
    assert metric_preview({"metric_name": "up"}, RESULT, 9).error == "the metric name “up” is reserved"
    found = metric_preview({"metric_name": "n", "query": "SELECT 1"}, None, 9)
    assert (found.text, found.series) == ("# HELP n metric for query SELECT 1\n# TYPE n gauge\n", None)


def test_long_previews_are_cut_and_say_so():
    rows = ",".join(f'["{n}", 1]' for n in range(100))
    known = KnownResult(Tried(SQL, ("country", "n"), f"[{rows}]"), "")
    assert metric_preview(metrics_as_form([ORDERS]), known, 1000).text.endswith("… and 80 more\n")


def test_results_of_tries_are_kept_for_a_while_and_large_ones_not_at_all():
    kept = TriedResults()
    first = kept.keep(RESULT.tried)
    assert kept.get(first) is RESULT.tried
    assert kept.keep(Tried(SQL, (), "x" * 1_000_001)) == ""
    for _ in range(MOST_RESULTS):
        kept.keep(RESULT.tried)
    assert kept.get(first) is None
    assert kept.get("") is None


def test_after_try_it_the_form_knows_columns_and_values(service):
    fields = {"query": SQL, "data_source": "shop", **metrics_as_form([ORDERS])}
    tried = read(service.editor.post("/scheduled_query/try", data=fields, headers=HX).text)
    assert "2 series of the latest Try it" in tried.text
    assert [option.text for option in tried.all("option")] == ["country", "n"]
    chips = [button.attributes.get("data-column") for button in tried.all("button")]
    assert {"country", "n"} <= set(chips)
    name = tried.first("input", name="tried").attributes["value"]
    other = {**fields, **metrics_as_form([MetricConfig("sales", {}, ("n",), "n")]), "tried": name}
    line = read(service.editor.post("/scheduled_query/metric-line", data=other).text)
    assert 'sales{n="7"} 7.0' in line.text
    whole = read(service.editor.post("/scheduled_query/try", data=fields).text)
    assert "2 series of the latest Try it" in whole.first("div", id="metric-line").text


def test_a_form_saves_every_metric_and_shows_the_latest_values_when_it_is_opened_again(service):
    name = service.unique("orders").replace(" ", "_")
    metrics = [MetricConfig(name, {}, ("country",)), MetricConfig(f"{name}_plain")]
    fields = {"name": name, "query": SQL, "cron_schedule": "@yearly", "data_source": "shop"}
    answer = service.editor.post("/scheduled_query/create", data=fields | metrics_as_form(metrics))
    query_id = int(answer.headers["location"].rpartition("/")[2])
    assert service.parts.definitions.get(query_id).metrics == tuple(metrics)
    service.run(query_id)
    page = read(service.editor.get(f"/scheduled_query/edit/{query_id}").text)
    assert page.first("input", name="metric_label_columns").attributes["value"] == "country"
    assert page.first("input", name="metric_name_2").attributes["value"] == f"{name}_plain"
    assert page.first("input", name="metric_name_3").attributes["value"] == ""
    assert "3 series of the latest result" in page.first("div", id="metric-line").text


def test_a_bad_metric_is_told_in_the_form(service):
    fields = {"name": "x", "query": "SELECT 1", "cron_schedule": "@yearly", "metric_name_2": "up"}
    answer = service.editor.post("/scheduled_query/create", data={**fields, "metric_name": "good"})
    assert answer.status_code == 422
    assert "the metric name “up” is reserved" in read(answer.text).text


# --- the page of a query -----------------------------------------------------------------------------------


def points(*executions: dict[str, float] | None) -> Sequence[SnapshotPoint]:
    """Executions a minute apart, each with its values by country; None failed."""
    found = []
    for n, values in enumerate(executions):
        at = NOON + timedelta(minutes=n)
        if values is None:
            found.append(SnapshotPoint(at, Status.FAILED, None, None))
            continue
        samples = [{"labels": {"shop": "a", "country": name}, "value": v} for name, v in values.items()]
        snapshot: dict[str, Any] = {"metric_name": "orders", "labels": {"shop": "a"}}
        snapshot |= samples[0] if len(samples) == 1 else {"samples": samples, "series": len(samples)}
        found.append(SnapshotPoint(at, Status.SUCCESS, sum(values.values()), snapshot))
    return found[::-1]


def test_each_series_has_a_line_and_a_failure_is_a_gap():
    chart = series_chart(ORDERS, points({"de": 7.0, "fr": 5.0}, None, {"fr": 6.0}))
    assert chart
    assert chart["t"] == [NOON.timestamp() + 60 * n for n in range(3)]
    assert [(one["label"], one["values"]) for one in chart["series"]] == [
        ("fr", [5.0, None, 6.0]),
        ("all others", [7.0, None, None]),
    ]


def test_the_twelve_largest_have_lines_and_the_rest_is_one():
    values = {f"c{n}": float(n) for n in range(20)}
    chart = series_chart(ORDERS, points(values, values))
    assert chart
    assert [one["label"] for one in chart["series"]] == [*(f"c{n}" for n in range(19, 7, -1)), "all others"]
    assert chart["series"][-1]["values"] == [28.0, 28.0]
    assert len({one["tone"] for one in chart["series"]}) == 13


def test_what_another_metric_gave_before_an_edit_is_not_drawn():
    edited = MetricConfig("orders", {"shop": "a"}, ("status",))
    assert series_chart(edited, points({"de": 7.0}, {"de": 7.0})) is None


def published(**fields: Any) -> Publication:
    given = {"query_id": 1, "query_name": "q", "query_text": SQL, "metrics": (MetricConfig("n"),)}
    return Publication(**(given | {"changed_at": NOON, "is_up": True} | fields))


@pytest.mark.parametrize(
    ("fields", "enabled", "is_exported", "words"),
    [
        ({"value": 1.0}, True, True, ""),
        ({"value": 1.0}, False, True, "switched off"),
        ({"value": 1.0}, True, False, "metrics_enabled is off"),
        ({"is_up": None}, True, True, "the query has not run"),
        ({"problem": "the result has no numeric value"}, True, True, "the result has no numeric value"),
        ({}, True, True, "the latest result has no rows"),
        ({"is_up": False}, True, True, "no execution has succeeded"),
        ({"is_up": False, "metrics": (MetricConfig("n", on_failure=OnFailure.DROP),)}, True, True, "dropped"),
    ],
)
def test_a_metric_without_a_value_says_why(fields: Any, enabled: bool, is_exported: bool, words: str):
    view = metric_view(published(**fields), [], enabled, is_exported)
    assert words in view.why
    assert bool(view.why) == bool(words)


def test_the_page_shows_series_and_the_latest_samples(service):
    name = service.unique("orders").replace(" ", "_")
    metric = {"metric_name": name, "labels": {}, "label_columns": ["country"]}
    made = service.create(SQL, metrics=[metric])
    for _ in range(2):
        service.run(made["id"])
    page = read(service.viewer.get(f"/scheduled_query/query/{made['id']}").text)
    assert "country" in page.first("section", id="samples").text
    assert "2 series" in page.first("section", id="samples").text
    assert '"label": "de"' in page.first("ui-chart", id="series").attributes["data-chart"]
    listed = service.viewer.get("/scheduled_query/", params={"search": made["name"]}).text
    assert f"Sum of {name}" in listed
