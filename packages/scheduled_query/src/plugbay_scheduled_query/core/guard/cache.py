"""Remembers verdicts: the same text under the same rules is judged once."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from .verdict import Rules, Verdict


class VerdictCache:
    """At most so many verdicts, the least used forgotten first; of the texts it keeps only digests."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._verdicts: OrderedDict[tuple[bytes, str, Rules], Verdict] = OrderedDict()
        self._lock = Lock()

    def get(self, sql: str, dialect: str, rules: Rules, judge: Callable[[], Verdict]) -> Verdict:
        """The verdict from memory, or a new one."""
        key = (hashlib.sha256(sql.encode("utf-8", "surrogatepass")).digest(), dialect, rules)
        with self._lock:
            if (known := self._verdicts.get(key)) is not None:
                self._verdicts.move_to_end(key)
                return known
        verdict = judge()
        with self._lock:
            self._verdicts[key] = verdict
            while len(self._verdicts) > self._capacity:
                self._verdicts.popitem(last=False)
        return verdict

    def __len__(self) -> int:
        return len(self._verdicts)
