"""Has sqlglot parse one statement, within bounds: a fresh stack, a number of steps, no log lines."""

import threading
from functools import cache
from typing import Any

from sqlglot import Dialect, ErrorLevel, exp
from sqlglot.errors import ParseError
from sqlglot.parser import logger as sqlglot_log

from .verdict import Rejection

# sqlglot goes back and tries again, which can double its steps with each bracket;
# honest queries take 1 to 3 for each token.
STEPS_PER_TOKEN = 5
STEPS_AT_LEAST = 20_000

_THREAD_NAME = "sql-guard"
# sqlglot tells its log of text that it cannot parse; a verdict says it better, and the text is a stranger's.
sqlglot_log.addFilter(lambda record: record.threadName != _THREAD_NAME)


class _TooManySteps(Exception):
    """The parser went back and forth too often."""


def parse_one(sql: str, parser_name: str) -> exp.Expr | Rejection:
    """The tree of exactly one statement, or why there is none."""
    outcome: list[exp.Expr | Rejection] = []
    # A stack of its own: how deep a query may be must not depend on how deep the caller is.
    thread = threading.Thread(target=lambda: outcome.append(_outcome(sql, parser_name)), name=_THREAD_NAME)
    thread.start()
    thread.join()
    return outcome[0]


def _outcome(sql: str, parser_name: str) -> exp.Expr | Rejection:
    try:
        trees = [tree for tree in _parse(sql, parser_name) if tree is not None]
    except (RecursionError, _TooManySteps):
        reason = "The query is too deeply nested; split it into WITH parts or simplify its brackets."
        return Rejection("depth", reason)
    except ParseError as error:
        return _unreadable(error.errors[0].get("description", "") if error.errors else "")
    except Exception:  # a parser that stumbles over a text has not understood it
        return _unreadable("")
    if len(trees) != 1:
        return Rejection("statements", "The text must hold exactly one statement.")
    return trees[0]


def _unreadable(detail: str | None) -> Rejection:
    hint = f" ({detail.rstrip('.')})" if detail else ""
    reason = (
        f"The query could not be understood and so not shown to be harmless{hint}; write it in plainer SQL."
    )
    return Rejection("parse", reason, detail or "")


def _parse(sql: str, parser_name: str) -> list[exp.Expr | None]:
    dialect = Dialect.get_or_raise(parser_name)
    tokens = dialect.tokenize(sql)
    budget = STEPS_AT_LEAST + STEPS_PER_TOKEN * len(tokens)
    trees: list[exp.Expr | None] = _bounded_parser(dialect, budget).parse(tokens, sql)
    return trees


def _bounded_parser(dialect: Dialect, budget: int) -> Any:
    """A parser of this dialect that gives up when its steps are used up."""
    try:
        parser = _bounded_class(dialect.parser_class)(dialect=dialect, error_level=ErrorLevel.IMMEDIATE)
        parser.steps = budget
    except TypeError:  # sqlglot's compiled form cannot be subclassed; it counts nodes by itself
        return dialect.parser_class(dialect=dialect, error_level=ErrorLevel.IMMEDIATE, max_nodes=budget)
    return parser


@cache
def _bounded_class(parser_class: Any) -> Any:
    class Bounded(parser_class):  # type: ignore[misc]
        steps = 0

        def _advance(self, times: int = 1) -> None:
            self.steps -= 1
            if self.steps < 0:
                raise _TooManySteps
            super()._advance(times)

    return Bounded
