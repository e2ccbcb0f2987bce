"""GET /metrics: each owner adds text that is ready to be sent, and the one writer of such text."""

import re
import threading
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Annotated

from fastapi import Response

from plugbay.logs import get_logger
from plugbay.web import from_host
from plugbay.web.routers import QuickRouter

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# what some readers take for the end of a line, though the format knows only the line feed
_OTHER_LINE_ENDS = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")

Text = Callable[[], str | bytes]

log = get_logger(__name__)
router = QuickRouter(tags=["Metrics"])


class MetricsRegistry:
    """Joins the exposition texts of all owners; one that fails is logged and left out."""

    def __init__(self) -> None:
        self._sources: tuple[tuple[str, Text], ...] = ()
        self._lock = threading.Lock()

    def add(self, owner: str, text: Text) -> None:
        """Adds a callable that returns exposition text, each line ended, or the same as ready bytes."""
        with self._lock:
            self._sources = (*self._sources, (owner, text))

    def of_owner(self, owner: str) -> int:
        """How many texts an owner contributes."""
        return sum(1 for name, _ in self._sources if name == owner)

    def remove_owner(self, owner: str) -> None:
        with self._lock:
            self._sources = tuple(item for item in self._sources if item[0] != owner)

    def exposition(self) -> bytes:
        return b"".join([self._text_of(owner, text) for owner, text in self._sources])

    def _text_of(self, owner: str, text: Text) -> bytes:
        try:
            part = text()
            ready = part if isinstance(part, bytes) else part.encode(errors="replace")
        except (Exception, SystemExit):
            log.exception("metrics_failed", owner=owner)
            return b""
        return ready if not ready or ready.endswith(b"\n") else ready + b"\n"


@lru_cache(maxsize=4096)  # they are the same at each scrape
def metric_header(name: str, help_text: str, kind: str = "gauge") -> str:
    """The two lines that stand before the samples of a metric: what it means, and of which kind it is."""
    text = _OTHER_LINE_ENDS.sub("\n", help_text).replace("\\", r"\\").replace("\n", r"\n")
    return f"# HELP {name} {text}\n# TYPE {name} {kind}\n"


def metric_sample(name: str, labels: Mapping[str, str], value: float) -> str:
    """One line: a value with its labels; a float is written as one (`3.0`), an int as one (`3`)."""
    pairs = ",".join([f'{label}="{_escaped_label(text)}"' for label, text in labels.items()])
    number = int(value) if isinstance(value, int) else float(value)
    # repr is the shortest text that reads back as the same float, also to Prometheus
    return f"{name}{{{pairs}}} {number!r}\n" if pairs else f"{name} {number!r}\n"


def _escaped_label(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


@router.get(
    "/metrics",
    summary="Text exposition of the gauge metrics",
    response_class=Response,
    responses={401: {"description": "No login, or a token that has ended."}},
)
def metrics(registry: Annotated[MetricsRegistry, from_host("metrics")]) -> Response:
    return Response(registry.exposition(), headers={"content-type": CONTENT_TYPE})
