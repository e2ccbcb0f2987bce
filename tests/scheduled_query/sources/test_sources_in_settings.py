from typing import Any

import pytest
from plugbay_scheduled_query.core.errors import SourceError
from plugbay_scheduled_query.core.source import Source, check_name, sources_from_settings


def test_the_settings_name_sources_and_their_urls():
    found = sources_from_settings(
        {"shop": "sqlite:////srv/shop.db", "odd one": {"url": "mssql://db", "accepts_unguarded": True}}
    )
    assert found == [
        Source("shop", "sqlite:////srv/shop.db"),
        Source("odd one", "mssql://db", accepts_unguarded=True),
    ]


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
