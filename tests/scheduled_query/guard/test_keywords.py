import pytest
from plugbay_scheduled_query.core.guard import DEFAULT_KEYWORDS, Allowed, Rejection
from plugbay_scheduled_query.core.guard.judging import reject_keywords
from plugbay_scheduled_query.dialects import check


def found(sql: str, *keywords: str) -> str | None:
    rejection = reject_keywords(sql, keywords or DEFAULT_KEYWORDS)
    return rejection.found if rejection else None


@pytest.mark.parametrize("word", ["drop", "DROP", "Drop", "dRoP", "delete", "truncate", "alter"])
def test_a_forbidden_word_is_found_in_any_case(word: str) -> None:
    assert found(f"{word} TABLE x") == word


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 'drop'",
        "SELECT 1 -- drop it",
        "SELECT 1 /*drop*/",
        'SELECT "drop" FROM t',
        "SELECT a.drop FROM a",
        "SELECT(drop)",
        "SELECT 1;drop",
        "drop",
        "x\ndrop\ny",
        "$$drop$$",
        "SELECT drop$1",
        "-drop-",
    ],
)
def test_it_is_found_in_comments_texts_names_and_between_marks(sql: str) -> None:
    assert found(sql) == "drop"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT deleted_at, dropped_items, alternative, undelete FROM t",
        "SELECT drop_2, _drop, drop1, x_drop FROM t",
        "SELECT aldrop, dropé, édrop, 名drop FROM t",
        "SELECT 'dr op'",
    ],
)
def test_a_longer_name_that_holds_a_forbidden_word_passes(sql: str) -> None:
    assert found(sql) is None


def test_entries_are_trimmed_and_empty_ones_ignored() -> None:
    assert found("SELECT grant", "  grant ", "", "   ") == "grant"
    assert found("SELECT 1", "", "  ") is None


def test_without_keywords_nothing_is_found() -> None:
    assert reject_keywords("DROP TABLE x", ()) is None


def test_an_entry_of_several_words_allows_any_space_between_them() -> None:
    assert found("insert \n\t into x", "insert into") == "insert \n\t into"
    assert found("insertinto x", "insert into") is None


def test_an_entry_may_hold_marks_and_is_taken_literally() -> None:
    assert found("SELECT 1 -- x", "--") == "--"
    assert found("exec sp_x", "sp.x") is None
    assert found("a.b", "a.b") == "a.b"


def test_the_reason_names_word_and_line() -> None:
    rejection = reject_keywords("SELECT 1\nFROM t -- Drop", DEFAULT_KEYWORDS)
    assert rejection is not None
    assert rejection.rule == "keyword"
    assert rejection.reason.startswith("The word “Drop” in line 2 is forbidden here")


def test_the_reason_says_what_to_write_instead_of_a_text_that_is_refused() -> None:
    refused = check("SELECT 1 FROM log WHERE action = 'delete'", "sqlite")
    assert isinstance(refused, Rejection)
    assert "the whole text is scanned" in refused.reason
    assert "'del' || 'ete'" in refused.reason
    assert check("SELECT 1 FROM log WHERE action = 'del' || 'ete'", "sqlite") == Allowed()
    assert check("SELECT 1 FROM log WHERE action = concat('del', 'ete')", "mysql") == Allowed()
