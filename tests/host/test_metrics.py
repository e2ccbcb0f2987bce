import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugbay import metric_header, metric_sample
from plugbay.metrics import MetricsRegistry
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families


def test_texts_are_joined_in_order_and_each_ends_its_line():
    metrics = MetricsRegistry()
    metrics.add("a", lambda: "a 1\n")
    metrics.add("b", lambda: "b 2")
    metrics.add("c", lambda: "")
    assert metrics.exposition() == b"a 1\nb 2\n"


def test_a_failing_owner_is_logged_and_left_out(caplog: pytest.LogCaptureFixture):
    metrics = MetricsRegistry()
    metrics.add("bad", lambda: str(1 / 0))
    metrics.add("good", lambda: "good 1\n")
    assert metrics.exposition() == b"good 1\n"
    assert "metrics_failed owner=bad" in caplog.text


def test_an_owner_is_taken_back():
    metrics = MetricsRegistry()
    metrics.add("a", lambda: "a 1\n")
    metrics.remove_owner("a")
    assert metrics.exposition() == b""


def test_the_endpoint_needs_a_login_and_has_the_exact_content_type(make_host, client_of):
    host = make_host()
    host.metrics.add("shop", lambda: "# TYPE orders gauge\norders 3\n")
    answer = client_of(host).get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert answer.text == "# TYPE orders gauge\norders 3\n"
    stranger = client_of(host, anonymous=True).get("/metrics")
    assert stranger.status_code == 401
    assert "www-authenticate" in stranger.headers


def test_ready_bytes_are_taken_as_they_are():
    metrics = MetricsRegistry()
    metrics.add("a", lambda: b"a 1")
    metrics.add("b", lambda: "b 2\n")
    assert metrics.exposition() == b"a 1\nb 2\n"


@pytest.mark.parametrize("text", [None, 5, ["a 1"]])
def test_an_owner_whose_text_is_none_is_left_out(text: object):
    metrics = MetricsRegistry()
    metrics.add("bad", lambda: text)
    metrics.add("good", lambda: "good 1\n")
    assert metrics.exposition() == b"good 1\n"


def test_half_a_character_in_a_text_spoils_nothing(make_host, client_of):
    host = make_host()
    host.metrics.add("odd", lambda: 'odd{name="\ud800"} 1')
    assert client_of(host).get("/metrics").text == 'odd{name="?"} 1\n'


# hostile: quotes, backslashes, braces, every character that some reader takes for the end of a line
ODD = '\\"\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029 {}#=,naé😀'
HOSTILE = st.text(st.sampled_from(ODD) | st.characters(codec="utf-8"))
NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,20}", fullmatch=True)


def read(text: str) -> Metric:
    (family,) = text_string_to_metric_families(text)
    return family


@given(labels=st.dictionaries(NAMES, HOSTILE, max_size=4), value=st.floats(allow_nan=False) | st.integers())
def test_any_label_and_number_is_read_back_as_it_was(labels: dict[str, str], value: float):
    (sample,) = read(metric_sample("orders", labels, value)).samples
    assert (sample.name, sample.labels, sample.value) == ("orders", labels, value)


@given(name=NAMES, text=HOSTILE)
def test_any_help_text_is_two_lines_and_read_back_with_plain_line_ends(name: str, text: str):
    header = metric_header(name, text)
    assert header.splitlines() == header.split("\n")[:-1]
    assert len(header.splitlines()) == 2
    family = read(header + metric_sample(name, {}, 1))
    assert (family.name, family.type) == (name, "gauge")
    assert family.documentation.split() == text.split()


def test_every_line_end_of_a_help_text_is_one_line_feed():
    assert metric_header("a", "x\r\ny\rz\x85\u2028\\n") == "# HELP a x\\ny\\nz\\n\\n\\\\n\n# TYPE a gauge\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [(3, "3"), (3.0, "3.0"), (True, "1"), (0.1, "0.1"), (1e300, "1e+300"), (10**20, str(10**20))],
)
def test_a_number_is_written_as_what_it_is(value: float, text: str):
    assert metric_sample("a", {}, value) == f"a {text}\n"
    assert metric_sample("a", {"b": "c", "d": 'e"f\\'}, value) == f'a{{b="c",d="e\\"f\\\\"}} {text}\n'


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_what_is_no_finite_number_is_read_back_too(value: float):
    (sample,) = read(metric_sample("a", {}, value)).samples
    assert repr(sample.value) == repr(value)


def test_the_kind_is_named_in_the_header():
    assert metric_header("a_total", "All.", "counter") == "# HELP a_total All.\n# TYPE a_total counter\n"
