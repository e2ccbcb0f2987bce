from typing import Any

import pytest
from plugbay_scheduled_query.core.errors import SourceError
from plugbay_scheduled_query.core.source import Source, check_name, sources_from_settings
from plugbay_scheduled_query.settings import Settings


def test_the_settings_name_sources_and_their_urls():
    found = sources_from_settings(
        {"shop": "sqlite:////srv/shop.db", "odd one": {"url": "mssql://db", "accepts_unguarded": True}}
    )
    assert found == [
        Source("shop", "sqlite:////srv/shop.db"),
        Source("odd one", "mssql://db", accepts_unguarded=True),
    ]


def test_the_settings_give_a_source_its_pace():
    given = {"url": "sqlite:////srv/shop.db", "pace_s": 0, "max_parallel": 4}
    [found] = sources_from_settings({"shop": given})
    assert found == Source("shop", "sqlite:////srv/shop.db", pace_s=0, max_parallel=4)
    [found] = Settings(sources={"shop": given}).named_sources()
    assert (found.pace_s, found.max_parallel) == (0, 4)


@pytest.mark.parametrize(
    "value",
    [
        "shop.db",
        5,
        None,
        {},
        {"url": 5},
        {"url": "sqlite:///x", "accepts_unguarded": "yes"},
        {"url": "sqlite:///x", "acepts_unguarded": True},
        {"url": "sqlite:///x", "pace_s": -1},
        {"url": "sqlite:///x", "pace_s": 86_401},
        {"url": "sqlite:///x", "pace_s": "30"},
        {"url": "sqlite:///x", "pace_s": True},
        {"url": "sqlite:///x", "max_parallel": 0},
        {"url": "sqlite:///x", "max_parallel": 65},
    ],
)
def test_a_source_that_is_none_is_refused(value: Any):
    with pytest.raises(SourceError):
        sources_from_settings({"shop": value})


@pytest.mark.parametrize("name", ["shop", "Shop 2", "a", "a-b_c.d", "9lives", "x" * 63])
def test_a_name_is_made_of_plain_characters(name: str):
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", " shop", "shop/2", "<b>", "é", "-x", "x" * 64, "a\nb"])
def test_another_name_is_refused(name: str):
    with pytest.raises(SourceError, match="name"):
        check_name(name)
