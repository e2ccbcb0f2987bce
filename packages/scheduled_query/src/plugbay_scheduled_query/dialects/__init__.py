"""The databases that can be asked, one folder each; a runner loads only the one that it serves."""

from plugbay_scheduled_query.core.guard import Rules, Verdict


def check(sql: str, language: str, rules: Rules = Rules()) -> Verdict:  # noqa: B008 — it is frozen
    """Whether the text only reads, in the words of this database (SQLAlchemy's name for it); never raises."""
    # with the parser: half a second, after which a server can be ready
    from plugbay_scheduled_query.dialects import guards

    return guards.check(sql, language, rules)
