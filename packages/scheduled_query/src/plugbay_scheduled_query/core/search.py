"""Searching definitions: one folded text per query, and the pattern that looks into it."""

from plugbay_scheduled_query.core.draft import Draft

ESCAPE = "\\"  # the escape character of the patterns: `LIKE ? ESCAPE '\'`
MAX_SEARCH = 200  # characters

_SPECIAL = str.maketrans({"%": r"\%", "_": r"\_", "\\": r"\\"})


def search_text(draft: Draft) -> str:
    """All that a search looks into, folded here because SQLite knows the capitals of ASCII alone."""
    parts = (draft.name, draft.description, *draft.tags, draft.data_source, draft.query)
    return "\n".join(parts).casefold()


def name_part(search: str) -> str:
    """Part of a name, as it stands in the first line of the folded text."""
    return search[:MAX_SEARCH].replace("\0", " ").strip().partition("\n")[0].casefold()


def like_patterns(search: str) -> list[str]:
    """One LIKE pattern for each word; a query is found when all of them match."""
    words = search[:MAX_SEARCH].replace("\0", " ").casefold().split()
    return [f"%{word.translate(_SPECIAL)}%" for word in words]
