"""Cuts texts as a database would, for tests."""

from plugbay_scheduled_query.core.guard import Rejection
from plugbay_scheduled_query.core.guard.lexis import Token, scan
from plugbay_scheduled_query.dialects import language_named


def tokens(sql: str, dialect: str = "postgresql", reading: int = 0) -> list[Token]:
    """The tokens of a text that can be cut."""
    cut = scan(sql, language_named(dialect).readings[reading])
    assert not isinstance(cut, Rejection), cut
    return cut


def values(sql: str, dialect: str, reading: int = 0) -> list[str]:
    """What the tokens say, one by one."""
    return [token.value for token in tokens(sql, dialect, reading)]


def refusal(sql: str, dialect: str) -> Rejection:
    """Why a text cannot be cut."""
    cut = scan(sql, language_named(dialect).readings[0])
    assert isinstance(cut, Rejection), cut
    return cut
