"""Which functions a query may call: those known to be harmless, and none that is known to do harm.

A name on neither list is refused too, with another sentence: a function of one's own, or of an extension,
can do anything its author may do, and only an operator can know that (`allowed_functions`). The lists of
each database are in the folder of its dialect.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import translate
from itertools import pairwise
from typing import NamedTuple

from plugbay_scheduled_query.core.guard import Rejection
from plugbay_scheduled_query.core.guard.lexis import Token, TokenKind, words

STANDARD = """
abs acos asin atan atan2 avg cast ceil ceiling char_length character_length coalesce concat concat_ws corr
cos cot count covar_pop covar_samp cume_dist current_date current_time current_timestamp degrees
dense_rank exp extract first_value floor greatest grouping ifnull lag last_value lead least left length ln
localtime localtimestamp log log10 log2 lower lpad ltrim max min mod nth_value ntile nullif octet_length
overlay percent_rank percentile_cont percentile_disc pi position pow power radians rank regr_avgx
regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy replace reverse right
round row row_number rpad rtrim sign sin sqrt stddev stddev_pop stddev_samp string_agg substr substring
sum tan translate trim try_cast upper var_pop var_samp variance
"""

# Reserved, or meaningful only in this place; a quoted name is never one of them.
BEFORE_BRACKET = words("""
    ALL AND ANY ARRAY AS ASOF BETWEEN BY CASE COLUMNS CROSS CUBE DISTINCT DIV ELSE ESCAPE EXCEPT EXCLUDE
    EXISTS FILTER FOR FROM FULL GROUP GROUPING HAVING ILIKE IN INDEX INNER INTERSECT INTERVAL IS JOIN KEY
    LATERAL LIKE LIMIT MATCH MATERIALIZED MINUS NATURAL NESTED NOT OF OFFSET ON ONLY OPERATOR OR OUTER
    OVER OVERLAPS PARTITION PASSING PERCENT PIVOT POSITIONAL QUALIFY RECURSIVE REGEXP RENAME REPEATABLE
    RETURNING RLIKE ROLLUP ROW ROWS SELECT SEPARATOR SETS SIMILAR SOME STRAIGHT_JOIN TABLESAMPLE THEN TO
    UNION UNPIVOT USING VALUES WHEN WHERE WITH WITHIN XOR ZONE AGAINST DESCRIBE SUMMARIZE
""")

# Ways to take a sample, `TABLESAMPLE system (10)`; anywhere else these are names like any other.
SAMPLING = words("BERNOULLI RESERVOIR SYSTEM")

# Types with a size; after AS and :: every name is a type or an alias and needs no list.
SIZED_TYPES = words("""
    BIGINT BINARY BIT BLOB BPCHAR CHAR CHARACTER DATETIME DEC DECIMAL DOUBLE ENUM FIXED FLOAT HALFVEC INT
    INTEGER MEDIUMINT MEDIUMTEXT NCHAR NUMBER NUMERIC NVARCHAR PRECISION REAL SMALLINT SPARSEVEC STRING
    STRUCT TEXT TIME TIMESTAMP TIMESTAMPTZ TIMETZ TINYINT UNION VARBINARY VARBIT VARCHAR VARYING VECTOR
""")

# Functions with a grammar of their own, EXTRACT(year FROM x): sqlglot must see their true names.
OWN_SYNTAX = words("""
    cast char convert extract get_format grouping group_concat json json_array json_arrayagg
    json_exists json_object json_objectagg json_query json_scalar json_serialize json_table json_value
    listagg normalize overlay position string_agg substring timestampadd timestampdiff
    trim try_cast weight_string xmlagg xmlattributes xmlconcat xmlelement xmlexists xmlforest
    xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable
""")

# Types of PostgreSQL that sqlglot does not expect before a text, as in inet '10.0.0.1'.
TEXT_TYPES = words("""
    BOX CIDR CIRCLE DATEMULTIRANGE DATERANGE HSTORE INET INT4RANGE INT8RANGE JSONPATH LINE LSEG LTREE
    MACADDR MACADDR8 MONEY NUMRANGE OID PG_LSN POINT POLYGON REGCLASS REGNAMESPACE REGPROC REGROLE REGTYPE
    TSQUERY TSRANGE TSTZRANGE TSVECTOR UUID XML
""")


@dataclass(frozen=True)
class Functions:
    """The names to allow, and families of dangerous ones with what they do."""

    harmless: frozenset[str]
    dangerous: tuple[tuple[str, re.Pattern[str]], ...]

    def danger(self, name: str) -> str | None:
        """What a function of this name does that no query may do, if that is known."""
        if name in self.harmless:
            return None
        return next((harm for harm, family in self.dangerous if family.fullmatch(name)), None)


def functions(harmless: str, dangerous: dict[str, str]) -> Functions:
    """From harmless names, and from the harm that families of names do; `*` stands for any letters."""
    families = ((harm, "|".join(map(translate, names.split()))) for harm, names in dangerous.items())
    return Functions(words(harmless), tuple((harm, re.compile(pattern)) for harm, pattern in families))


class Call(NamedTuple):
    """A name before a bracket: where it stands, its last part, and all of it with dots."""

    place: int
    name: str
    full_name: str


def calls(tokens: list[Token]) -> Iterator[Call]:
    """Every name that a bracket follows, but for words of the language, types and aliases."""
    for index, token in enumerate(tokens[:-1]):
        if tokens[index + 1].is_mark("(") and _can_be_called(tokens, index):
            yield Call(index, _folded(token.value), _full_name(tokens, index))


def reject_calls(tokens: list[Token], functions: Functions, allowed: frozenset[str]) -> Rejection | None:
    """Refuses the first call of a function that is known to do harm."""
    for call in calls(tokens):
        if not is_listed(call, allowed) and (harm := functions.danger(call.name)):
            return dangerous(call.full_name, harm)
    return None


def unknown_calls(tokens: list[Token], functions: Functions, allowed: frozenset[str]) -> Counter[str]:
    """How often each name that is on no list stands before a bracket, as an alias behind AS included."""
    names = {
        call.name
        for call in calls(tokens)
        if call.name not in functions.harmless and not is_listed(call, allowed)
    }
    counted = (_folded(token.value) for token, bracket in pairwise(tokens) if bracket.is_mark("("))
    return Counter(name for name in counted if name in names)


def is_listed(call: Call, allowed: frozenset[str]) -> bool:
    """Has an operator of the service allowed this function, by its last name or all of it?"""
    return call.name in allowed or call.full_name in allowed


def dangerous(name: str, harm: str) -> Rejection:
    return Rejection("function", f"The function {name} may not be used in a query: {harm}.", name)


def unknown(name: str) -> Rejection:
    reason = (
        f"The function {name} is not among those known to be harmless. If it only reads, "
        "an administrator can add it to the setting allowed_functions."
    )
    return Rejection("function", reason, name)


def _can_be_called(tokens: list[Token], index: int) -> bool:
    token = tokens[index]
    if token.kind not in (TokenKind.WORD, TokenKind.NAME, TokenKind.STRING) or _is_no_function(tokens, index):
        return False
    if index and tokens[index - 1].is_mark("."):
        return True
    if token.kind is TokenKind.STRING:  # IN 'x' ('y') is no SQL, but FROM 'x' ('y') is for SQLite
        return True
    return token.word not in BEFORE_BRACKET and token.word not in SIZED_TYPES


def _is_no_function(tokens: list[Token], index: int) -> bool:
    if index == 0:
        return False
    before = tokens[index - 1]
    samples = before.word in ("TABLESAMPLE", "SAMPLE") and tokens[index].word in SAMPLING
    return samples or before.word == "AS" or before.is_operator("::")


def _full_name(tokens: list[Token], index: int) -> str:
    parts = [tokens[index].value]
    while index >= 2 and tokens[index - 1].is_mark(".") and tokens[index - 2].is_name:
        index -= 2
        parts.insert(0, tokens[index].value)
    return ".".join(map(_folded, parts))


def _folded(name: str) -> str:
    """Lower case, as databases fold names: letters beyond ASCII are not made into others."""
    return name.lower() if name.isascii() else name
