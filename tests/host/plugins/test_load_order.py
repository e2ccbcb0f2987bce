from plugbay.plugins.load_order import Candidate, dependents, plan_load


def refusal(*candidates: Candidate, absent: dict[str, str] | None = None) -> str:
    refusals = plan_load(candidates, absent).refusals
    assert len(refusals) == 1
    return next(iter(refusals.values()))


def test_what_is_needed_comes_first():
    order = plan_load(
        [Candidate("c", depends_on={"b": ""}), Candidate("b", depends_on={"a": "*"}), Candidate("a")]
    ).order
    assert order == ["a", "b", "c"]


def test_otherwise_the_given_order_is_kept():
    assert plan_load([Candidate("z"), Candidate("m"), Candidate("a")]).order == ["z", "m", "a"]


def test_a_constraint_that_is_met_is_fine():
    plan = plan_load([Candidate("a", "0.3.0"), Candidate("b", depends_on={"a": ">=0.2.0,<1"})])
    assert plan.refusals == {}


def test_a_pre_release_meets_a_constraint():
    assert plan_load([Candidate("a", "2.0rc1"), Candidate("b", depends_on={"a": ">=1"})]).order == ["a", "b"]


def test_a_missing_dependency_is_named():
    assert refusal(Candidate("b", depends_on={"a": ">=1"})) == "needs a >=1, which is not installed"


def test_a_wrong_version_names_both():
    plan = plan_load([Candidate("a", "1.0"), Candidate("b", depends_on={"a": ">=2"})])
    assert plan.refusals == {"b": "needs a >=2, but a is 1.0"}
    assert plan.order == ["a"]


def test_what_is_known_but_absent_says_why():
    assert (
        refusal(Candidate("b", depends_on={"a": ""}), absent={"a": "is disabled"})
        == "needs a, which is disabled"
    )


def test_a_refusal_is_handed_on():
    plan = plan_load([Candidate("c", depends_on={"b": ""}), Candidate("b", depends_on={"a": ""})])
    assert plan.refusals["c"] == "needs b, which is refused"


def test_a_circle_is_shown_whole():
    plan = plan_load(
        [Candidate("a", depends_on={"b": ""}), Candidate("b", depends_on={"a": ""}), Candidate("free")]
    )
    assert plan.refusals["a"] == "depends on itself in a circle: a → b → a"
    assert plan.order == ["free"]


def test_what_hangs_on_a_circle_is_refused_too():
    plan = plan_load(
        [
            Candidate("a", depends_on={"b": ""}),
            Candidate("b", depends_on={"b": ""}),
            Candidate("c", depends_on={"a": ""}),
        ]
    )
    assert set(plan.refusals) == {"a", "b", "c"}


def test_a_version_that_is_none_is_refused():
    assert "is not a version number" in refusal(Candidate("a", "new"))


def test_a_constraint_that_is_none_is_refused():
    assert (
        "is not a version specifier"
        in plan_load([Candidate("a"), Candidate("b", depends_on={"a": "new"})]).refusals["b"]
    )


def test_dependents_are_the_direct_ones():
    chain = [Candidate("a"), Candidate("b", depends_on={"a": ""}), Candidate("c", depends_on={"b": ""})]
    assert dependents("a", chain) == ["b"]
