"""The runner's second thread: it sees a cancel come and the parent go, whatever the first thread does."""

import contextlib
import os
import signal
import socket
import struct
import threading
import time

from plugbay_scheduled_query.dialects.session import Session
from plugbay_scheduled_query.runner.protocol import FrameReader, Kind, pack

ASK_AGAIN_S = 0.4  # a cancel that arrives before its statement reaches the server has no effect
LAST_WORDS_S = 0.8  # to tell the server that nobody waits for the answer any more

_NUMBER = struct.Struct("<I")


def cancel_frame(number: int) -> bytes:
    """The frame that stops the request of this number, and no other."""
    return pack(Kind.CANCEL, _NUMBER.pack(number))


class Watch:
    """Listens on the control socket for as long as the runner lives."""

    def __init__(self, control: socket.socket) -> None:
        self._reader = FrameReader(control)
        self._lock = threading.Lock()
        self._number = 0  # of the request at hand; 0 between two
        self._cancelled = -1
        self._session: Session | None = None

    def start(self) -> None:
        threading.Thread(target=self._listen, name="watch", daemon=True).start()

    def enter(self, number: int) -> None:
        """The first thread begins with a request."""
        self._number = number

    def attend(self, session: Session) -> None:
        """This session may be cancelled from now on."""
        self._session = session

    def leave(self) -> None:
        """The request is done: wait for a cancel that is under way, and let none come after it."""
        with self._lock:
            self._session = None
            self._number = 0

    @property
    def is_cancelled(self) -> bool:
        """Whether someone asked to stop the request at hand."""
        return self._cancelled == self._number

    def _listen(self) -> None:
        while True:
            try:
                frame = self._reader.read(time.monotonic() + ASK_AGAIN_S if self.is_cancelled else None)
            except TimeoutError:
                self._stop_session()
                continue
            if frame is None:
                self._end()
            elif frame[0] == Kind.CANCEL:
                self._cancelled = _NUMBER.unpack(frame[1])[0]
                self._stop_session()

    def _stop_session(self) -> None:
        with self._lock, contextlib.suppress(Exception):
            if self.is_cancelled and self._session is not None:
                self._session.cancel()

    def _end(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, LAST_WORDS_S)  # ends the process, even if the next lines hang
        self._lock.acquire()  # for good: what is stopped now must not look like an answer
        with contextlib.suppress(Exception):
            if self._session is not None:
                self._session.cancel()
        os._exit(0)
