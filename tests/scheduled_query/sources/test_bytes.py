"""Bytes are no numbers, whatever their digits are, in every database that has them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugbay_scheduled_query.core.metric import gauge_value, number_in
from plugbay_scheduled_query.dialects.contract import hex_text
from runner_kit import Asker, target


@pytest.fixture
def urls(sqlite_url: str, request: pytest.FixtureRequest) -> dict[str, str]:
    servers = {"postgresql": "postgres_server", "mysql": "mariadb_server"}
    return {
        "sqlite": sqlite_url,
        **{name: request.getfixturevalue(fixture) for name, fixture in servers.items()},
    }


def test_a_blob_gives_no_gauge_its_value(asker: Asker, urls: dict[str, str]):
    texts = {"sqlite": "x'3432'", "mysql": "x'3432'", "postgresql": r"'\x3432'::bytea"}
    for name, text in texts.items():
        rows = json.loads(asker.ask(target(urls[name]), f"SELECT {text}, 7").result_json or "")
        assert rows == [["0x3432", 7]]
        assert gauge_value(rows) == 7


@given(st.binary())
def test_no_bytes_are_a_number(raw: bytes):
    assert number_in(hex_text(raw)) is None
