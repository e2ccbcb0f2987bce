"""The metric configuration: what Prometheus allows, what we refuse, and which series are the same."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugbay_scheduled_query.core.metric import (
    MAX_LABELS,
    BadMetric,
    check_config,
    clash,
    gauge_value,
    series_of,
)
from plugbay_scheduled_query.core.model import MetricConfig, MetricType


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


# --- columns ---------------------------------------------------------------------------------------------


def test_all_that_can_be_set_is_read_and_given_back() -> None:
    given = {
        "metric_name": "orders",
        "labels": {"shop": "a"},
        "label_columns": ["country", "status"],
        "value_column": "Number of orders",
        "type": "counter",
        "help": "Orders that came in.",
        "on_failure": "drop",
    }
    assert check_config(given).as_json() == given


def test_what_is_not_set_does_not_appear() -> None:
    nothing = {"label_columns": [], "value_column": None, "type": None, "help": "", "on_failure": None}
    assert check_config({"metric_name": "orders", **nothing}).as_json() == {
        "metric_name": "orders",
        "labels": {},
    }


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"label_columns": "country"}, "label_columns must be a list"),
        ({"label_columns": ["Number of orders"]}, "the label name “Number of orders” is not valid"),
        ({"label_columns": ["le"]}, "the label name “le” is reserved"),
        ({"label_columns": ["__name__"]}, "the label name “__name__” is reserved"),
        ({"label_columns": ["a", "a"]}, "the label “a” is there twice"),
        ({"label_columns": ["a"], "labels": {"a": "b"}}, "the label “a” is there twice"),
        (
            {"label_columns": [f"c{n}" for n in range(20)], "labels": {"a": "b"}},
            "at most 20 labels; these are 21",
        ),
        ({"label_columns": [5]}, "the label name “5” is not valid"),
        ({"value_column": ""}, "value_column must be the name of a column"),
        ({"value_column": 5}, "value_column must be the name of a column"),
        ({"value_column": "x" * 1025}, "value_column has more than 1,024 characters"),
        ({"type": "summary"}, "type must be one of: gauge, counter"),
        ({"type": ["gauge"]}, "type must be one of"),
        ({"help": 5}, "help must be a text"),
        ({"help": "a\0b"}, "help has a NUL character"),
        ({"on_failure": "hide"}, "on_failure must be one of: keep, drop"),
    ],
)
def test_a_bad_column_type_or_help_is_named(given: dict[str, object], words: str) -> None:
    with pytest.raises(BadMetric, match=re.escape(words)):
        check_config({"metric_name": "orders", **given})


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        (config(a="1"), config(a="2"), None),
        (config(a="1"), config("revenue", a="1"), None),
        (config(a="1", b="1"), config(a="2", c="1"), None),
        (config(a=""), config(a="2"), None),
        (config(a="1"), config(a="1"), "with the same labels"),
        (config(a="1"), config(b="2"), "no label that both have"),
        (config(), config(a="1"), "no label that both have"),
        (MetricConfig("orders", {}, ("a",)), config(a="1"), "no label that both have"),
        (MetricConfig("orders", {"a": "1"}, ("b",)), MetricConfig("orders", {"a": "2"}, ("b",)), None),
        (
            config(a="1"),
            MetricConfig("orders", {"a": "2"}, type=MetricType.COUNTER),
            "as a counter, and here",
        ),
        (config(a="1"), MetricConfig("orders", {"a": "2"}, type=MetricType.GAUGE), None),
    ],
)
def test_a_name_is_shared_by_those_that_a_fixed_label_tells_apart(
    one: MetricConfig, other: MetricConfig, reason: str | None
) -> None:
    for first, second in ((one, other), (other, one)):
        found = clash(first, second)
        assert found is None if reason is None else found
    assert (reason or "") in (clash(one, other) or "")
