"""Metrics: GET /metrics is the text exposition of the gauge metrics."""

import pytest
from specification.asking import samples


@pytest.fixture(scope="module")
def service(service_on_both):
    """Samples are kept by each database."""
    return service_on_both


def test_get_metrics_is_text_exposition(service):
    answer = service.viewer.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"


def test_get_metrics_requires_authentication(service):
    assert service.client().get("/metrics").status_code == 401


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_metrics_has_no_other_method(service, method):
    assert getattr(service.admin, method)("/metrics").status_code == 405


def test_get_metrics_has_the_gauge_at_once_after_run_now(service):
    config = {"metric_name": "metrics_total", "labels": {"a": "b"}}
    made = service.create("SELECT SUM(total) FROM orders", monitor_metric_config=config)
    assert samples(service, "metrics_total") == []
    service.editor.get(f"/api/run-now/{made['id']}")
    assert samples(service, "metrics_total") == [
        "# HELP metrics_total metric for query SELECT SUM(total) FROM orders",
        "# TYPE metrics_total gauge",
        'metrics_total{a="b"} 8.25',
    ]


def test_get_metrics_has_the_gauges_of_all_queries(service):
    for number in range(3):
        config = {"metric_name": "metrics_shared", "labels": {"part": str(number)}}
        made = service.create(f"SELECT {number}", monitor_metric_config=config)
        service.run(made["id"])
    lines = samples(service, "metrics_shared")
    assert lines[2:] == [f'metrics_shared{{part="{number}"}} {number}.0' for number in range(3)]
