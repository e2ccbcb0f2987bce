"""One request to one runner, from question to answer, with the three steps of the time limit."""

import json
import time
from dataclasses import dataclass, field
from typing import Any

from plugbay_scheduled_query.executor.child import Child, RunnerGoneError
from plugbay_scheduled_query.runner.protocol import Kind

CANCEL_AFTER_S = 1.0  # past the limit that the database keeps itself
KILL_AFTER_S = 1.0  # past the cancel from outside
RESULT_SLACK_BYTES = 1_000_000  # a runner that sends more than its cap is not in its right mind


@dataclass
class Reply:
    """What came back: a status, the text of the rows, and what the runner says about them."""

    status: str
    error: str | None = None
    end: dict[str, Any] = field(default_factory=dict)
    rows: bytearray = field(default_factory=bytearray)
    is_runner_sound: bool = True


class Conversation:
    """Asks, and listens until the answer, the time limit or the end of the runner."""

    def __init__(self, child: Child, timeout_s: float, connect_s: float, result_bytes: int) -> None:
        self._child = child
        self._timeout_s = timeout_s
        self._connect_s = connect_s
        self._most_bytes = result_bytes + RESULT_SLACK_BYTES
        self._rows = bytearray()
        self._is_connecting = False
        self._is_late = False
        self._deadline = 0.0

    def hold(self, request: bytes) -> Reply:
        """The reply to a request; RunnerGoneError only when the runner never got it."""
        self._child.send(request)
        self._expect_result()
        try:
            return self._listen()
        except RunnerGoneError as error:
            status = "timeout" if self._is_late else "failed"
            return Reply(status, str(error), is_runner_sound=False)

    def _listen(self) -> Reply:
        while True:
            try:
                kind, payload = self._child.read(self._deadline)
            except TimeoutError:
                if reply := self._run_out():
                    return reply
                continue
            if kind == Kind.END:
                return self._finish(json.loads(payload))
            self._note(kind, payload)

    def _note(self, kind: int, payload: bytes) -> None:
        if kind == Kind.ROWS:
            self._rows += payload
            if len(self._rows) > self._most_bytes:
                self._child.kill()
        elif kind == Kind.CONNECTING:
            self._is_connecting = True
            self._child.session = 0
            self._deadline = time.monotonic() + self._connect_s + CANCEL_AFTER_S + KILL_AFTER_S
        elif kind == Kind.STARTED:
            self._child.session = int(payload or 0)
            self._expect_result()

    def _expect_result(self) -> None:
        self._is_connecting = False
        self._deadline = time.monotonic() + self._timeout_s + CANCEL_AFTER_S

    def _run_out(self) -> Reply | None:
        if self._is_connecting:
            self._child.kill()
            return Reply("failed", f"no connection within {self._connect_s:g} s", is_runner_sound=False)
        if self._is_late:
            self._child.kill()
            return Reply("timeout", "it did not stop at its time limit", is_runner_sound=False)
        self._is_late = True
        self._deadline += KILL_AFTER_S
        self._child.cancel(self._child.number)
        return None

    def _finish(self, end: dict[str, Any]) -> Reply:
        status = "timeout" if self._is_late else end["status"]
        return Reply(status, end.get("error"), end, self._rows, not end.get("retire"))
