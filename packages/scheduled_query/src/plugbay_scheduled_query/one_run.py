"""One run in a process of its own, beside whatever servers there are: `plugbay queries run`."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from plugbay import Plugbay

from plugbay_scheduled_query.assembly import assemble
from plugbay_scheduled_query.core.model import Execution
from plugbay_scheduled_query.runs.service import Service
from plugbay_scheduled_query.settings import Settings

NO_END_S = 7 * 86_400.0  # the time limit of a query ends its run long before
GRACE_S = 5.0  # for a run that was interrupted at the keyboard to be recorded


def run_once(host: Plugbay, settings: Settings, query_id: int, by: str) -> Execution | None:
    """Runs a query at once, or joins its run, and waits for the end; None: it is not known how it ended."""
    engine = OneJobAtATime()
    assembly = assemble(host, engine, lambda: settings)
    service = engine.service = assembly.parts.service
    service.run_by_hand_only()
    try:
        ran = asyncio.run(service.run_now(query_id, by, NO_END_S))
        assembly.notifications.send_waiting()
        return ran.execution if ran else None
    except KeyboardInterrupt:
        if engine.is_at_work:  # else it is another process's run, which somebody there may wait for
            service.cancel(query_id, by)
        raise
    finally:
        engine.wait(GRACE_S)
        service.close()
        assembly.parts.executor.close()


@dataclass(frozen=True, slots=True)
class Job:
    """What the service is called with; nobody cancels it but the service itself."""

    payload: Mapping[str, Any]
    cancel_reason: str = ""

    @contextmanager
    def on_cancel(self, hook: Callable[[], object]) -> Iterator[None]:
        yield


class OneJobAtATime:
    """As much of an engine as one run needs: a thread for it, and no clock."""

    workers = 1
    works = False  # what is due is left to the servers
    is_shared = False
    service: Service

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []

    def submit_many(
        self, owner: str, name: str, payloads: Sequence[Mapping[str, Any]], *, priority: int = 0
    ) -> list[str]:
        for payload in payloads:
            thread = threading.Thread(target=self.service.execute, args=[Job(payload)], daemon=True)
            self._threads.append(thread)
            thread.start()
        return ["" for _ in payloads]

    def submit(self, owner: str, name: str, **options: Any) -> str:
        """Messages are sent at the end of the run, alerts by the servers."""
        return ""

    def at(self, **options: Any) -> None:
        """Nothing is to happen later."""

    @property
    def is_at_work(self) -> bool:
        return bool(self._threads)

    def wait(self, grace_s: float) -> None:
        for thread in self._threads:
            thread.join(grace_s)
