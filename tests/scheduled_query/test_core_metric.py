"""The metric configuration: what Prometheus allows, what we refuse, and which series are the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugbay_scheduled_query.core.metric import (
    MAX_LABELS,
    BadMetric,
    check_config,
    gauge_value,
    series_of,
    snapshot,
)
from plugbay_scheduled_query.core.model import MetricConfig


def config(name: str = "orders", **labels: str) -> MetricConfig:
    return MetricConfig(name, labels)


def refusal(name: object = "orders", labels: object = None) -> str:
    with pytest.raises(BadMetric) as found:
        check_config({"metric_name": name, "labels": labels})
    return str(found.value)


# --- names -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["orders", "Orders_2", "_x", "job:orders:rate5m", ":", "upper", "a" * 200])
def test_a_name_of_the_data_model_is_taken(name: str) -> None:
    assert check_config({"metric_name": name}) == MetricConfig(name, {})


def test_a_name_is_trimmed() -> None:
    assert check_config({"metric_name": " orders "}).metric_name == "orders"


@pytest.mark.parametrize(
    "name",
    [
        "2orders",
        "or ders",
        "or-ders",
        "or.ders",
        "ördérs",
        "orders{}",
        'o"',
        "a" * 201,
        "o\0",
        "\ud800",
    ],
)
def test_a_name_outside_the_data_model_is_refused(name: str) -> None:
    message = refusal(name)
    assert "the metric name “" in message
    assert "is not valid: it takes the letters a to z, digits, “_” and “:”" in message
    assert message.isprintable()


@pytest.mark.parametrize("name", [None, "", "  ", 5, True, ["orders"]])
def test_a_missing_name_is_refused(name: object) -> None:
    assert refusal(name) == "metric_name is missing: it must be a text such as orders_total"
    with pytest.raises(BadMetric, match="metric_name is missing"):
        check_config({})


@pytest.mark.parametrize("name", ["plugbay_x", "process_cpu_seconds_total", "python_info", "__name__", "__"])
def test_names_that_begin_like_those_of_others_are_refused(name: str) -> None:
    assert "are reserved" in refusal(name)


def test_up_is_refused() -> None:
    assert refusal("up") == "the metric name “up” is reserved"


# --- labels ----------------------------------------------------------------------------------------------


def test_labels_are_names_and_values() -> None:
    labels = {
        "region": "eu",
        "_x": "",
        "Level": 'any "text" \\ at all\nwith lines ä',
        "length": "5",
        "upper": "x",
    }
    assert check_config({"metric_name": "orders", "labels": labels}) == MetricConfig("orders", labels)


@pytest.mark.parametrize("labels", [None, {}])
def test_no_labels_are_fine(labels: object) -> None:
    assert check_config({"metric_name": "orders", "labels": labels}).labels == {}


@pytest.mark.parametrize("labels", ["region=eu", [["region", "eu"]], 5, True])
def test_labels_must_be_an_object(labels: object) -> None:
    assert refusal(labels=labels) == "labels must be an object of names and values"


@pytest.mark.parametrize("name", ["", "2x", "a:b", "a-b", "a b", "é", "x" * 201, "x\n"])
def test_a_label_name_outside_the_data_model_is_refused(name: str) -> None:
    assert "the label name “" in refusal(labels={name: "v"})


@pytest.mark.parametrize("name", ["__x", "__name__", "le", "quantile"])
def test_reserved_label_names_are_refused(name: str) -> None:
    assert refusal(labels={name: "v"}) == f"the label name “{name}” is reserved"


@pytest.mark.parametrize("value", [None, 5, True, ["eu"]])
def test_a_label_value_must_be_a_text(value: object) -> None:
    assert refusal(labels={"region": value}) == "the value of the label “region” must be a text"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("a\0b", "has a NUL character at position 2"),
        ("\ud800", "has half a character"),
        ("a\rb", "has a line break"),
        ("\x1b[31m", "has a control character (U+001B)"),
        ("x" * 1025, "has more than 1024 characters"),
    ],
)
def test_a_label_value_that_would_break_a_line_is_refused(value: str, words: str) -> None:
    assert words in refusal(labels={"region": value})


def test_twenty_labels_are_allowed_and_twenty_one_are_not() -> None:
    labels = {f"l{n}": "v" for n in range(MAX_LABELS)}
    assert len(check_config({"metric_name": "orders", "labels": labels}).labels) == 20
    assert refusal(labels={**labels, "one_more": "v"}) == "a metric takes at most 20 labels; these are 21"


@given(
    st.dictionaries(st.text(max_size=10), st.one_of(st.text(), st.integers(), st.none())),
    st.text(max_size=20),
)
def test_any_object_is_a_configuration_or_refused(labels: dict[str, object], name: str) -> None:
    try:
        found = check_config({"metric_name": name, "labels": labels})
    except BadMetric as error:
        message = str(error)
        found = None
    else:
        message = ""
    assert message.isprintable()
    assert found is None or check_config(found.as_json()) == found


# --- series ----------------------------------------------------------------------------------------------


def test_the_same_name_and_labels_are_the_same_series() -> None:
    assert series_of(config(a="1", b="2")) == series_of(MetricConfig("orders", {"b": "2", "a": "1"}))


@pytest.mark.parametrize(
    "other", [config("revenue", a="1"), config(a="2"), config(b="1"), config(a="1", b="2"), config()]
)
def test_another_name_label_or_value_is_another_series(other: MetricConfig) -> None:
    assert series_of(config(a="1")) != series_of(other)


def test_an_empty_label_is_no_label() -> None:
    assert series_of(config(a="")) == series_of(config())


# --- values ----------------------------------------------------------------------------------------------


def test_the_gauge_gets_the_first_number_as_a_float() -> None:
    value = gauge_value([["Monday", "12"], [5, 6]])
    assert value == 12.0
    assert isinstance(value, float)
    assert gauge_value([["Monday", None, True]]) is None


def test_the_snapshot_has_the_specified_fields() -> None:
    assert snapshot(config(region="eu"), 12.5) == {
        "metric_name": "orders",
        "labels": {"region": "eu"},
        "value": 12.5,
    }
