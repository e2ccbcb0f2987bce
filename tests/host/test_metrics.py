import pytest
from plugbay.metrics import MetricsRegistry


def test_texts_are_joined_in_order_and_each_ends_its_line():
    metrics = MetricsRegistry()
    metrics.add("a", lambda: "a 1\n")
    metrics.add("b", lambda: "b 2")
    metrics.add("c", lambda: "")
    assert metrics.exposition() == "a 1\nb 2\n"


def test_a_failing_owner_is_logged_and_left_out(caplog: pytest.LogCaptureFixture):
    metrics = MetricsRegistry()
    metrics.add("bad", lambda: str(1 / 0))
    metrics.add("good", lambda: "good 1\n")
    assert metrics.exposition() == "good 1\n"
    assert "metrics_failed owner=bad" in caplog.text


def test_an_owner_is_taken_back():
    metrics = MetricsRegistry()
    metrics.add("a", lambda: "a 1\n")
    metrics.remove_owner("a")
    assert metrics.exposition() == ""


def test_the_endpoint_needs_a_login_and_has_the_exact_content_type(make_host, client_of):
    host = make_host()
    host.metrics.add("shop", lambda: "# TYPE orders gauge\norders 3\n")
    answer = client_of(host).get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert answer.text == "# TYPE orders gauge\norders 3\n"
    stranger = client_of(host, anonymous=True).get("/metrics")
    assert stranger.status_code == 401
    assert "www-authenticate" in stranger.headers


@pytest.mark.parametrize("text", [None, 5, b"bytes 1"])
def test_an_owner_whose_text_is_none_is_left_out(text: object):
    metrics = MetricsRegistry()
    metrics.add("bad", lambda: text)
    metrics.add("good", lambda: "good 1\n")
    assert metrics.exposition() == "good 1\n"


def test_half_a_character_in_a_text_spoils_nothing(make_host, client_of):
    host = make_host()
    host.metrics.add("odd", lambda: 'odd{name="\ud800"} 1')
    assert client_of(host).get("/metrics").text == 'odd{name="?"} 1\n'
