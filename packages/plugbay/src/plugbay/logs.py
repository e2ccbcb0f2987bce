"""One line per event: a word, then `key=value` pairs, safe to read in a terminal and to grep."""

import logging
import re
from typing import Any

_PLAIN = re.compile(r"[^\s\"=\\]+")


class EventLogger:
    """A thin face on the standard library's logger, so that the application decides where lines go."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger

    def debug(self, event: str, /, **fields: Any) -> None:
        self._log(logging.DEBUG, event, fields)

    def info(self, event: str, /, **fields: Any) -> None:
        self._log(logging.INFO, event, fields)

    def warning(self, event: str, /, **fields: Any) -> None:
        self._log(logging.WARNING, event, fields)

    def error(self, event: str, /, **fields: Any) -> None:
        self._log(logging.ERROR, event, fields)

    def exception(self, event: str, /, **fields: Any) -> None:
        """An error with the traceback of the exception in hand."""
        self._log(logging.ERROR, event, fields, exc_info=True)

    def _log(self, level: int, event: str, fields: dict[str, Any], exc_info: bool = False) -> None:
        if self._logger.isEnabledFor(level):
            self._logger.log(level, "%s", format_event(event, fields), exc_info=exc_info)


def get_logger(name: str) -> EventLogger:
    """The event logger of a module: `log = get_logger(__name__)`."""
    return EventLogger(logging.getLogger(name))


def format_event(event: str, fields: dict[str, Any]) -> str:
    """The line of one event; a value that could break the line is quoted and escaped."""
    return " ".join([event, *(f"{key}={_format_value(value)}" for key, value in fields.items())])


def _format_value(value: Any) -> str:
    text = str(value)
    if _PLAIN.fullmatch(text) and text.isprintable():
        return text
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    # a newline, an escape sequence or a direction mark could forge a second line or hide a part of this one
    return character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
