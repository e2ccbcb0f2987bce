"""The time limit T of a query: how it is chosen, and the three steps by which it is kept.

1. At T the database stops the statement itself: every session is told T when it begins. Where the database
   has no limit of its own, the runner's meter stops the statement.
2. At T + 1 s the parent has the runner cancel it from outside.
3. At T + 2 s the parent ends the runner.

Whichever it was, the outcome is `timeout`. Connecting has a limit of its own and does not count towards T.
"""

import time

CANCEL_AFTER_S = 1.0  # past the limit that the database keeps itself
END_AFTER_S = 1.0  # past the cancel from outside
CANCEL_PATIENCE_S = 1.0 + END_AFTER_S  # from somebody's click to the end of the runner
CONNECT_LIMIT_S = 10.0
LOOK_LIMIT_S = 10.0  # for a self-test or a list of tables


def chosen_limit_s(asked_for: int | None, usual: int, longest: int) -> int:
    """The time limit of a query: what it asks for, else the usual one, but never more than the longest."""
    return min(asked_for or usual, longest)


class TimeLimit:
    """The deadlines of one request, as it connects, runs and is stopped."""

    def __init__(self, limit_s: float, connect_s: float) -> None:
        self._limit_s = limit_s
        self.connect_s = connect_s
        self.is_connecting = False
        self.is_over = False
        self.deadline = 0.0
        """When to take the next step, by the monotonic clock."""

    def connect(self) -> None:
        """The runner opens a session."""
        self.is_connecting = True
        self.deadline = time.monotonic() + self.connect_s + CANCEL_AFTER_S + END_AFTER_S

    def run(self) -> None:
        """The statement begins: from now on the database has T, and the parent one second more."""
        self.is_connecting = False
        self.deadline = time.monotonic() + self._limit_s + CANCEL_AFTER_S

    def cancel(self) -> None:
        """The database did not stop by itself: the second step is taken, and the third is due."""
        self.is_over = True
        self.deadline += END_AFTER_S
