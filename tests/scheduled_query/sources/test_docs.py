"""The page on data sources keeps its word."""

import re
from pathlib import Path

import pytest
from plugbay_scheduled_query.core.source import parse_url
from plugbay_scheduled_query.dialects import dialect_of, mysql, postgresql
from plugbay_scheduled_query.dialects.mysql import session as mysql_session
from plugbay_scheduled_query.dialects.postgresql import account as postgresql_account
from plugbay_scheduled_query.dialects.unguarded import UNGUARDED
from plugbay_scheduled_query.runner.protocol import Caps

URL_OPTIONS = postgresql.URL_OPTIONS | mysql.URL_OPTIONS
PAGE = (Path(__file__).parents[3] / "docs/data-sources.md").read_text()


@pytest.mark.parametrize("url", re.findall(r"^\w+://\S+$", PAGE, re.MULTILINE))
def test_every_url_on_the_page_is_one(url: str):
    parts = parse_url(url)
    assert dialect_of(parts.scheme) is not UNGUARDED
    assert {name for name, _ in parts.options} <= URL_OPTIONS


def test_every_option_of_a_url_is_on_the_page():
    for name in URL_OPTIONS:
        assert f"`{name}`" in PAGE or f"?{name}=" in PAGE, name


def test_the_statements_on_the_page_are_those_of_the_self_test():
    assert f"CREATE ROLE {postgresql_account.READER} LOGIN" in PAGE
    for statement in mysql_session._reader_statements("shop"):
        assert statement in PAGE


def test_the_limits_on_the_page_are_those_of_the_code():
    caps = Caps()
    assert f"{caps.rows:,} · {caps.columns:,} · {caps.cell_bytes // 1024} kB · " in PAGE
    assert f"{caps.result_bytes // 1_000_000} MB" in PAGE
