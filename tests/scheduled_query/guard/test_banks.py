"""The guard against the banks: everything hostile is refused, everything legitimate is allowed."""

import pytest
from plugbay_scheduled_query.core.guard import Allowed, Rejection, Rules
from plugbay_scheduled_query.dialects import check

from .banks import BANKS

NO_KEYWORDS = Rules(forbidden_keywords=())  # so that the scan does not do the work of the walls behind it
NAMES = {"dir": "/srv/files", "port": "8080", "database": "shop", "victim": "42"}


def filled(sql: str) -> str:
    for name, value in NAMES.items():
        sql = sql.replace("{" + name + "}", value)
    return sql


@pytest.mark.parametrize("dialect", BANKS)
def test_each_bank_has_at_least_sixty_statements_of_both_kinds(dialect: str) -> None:
    bank = BANKS[dialect]
    hostile = {sql for statements in bank.HOSTILE.values() for sql in statements}
    assert len(hostile) >= 60
    assert len(set(bank.LEGITIMATE)) >= 60


@pytest.mark.parametrize("dialect", BANKS)
def test_every_hostile_statement_is_refused_even_without_forbidden_keywords(dialect: str) -> None:
    hostile = [sql for statements in BANKS[dialect].HOSTILE.values() for sql in statements]
    passed = [sql for sql in hostile if isinstance(check(filled(sql), dialect, NO_KEYWORDS), Allowed)]
    assert passed == []


@pytest.mark.parametrize("dialect", BANKS)
def test_what_could_not_be_shown_to_do_harm_here_is_refused_as_well(dialect: str) -> None:
    also = BANKS[dialect].ALSO_REFUSED
    assert [sql for sql in also if isinstance(check(filled(sql), dialect, NO_KEYWORDS), Allowed)] == []


@pytest.mark.parametrize("dialect", BANKS)
def test_every_legitimate_statement_is_allowed(dialect: str) -> None:
    verdicts = {sql: check(filled(sql), dialect) for sql in BANKS[dialect].LEGITIMATE}
    assert {sql: verdict for sql, verdict in verdicts.items() if verdict != Allowed(verdict_kind(sql))} == {}


def verdict_kind(sql: str) -> str:
    first = sql.split(maxsplit=1)[0].upper()
    if first in ("EXPLAIN", "ANALYZE") and sql != "EXPLAIN orders":
        return "explain"
    return "show" if first in ("SHOW", "DESCRIBE", "DESC", "SUMMARIZE", "PRAGMA", "EXPLAIN") else "query"


@pytest.mark.parametrize("dialect", BANKS)
def test_every_refusal_says_why_in_a_sentence_that_names_what_was_found(dialect: str) -> None:
    for statements in BANKS[dialect].HOSTILE.values():
        for sql in map(filled, statements):
            verdict = check(sql, dialect, NO_KEYWORDS)
            assert isinstance(verdict, Rejection)
            assert verdict.reason[0].isupper() or verdict.reason[0] in "“/" or verdict.reason[0].isalpha()
            assert verdict.reason.endswith(".")
