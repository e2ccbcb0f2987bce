"""Bytes are no numbers, whatever their digits are, in every database that has them."""

import json

import pytest
from plugbay_scheduled_query.core.metric import gauge_value
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
        outcome = asker.ask(target(urls[name]), f"SELECT {text}, 7")
        rows = json.loads(outcome.result_json or "")
        assert rows == [["3432", 7]]
        assert gauge_value(rows) == 3432  # for who does not know what the digits stand for
        assert gauge_value(rows, outcome.binary) == 7
