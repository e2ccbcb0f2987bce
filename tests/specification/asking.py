"""What a user of the API asks most."""

from typing import Any

from scheduled_query.api.conftest import Service


def details(service: Service, query_id: int) -> dict[str, Any]:
    """A query, as the endpoint for details shows it."""
    answer = service.viewer.get(f"/api/scheduled-queries/{query_id}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def history(service: Service, query_id: int, **params: Any) -> list[dict[str, Any]]:
    """The executions of a query, newest first."""
    answer = service.viewer.get(f"/api/execution-history/{query_id}", params=params)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["data"]
    return found


def samples(service: Service, metric_name: str) -> list[str]:
    """The lines about one metric at /metrics."""
    lines = service.viewer.get("/metrics").text.splitlines()
    return [line for line in lines if metric_name in line.replace("{", " ").split()]


def settings_of(service: Service) -> Any:
    """The service's settings as they are now."""
    module = service.host.get_module("scheduled_query")
    assert module
    return module.module_settings
