"""A statement by its words: exactly one, that begins as a query and neither writes nor locks.

Some that are no queries only look, too: EXPLAIN, SHOW, DESCRIBE, PRAGMA. Each dialect recognises its own,
with the small grammars at the end.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from plugbay_scheduled_query.core.guard import Rejection, StatementKind
from plugbay_scheduled_query.core.guard.lexis import Token, TokenKind, words, words_at

# What begins a statement that changes something; a column may bear such a name, a statement's first word not.
_WRITING = words("""
    INSERT UPDATE DELETE MERGE REPLACE UPSERT TRUNCATE CREATE ALTER DROP RENAME COPY CALL EXECUTE DO LOAD
    IMPORT EXPORT GRANT REVOKE ATTACH DETACH VACUUM SET HANDLER LOCK
""")

_QUERY_WORDS = frozenset({"SELECT", "WITH", "VALUES", "TABLE"})
_LOCKS = (
    ("FOR", "UPDATE"),
    ("FOR", "SHARE"),
    ("FOR", "NO", "KEY"),
    ("FOR", "KEY", "SHARE"),
    ("LOCK", "IN", "SHARE"),
)
_OPTION_VALUES = words("ON OFF TRUE FALSE NONE TEXT BINARY JSON XML YAML HTML GRAPHVIZ MERMAID")


def single_statement(tokens: list[Token]) -> list[Token] | Rejection:
    """The tokens without a semicolon at the end; whatever stands behind it is refused."""
    end = next((index for index, token in enumerate(tokens) if token.is_mark(";")), len(tokens))
    if rest := tokens[end + 1 :]:
        reason = f"The text holds more than one statement: “{rest[0].value}” stands behind a semicolon."
        return Rejection("statements", reason, rest[0].value)
    return tokens[:end] or Rejection("empty", "The query holds nothing but comments.")


def reject_words(tokens: list[Token], more_query_words: frozenset[str]) -> Rejection | None:
    """Refuses a statement by its words: what it begins with, where it writes to, what it locks."""
    return (
        _reject_beginning(tokens[0], more_query_words)
        or _reject_writing(tokens)
        or _reject_into(tokens, "UNPIVOT" in more_query_words)
        or _reject_lock(tokens)
        or _reject_sequence(tokens)
        or _reject_procedure(tokens)
    )


def _reject_beginning(first: Token, more_query_words: frozenset[str]) -> Rejection | None:
    if first.is_mark("(") or first.word in _QUERY_WORDS or first.word in more_query_words:
        return None
    if first.word in _WRITING:
        return _writes(first)
    reason = f"The text begins with “{first.value}”; only queries that read are run, such as SELECT."
    return Rejection("not_a_query", reason, first.value)


def _reject_writing(tokens: list[Token]) -> Rejection | None:
    """A writing statement inside another one stands behind a bracket, or behind the list of WITH."""
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if token.word in _WRITING and before.is_mark("(", ")") and after.is_name:
            return _writes(token)
    return None


def _writes(token: Token) -> Rejection:
    reason = f"{token.word} changes something; only queries that read are run."
    return Rejection("write", reason, token.value)


def _reject_into(tokens: list[Token], has_unpivot: bool) -> Rejection | None:
    for index, token in enumerate(tokens):
        # UNPIVOT … INTO NAME a VALUE b
        names_columns = has_unpivot and words_at(tokens, index, "INTO", "NAME")
        if token.word in ("INTO", "OUTFILE", "DUMPFILE") and not names_columns:
            reason = f"{token.word} writes the result somewhere; a query only returns it."
            return Rejection("into", reason, token.value)
    return None


def _reject_lock(tokens: list[Token]) -> Rejection | None:
    for index, token in enumerate(tokens):
        if token.word in ("FOR", "LOCK"):
            for words in _LOCKS:
                if words_at(tokens, index, *words):
                    return Rejection("lock", f"{' '.join(words)} locks rows; leave it out.", " ".join(words))
    return None


def _reject_sequence(tokens: list[Token]) -> Rejection | None:
    for index, token in enumerate(tokens):
        is_oracle_style = index > 0 and tokens[index - 1].is_mark(".") and token.value.lower() == "nextval"
        if is_oracle_style or words_at(tokens, index, "NEXT", "VALUE", "FOR"):
            return Rejection(
                "write", "The next value of a sequence moves it; a query only reads.", token.value
            )
    return None


def _reject_procedure(tokens: list[Token]) -> Rejection | None:
    for token in tokens:
        if token.word == "PROCEDURE":
            return Rejection(
                "not_a_query", "PROCEDURE hands the rows to a procedure; leave it out.", token.value
            )
    return None


@dataclass(frozen=True)
class Form:
    """What was recognised, and the query inside it that must still pass, if there is one."""

    kind: StatementKind
    query: list[Token] | None = None


Recognise: TypeAlias = Callable[[list[Token]], Form | Rejection | None]


def no_forms(tokens: list[Token]) -> Form | Rejection | None:
    """For databases whose other statements are not known."""
    return None


def explain(tokens: list[Token], words: frozenset[str], options: frozenset[str]) -> Form | Rejection:
    """`EXPLAIN [words] query` or `EXPLAIN (options) query`: the query behind it must pass like any other."""
    rest = tokens[1:]
    if rest and rest[0].is_mark("(") and len(rest) > 1 and rest[1].word in options:
        end = next((index for index, token in enumerate(rest) if token.is_mark(")")), len(rest))
        if strange := [token for token in rest[1:end] if not _is_option(token, options)]:
            return Rejection(
                "not_a_query", f"EXPLAIN has no option “{strange[0].value}” here.", strange[0].value
            )
        rest = rest[end + 1 :]
    while rest and rest[0].word in words:
        rest = rest[1:]
    if not rest:
        return Rejection("not_a_query", "EXPLAIN needs a query behind it.", "EXPLAIN")
    return Form("explain", rest)


def _is_option(token: Token, options: frozenset[str]) -> bool:
    return (
        token.word in options
        or token.word in _OPTION_VALUES
        or token.is_mark(",")
        or token.value in ("0", "1")
    )


def is_dotted_name(tokens: list[Token]) -> bool:
    """`a`, `a.b` or `a.b.c` and nothing else."""
    names, dots = tokens[::2], tokens[1::2]
    return (
        0 < len(names) <= 3
        and len(names) == len(dots) + 1
        and all(token.is_name for token in names)
        and all(token.is_mark(".") for token in dots)
    )


def is_plain_argument(token: Token) -> bool:
    """A name, a number or a text that could be a name: nothing that an argument could hide a statement in."""
    if token.kind is TokenKind.STRING:
        return all(character.isalnum() or character in "_ $.-" for character in token.value)
    return token.is_name or token.kind is TokenKind.NUMBER


def refused(tokens: list[Token]) -> Rejection:
    """The sentence for a statement that looks but is on no list."""
    shown = " ".join(token.value for token in tokens[:4])
    reason = f"“{shown}” is not among the statements known only to look; ask with SELECT instead."
    return Rejection("not_a_query", reason, tokens[0].value)
