"""Calls of other people's code that may take only so long."""

import threading
from collections.abc import Callable


def ends_within(seconds: float, call: Callable[[], object], name: str) -> bool:
    """Makes the call in a thread of its own; False if it is still at work after that time, and is left to it.

    The call takes care of what it raises.
    """
    # a daemon: what never ends must not keep the process from ending
    thread = threading.Thread(target=call, name=name, daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()
