"""MariaDB and MySQL for the guard, from their manuals on literals, comments, SELECT, EXPLAIN and SHOW."""

from plugbay_scheduled_query.core.guard import Rejection, Rules
from plugbay_scheduled_query.core.guard.calls import calls, is_listed, unknown
from plugbay_scheduled_query.core.guard.judging import Language
from plugbay_scheduled_query.core.guard.lexis import Token, TokenKind, words
from plugbay_scheduled_query.core.guard.parsing import PlainText, SyntaxTree, without_json_clauses
from plugbay_scheduled_query.core.guard.statements import Form, explain, is_dotted_name, refused
from plugbay_scheduled_query.dialects.mysql.functions import FUNCTIONS
from plugbay_scheduled_query.dialects.mysql.lexis import READINGS

_EXPLAIN_WORDS = words("EXTENDED PARTITIONS ANALYZE")
_QUERY_BEGINNINGS = frozenset({"SELECT", "WITH", "VALUES"})  # ANALYZE TABLE writes statistics

# SHOW …, one kind a line or between bars; each may be followed by FROM or IN names, then LIKE or WHERE.
# GRANTS is none of them: MariaDB shows the hash of the account's password in it.
_SHOWS = frozenset(
    kind.strip()
    for line in """
    TABLES | FULL TABLES | TABLE STATUS | OPEN TABLES | DATABASES | SCHEMAS | TRIGGERS | EVENTS
    COLUMNS | FIELDS | FULL COLUMNS | FULL FIELDS | INDEX | INDEXES | KEYS
    STATUS | GLOBAL STATUS | SESSION STATUS | VARIABLES | GLOBAL VARIABLES | SESSION VARIABLES
    PROCESSLIST | FULL PROCESSLIST | ENGINES | STORAGE ENGINES | ENGINE INNODB STATUS | PLUGINS | PRIVILEGES
    WARNINGS | ERRORS | COLLATION | CHARACTER SET | CHARSET | FUNCTION STATUS | PROCEDURE STATUS
    MASTER STATUS | SLAVE STATUS | REPLICA STATUS | ALL SLAVES STATUS | ALL REPLICAS STATUS | SLAVE HOSTS
    BINARY LOG STATUS | BINLOG STATUS | BINARY LOGS | MASTER LOGS | REPLICAS
    CREATE TABLE | CREATE VIEW | CREATE DATABASE | CREATE SCHEMA | CREATE TRIGGER | CREATE EVENT
    CREATE FUNCTION | CREATE PROCEDURE | CREATE SEQUENCE
    """.strip().splitlines()
    for kind in line.split("|")
)
_LONGEST_SHOW = 3

_OWN_SCHEMAS = words("sys mariadb_schema oracle_schema")  # whose functions are the server's

# Of the system's own schema: no accounts, no keys of other servers, no code.
_OPEN_SYSTEM_TABLES = words("""
    column_stats help_category help_keyword help_relation help_topic index_stats innodb_index_stats
    innodb_table_stats slow_log table_stats time_zone time_zone_leap_second time_zone_name
    time_zone_transition time_zone_transition_type
""")


def _recognise(tokens: list[Token]) -> Form | Rejection | None:
    match tokens[0].word:
        case "EXPLAIN" | "DESCRIBE" | "DESC" | "ANALYZE":
            return _explain(tokens)
        case "SHOW":
            return _show(tokens)
        case _:
            return None


def _explain(tokens: list[Token]) -> Form | Rejection:
    """`EXPLAIN [EXTENDED|FORMAT=…] query`, MariaDB's `ANALYZE query`, or `DESCRIBE table [column]`."""
    rest = tokens[1:]
    if len(rest) > 3 and rest[0].word == "FORMAT" and rest[1].is_operator("=") and rest[2].is_name:
        rest = rest[3:]
    form = explain([tokens[0], *rest], _EXPLAIN_WORDS, frozenset())
    if isinstance(form, Rejection) or form.query is None or _is_query(form.query[0]):
        return form
    is_table = tokens[0].word != "ANALYZE" and is_dotted_name(_without_column(rest))
    return Form("show") if is_table else refused(tokens)


def _is_query(token: Token) -> bool:
    return token.word in _QUERY_BEGINNINGS or token.is_mark("(")


def _without_column(tokens: list[Token]) -> list[Token]:
    """The table of `DESCRIBE table column`, where the column may be a pattern."""
    has_column = (
        len(tokens) > 1 and tokens[-2].is_name and (tokens[-1].is_name or tokens[-1].kind is TokenKind.STRING)
    )
    return tokens[:-1] if has_column else tokens


def _show(tokens: list[Token]) -> Form | Rejection:
    where = next((place for place, token in enumerate(tokens) if token.word == "WHERE"), len(tokens))
    for length in range(_LONGEST_SHOW, 0, -1):
        words = " ".join(token.word for token in tokens[1 : 1 + length])
        if words in _SHOWS and _is_show_tail(tokens[1 + length : where], "CREATE" in words):
            return Form("show", _as_query(tokens[where:]))
    return refused(tokens)


def _as_query(condition: list[Token]) -> list[Token] | None:
    """The condition of `SHOW … WHERE condition` in a query that holds nothing else."""
    if not condition:
        return None
    start = condition[0].start
    return [Token(TokenKind.WORD, "SELECT", start), Token(TokenKind.NUMBER, "1", start), *condition]


def _is_show_tail(tokens: list[Token], names_one: bool) -> bool:
    """What stands before WHERE: a name after SHOW CREATE …, else FROM and IN with names, then LIKE 'x'."""
    if names_one:
        return is_dotted_name(tokens)
    if len(tokens) >= 2 and tokens[-2].word == "LIKE" and tokens[-1].kind is TokenKind.STRING:
        tokens = tokens[:-2]
    while tokens:
        end = next((i for i, token in enumerate(tokens[1:], 1) if token.word in ("FROM", "IN")), len(tokens))
        if tokens[0].word not in ("FROM", "IN") or not is_dotted_name(tokens[1:end]):
            return False
        tokens = tokens[end:]
    return True


def _table_rule(parts: tuple[str, ...], is_call: bool) -> str | None:
    is_closed = len(parts) > 1 and parts[-2] == "mysql" and parts[-1] not in _OPEN_SYSTEM_TABLES
    return "the schema mysql holds accounts and passwords" if is_closed else None


def _own_rule(tokens: list[Token], tree: SyntaxTree, plain: PlainText, rules: Rules) -> Rejection | None:
    """A function behind the name of a schema is somebody's own, whatever it is called."""
    for call in calls(tokens):
        schema = call.full_name.rpartition(".")[0]
        if schema and schema not in _OWN_SCHEMAS and not is_listed(call, rules.allowed_functions):
            return unknown(call.full_name)
    return None


LANGUAGE = Language(
    "mysql",
    READINGS,
    FUNCTIONS,
    _recognise,
    _table_rule,
    quote="`",
    doubtful='\\"',
    refused_texts=("/*!", "/*M!"),
    reads_whole=True,
    bounds_sizes=True,
    own_rule=_own_rule,
    rewrite=without_json_clauses,
)
