"""What Try it brought, kept for a while: the form shows the samples of metrics that are being typed."""

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass

MOST_RESULTS = 32  # of all people; the oldest goes
MOST_CHARACTERS = 1_000_000  # of one result: larger ones are sampled once, when they are tried


@dataclass(frozen=True, slots=True)
class Tried:
    """A result of an SQL text that may not be stored."""

    sql: str
    columns: tuple[str, ...]
    result_json: str
    binary: frozenset[int] = frozenset()


class TriedResults:
    """The latest results of Try it in this process, by a name that nobody can guess."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Tried] = OrderedDict()

    def keep(self, tried: Tried) -> str:
        """Its name, or an empty one if it is too large to be kept."""
        if len(tried.result_json) > MOST_CHARACTERS:
            return ""
        name = secrets.token_urlsafe()
        with self._lock:
            self._kept[name] = tried
            while len(self._kept) > MOST_RESULTS:
                self._kept.popitem(last=False)
        return name

    def get(self, name: str) -> Tried | None:
        with self._lock:
            return self._kept.get(name)
