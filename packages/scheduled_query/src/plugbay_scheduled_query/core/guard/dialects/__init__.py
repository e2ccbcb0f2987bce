"""What the guard must know of a database: how it cuts text, what it calls, names and shows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ..forms import Recognise, no_forms
from ..functions import Functions
from ..lexis import Lexis
from ..tokens import Token
from ..tree import TableRule

Rewrite: TypeAlias = Callable[[list[Token]], list[Token]]


def any_table(parts: tuple[str, ...], is_call: bool) -> str | None:
    """The rule for databases in which every table may be read."""
    return None


def same_tokens(tokens: list[Token]) -> list[Token]:
    """For databases whose queries the parser knows."""
    return tokens


@dataclass(frozen=True)
class Dialect:
    """One database in the guard's eyes; of its readings the first is usual, settings choose others."""

    parser: str  # sqlglot's name for it
    readings: tuple[Lexis, ...]
    functions: Functions
    recognise: Recognise = no_forms
    table_rule: TableRule = any_table
    query_words: frozenset[str] = frozenset()  # that begin a query here, beside SELECT and its like
    quote: str = '"'  # what the parser takes around a name
    doubtful: str = "\\"  # without one of these characters all readings are the same
    calls_by_dot: bool = False  # `(x).f` calls f
    refused_texts: tuple[str, ...] = ()
    rewrite: Rewrite = same_tokens  # what the parser does not know, in words that it knows
