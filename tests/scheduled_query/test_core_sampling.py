"""Which rows become samples: columns found by name, numbers alone, each combination of labels once."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from plugbay_scheduled_query.core.model import MetricConfig, Outcome, Status
from plugbay_scheduled_query.core.results import iter_rows
from plugbay_scheduled_query.core.sampling import NO_NUMBER, Sampling, chart_value, sample, snapshot

ORDERS = MetricConfig("orders", {"shop": "a"}, ("country",))
ROWS = [["de", 7], ["fr", 5]]


def sampled(
    rows: Sequence[Sequence[Any]], columns: Sequence[str] = ("country", "n"), **more: Any
) -> dict[tuple[str, ...], float] | None:
    """What the rows give the metric of orders by country."""
    return sample([ORDERS], columns, rows, **more).sampled[0].values  # type: ignore[return-value]


def outcome(found: Sampling) -> Outcome:
    return Outcome(Status.SUCCESS, value=found.value, sampled=found.sampled)


def test_each_row_is_a_sample_with_the_first_column_that_is_no_label() -> None:
    assert sampled(ROWS) == {("de",): 7.0, ("fr",): 5.0}
    assert sampled([["x", *row, 9] for row in ROWS], ("note", "country", "n", "m")) == {}
    assert sampled([[*row, 9] for row in ROWS], ("country", "n", "m")) == {("de",): 7.0, ("fr",): 5.0}


def test_the_value_column_is_found_by_exact_name_else_whatever_its_capitals() -> None:
    metric = MetricConfig("orders", {}, ("Country",), "N")
    columns, rows = ("n", "country", "N"), [[1, "de", 2]]
    assert sample([metric], columns, rows).sampled[0].values == {("de",): 2.0}
    assert sample([metric], ("COUNTRY", "n"), [["de", 3]]).sampled[0].values == {("de",): 3.0}


def test_a_value_column_alone_takes_the_first_row() -> None:
    metric = MetricConfig("orders", value_column="n")
    assert sample([metric], ("country", "n"), ROWS).sampled[0].values == {(): 7.0}
    assert sample([metric], ("country", "n"), [["de", None], ["fr", 5]]).sampled[0].values == {}
    assert sample([metric], ("country", "n"), []) == Sampling(
        None, sample([metric], ("n",), []).sampled, None
    )


@pytest.mark.parametrize(
    "cell", [None, True, False, "many", "1e5", "NaN", "Infinity", "", [1], {"n": 1}, "0x10"]
)
def test_a_row_without_a_number_has_no_sample(cell: Any) -> None:
    assert sampled([["de", cell], ["fr", 5]]) == {("fr",): 5.0}


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("12.50", 12.5),
        ("-3", -3.0),
        (Decimal(123456789012345678901234567890), 1.2345678901234568e29),
        (123456789012345678901234567890, 1.2345678901234568e29),
        ("0.1", 0.1),
    ],
)
def test_a_number_of_any_spelling_is_a_value(cell: Any, value: float) -> None:
    assert sampled([["de", cell]]) == {("de",): value}


def test_bytes_are_no_number() -> None:
    assert sampled([["de", "3132"]], binary={1}) == {}


@pytest.mark.parametrize(
    ("cell", "label"),
    [
        (None, ""),
        (True, "true"),
        (False, "false"),
        (5, "5"),
        (Decimal("1.50"), "1.50"),
        ("=SUM(A1)", "=SUM(A1)"),
        ("2026-11-15T12:00:00", "2026-11-15T12:00:00"),
        ([1, "é"], '[1, "é"]'),
        ('🎈 \n "\\', '🎈 \n "\\'),
        ("a\0b", "a\ufffdb"),
        ("x" * 2000, "x" * 1024),
    ],
)
def test_a_label_is_written_as_in_the_csv_download(cell: Any, label: str) -> None:
    assert sampled([[cell, 1]]) == {(label,): 1.0}


def test_half_a_character_does_not_reach_a_label() -> None:
    assert sampled(list(iter_rows('[["a\\ud800b", 1]]'))) == {("a\ufffdb",): 1.0}


def test_of_two_rows_with_the_same_labels_the_first_counts_and_that_is_told() -> None:
    found = sample([ORDERS], ("country", "n"), [["de", 1], ["fr", None], ["de", 2], ["fr", 3]])
    assert found.sampled[0].values == {("de",): 1.0, ("fr",): 3.0}
    assert found.problem == "orders: 1 rows repeat the labels of another, and the first counts"


def test_rows_past_the_limit_are_left_out_and_that_is_told() -> None:
    rows = [[str(n), n] for n in range(12)]
    found = sample([ORDERS], ("country", "n"), rows, max_series=10)
    assert list(found.sampled[0].values or ()) == [(str(n),) for n in range(10)]
    assert found.problem == "orders: 2 rows are left out, max_series is 10"


def test_the_limit_is_for_all_metrics_of_a_query_together() -> None:
    metrics = [MetricConfig("first"), ORDERS, MetricConfig("more", {}, ("country",))]
    found = sample(metrics, ("country", "n"), ROWS, max_series=4)
    assert [len(one.values or ()) for one in found.sampled] == [2, 1]
    assert found.problem == "more: 1 rows are left out, max_series is 4"


@pytest.mark.parametrize(
    ("columns", "rows", "problem"),
    [
        (("land", "n"), ROWS, "orders: the result has no column “country”"),
        (("country",), [["de"]], "orders: no column is left for the value"),
    ],
)
def test_a_missing_column_leaves_the_metric_as_it_was(
    columns: Sequence[str], rows: list[list[Any]], problem: str
) -> None:
    found = sample([ORDERS], columns, rows)
    assert (found.sampled[0].values, found.problem) == (None, problem)


def test_a_result_without_rows_is_no_problem_and_takes_all_samples_away() -> None:
    found = sample([ORDERS], ("country", "n"), [])
    assert (found.sampled[0].values, found.problem) == ({}, None)


def test_rows_without_any_number_are_told() -> None:
    assert sample([ORDERS], ("country", "n"), [["de", None]]).problem == "orders: no row has a number"


def test_a_plain_metric_takes_the_first_number_and_says_when_there_is_none() -> None:
    assert sample([MetricConfig("n")], ("country", "n"), ROWS) == Sampling(7.0)
    assert sample([MetricConfig("n")], ("country",), [["de"]]) == Sampling(problem=NO_NUMBER)
    assert sample([], ("country",), [["de"]]) == Sampling()


# --- what history and charts take of it --------------------------------------------------------------------


def test_the_snapshot_of_one_sample_is_as_specified() -> None:
    plain = MetricConfig("orders", {"region": "eu"}, help="x")
    found = outcome(sample([plain], ("n",), [[12.5]]))
    assert snapshot([plain], found) == {"metric_name": "orders", "labels": {"region": "eu"}, "value": 12.5}
    found = outcome(sample([ORDERS], ("country", "n"), ROWS[:1]))
    assert snapshot([ORDERS], found) == {
        "metric_name": "orders",
        "labels": {"shop": "a", "country": "de"},
        "value": 7.0,
    }


def test_the_snapshot_of_many_has_the_first_hundred_of_each_metric() -> None:
    metrics = [ORDERS, MetricConfig("visits")]
    rows = [[str(n), n] for n in range(150)]
    found = snapshot(metrics, outcome(sample(metrics, ("country", "n"), rows)))
    assert found
    samples = [{"labels": {"shop": "a", "country": str(n)}, "value": float(n)} for n in range(100)]
    visits = {"metric_name": "visits", "labels": {}, "value": 0.0}
    assert found == {
        "metric_name": "orders",
        "labels": {"shop": "a"},
        "value": 0.0,
        "samples": samples,
        "series": 150,
        "more": [visits | {"samples": [{"labels": {}, "value": 0.0}], "series": 1}],
    }


def test_without_a_sample_there_is_no_snapshot() -> None:
    assert snapshot([ORDERS], outcome(sample([ORDERS], ("country", "n"), []))) is None
    assert snapshot([], Outcome(Status.SUCCESS, value=3.0)) is None


def test_a_chart_shows_the_sum_of_series_else_the_first_number() -> None:
    found = outcome(sample([ORDERS], ("country", "n"), ROWS))
    assert chart_value([ORDERS], found) == 12.0
    assert chart_value([], found) == 7.0
    assert chart_value([ORDERS], outcome(sample([ORDERS], ("country", "n"), []))) is None
    endless = outcome(sample([ORDERS], ("country", "n"), [["de", 1.7e308], ["fr", 1.7e308]]))
    assert chart_value([ORDERS], endless) is None
    column = MetricConfig("orders", value_column="n")
    assert chart_value([column], outcome(sample([column], ("m", "n"), [[1, 2]]))) == 2.0
