"""The requests that are inside a plugin's routes: it goes only after the last of them has left."""

import threading

from fastapi import HTTPException
from starlette.requests import HTTPConnection, Request

from plugbay.auth.marks import LEAVE, state_of


class Visits:
    """A dependency of every route of a loaded plugin. WebSockets are not counted: they may stay for days."""

    def __init__(self) -> None:
        self._inside = 0
        self._is_closed = False
        self._changed = threading.Condition()

    async def __call__(self, request: HTTPConnection) -> None:
        if isinstance(request, Request):
            self._enter()
            state_of(request.scope)[LEAVE] = self._leave

    def close(self, patience_s: float) -> bool:
        """Lets nobody in any more and waits for those inside; False if some are still there."""
        with self._changed:
            self._is_closed = True
            return self._changed.wait_for(lambda: not self._inside, patience_s)

    def _enter(self) -> None:
        with self._changed:
            if self._is_closed:  # while the request was on its way, the plugin went
                raise HTTPException(404)
            self._inside += 1

    def _leave(self) -> None:
        with self._changed:
            self._inside -= 1
            self._changed.notify_all()
