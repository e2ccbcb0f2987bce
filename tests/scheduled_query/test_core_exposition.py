"""Samples as lines: read back by Prometheus's own client, and cut so that few parts change by few values."""

import random

from hypothesis import given
from hypothesis import strategies as st
from plugbay_scheduled_query.core.exposition import key_of, lines_of, parts_of, read_lines
from plugbay_scheduled_query.core.model import MetricConfig, MetricType, OnFailure
from prometheus_client.parser import text_string_to_metric_families

METRIC = MetricConfig("orders", {"shop": "a"}, ("country", "status"))
TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=30)


@given(st.dictionaries(st.tuples(TEXTS, TEXTS), st.floats(allow_nan=False, allow_infinity=False), max_size=8))
def test_any_label_and_value_is_read_back(values: dict[tuple[str, str], float]) -> None:
    expected = {(("country", one), ("shop", "a"), ("status", two)): v for (one, two), v in values.items()}
    lines = lines_of(METRIC, values)
    found = [sample for family in text_string_to_metric_families("".join(lines)) for sample in family.samples]
    assert {tuple(sorted(sample.labels.items())): sample.value for sample in found} == expected
    ours = read_lines("".join(lines).encode())
    assert {tuple(sorted(line.labels.items())): line.value for line in ours} == expected


def test_a_metric_without_labels_has_no_braces() -> None:
    assert lines_of(MetricConfig("n"), {(): 5.0}) == ["n 5.0\n"]
    assert lines_of(MetricConfig("n", {"a": "b"}), {(): 5.0}) == ['n{a="b"} 5.0\n']
    assert lines_of(MetricConfig("n", {}, ("a",)), {("b",): 5.0}) == ['n{a="b"} 5.0\n']


def thousand() -> dict[tuple[str, ...], float]:
    return {(f"country {n}", "open"): float(n) for n in range(1000)}


def digests(values: dict[tuple[str, ...], float]) -> set[str]:
    return {part.digest for part in parts_of(METRIC, values)}


def test_the_parts_are_all_lines_in_the_order_of_their_labels() -> None:
    parts = parts_of(METRIC, thousand())
    assert b"".join(part.text for part in parts).decode() == "".join(lines_of(METRIC, thousand()))
    assert sum(part.size for part in parts) == 1000
    assert 10 < len(parts) < 100
    assert max(part.size for part in parts) <= 128


def test_a_few_changed_values_change_a_few_parts() -> None:
    changed = thousand() | {(f"country {n}", "open"): -1.0 for n in (3, 500, 998)}
    assert len(digests(changed) - digests(thousand())) <= 3


def test_a_row_more_or_less_changes_the_parts_around_it_alone() -> None:
    before = thousand()
    more = before | {("a new one", "open"): 1.0, ("country 5000", "open"): 1.0}
    less = {labels: value for labels, value in before.items() if labels[0] != "country 500"}
    assert len(digests(more) - digests(before)) <= 4
    assert len(digests(less) - digests(before)) <= 2


def test_another_order_of_rows_changes_nothing() -> None:
    rows = list(thousand().items())
    random.Random(7).shuffle(rows)
    assert digests(dict(rows)) == digests(thousand())


def test_what_a_metric_samples_is_its_key_and_nothing_else() -> None:
    same = [
        MetricConfig("orders", {"shop": "a"}, ("country", "status"), help="Orders"),
        MetricConfig("orders", {"shop": "a"}, ("country", "status"), on_failure=OnFailure.DROP),
        MetricConfig("orders", {"shop": "a"}, ("country", "status"), type=MetricType.GAUGE),
    ]
    others = [
        MetricConfig("sales", {"shop": "a"}, ("country", "status")),
        MetricConfig("orders", {"shop": "b"}, ("country", "status")),
        MetricConfig("orders", {"shop": "a"}, ("status", "country")),
        MetricConfig("orders", {"shop": "a"}, ("country",), "status"),
        MetricConfig("orders", {"shop": "a"}, ("country", "status"), type=MetricType.COUNTER),
    ]
    assert {key_of(metric) for metric in same} == {key_of(METRIC)}
    assert len({key_of(metric) for metric in [METRIC, *others]}) == 6
