"""The guard before every source: one statement that only reads, by its words and its tree, or a reason."""

from .verdict import DEFAULT_KEYWORDS, MAX_LENGTH, Allowed, Rejection, Rules, Verdict

__all__ = ["DEFAULT_KEYWORDS", "MAX_LENGTH", "Allowed", "Rejection", "Rules", "Verdict", "check"]


def check(sql: str, dialect: str, rules: Rules = Rules()) -> Verdict:  # noqa: B008 — it is frozen
    """Whether the text only reads, in the words of this database (SQLAlchemy's name for it); never raises."""
    from .judging import check  # with the parser: half a second, after which a server can be ready

    return check(sql, dialect, rules)
