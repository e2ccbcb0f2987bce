"""One line per event: a word, then `key=value` pairs, safe to read in a terminal and to grep."""

import logging
import os
import re
import sys
from typing import Any

LINE = "%(asctime)s %(levelname)-7s %(name)s %(message)s"
EVENT = {"is_event": True}  # what a record of ours carries
JOURNAL = "JOURNAL_STREAM"  # device:inode of the stream by which systemd reads what a service prints
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
            self._logger.log(level, "%s", format_event(event, fields), exc_info=exc_info, extra=EVENT)


def get_logger(name: str) -> EventLogger:
    """The event logger of a module: `log = get_logger(__name__)`."""
    return EventLogger(logging.getLogger(name))


def goes_to_journal() -> bool:
    """Whether a service manager keeps what this process prints, for all who may read its journal."""
    return os.environ.get(JOURNAL) in {*map(_stream, (1, 2))}


def _stream(descriptor: int) -> str:
    try:
        found = os.fstat(descriptor)
    except OSError:  # closed
        return ""
    return f"{found.st_dev}:{found.st_ino}"


def start_logging(level: str) -> None:
    """Writes lines from this level on to standard error; what libraries say only from `info` on."""
    logging.basicConfig(level=level.upper(), format=LINE, stream=sys.stderr)
    for handler in logging.getLogger().handlers:
        handler.addFilter(_is_for_operators)
    logging.getLogger("alembic").setLevel(logging.WARNING)  # the store reports each migration itself


def _is_for_operators(record: logging.LogRecord) -> bool:
    # a library at `debug` tells what it sends: URLs with their tokens, headers, statements with their values
    return record.levelno >= logging.INFO or hasattr(record, "is_event")


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
