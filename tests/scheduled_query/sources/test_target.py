import pytest
from plugbay_scheduled_query.core.source import Target


def test_a_secret_is_masked_wherever_it_stands():
    place = Target("postgresql", {}, ("hunter2",))
    assert place.mask("no entry for hunter2, not even (hunter2)!") == "no entry for ***, not even (***)!"


def test_a_secret_is_masked_as_it_stands_in_a_url():
    place = Target("postgresql", {}, ("p@ss/w ord",))
    text = "tried p@ss/w ord, p%40ss%2Fw%20ord, p%40ss/w%20ord and p%40ss%2Fw+ord"
    assert place.mask(text) == "tried ***, ***, *** and ***"


def test_the_longer_of_two_secrets_is_masked_first():
    assert Target("mysql", {}, ("secret", "secret-key")).mask("secret-key") == "***"


def test_a_very_short_secret_is_masked_only_where_it_stands_alone():
    assert Target("mysql", {}, ("a",)).mask("a database said 'a'") == "*** database said '***'"


def test_a_secret_with_special_characters_is_no_pattern():
    assert Target("mysql", {}, (".*[x]",)).mask("abc .*[x]") == "abc ***"


def test_without_secrets_nothing_is_masked():
    assert Target("sqlite", {}, ("",)).mask("as it was") == "as it was"


def test_targets_with_the_same_place_share_a_key():
    one, same, other = (Target("mysql", {"connect": {"password": word}}) for word in ("a", "a", "b"))
    assert one.key == same.key != other.key
    assert Target("sqlite", {"path": "x"}).key != Target("duckdb", {"path": "x"}).key


@pytest.mark.parametrize("show", [repr, str, lambda place: f"{place}"])
def test_a_target_never_shows_its_secrets(show):
    place = Target("mysql", {"connect": {"password": "hunter2"}}, ("hunter2",))
    assert "hunter2" not in show(place)
    assert "hunter2" not in place.key
