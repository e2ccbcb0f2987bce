"""The first look: how long the text is, and whether it holds characters that only serve to deceive."""

import re
import unicodedata

from .verdict import Rejection

# Databases disagree on whether these end a line, a word or the text, and some hide what a reader sees.
_DECEIVING = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)"
)


def reject_characters(sql: str, max_length: int) -> Rejection | None:
    """Refuses text that is too long, blank, or holds control, direction or surrogate characters."""
    if len(sql) > max_length:
        reason = f"The query has {len(sql):,} characters; at most {max_length:,} are allowed."
        return Rejection("length", reason, f"{len(sql)} characters")
    if not sql.strip():
        return Rejection("empty", "The query is empty.")
    if match := _DECEIVING.search(sql):
        return _deceiving(match[0], sql.count("\n", 0, match.start()) + 1)
    return None


def _deceiving(character: str, line: int) -> Rejection:
    code = f"U+{ord(character):04X}"
    name = unicodedata.name(
        character, "a control character" if character != "\r" else "a lone carriage return"
    )
    reason = f"Line {line} holds the invisible character {code} ({name}); remove it."
    return Rejection("characters", reason, code)
