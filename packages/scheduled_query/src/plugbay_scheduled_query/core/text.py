"""Text from strangers, with its harmful characters named and fit to be quoted; cells and moments as text."""

import json
import re
from datetime import UTC, datetime
from typing import overload

# They break a store, a log line or a page: control characters, halves of characters, and the two separators
# that some readers take for a new line.
_UNWELCOME = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")
_NAMES = {
    "\0": "a NUL character",
    "\n": "a line break",
    "\r": "a line break",
    "\t": "a tab",
    "\u2028": "a line break",
    "\u2029": "a line break",
}


def unwelcome_character(text: str, but_allowed: str = "") -> str | None:
    """The first such character of a text in words, or None when there is none."""
    for found in _UNWELCOME.finditer(text):
        if (character := found[0]) not in but_allowed:
            return f"{_name(character)} at position {found.start() + 1}"
    return None


def is_visible(text: str) -> bool:
    """Whether a reader would see anything of it."""
    return any(character.isprintable() and not character.isspace() for character in text)


def quoted(text: str, length: int = 60) -> str:
    """Something that a stranger sent, fit to stand in a message about it."""
    short = text if len(text) <= length else text[:length] + "…"
    return "“" + "".join(character if character.isprintable() else "\ufffd" for character in short) + "”"


def as_sentence(reason: str) -> str:
    """A reason that can stand alone: with a capital letter and a full stop."""
    return f"{reason[:1].upper()}{reason[1:]}."


def cell_text(cell: object) -> str:
    """A cell of a result as plain text: in a file, and as a label."""
    if isinstance(cell, str):
        return cell
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, list | dict):
        return json.dumps(cell, ensure_ascii=False, default=str)
    return str(cell)


def _name(character: str) -> str:
    if "\ud800" <= character <= "\udfff":
        return "half a character (a lone surrogate)"
    return _NAMES.get(character, f"a control character (U+{ord(character):04X})")


@overload
def format_utc(moment: datetime) -> str: ...
@overload
def format_utc(moment: None) -> None: ...
def format_utc(moment: datetime | None) -> str | None:
    """`YYYY-MM-DD HH:MM:SS` in UTC; what has not happened yet stays None."""
    # isoformat rather than strftime, which writes the year 999 without its zero
    return None if moment is None else as_utc(moment).replace(tzinfo=None).isoformat(" ", "seconds")


def as_utc(moment: datetime) -> datetime:
    """The same moment in UTC; one without a zone comes from the store and is UTC already."""
    if moment.tzinfo is UTC:
        return moment
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
