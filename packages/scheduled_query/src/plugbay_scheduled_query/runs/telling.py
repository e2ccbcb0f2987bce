"""What the world is told of an execution: a log line, events, counters for /metrics, and a notification."""

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from plugbay import EventBus, get_logger

from plugbay_scheduled_query.core.model import Execution, Outcome, Run, Status
from plugbay_scheduled_query.messaging import NOT_TAKEN, send
from plugbay_scheduled_query.settings import Settings

MOST_UNTOLD = 10_000  # executions: whoever writes the log may be slower than the runs for a while
MOST_WAITING = 1000  # messages: a channel that is slower than the schedule does not fill the memory

log = get_logger("plugbay.scheduled_query")


Told = tuple[Run, Outcome, Execution]
Ear = Callable[[Run, Outcome, Execution], object]


class Teller:
    """A thread that tells what was recorded, so that nobody's ear holds up a run."""

    def __init__(self, ears: Sequence[Ear]) -> None:
        self._ears = ears
        self._waiting: deque[Told] = deque()
        self._untold = 0
        self._changed = threading.Condition()
        self._is_closing = self._is_busy = False
        self._thread = threading.Thread(target=self._work, name="scheduled-query-teller", daemon=True)
        self._thread.start()

    @property
    def is_idle(self) -> bool:
        """Whether all is told."""
        with self._changed:
            return not (self._waiting or self._is_busy)

    def put(self, told: Iterable[Told]) -> None:
        """These are recorded; beyond so many that wait to be told, they are in the history alone."""
        with self._changed:
            for run, outcome, execution in told:
                if len(self._waiting) >= MOST_UNTOLD:
                    self._untold += 1
                else:  # without rows and samples, which nobody is told and which may be large
                    slim = replace(outcome, result_json=None, preview=None, sampled=())
                    self._waiting.append((run, slim, replace(execution, result=None, feed=None)))
            self._changed.notify()

    def close(self, patience_s: float = 5.0) -> None:
        """Tells what is there and ends."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._thread.join(patience_s)

    def _work(self) -> None:
        while group := self._next_group():
            for told in group:
                self.tell(told)

    def tell(self, told: Told) -> None:
        """At once, in the caller's thread; an ear that fails costs the others nothing."""
        for ear in self._ears:
            try:
                ear(*told)
            except Exception:
                log.exception("after_execution_failed", query=told[0].query_name)

    def _next_group(self) -> list[Told]:
        with self._changed:
            self._is_busy = False
            self._changed.wait_for(lambda: self._waiting or self._is_closing)
            group, self._is_busy = [*self._waiting], bool(self._waiting)
            self._waiting.clear()
            untold, self._untold = self._untold, 0
        if untold:
            log.error("executions_untold", count=untold, reason="telling is slower than the runs")
        return group


class Reports:
    """Speaks of each recorded execution; counts since the start of this process."""

    def __init__(self, events: EventBus) -> None:
        self._events = events
        self._lock = threading.Lock()
        self.executions: Counter[str] = Counter()
        self.seconds = 0.0
        self.lateness_s = 0.0
        self.starts = 0
        self.missed = 0

    def tell(self, run: Run, outcome: Outcome, execution: Execution) -> None:
        """In a log line, and to whoever listens."""
        self._log(run, outcome, execution)
        self._post(run, outcome, execution)

    def count(self, outcome: Outcome, execution: Execution) -> None:
        """At once, when it is recorded: the counters are true before anybody hears of the end."""
        with self._lock:
            self.executions["rejected" if outcome.rejection else execution.status.value] += 1
            self.seconds += execution.duration_ms / 1000
            self.missed += execution.missed
            if execution.due_at:
                self.starts += 1
                self.lateness_s += max(0.0, (execution.executed_at - execution.due_at).total_seconds())

    def _log(self, run: Run, outcome: Outcome, execution: Execution) -> None:
        name, is_success = run.query_name, execution.status is Status.SUCCESS
        facts = {"query": name, "id": run.query_id, "ms": execution.duration_ms, "trigger": run.trigger.value}
        if run.missed:
            log.warning("missed", query=name, id=run.query_id, times=run.missed)
        if found := outcome.rejection:
            log.warning("rejected", query=name, rule=found.rule, keyword=found.found, reason=found.reason)
        elif is_success:
            log.info("executed", **facts, rows=outcome.row_count)
        else:
            log.warning(execution.status.value, **facts, error=execution.error_message)
        if outcome.metric_problem:
            log.warning("metric_not_updated", query=name, reason=outcome.metric_problem)

    def _post(self, run: Run, outcome: Outcome, execution: Execution) -> None:
        """Events for plugins; of what nobody listens to nothing is made."""
        names = ["missed"] * bool(run.missed) + ["rejected"] * bool(outcome.rejection)
        names += ["failed"] * (execution.status is not Status.SUCCESS) + ["executed"]
        for event in [f"scheduled_query.{name}" for name in names]:
            if self._events.is_heard(event):
                self._events.post(event, **_facts(run, outcome, execution, event))


def _facts(run: Run, outcome: Outcome, execution: Execution, event: str) -> dict[str, object]:
    facts: dict[str, object] = {
        "query_id": run.query_id,
        "name": run.query_name,
        "status": execution.status.value,
        "duration_ms": execution.duration_ms,
        "error": execution.error_message,
        "execution_id": execution.id,
        "trigger": run.trigger.value,
    }
    if event == "scheduled_query.missed":
        facts["missed"] = run.missed
    if event == "scheduled_query.rejected" and outcome.rejection:
        facts["rule"] = outcome.rejection.rule
    return facts


class Message(NamedTuple):
    """What people read of an execution; result data is not part of it."""

    title: str
    body: str


class Notifications:
    """Sends one message per execution, one after the other: a slow channel holds one worker, not all."""

    def __init__(self, settings: Callable[[], Settings], call_sender: Callable[[], object]) -> None:
        self._settings = settings
        self._call_sender = call_sender
        self._lock = threading.Lock()
        self._waiting: deque[Message] = deque()
        self._has_sender = False
        self.sent = 0
        self.failed = 0

    def announce(self, run: Run, outcome: Outcome, execution: Execution) -> None:
        """Has a message sent if the settings say so."""
        settings = self._settings()
        if (
            settings.notification_on_run
            and settings.channels()
            and self._put(_message(run, outcome, execution))
        ):
            try:
                self._call_sender()
            except Exception:
                self.sender_left()
                raise

    def send_waiting(self, is_wanted: Callable[[], bool] = lambda: True) -> None:
        """Called by the engine, off the execution path."""
        while is_wanted() and (message := self._next()):
            try:
                self._count(self._send(message), message)
            except Exception as error:
                self._count(False, message, type(error).__name__)
        if not is_wanted():
            self.sender_left()

    def sender_left(self) -> None:
        """Nobody sends any more what still waits: the next message calls somebody anew."""
        with self._lock:
            self._has_sender = False

    def _put(self, message: Message) -> bool:
        """Whether somebody must be called to send it."""
        with self._lock:
            is_full = len(self._waiting) == MOST_WAITING
            if not is_full:
                self._waiting.append(message)
            is_needed, self._has_sender = not self._has_sender, True
        if is_full:
            self._count(False, message, f"{MOST_WAITING} others wait")
        return is_needed

    def _next(self) -> Message | None:
        with self._lock:
            self._has_sender = bool(self._waiting)
            return self._waiting.popleft() if self._waiting else None

    def _send(self, message: Message) -> bool:
        return send(self._settings().channels(), message.title, message.body) is None

    def _count(self, is_sent: bool, message: Message, reason: str = NOT_TAKEN) -> None:
        with self._lock:
            self.sent += is_sent
            self.failed += not is_sent
        if not is_sent:
            log.warning("notification_failed", title=message.title, reason=reason)


def _message(run: Run, outcome: Outcome, execution: Execution) -> Message:
    started = f"{execution.executed_at:%Y-%m-%d %H:%M:%S} UTC"
    lines = [f"Took {execution.duration_ms:,} ms at {started} ({run.trigger.value})."]
    if execution.status is Status.SUCCESS:
        lines.append(f"Rows: {outcome.row_count:,}.")
    if execution.error_message:
        lines.append(f"Error: {execution.error_message}")
    if run.missed:
        lines.append(f"Missed before it: {run.missed:,}.")
    return Message(f"{run.query_name}: {execution.status.value}", "\n".join(lines))
