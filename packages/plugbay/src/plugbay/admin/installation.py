"""One run of the installer: its output for all who look, however late, and how it ended."""

import threading
from collections.abc import Callable, Iterator
from functools import partial

from plugbay.flash import FlashMessage
from plugbay.logs import get_logger

MAX_LINES = 5_000  # an installer that says more than this says nothing new

log = get_logger(__name__)

Install = Callable[[Callable[[str], None]], FlashMessage]


class Installation:
    """Runs `install` in a thread of its own and keeps what it says."""

    def __init__(self, install: Install) -> None:
        self._install = install
        self._lines: list[str] = []
        self._news = threading.Condition()
        self.result: FlashMessage | None = None
        """How it ended; None while it runs."""

    def start(self) -> "Installation":
        threading.Thread(target=self._run, name="plugbay-install", daemon=True).start()
        return self

    def output(self) -> Iterator[str]:
        """The lines from the first on, each as soon as it is there, until the end."""
        seen = 0
        while True:
            with self._news:
                self._news.wait_for(partial(self._is_beyond, seen))
                fresh, is_over = self._lines[seen:], self.result is not None
            yield from fresh
            seen += len(fresh)
            if is_over:
                return

    def _is_beyond(self, seen: int) -> bool:
        return len(self._lines) > seen or self.result is not None

    def _run(self) -> None:
        try:
            result = self._install(self._add_line)
        except Exception as error:
            log.exception("install_failed")
            result = FlashMessage(f"The installer could not be run: {error}", "error")
        with self._news:
            self.result = result
            self._news.notify_all()

    def _add_line(self, line: str) -> None:
        with self._news:
            if len(self._lines) < MAX_LINES:
                self._lines.append(line)
                self._news.notify_all()


class Installations:
    """The latest installation of each plugin; a plugin has one at a time."""

    def __init__(self) -> None:
        self._latest: dict[str, Installation] = {}
        self._lock = threading.Lock()

    def start(self, plugin_name: str, install: Install) -> None:
        """Starts one, unless one is under way."""
        with self._lock:
            latest = self._latest.get(plugin_name)
            if latest is None or latest.result is not None:
                self._latest[plugin_name] = Installation(install).start()

    def latest(self, plugin_name: str) -> Installation | None:
        return self._latest.get(plugin_name)
