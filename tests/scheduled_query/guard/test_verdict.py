from plugbay_scheduled_query.core.guard import MAX_LENGTH, Allowed, Rejection, Rules


def test_the_rules_begin_with_the_specified_keywords() -> None:
    assert Rules().forbidden_keywords == ("drop", "delete", "truncate", "alter")
    assert Rules().max_length == MAX_LENGTH


def test_rules_are_read_from_settings_of_one_line() -> None:
    rules = Rules.from_settings(" drop, ,DELETE ,", " App.Revenue ,my_total,")
    assert rules.forbidden_keywords == ("drop", "DELETE")
    assert rules.allowed_functions == {"app.revenue", "my_total"}


def test_empty_settings_forbid_and_allow_nothing_more() -> None:
    assert Rules.from_settings("") == Rules((), MAX_LENGTH, frozenset())


def test_equal_rules_are_the_same_key() -> None:
    assert hash(Rules.from_settings("drop")) == hash(Rules(("drop",)))


def test_verdicts_are_values() -> None:
    assert Allowed() == Allowed("query")
    assert Rejection("write", "No.", "x") == Rejection("write", "No.", "x")
