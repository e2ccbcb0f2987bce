"""Rules on the words of a statement, before it is parsed: one statement, and nothing in it that writes."""

from .tokens import Token, words_at
from .verdict import Rejection
from .words import words

# What begins a statement that changes something; a column may bear such a name, a statement's first word not.
_WRITING = words("""
    INSERT UPDATE DELETE MERGE REPLACE UPSERT TRUNCATE CREATE ALTER DROP RENAME COPY CALL EXECUTE DO LOAD
    IMPORT EXPORT GRANT REVOKE ATTACH DETACH VACUUM SET HANDLER LOCK
""")
_QUERY_WORDS = frozenset({"SELECT", "WITH", "VALUES", "TABLE"})


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
        names_columns = has_unpivot and words_at(
            tokens, index, "INTO", "NAME"
        )  # UNPIVOT … INTO NAME a VALUE b
        if token.word in ("INTO", "OUTFILE", "DUMPFILE") and not names_columns:
            reason = f"{token.word} writes the result somewhere; a query only returns it."
            return Rejection("into", reason, token.value)
    return None


_LOCKS = (
    ("FOR", "UPDATE"),
    ("FOR", "SHARE"),
    ("FOR", "NO", "KEY"),
    ("FOR", "KEY", "SHARE"),
    ("LOCK", "IN", "SHARE"),
)


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
