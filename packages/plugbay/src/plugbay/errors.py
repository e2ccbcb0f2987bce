"""Failures with names. The docstring of each is its message; the braces are filled with what happened."""

import inspect
from typing import Any


class PlugbayError(Exception):
    """Something went wrong in Plugbay."""

    def __init__(self, **facts: Any) -> None:
        self.facts = facts
        super().__init__(inspect.cleandoc(type(self).__doc__ or "").format(**facts))


class OperatorError(PlugbayError):
    """The operator must change something before Plugbay can start."""


class InvalidConfig(OperatorError):
    """The setting {variable} has the value {value!r}, which is not valid: {rule}."""


class UnknownPlugin(PlugbayError):
    """There is no plugin named {name!r}."""


class PluginRefused(PlugbayError):
    """{reason}"""


class ReservedEvent(PlugbayError):
    """The event {name!r} belongs to the host: only the host emits events that begin with 'plugbay.'."""
