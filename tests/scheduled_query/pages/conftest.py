"""The pages are tested on the same running service as the API."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scheduled_query.api.conftest import quiet, running_service, service, service_on_both

__all__ = ["make_service", "quiet", "service", "service_on_both"]


@pytest.fixture
def make_service(quiet: None, tmp_path: Path) -> Callable[..., Any]:
    """A service of one's own."""
    return lambda **config: running_service(tmp_path / "own", **config)
