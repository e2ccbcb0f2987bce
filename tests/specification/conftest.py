"""The specification, proven row by row: one file for each section, one case for each row or numbered rule.

Everything is asked of a running host with all four distributions, a real store and real runners, as its users
would ask; only the clock is in the test's hand.
"""

from collections.abc import Callable, Iterator

import pytest
from scheduled_query.api.conftest import Service, quiet, run_service, service, service_on_both
from service_world import is_settled, until

__all__ = ["quiet", "run_service", "service", "service_on_both"]


@pytest.fixture
def wait_s(service: Service) -> Callable[[float], None]:
    """Lets time pass, and what it set off come to its end."""
    engine, cycle = service.host.get_module("task_worker").engine, service.parts.service

    def wait(seconds: float) -> None:
        service.clock.advance(seconds)
        engine.run_due()
        until(lambda: is_settled(engine, cycle))

    return wait


@pytest.fixture
def next_minute(service: Service, wait_s: Callable[[float], None]) -> Callable[[], None]:
    """Goes on to the next full minute."""
    return lambda: wait_s(60 - service.clock.now().second)


@pytest.fixture
def clean(service: Service) -> Iterator[None]:
    """A service without queries, before and after."""

    def delete_all() -> None:
        for query in service.viewer.get("/api/scheduled-queries?limit=200").json()["data"]:
            service.editor.delete(f"/api/scheduled-queries/{query['id']}")

    delete_all()
    yield
    delete_all()
