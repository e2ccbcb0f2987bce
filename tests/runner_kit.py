"""What tests of sources and runners share: targets from URLs, and waiting for things outside the process."""

import itertools
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from plugbay_scheduled_query.catalogue.targets import resolve
from plugbay_scheduled_query.core.model import Outcome
from plugbay_scheduled_query.core.source import OwnStore, Source, Target
from plugbay_scheduled_query.executor import Executor, Statement
from plugbay_scheduled_query.runner.protocol import Caps

PATIENCE_S = 60.0  # far more than anything needs, on a machine that does much else
LOOK_AGAIN_S = 0.02
NOWHERE = OwnStore(Path("/nonexistent/data"), Path("/nonexistent/data/plugbay.db"))

_numbers = itertools.count()


def target(url: str, own: OwnStore = NOWHERE, **fields: Any) -> Target:
    return resolve(Source("test", url, **fields), own, environment={})


def eventually(is_true: Callable[[], Any], what: str = "it never came true") -> Any:
    """What `is_true` returns once it is true: for things that other processes do in their own time."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := is_true()):
        assert time.monotonic() < deadline, what
        threading.Event().wait(LOOK_AGAIN_S)
    return found


class Asker:
    """Runs statements on one executor and reads what comes back."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor

    def ask(
        self, where: Target | str, sql: str, timeout_s: float = 30, caps: Caps | None = None, **fields: Any
    ) -> Outcome:
        place = target(where) if isinstance(where, str) else where
        run_id = fields.pop("run_id", f"run-{next(_numbers)}")
        return self.executor.run(Statement(run_id, place, sql, timeout_s, caps or Caps(), **fields))

    def rows(self, where: Target | str, sql: str, **fields: Any) -> Any:
        outcome = self.ask(where, sql, **fields)
        assert outcome.status == "success", outcome
        assert outcome.result_json is not None
        found = json.loads(outcome.result_json, parse_constant=_refuse)
        assert len(found) == outcome.row_count
        return found

    def value(self, where: Target | str, sql: str, **fields: Any) -> Any:
        """The only cell of the only row."""
        [[value]] = self.rows(where, sql, **fields)
        return value

    def text(self, where: Target | str, sql: str) -> str:
        """The only cell of the only row, as JSON text."""
        outcome = self.ask(where, sql)
        assert outcome.result_json is not None, outcome
        json.loads(outcome.result_json, parse_constant=_refuse)
        return outcome.result_json.removeprefix("[[").removesuffix("]]")

    def start(self, where: Target | str, sql: str, **fields: Any) -> "Started":
        return Started(lambda: self.ask(where, sql, **fields))


class Started:
    """A run on a thread of its own."""

    def __init__(self, call: Callable[[], Outcome]) -> None:
        self._call = call
        self._outcome: Outcome | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._outcome = self._call()

    def outcome(self) -> Outcome:
        self._thread.join(PATIENCE_S)
        assert self._outcome is not None, "the run did not end"
        return self._outcome


def _refuse(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


def is_gone(pid: int) -> bool:
    """Whether a process has ended, even if nobody has taken note of it yet; its threads end one by one."""
    try:
        process = psutil.Process(pid)
        return bool(process.status() == psutil.STATUS_ZOMBIE and process.num_threads() <= 1)
    except psutil.NoSuchProcess:
        return True
