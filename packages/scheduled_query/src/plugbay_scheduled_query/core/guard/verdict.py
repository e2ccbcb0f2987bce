"""What the guard is told and what it answers: rules in, a verdict with its reason out."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

DEFAULT_KEYWORDS = ("drop", "delete", "truncate", "alter")
MAX_LENGTH = 100_000  # characters
MAX_WORDS = 40_000  # words, numbers and marks; the parser takes some two seconds for so many

Rule = Literal[
    "length", "characters", "keyword", "empty", "ambiguous", "comment", "variable", "statements",
    "not_a_query", "write", "into", "lock", "function", "table", "parse", "depth", "node", "endless",
]  # fmt: skip
Kind = Literal["query", "explain", "show"]


@dataclass(frozen=True, slots=True)
class Allowed:
    """The text may be sent to the source: a query, the plan of one, or a look at schema and settings."""

    kind: Kind = "query"


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why the text is not sent: the rule, a sentence for its author, and the words that broke the rule."""

    rule: Rule
    reason: str
    found: str = ""


Verdict: TypeAlias = Allowed | Rejection


@dataclass(frozen=True, slots=True)
class Rules:
    """What an operator can set: the forbidden words, the length, and functions the guard does not know."""

    forbidden_keywords: tuple[str, ...] = DEFAULT_KEYWORDS
    max_length: int = MAX_LENGTH
    allowed_functions: frozenset[str] = frozenset()

    @classmethod
    def from_settings(
        cls, forbidden_keywords: str, allowed_functions: str = "", max_length: int = MAX_LENGTH
    ) -> "Rules":
        """Rules from comma-separated settings; entries are trimmed, empty ones ignored."""
        keywords = _entries(forbidden_keywords)
        return cls(
            tuple(keywords), max_length, frozenset(name.lower() for name in _entries(allowed_functions))
        )


def _entries(text: str) -> Iterable[str]:
    return [entry for part in text.split(",") if (entry := part.strip())]


def reject_keywords(sql: str, keywords: tuple[str, ...]) -> Rejection | None:
    """Refuses text that holds one of the keywords as a whole word, in any case."""
    pattern = _pattern(keywords)
    if pattern is None or not (match := pattern.search(sql)):
        return None
    line = sql.count("\n", 0, match.start()) + 1
    reason = (
        f"The word “{match[0]}” in line {line} is forbidden here, also in comments and texts. "
        "A longer name that holds it, such as a column, is fine."
    )
    return Rejection("keyword", reason, match[0])


@lru_cache(maxsize=64)
def _pattern(keywords: tuple[str, ...]) -> re.Pattern[str] | None:
    entries = [entry for keyword in keywords if (entry := keyword.strip())]
    return re.compile("|".join(map(_whole_word, entries)), re.IGNORECASE) if entries else None


def _whole_word(keyword: str) -> str:
    """A word ends where a letter, digit or underscore of any script ends; `$` ends one too."""
    before = r"(?<!\w)" if re.match(r"\w", keyword[0]) else ""
    after = r"(?!\w)" if re.match(r"\w", keyword[-1]) else ""
    return before + r"\s+".join(map(re.escape, keyword.split())) + after


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
