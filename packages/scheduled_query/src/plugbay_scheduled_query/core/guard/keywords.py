"""The keyword scan: forbidden words anywhere in the text, comments and literals included."""

import re
from functools import lru_cache

from .verdict import Rejection


def reject_keywords(sql: str, keywords: tuple[str, ...]) -> Rejection | None:
    """Refuses text that holds one of the keywords as a whole word, in any case."""
    pattern = _pattern(keywords)
    if pattern is None or not (match := pattern.search(sql)):
        return None
    line = sql.count("\n", 0, match.start()) + 1
    reason = (
        f"The word “{match[0]}” in line {line} is forbidden here, also in comments and texts. "
        "A longer name that holds it, such as a column, is fine."
    )
    return Rejection("keyword", reason, match[0])


@lru_cache(maxsize=64)
def _pattern(keywords: tuple[str, ...]) -> re.Pattern[str] | None:
    entries = [entry for keyword in keywords if (entry := keyword.strip())]
    return re.compile("|".join(map(_whole_word, entries)), re.IGNORECASE) if entries else None


def _whole_word(keyword: str) -> str:
    """A word ends where a letter, digit or underscore of any script ends; `$` ends one too."""
    before = r"(?<!\w)" if re.match(r"\w", keyword[0]) else ""
    after = r"(?!\w)" if re.match(r"\w", keyword[-1]) else ""
    return before + r"\s+".join(map(re.escape, keyword.split())) + after
