"""The list of what a tree may hold, against all that the parser knows."""

import pytest
from plugbay_scheduled_query.core.guard.lexis import words
from plugbay_scheduled_query.core.guard.tree import is_allowed, name_for_people
from sqlglot import exp


def kinds(of: type[exp.Expr] = exp.Expr) -> set[type[exp.Expr]]:
    return {kind for child in of.__subclasses__() for kind in {child, *kinds(child)}}


WRITING = words("""
    Alter Analyze Attach Command Commit Copy Create Delete Detach Drop Execute Export Grant Insert Install
    Into Kill LoadData Lock Merge Parameter Placeholder Pragma Put Revoke Rollback Set SetItem Show
    Transaction TruncateTable Update Use NextValueFor ReadCSV Block Hint
""")


@pytest.mark.parametrize("kind", sorted(WRITING))
def test_nothing_that_does_more_than_read_is_allowed(kind: str) -> None:
    assert not is_allowed(getattr(exp, kind)())


@pytest.mark.parametrize(
    "kind", [exp.Select, exp.Union, exp.Column, exp.EQ, exp.And, exp.Anonymous, exp.Cast, exp.Window]
)
def test_what_reads_is_allowed(kind: type[exp.Expr]) -> None:
    assert is_allowed(kind())


def test_a_kind_that_the_list_has_never_heard_of_is_refused() -> None:
    class Novelty(exp.Expression):
        pass

    assert not is_allowed(Novelty())
    assert name_for_people(Novelty()) == "NOVELTY"


def test_no_property_constraint_or_statement_of_the_parser_slips_in() -> None:
    names = {kind.__name__ for kind in kinds() if not issubclass(kind, exp.Func) and is_allowed(kind())}
    assert not {name for name in names if name.endswith(("Property", "Statement", "Block"))}
    assert {name for name in names if name.endswith("Constraint")} == {
        "ColumnConstraint",
        "DefaultColumnConstraint",
        "PathColumnConstraint",
    }
