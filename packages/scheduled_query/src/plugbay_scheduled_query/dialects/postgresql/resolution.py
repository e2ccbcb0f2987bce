"""What the server itself finds behind the names of a statement, asked of its catalogue before it plans.

The guard reads the text and not the database: it cannot know that `tools.upper` is somebody's own function,
nor that `u.total` calls one because `users` has no such column. A plan would tell too late and too little:
while planning, a server runs functions and takes others apart.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import psycopg

from plugbay_scheduled_query.core.errors import SourceError
from plugbay_scheduled_query.core.guard.calls import calls
from plugbay_scheduled_query.core.guard.lexis import Token, TokenKind, scan, words
from plugbay_scheduled_query.dialects.postgresql.functions import FUNCTIONS
from plugbay_scheduled_query.dialects.postgresql.lexis import READINGS

TEXTS_KEPT = 512  # of one session, which lives for ten minutes at most

# Columns that functions in FROM have without a declaration; elsewhere a value needs brackets to be called on.
OUTPUTS = words("key value name word description level state mode query setting relation")

# Functions of these names, and operators that somebody made for types that are not their own. Extensions are
# not somebody: the lists of the guard know them.
_FOUND_SQL = """
    SELECT 'function', n.nspname, p.proname, n.nspname = ANY (pg_catalog.current_schemas(true)),
      n.nspname IN ('pg_catalog', 'information_schema') OR EXISTS (
        SELECT FROM pg_catalog.pg_depend d
        WHERE d.classid = 'pg_catalog.pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'),
      CASE
        WHEN p.pronargs = 0 OR p.pronargs - p.pronargdefaults > 1 THEN 'none'
        WHEN t.typtype = 'p' AND t.typname ~ '^(any|record$)' THEN 'any'
        WHEN t.typtype <> 'c' THEN 'value'
        WHEN EXISTS (SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid = t.typrelid
          AND a.attname = p.proname AND NOT a.attisdropped) THEN 'none'
        ELSE 'row of ' || t.typname
      END
    FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
    LEFT JOIN pg_catalog.pg_type t ON t.oid = p.proargtypes[0]
    WHERE p.proname = ANY (%(names)s::name[])
    UNION ALL
    SELECT 'operator', n.nspname, o.oprname, true, false,
      (SELECT p.proname FROM pg_catalog.pg_proc p WHERE p.oid = o.oprcode)
    FROM pg_catalog.pg_operator o JOIN pg_catalog.pg_namespace n ON n.oid = o.oprnamespace
    WHERE o.oprname = ANY (%(operators)s::name[]) AND n.nspname <> 'pg_catalog'
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_type t WHERE t.oid IN (o.oprleft, o.oprright)
        AND t.typtype <> 'c' AND t.typnamespace <> 'pg_catalog'::regnamespace)
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
        WHERE d.classid = 'pg_catalog.pg_operator'::regclass AND d.objid = o.oid AND d.deptype = 'e')
    UNION ALL
    SELECT 'type', n.nspname, t.typname, true, false, p.proname
    FROM (
      WITH RECURSIVE named (oid, base, typname, typnamespace) AS (
        SELECT oid, oid, typname, typnamespace FROM pg_catalog.pg_type WHERE typname = ANY (%(types)s::name[])
        UNION SELECT named.oid, below.oid, named.typname, named.typnamespace FROM named
          JOIN pg_catalog.pg_type t ON t.oid = named.base
          JOIN pg_catalog.pg_type below ON below.oid IN (t.typbasetype, t.typelem)
      ) SELECT * FROM named
    ) AS t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
    JOIN (
      SELECT c.casttarget AS type, c.castfunc AS function FROM pg_catalog.pg_cast c
      UNION SELECT k.contypid, d.refobjid FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_depend d
        ON d.classid = 'pg_catalog.pg_constraint'::regclass AND d.objid = k.oid
        AND d.refclassid = 'pg_catalog.pg_proc'::regclass WHERE k.contypid <> 0
    ) AS made ON made.type = t.base
    JOIN pg_catalog.pg_proc p ON p.oid = made.function
    WHERE p.pronamespace <> 'pg_catalog'::regnamespace
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
        WHERE d.classid = 'pg_catalog.pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
"""
# The operators that words stand for.
_WORD_OPERATORS = {
    "LIKE": ("~~", "!~~"), "ILIKE": ("~~*", "!~~*"), "SIMILAR": ("~", "!~"),
    "BETWEEN": ("<", "<=", ">", ">="), "IN": ("=", "<>"), "CASE": ("=",), "NULLIF": ("=",),
    "DISTINCT": ("=",), "USING": ("=",), "NATURAL": ("=",), "OVERLAPS": ("<", "<=", ">", ">="),
}  # fmt: skip
# What people write for the names of types.
_TYPES = {
    "bigint": "int8", "boolean": "bool", "char": "bpchar", "character": "bpchar", "dec": "numeric",
    "decimal": "numeric", "double": "float8", "float": "float8", "int": "int4", "integer": "int4",
    "real": "float4", "smallint": "int2", "varying": "varchar",
}  # fmt: skip


class Found(NamedTuple):
    """A function, and what a dot before it could hand to it; or an operator or type, and its function."""

    kind: str
    schema: str
    name: str
    is_in_path: bool
    is_known: bool
    argument: str

    @property
    def full_name(self) -> str:
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True)
class Mentions:
    """The names of a statement by what they can call."""

    called: frozenset[tuple[str, str]]  # schema, or nothing, and name
    dotted: frozenset[tuple[str, bool]]  # name, and whether a bracket stands before its dots
    names: frozenset[str]
    operators: frozenset[str]


class Resolution:
    """The verdicts of one session, each text asked about once."""

    def __init__(self, connection: "psycopg.Connection[Any]") -> None:
        self._connection = connection
        self._verdicts: OrderedDict[tuple[str, frozenset[str]], str | None] = OrderedDict()

    def check(self, sql: str, allowed: frozenset[str]) -> None:
        """Raises SourceError when a name of the statement leads to a function that is on no list."""
        key = (sql, allowed)
        if key not in self._verdicts:
            self._verdicts[key] = self._refusal(sql, allowed)
            if len(self._verdicts) > TEXTS_KEPT:
                self._verdicts.popitem(last=False)
        if found := self._verdicts[key]:
            raise SourceError(found)

    def _refusal(self, sql: str, allowed: frozenset[str]) -> str | None:
        tokens = scan(sql, READINGS[0])
        if not isinstance(tokens, list):
            return "the statement could not be understood"
        mentions = mentions_of(tokens)
        wanted = {
            "names": sorted({name for _, name in mentions.called} | {name for name, _ in mentions.dotted}),
            "operators": sorted(mentions.operators),
            "types": sorted({_TYPES.get(name, name) for name in mentions.names}),
        }
        if not any(wanted.values()):
            return None
        found = map(Found._make, self._connection.execute(_FOUND_SQL, wanted).fetchall())
        refused = next((one for one in found if is_refused(one, mentions, allowed)), None)
        return None if refused is None else _sentence(refused)


def mentions_of(tokens: list[Token]) -> Mentions:
    """What the names and operators of a statement could call."""
    return Mentions(
        frozenset(_called(tokens)),
        frozenset(_dotted(tokens)),
        frozenset(form for token in tokens if token.is_name for form in _forms(token.value)),
        frozenset(_operators(tokens)),
    )


def _operators(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        if token.kind is TokenKind.OPERATOR:
            yield token.value
        yield from _WORD_OPERATORS.get(token.word, ())


def _called(tokens: list[Token]) -> Iterator[tuple[str, str]]:
    for call in calls(tokens):
        before = tokens[call.place - 2] if call.place > 1 and tokens[call.place - 1].is_mark(".") else None
        for schema in _forms(before.value) if before else ("",):
            for name in _forms(tokens[call.place].value):
                yield schema, name


def _dotted(tokens: list[Token]) -> Iterator[tuple[str, bool]]:
    """Names behind a dot that no bracket follows, `u.f` and `(x).a.f`."""
    behind_bracket = False
    for place, (before, token) in enumerate(pairwise(tokens), start=1):
        is_named = before.is_mark(".") and token.is_name
        if is_named and not (place + 1 < len(tokens) and tokens[place + 1].is_mark("(")):
            yield from ((name, behind_bracket) for name in _forms(token.value))
        behind_bracket = (token.is_mark(".") and (behind_bracket or before.is_mark(")", "]"))) or (
            is_named and behind_bracket
        )


def _forms(name: str) -> Iterable[str]:
    """The name as it is written, and as a server folds it when it is bare."""
    return {name, "".join(letter.lower() if letter.isascii() else letter for letter in name)}


def is_refused(found: Found, mentions: Mentions, allowed: frozenset[str]) -> bool:
    """Whether the statement could call this one, and nobody says that it is harmless."""
    if found.kind != "function":
        return found.argument.lower() not in allowed
    if {found.name.lower(), found.full_name.lower()} & allowed:
        return False
    is_called = (found.schema, found.name) in mentions.called or (
        found.is_in_path and ("", found.name) in mentions.called
    )
    if is_called and not found.is_known:
        return True
    is_harmless = found.is_known and found.name in FUNCTIONS.harmless
    return not is_harmless and _can_be_dotted(found, mentions)


def _can_be_dotted(found: Found, mentions: Mentions) -> bool:
    is_bracketed = (found.name, True) in mentions.dotted
    if found.argument == "none" or not (is_bracketed or (found.name, False) in mentions.dotted):
        return False
    if found.argument.startswith("row of "):
        return is_bracketed or found.argument.removeprefix("row of ") in mentions.names
    return is_bracketed or found.argument == "any" or found.name in OUTPUTS


def _sentence(found: Found) -> str:
    if found.kind == "function":
        return (
            f"The server finds the function {found.full_name} behind a name here; it is not among those"
            " known to be harmless. If it only reads, an administrator can add it to allowed_functions."
        )
    what = "The operator" if found.kind == "operator" else "What becomes a value of the type"
    return (
        f"{what} {found.full_name} calls the function {found.argument}, which was made by the owner of the"
        " database. If it only reads, an administrator can add it to allowed_functions."
    )
