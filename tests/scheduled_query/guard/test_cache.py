from concurrent.futures import ThreadPoolExecutor

from plugbay_scheduled_query.core.guard import Allowed, Rejection, Rules, Verdict
from plugbay_scheduled_query.core.guard.judging import VerdictCache

REJECTED = Rejection("write", "No.")


class Judge:
    """Counts how often it is asked."""

    def __init__(self, verdict: Verdict = REJECTED) -> None:
        self.asked = 0
        self._verdict = verdict

    def __call__(self) -> Verdict:
        self.asked += 1
        return self._verdict


def test_the_same_text_under_the_same_rules_is_judged_once() -> None:
    cache, judge = VerdictCache(10), Judge()
    verdicts = [cache.get("SELECT 1", "sqlite", Rules(), judge) for _ in range(3)]
    assert verdicts == [REJECTED] * 3
    assert judge.asked == 1


def test_another_text_dialect_or_rule_is_judged_anew() -> None:
    cache, judge = VerdictCache(10), Judge(Allowed())
    for sql, dialect, rules in (
        ("SELECT 1", "sqlite", Rules()),
        ("SELECT 2", "sqlite", Rules()),
        ("SELECT 1", "mysql", Rules()),
        ("SELECT 1", "sqlite", Rules(("x",))),
        ("SELECT 1", "sqlite", Rules(allowed_functions=frozenset({"f"}))),
    ):
        cache.get(sql, dialect, rules, judge)
    assert judge.asked == 5


def test_the_least_used_verdict_is_forgotten_first() -> None:
    cache, judge = VerdictCache(2), Judge()
    for sql in ("a", "b", "a", "c", "a", "b"):
        cache.get(sql, "sqlite", Rules(), judge)
    assert judge.asked == 4
    assert len(cache) == 2


def test_half_characters_are_no_trouble() -> None:
    assert VerdictCache(1).get("\ud800", "sqlite", Rules(), Judge()) == REJECTED


def test_many_threads_may_ask_at_once() -> None:
    cache, judge = VerdictCache(5), Judge()
    with ThreadPoolExecutor(8) as pool:
        verdicts = pool.map(lambda n: cache.get(str(n % 10), "sqlite", Rules(), judge), range(500))
    assert set(verdicts) == {REJECTED}
    assert len(cache) == 5
