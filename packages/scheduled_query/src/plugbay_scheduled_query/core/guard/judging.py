"""Judge a text: the steps of the guard in order, and what they must know of its database."""

import hashlib
import re
import unicodedata
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import TypeAlias

from plugbay_scheduled_query.core.guard import Allowed, Rejection, Rules, Verdict
from plugbay_scheduled_query.core.guard.calls import Functions, reject_calls, unknown, unknown_calls
from plugbay_scheduled_query.core.guard.endless import reject_endless
from plugbay_scheduled_query.core.guard.lexis import Lexis, NotSql, NotSqlBehind, Token, scan
from plugbay_scheduled_query.core.guard.parsing import PlainText, SyntaxTree
from plugbay_scheduled_query.core.guard.statements import (
    Form,
    Recognise,
    no_forms,
    reject_words,
    single_statement,
)
from plugbay_scheduled_query.core.guard.tree import TableRule, reject_dots, reject_dotted_columns, reject_tree

MAX_WORDS = 40_000  # words, numbers and marks; the parser takes some two seconds for so many

# Databases disagree on whether these end a line, a word or the text, and some hide what a reader sees.
_DECEIVING = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)"
)

Rewrite: TypeAlias = Callable[[list[Token]], list[Token]]
OwnRule: TypeAlias = Callable[[list[Token], SyntaxTree, PlainText, Rules], Rejection | None]


def any_table(parts: tuple[str, ...], is_call: bool) -> str | None:
    """The rule for databases in which every table may be read."""
    return None


def same_tokens(tokens: list[Token]) -> list[Token]:
    """For databases whose queries the parser knows."""
    return tokens


def nothing_more(tokens: list[Token], tree: SyntaxTree, plain: PlainText, rules: Rules) -> Rejection | None:
    """For databases without rules of their own."""
    return None


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
    reads_whole: bool = False  # before it runs any of a text, so that one without an end does nothing
    bounds_sizes: bool = False  # values of unknown length may only be shown: nothing stops who is lost in one
    refused_texts: tuple[str, ...] = ()
    own_rule: OwnRule = nothing_more  # the last look at a query
    rewrite: Rewrite = same_tokens  # what the parser does not know, in words that it knows


def judge(sql: str, language: Language, rules: Rules) -> Verdict:
    """The steps, in order: characters, keywords, then the statement."""
    return (
        reject_characters(sql, rules.max_length)
        or reject_keywords(sql, rules.forbidden_keywords)
        or _reject_texts(sql, language)
        or _judge_readings(sql, language, rules)
    )


class VerdictCache:
    """At most so many verdicts, the least used forgotten first; of the texts it keeps only digests."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._verdicts: OrderedDict[tuple[bytes, str, Rules], Verdict] = OrderedDict()
        self._lock = Lock()

    def get(self, sql: str, language: str, rules: Rules, judge: Callable[[], Verdict]) -> Verdict:
        """The verdict from memory, or a new one."""
        key = (hashlib.sha256(sql.encode("utf-8", "surrogatepass")).digest(), language, rules)
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


def reject_keywords(sql: str, keywords: tuple[str, ...]) -> Rejection | None:
    """Refuses text that holds one of the keywords as a whole word, in any case."""
    pattern = _pattern(keywords)
    if pattern is None or not (match := pattern.search(sql)):
        return None
    return Rejection("keyword", _forbidden(sql, match), match[0])


def _forbidden(sql: str, match: re.Match[str]) -> str:
    """Why a word is refused even where it does nothing, and how its author says the same."""
    word, line = match[0], sql.count("\n", 0, match.start()) + 1
    half = len(word) // 2
    is_quoted = sql.count("'", 0, match.start()) % 2 == 1
    instead = (
        f"To ask for the word itself, put it together: '{word[:half]}' || '{word[half:]}' "
        f"(MySQL: concat('{word[:half]}', '{word[half:]}'))."
        if is_quoted and word.isalnum()
        else "A longer name that holds it, such as a column, is fine."
    )
    return (
        f"The word “{word}” in line {line} is forbidden here: the whole text is scanned, "
        f"comments and texts in quotes included. {instead}"
    )


@lru_cache(maxsize=64)
def _pattern(keywords: tuple[str, ...]) -> re.Pattern[str] | None:
    entries = [entry for keyword in keywords if (entry := keyword.strip())]
    return re.compile("|".join(map(_whole_word, entries)), re.IGNORECASE) if entries else None


def _whole_word(keyword: str) -> str:
    """A word ends where a letter, digit or underscore of any script ends; `$` ends one too."""
    before = r"(?<!\w)" if re.match(r"\w", keyword[0]) else ""
    after = r"(?!\w)" if re.match(r"\w", keyword[-1]) else ""
    return before + r"\s+".join(map(re.escape, keyword.split())) + after


def _reject_texts(sql: str, language: Language) -> Rejection | None:
    for text in language.refused_texts:
        if text in sql:
            return Rejection("comment", f"{text} … */ is run as SQL by some versions; leave it out.", text)
    return None


def _judge_readings(sql: str, language: Language, rules: Rules) -> Verdict:
    """A server's settings can make it read the same text in another way; no way may do harm."""
    usual = scan(sql, language.readings[0])
    if isinstance(usual, Rejection):
        return usual
    if len(usual) > MAX_WORDS:
        return _too_many_words(len(usual))
    is_doubtful = any(character in sql for character in language.doubtful)
    for reading in language.readings[1:] if is_doubtful else ():
        if rejection := _reject_reading(scan(sql, reading), usual, language, rules):
            return rejection
    return _judge_statement(usual, language, rules)


def _too_many_words(count: int) -> Rejection:
    reason = f"The query has {count:,} words, numbers and marks; at most {MAX_WORDS:,} are allowed."
    return Rejection("length", reason, f"{count} words")


def _reject_reading(
    tokens: list[Token] | Rejection, usual: list[Token], language: Language, rules: Rules
) -> Rejection | None:
    if isinstance(tokens, NotSql) or tokens == usual:
        return None
    if isinstance(tokens, NotSqlBehind) and language.reads_whole:
        return None
    if isinstance(tokens, Rejection):
        return tokens
    return _reject_tokens(tokens, language, rules) or _reject_new_calls(tokens, usual, language, rules)


def _reject_new_calls(
    tokens: list[Token], usual: list[Token], language: Language, rules: Rules
) -> Rejection | None:
    """What calls an unknown function only in this reading hides it in the usual one."""
    known, allowed = language.functions, rules.allowed_functions
    new = unknown_calls(tokens, known, allowed) - unknown_calls(usual, known, allowed)
    return next(map(unknown, new), None)


def _reject_tokens(tokens: list[Token], language: Language, rules: Rules) -> Rejection | None:
    statement = single_statement(tokens)
    if isinstance(statement, Rejection):
        return statement
    form = language.recognise(statement)
    if isinstance(form, Rejection):
        return form
    query = form.query if form else statement
    return _reject_query_tokens(query, language, rules) if query else None


def _reject_query_tokens(tokens: list[Token], language: Language, rules: Rules) -> Rejection | None:
    return (
        reject_words(tokens, language.query_words)
        or reject_calls(tokens, language.functions, rules.allowed_functions)
        or (reject_dots(tokens, language.functions) if language.calls_by_dot else None)
    )


def _judge_statement(tokens: list[Token], language: Language, rules: Rules) -> Verdict:
    statement = single_statement(tokens)
    if isinstance(statement, Rejection):
        return statement
    form = language.recognise(statement) or Form("query", statement)
    if isinstance(form, Rejection):
        return form
    rejection = _reject_query(form.query, language, rules) if form.query else None
    return rejection or Allowed(form.kind)


def _reject_query(tokens: list[Token], language: Language, rules: Rules) -> Rejection | None:
    tokens = language.rewrite(tokens)
    if rejection := _reject_query_tokens(tokens, language, rules):
        return rejection
    plain = PlainText(tokens, language.functions, rules.allowed_functions, language.quote)
    names = unknown_calls(tokens, language.functions, rules.allowed_functions)
    tree = reject_tree(plain, language.parser, language.functions.harmless, names, language.table_rule)
    if isinstance(tree, Rejection):
        return tree
    dotted = reject_dotted_columns(tree, plain, language.functions) if language.calls_by_dot else None
    return (
        dotted
        or reject_endless(tree, tokens, plain, language.bounds_sizes)
        or language.own_rule(tokens, tree, plain, rules)
    )
