"""Messages through Apprise, and silence about where they go: each part of a URL may open a channel."""

import logging
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from urllib.parse import unquote_plus

from plugbay import get_logger

SENDERS = ("apprise", "urllib3", "requests")  # the libraries that have a URL in their hands
SHORTEST_PART = 3  # characters of a URL that could be a secret; shorter ones are in every sentence
NOT_TAKEN = "the channel did not take it"
LONGEST_REASON = 300  # characters of what a library says went wrong
MASK = "***"

_MARKS = re.compile(r"[^\w.~+-]+")
_OWN = "plugbay.scheduled_query"

log = get_logger(_OWN)


def is_known_url(url: str) -> bool:
    """Whether Apprise can send to a URL of this form; nothing is sent."""
    import apprise

    with unspoken([url]):
        return apprise.Apprise.instantiate(url, suppress_exceptions=True) is not None


def send(urls: Sequence[str], title: str, body: str, kind: str = "info") -> str | None:
    """Sends a message to all of these; returns why it was not taken, without a secret in it."""
    import apprise

    # one alone goes in this thread: Apprise's own are few, and dead channels would keep them from the others
    is_alone = len(urls) == 1
    asset = apprise.AppriseAsset(async_mode=not is_alone, service_timeout=0 if is_alone else None)
    channel = apprise.Apprise(asset=asset)
    with unspoken(urls):
        for url in urls:
            if not channel.add(url):
                log.warning("notification_url_refused", kind=url.partition(":")[0])
    with unspoken(urls) as said:  # once more: reading a URL imports what sends to it, with loggers of its own
        is_taken = channel.notify(title=title, body=body, notify_type=kind)
    return None if is_taken else next(iter(said), NOT_TAKEN)


@contextmanager
def unspoken(urls: Sequence[str]) -> Iterator[list[str]]:
    """While a message is sent, no line of a library has a part of a URL in it.

    What the libraries had to warn of meanwhile is collected, with those parts masked.
    """
    silence = _Silence({part for url in urls for part in _telling_parts(url)})
    for logger in _loggers_of_others():  # of every thread: Apprise sends in threads of its own
        if _keeper not in logger.filters:
            logger.addFilter(_keeper)
    with _keeper.holding(silence):
        yield silence.said


class _Silence:
    """The parts of URLs that must not be spoken now, and what was said instead."""

    def __init__(self, parts: set[str]) -> None:
        self._parts = sorted(parts, key=len, reverse=True)
        self.said: list[str] = []

    def is_broken_by(self, said: str) -> bool:
        return any(part in said for part in self._parts)

    def listen(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING and _is_sender(record):
            words = unquote_plus(record.getMessage())
            for part in self._parts:
                words = words.replace(part, MASK)
            self.said.append(words[:LONGEST_REASON])


class _Keeper:
    """A filter that stays in place: one that came and went could be passed by just then."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._silences: tuple[_Silence, ...] = ()

    @contextmanager
    def holding(self, silence: _Silence) -> Iterator[None]:
        with self._lock:
            self._silences = (*self._silences, silence)
        token = _heard_by.set(silence)
        try:
            yield
        finally:
            _heard_by.reset(token)
            with self._lock:
                self._silences = tuple(other for other in self._silences if other is not silence)

    def filter(self, record: logging.LogRecord) -> bool:
        silences = self._silences
        if not silences:
            return True
        if silence := _heard_by.get():
            silence.listen(record)
        if record.levelno < logging.WARNING and _is_sender(record):
            return False  # a URL can be told in more ways than we know, in the header of a login for example
        said = unquote_plus(logging.Formatter().format(record))
        return not any(silence.is_broken_by(said) for silence in silences)


_heard_by: ContextVar[_Silence | None] = ContextVar("heard_by", default=None)  # Apprise's threads have it too
_keeper = _Keeper()


def _is_sender(record: logging.LogRecord) -> bool:
    return record.name.partition(".")[0] in SENDERS


def _telling_parts(url: str) -> list[str]:
    """All of a URL but its scheme, cut at each mark: the place of the host may hold a token too."""
    parts = _MARKS.split(unquote_plus(url.partition(":")[2]))
    return [part for part in parts if len(part) >= SHORTEST_PART]


def _loggers_of_others() -> list[logging.Logger]:
    known = [logging.getLogger(), *logging.Logger.manager.loggerDict.values()]
    return [each for each in known if isinstance(each, logging.Logger) and each.name != _OWN]
