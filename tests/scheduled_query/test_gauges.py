"""The exposition: read back by Prometheus's own client, and changed line by line."""

from collections.abc import Iterable
from datetime import UTC, datetime
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugbay_scheduled_query.core.model import MetricConfig
from plugbay_scheduled_query.metrics.board import GaugeBoard, publication_text
from plugbay_scheduled_query.repository.gauges import Publication
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

ALWAYS = {"plugbay_query_samples", "plugbay_query_metric_problem"}
NOON = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


def sample(
    query_id: int = 1,
    metric: str = "orders",
    value: float | None = 42.0,
    text: str = "SELECT 42",
    name: str = "Orders",
    is_up: bool | None = True,
    success: datetime | None = NOON,
    **labels: str,
) -> Publication:
    return Publication(
        query_id=query_id,
        query_name=name,
        query_text=text,
        metrics=(MetricConfig(metric, labels),),
        changed_at=NOON,
        value=value,
        is_up=is_up,
        last_success_at=success,
    )


def read(text: str) -> dict[str, Metric]:
    return {family.name: family for family in text_string_to_metric_families(text)}


def values(text: str, name: str) -> dict[tuple[tuple[str, str], ...], float]:
    return {tuple(sorted(found.labels.items())): found.value for found in read(text)[name].samples}


def exposition(samples: Iterable[Publication]) -> str:
    """The text of these samples alone."""
    return GaugeBoard(samples).text().decode()


def test_no_samples_no_text() -> None:
    assert exposition([]) == ""


def test_a_gauge_is_written_as_specified() -> None:
    assert exposition([sample(region="eu", team="core")]) == (
        "# HELP orders metric for query SELECT 42\n"
        "# TYPE orders gauge\n"
        'orders{region="eu",team="core"} 42.0\n'
        "# HELP plugbay_query_up Whether the last execution of the query succeeded (1) or not (0).\n"
        "# TYPE plugbay_query_up gauge\n"
        'plugbay_query_up{query_id="1",name="Orders"} 1.0\n'
        "# HELP plugbay_query_last_success_timestamp_seconds When the query last succeeded, in Unix time.\n"
        "# TYPE plugbay_query_last_success_timestamp_seconds gauge\n"
        'plugbay_query_last_success_timestamp_seconds{query_id="1",name="Orders"} 1794744000.0\n'
        "# HELP plugbay_query_samples How many samples the metrics of the query have.\n"
        "# TYPE plugbay_query_samples gauge\n"
        'plugbay_query_samples{query_id="1",name="Orders"} 1.0\n'
        "# HELP plugbay_query_metric_problem "
        "Whether the latest result was not good for its metrics (1) or was (0).\n"
        "# TYPE plugbay_query_metric_problem gauge\n"
        'plugbay_query_metric_problem{query_id="1",name="Orders"} 0.0\n'
    )


def test_a_gauge_without_labels_has_no_braces() -> None:
    assert "\norders 42.0\n" in exposition([sample()])


def test_a_failure_leaves_the_value_and_takes_up_down() -> None:
    text = exposition([sample(is_up=False)])
    assert values(text, "orders") == {(): 42.0}
    assert values(text, "plugbay_query_up") == {(("name", "Orders"), ("query_id", "1")): 0.0}


def test_before_the_first_number_there_is_no_gauge_but_a_failure_shows() -> None:
    text = exposition([sample(value=None, is_up=False, success=None)])
    assert set(read(text)) == {"plugbay_query_up", *ALWAYS}
    unborn = exposition([sample(value=None, is_up=None, success=None)])
    assert set(read(unborn)) == ALWAYS
    assert values(unborn, "plugbay_query_samples") == {(("name", "Orders"), ("query_id", "1")): 0.0}


def test_two_queries_share_a_name_and_the_lowest_id_gives_the_help() -> None:
    text = exposition(
        [sample(7, text="SELECT 7", region="us"), sample(3, text="SELECT 3", value=1.0, region="eu")]
    )
    assert text.count("# HELP orders ") == text.count("# TYPE orders ") == 1
    assert read(text)["orders"].documentation == "metric for query SELECT 3"
    assert values(text, "orders") == {(("region", "eu"),): 1.0, (("region", "us"),): 42.0}


def test_lines_of_one_name_stand_together() -> None:
    lines = exposition([sample(1, "b", x="1"), sample(2, "a"), sample(3, "b", x="2")]).splitlines()
    names = [line.split("{")[0].split()[0] for line in lines if not line.startswith("#")]
    assert names[:3] == ["a", "b", "b"]


def test_help_keeps_to_one_line_and_cuts_the_query_after_1024_characters() -> None:
    text = exposition([sample(text="SELECT '\\n'\nFROM\r\nt" + "x" * 2_000)])
    assert text.splitlines()[0].startswith("# HELP orders metric for query SELECT '\\\\n'\\nFROM\\nt")
    documentation = read(text)["orders"].documentation
    assert documentation == "metric for query " + ("SELECT '\\n'\nFROM\nt" + "x" * 2_000)[:1023]


def test_exactly_1024_characters_are_not_cut() -> None:
    assert read(exposition([sample(text="x" * 1024)]))["orders"].documentation.endswith(" " + "x" * 1024)
    assert read(exposition([sample(text="x" * 1025)]))["orders"].documentation.endswith(" " + "x" * 1024)


@pytest.mark.parametrize(
    "value", [0.0, -0.0, 1.5, -1e-300, 1.7976931348623157e308, 5e-324, 1e16, 0.1 + 0.2, 1 / 3]
)
def test_a_float_is_read_back_to_the_last_bit(value: float) -> None:
    assert values(exposition([sample(value=value)]), "orders") == {(): value}


def test_integers_are_written_as_floats() -> None:
    assert publication_text(sample(metric="n", value=5), 20).endswith("\nn 5.0\n")
    assert "\norders 5.0\n" in exposition([sample(value=5)])


LINES = st.text(st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n\t"), max_size=60)


@given(st.dictionaries(st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True), LINES, max_size=4), LINES)
def test_any_label_value_and_name_is_read_back(labels: dict[str, str], name: str) -> None:
    text = exposition([sample(name=name, **{"l_" + key: value for key, value in labels.items()})])
    expected = tuple(sorted(("l_" + key, value) for key, value in labels.items()))
    assert values(text, "orders") == {expected: 42.0}
    assert values(text, "plugbay_query_up") == {(("name", name), ("query_id", "1")): 1.0}


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=60))
def test_any_query_text_makes_one_help_line(query: str) -> None:
    assert len(publication_text(sample(text=query, value=None), 20).splitlines()) == 2
    text = publication_text(sample(text=query, value=1), 20)
    assert read(text)["orders"].samples[0].value == 1.0


# --- the board -------------------------------------------------------------------------------------------


def test_a_new_sample_takes_the_place_of_the_old_one() -> None:
    board = GaugeBoard([sample(1), sample(2, "revenue")])
    before = board.text().decode().splitlines()
    board.put(sample(1, value=43.0))
    after = board.text().decode().splitlines()
    assert values(board.text().decode(), "orders") == {(): 43.0}
    assert [a for a, b in zip(before, after, strict=True) if a != b] == ["orders 42.0"]


def test_the_text_is_that_of_the_samples_however_they_came() -> None:
    samples = [sample(n, f"metric_{n % 3}", float(n), n=str(n)) for n in range(1, 20)]
    board = GaugeBoard(sample(one.query_id, "other", 0.0) for one in samples)
    for one in samples:
        board.put(one)
    assert board.text().decode() == exposition(samples)
    board.replace(samples[:5])
    assert board.text().decode() == exposition(samples[:5])


def test_a_renamed_metric_leaves_nothing_behind() -> None:
    board = GaugeBoard([sample(1)])
    board.put(sample(1, "revenue"))
    names = set(read(board.text().decode()))
    assert {name for name in names if not name.startswith("plugbay_")} == {"revenue"}


def test_a_dropped_query_is_gone_with_all_its_lines() -> None:
    board = GaugeBoard([sample(1, region="eu"), sample(2, region="us", text="SELECT 2")])
    board.drop(1)
    assert board.text().decode() == exposition([sample(2, region="us", text="SELECT 2")])
    board.drop(2)
    board.drop(99)
    assert board.text().decode() == ""


def test_the_help_goes_over_to_the_next_query() -> None:
    board = GaugeBoard([sample(1, region="eu"), sample(2, region="us", text="SELECT 2")])
    assert "query SELECT 42" in board.text().decode()
    board.drop(1)
    assert "query SELECT 2\n" in board.text().decode()


def test_a_gauge_that_lost_its_value_is_no_longer_shown() -> None:
    board = GaugeBoard([sample(1)])
    board.put(sample(1, value=None, is_up=False))
    assert "orders" not in read(board.text().decode())


def test_threads_may_write_and_read_at_once() -> None:
    board = GaugeBoard()

    def work(offset: int) -> None:
        for n in range(200):
            board.put(sample(offset + n, f"metric_{n % 5}", float(n), n=str(offset + n)))
            board.text().decode()
            if n % 3 == 0:
                board.drop(offset + n)

    threads = [Thread(target=work, args=(1000 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(values(board.text().decode(), "plugbay_query_up")) == 4 * 133
