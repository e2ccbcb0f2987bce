"""What the guard must know of a database: how it cuts text, what it calls, names and shows."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import TypeAlias

from plugbay_scheduled_query.core.guard.calls import Functions, reject_calls, unknown, unknown_calls
from plugbay_scheduled_query.core.guard.endless import reject_endless
from plugbay_scheduled_query.core.guard.lexis import Lexis, NotSql, Token, scan
from plugbay_scheduled_query.core.guard.parsing import PlainText
from plugbay_scheduled_query.core.guard.statements import (
    Form,
    Recognise,
    no_forms,
    reject_words,
    single_statement,
)
from plugbay_scheduled_query.core.guard.tree import TableRule, reject_dots, reject_dotted_columns, reject_tree
from plugbay_scheduled_query.core.guard.verdict import (
    MAX_WORDS,
    Allowed,
    Rejection,
    Rules,
    Verdict,
    reject_characters,
    reject_keywords,
)

Rewrite: TypeAlias = Callable[[list[Token]], list[Token]]


def any_table(parts: tuple[str, ...], is_call: bool) -> str | None:
    """The rule for databases in which every table may be read."""
    return None


def same_tokens(tokens: list[Token]) -> list[Token]:
    """For databases whose queries the parser knows."""
    return tokens


@dataclass(frozen=True)
class Language:
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


class VerdictCache:
    """At most so many verdicts, the least used forgotten first; of the texts it keeps only digests."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._verdicts: OrderedDict[tuple[bytes, str, Rules], Verdict] = OrderedDict()
        self._lock = Lock()

    def get(self, sql: str, dialect: str, rules: Rules, judge: Callable[[], Verdict]) -> Verdict:
        """The verdict from memory, or a new one."""
        key = (hashlib.sha256(sql.encode("utf-8", "surrogatepass")).digest(), dialect, rules)
        with self._lock:
            if (known := self._verdicts.get(key)) is not None:
                self._verdicts.move_to_end(key)
                return known
        verdict = judge()
        with self._lock:
            self._verdicts[key] = verdict
            while len(self._verdicts) > self._capacity:
                self._verdicts.popitem(last=False)
        return verdict

    def __len__(self) -> int:
        return len(self._verdicts)


def judge(sql: str, dialect: Language, rules: Rules) -> Verdict:
    """The steps, in order: characters, keywords, then the statement."""
    return (
        reject_characters(sql, rules.max_length)
        or reject_keywords(sql, rules.forbidden_keywords)
        or _reject_texts(sql, dialect)
        or _judge_readings(sql, dialect, rules)
    )


def _reject_texts(sql: str, dialect: Language) -> Rejection | None:
    for text in dialect.refused_texts:
        if text in sql:
            return Rejection("comment", f"{text} … */ is run as SQL by some versions; leave it out.", text)
    return None


def _judge_readings(sql: str, dialect: Language, rules: Rules) -> Verdict:
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
    tokens: list[Token] | Rejection, usual: list[Token], dialect: Language, rules: Rules
) -> Rejection | None:
    if isinstance(tokens, NotSql) or tokens == usual:
        return None
    if isinstance(tokens, Rejection):
        return tokens
    return _reject_tokens(tokens, dialect, rules) or _reject_new_calls(tokens, usual, dialect, rules)


def _reject_new_calls(
    tokens: list[Token], usual: list[Token], dialect: Language, rules: Rules
) -> Rejection | None:
    """What calls an unknown function only in this reading hides it in the usual one."""
    known, allowed = dialect.functions, rules.allowed_functions
    new = unknown_calls(tokens, known, allowed) - unknown_calls(usual, known, allowed)
    return next(map(unknown, new), None)


def _too_many_words(count: int) -> Rejection:
    reason = f"The query has {count:,} words, numbers and marks; at most {MAX_WORDS:,} are allowed."
    return Rejection("length", reason, f"{count} words")


def _reject_tokens(tokens: list[Token], dialect: Language, rules: Rules) -> Rejection | None:
    statement = single_statement(tokens)
    if isinstance(statement, Rejection):
        return statement
    form = dialect.recognise(statement)
    if isinstance(form, Rejection):
        return form
    query = form.query if form else statement
    return _reject_query_tokens(query, dialect, rules) if query else None


def _reject_query_tokens(tokens: list[Token], dialect: Language, rules: Rules) -> Rejection | None:
    return (
        reject_words(tokens, dialect.query_words)
        or reject_calls(tokens, dialect.functions, rules.allowed_functions)
        or (reject_dots(tokens, dialect.functions) if dialect.calls_by_dot else None)
    )


def _judge_statement(tokens: list[Token], dialect: Language, rules: Rules) -> Verdict:
    statement = single_statement(tokens)
    if isinstance(statement, Rejection):
        return statement
    form = dialect.recognise(statement) or Form("query", statement)
    if isinstance(form, Rejection):
        return form
    rejection = _reject_query(form.query, dialect, rules) if form.query else None
    return rejection or Allowed(form.kind)


def _reject_query(tokens: list[Token], dialect: Language, rules: Rules) -> Rejection | None:
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
