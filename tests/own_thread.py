"""Where an event loop can be started, whatever ran before in this process."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def in_own_thread(call: Callable[..., Any], *args: Any) -> Any:
    """The answer of a call made in a fresh thread: browser tests leave a loop running in the main one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call, *args).result()
