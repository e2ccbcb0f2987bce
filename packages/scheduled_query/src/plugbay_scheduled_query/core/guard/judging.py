"""May this text be sent to this database? Each step can refuse; only what passes all is allowed."""

from functools import cache

from .cache import VerdictCache
from .calls import reject_calls, unknown, unknown_calls
from .characters import reject_characters
from .dialects import Dialect
from .dialects.duckdb import DUCKDB
from .dialects.mysql import MYSQL
from .dialects.other import other
from .dialects.postgresql import POSTGRESQL
from .dialects.sqlite import SQLITE
from .dots import reject_dots, reject_dotted_columns
from .endless import reject_endless
from .forms import Form
from .keywords import reject_keywords
from .lexis import NotSql, scan
from .plain import PlainText
from .statements import reject_words, single_statement
from .tokens import Token
from .tree import reject_tree
from .verdict import MAX_WORDS, Allowed, Rejection, Rules, Verdict

_DIALECTS = {"sqlite": SQLITE, "postgresql": POSTGRESQL, "mysql": MYSQL, "mariadb": MYSQL, "duckdb": DUCKDB}
_verdicts = VerdictCache(4096)


def check(sql: str, dialect: str, rules: Rules = Rules()) -> Verdict:  # noqa: B008 — it is frozen
    """Whether the text only reads, in the words of this database (SQLAlchemy's name for it); never raises."""
    try:
        return _verdicts.get(sql, dialect, rules, lambda: judge(sql, dialect_named(dialect), rules))
    except Exception:  # a guard that stumbles has not understood the text; it may do better another time
        return Rejection("parse", "The query could not be understood; write it in plainer SQL.")


def judge(sql: str, dialect: Dialect, rules: Rules) -> Verdict:
    """The steps, in order: characters, keywords, then the statement."""
    return (
        reject_characters(sql, rules.max_length)
        or reject_keywords(sql, rules.forbidden_keywords)
        or _reject_texts(sql, dialect)
        or _judge_readings(sql, dialect, rules)
    )


@cache
def dialect_named(name: str) -> Dialect:
    """What the guard knows of a database; of one that it does not know, what the standard says."""
    return _DIALECTS.get(name) or other(name)


def _reject_texts(sql: str, dialect: Dialect) -> Rejection | None:
    for text in dialect.refused_texts:
        if text in sql:
            return Rejection("comment", f"{text} … */ is run as SQL by some versions; leave it out.", text)
    return None


def _judge_readings(sql: str, dialect: Dialect, rules: Rules) -> Verdict:
    """A server's settings can make it read the same text in another way; no way may do harm."""
    usual = scan(sql, dialect.readings[0])
    if isinstance(usual, Rejection):
        return usual
    if len(usual) > MAX_WORDS:
        return _too_many_words(len(usual))
    is_doubtful = any(character in sql for character in dialect.doubtful)
    for reading in dialect.readings[1:] if is_doubtful else ():
        if rejection := _reject_reading(scan(sql, reading), usual, dialect, rules):
            return rejection
    return _judge_statement(usual, dialect, rules)


def _reject_reading(
    tokens: list[Token] | Rejection, usual: list[Token], dialect: Dialect, rules: Rules
) -> Rejection | None:
    if isinstance(tokens, NotSql) or tokens == usual:
        return None
    if isinstance(tokens, Rejection):
        return tokens
    return _reject_tokens(tokens, dialect, rules) or _reject_new_calls(tokens, usual, dialect, rules)


def _reject_new_calls(
    tokens: list[Token], usual: list[Token], dialect: Dialect, rules: Rules
) -> Rejection | None:
    """What calls an unknown function only in this reading hides it in the usual one."""
    known, allowed = dialect.functions, rules.allowed_functions
    new = unknown_calls(tokens, known, allowed) - unknown_calls(usual, known, allowed)
    return next(map(unknown, new), None)


def _too_many_words(count: int) -> Rejection:
    reason = f"The query has {count:,} words, numbers and marks; at most {MAX_WORDS:,} are allowed."
    return Rejection("length", reason, f"{count} words")


def _reject_tokens(tokens: list[Token], dialect: Dialect, rules: Rules) -> Rejection | None:
    statement = single_statement(tokens)
    if isinstance(statement, Rejection):
        return statement
    form = dialect.recognise(statement)
    if isinstance(form, Rejection):
        return form
    query = form.query if form else statement
    return _reject_query_tokens(query, dialect, rules) if query else None


def _reject_query_tokens(tokens: list[Token], dialect: Dialect, rules: Rules) -> Rejection | None:
    return (
        reject_words(tokens, dialect.query_words)
        or reject_calls(tokens, dialect.functions, rules.allowed_functions)
        or (reject_dots(tokens, dialect.functions) if dialect.calls_by_dot else None)
    )


def _judge_statement(tokens: list[Token], dialect: Dialect, rules: Rules) -> Verdict:
    statement = single_statement(tokens)
    if isinstance(statement, Rejection):
        return statement
    form = dialect.recognise(statement) or Form("query", statement)
    if isinstance(form, Rejection):
        return form
    rejection = _reject_query(form.query, dialect, rules) if form.query else None
    return rejection or Allowed(form.kind)


def _reject_query(tokens: list[Token], dialect: Dialect, rules: Rules) -> Rejection | None:
    tokens = dialect.rewrite(tokens)
    if rejection := _reject_query_tokens(tokens, dialect, rules):
        return rejection
    plain = PlainText(tokens, dialect.functions, rules.allowed_functions, dialect.quote)
    names = unknown_calls(tokens, dialect.functions, rules.allowed_functions)
    tree = reject_tree(plain, dialect.parser, dialect.functions.harmless, names, dialect.table_rule)
    if isinstance(tree, Rejection):
        return tree
    dotted = reject_dotted_columns(tree, plain, dialect.functions) if dialect.calls_by_dot else None
    return dotted or reject_endless(tree, tokens, plain)
