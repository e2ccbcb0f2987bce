"""Characters that do harm in a stored text or a message: they break a store, a log line or a page."""

import re

# control characters, halves of characters, and the two separators that some readers take for a new line
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


def _name(character: str) -> str:
    if "\ud800" <= character <= "\udfff":
        return "half a character (a lone surrogate)"
    return _NAMES.get(character, f"a control character (U+{ord(character):04X})")
