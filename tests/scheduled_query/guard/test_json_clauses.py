"""Clauses of JSON functions are left out for the parser; nothing else is."""

import pytest
from plugbay_scheduled_query.core.guard import Allowed, Rejection
from plugbay_scheduled_query.core.guard.parsing import without_json_clauses
from plugbay_scheduled_query.dialects import check

from .cutting import tokens


def rest(sql: str) -> str:
    return " ".join(token.value for token in without_json_clauses(tokens(sql, "postgresql")))


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("json_value ( a , p DEFAULT 0 ON EMPTY )", "json_value ( a , p )"),
        ("json_value ( a , p NULL ON EMPTY ERROR ON ERROR )", "json_value ( a , p )"),
        ("json_query ( a , p WITH UNCONDITIONAL ARRAY WRAPPER OMIT QUOTES )", "json_query ( a , p )"),
        ("json_query ( a , p EMPTY OBJECT ON ERROR )", "json_query ( a , p )"),
        ("json_arrayagg ( a ABSENT ON NULL )", "json_arrayagg ( a )"),
        ("json_table ( a COLUMNS ( b int EXISTS PATH p ) )", "json_table ( a COLUMNS ( b int PATH p ) )"),
        (
            "json_table ( a COLUMNS ( NESTED p COLUMNS ( b int NULL ON EMPTY ) ) )",
            "json_table ( a COLUMNS ( NESTED p COLUMNS ( b int ) ) )",
        ),
    ],
)
def test_what_to_do_about_gaps_and_faults_is_left_out(written: str, shown: str) -> None:
    assert rest(written) == shown


@pytest.mark.parametrize(
    "sql",
    [
        "a JOIN b error ON null",
        "f ( a NULL ON EMPTY )",
        "json_value ( ( SELECT a JOIN b error ON null ) )",
        "json_array ( SELECT a JOIN b error ON null )",
        "json_value ( a , p DEFAULT f ( 1 ) ON EMPTY )",
        "COLUMNS ( a NULL ON EMPTY )",
        ") json_value ( a",
    ],
)
def test_the_same_words_elsewhere_stay(sql: str) -> None:
    assert rest(sql) == sql


@pytest.mark.parametrize("dialect", ["postgresql", "mysql"])
def test_such_a_table_is_read_and_what_is_called_in_it_is_still_seen(dialect: str) -> None:
    sql = "SELECT * FROM json_table(a, '$' COLUMNS (b int PATH '$.b' DEFAULT '0' ON EMPTY)) AS t"
    assert check(sql, dialect) == Allowed()
    assert isinstance(check(sql.replace("json_table(a", "json_table(evil(a)"), dialect), Rejection)
