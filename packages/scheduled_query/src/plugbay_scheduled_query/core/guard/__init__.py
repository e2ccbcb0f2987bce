"""The guard before every source: one statement that only reads, by its words and its tree, or a reason.

Here is what it is told and what it answers. `judging` has the steps in order; each of them refuses alone:
`lexis` cuts the text, `statements` looks at its words, `calls` at its functions, `parsing` makes the tree,
`tree` looks at that, `endless` at what would never end. What is peculiar to a database is its `Language`,
in the folder of its dialect.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

DEFAULT_KEYWORDS = ("drop", "delete", "truncate", "alter")
MAX_LENGTH = 100_000  # characters

Rule = Literal[
    "length", "characters", "keyword", "empty", "ambiguous", "comment", "variable", "statements",
    "not_a_query", "write", "into", "lock", "function", "table", "parse", "depth", "node", "endless",
]  # fmt: skip
StatementKind = Literal["query", "explain", "show"]


@dataclass(frozen=True, slots=True)
class Allowed:
    """The text may be sent to the source: a query, the plan of one, or a look at schema and settings."""

    kind: StatementKind = "query"


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why the text is not sent: the rule, a sentence for its author, and the words that broke the rule."""

    rule: Rule
    reason: str
    found: str = ""
    at: int | None = field(default=None, compare=False)  # where in the text, if no words tell


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
