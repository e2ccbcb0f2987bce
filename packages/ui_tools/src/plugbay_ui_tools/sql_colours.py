"""SQL in the colours of the editor, for pages that only show it."""

import re

_WORDS = """
ALL AND ANY AS ASC BETWEEN BY CASE CAST CROSS DESC DISTINCT ELSE END ESCAPE EXCEPT EXISTS EXPLAIN FALSE FETCH
FILTER FIRST FOLLOWING FROM FULL GROUP HAVING ILIKE IN INNER INTERSECT INTERVAL IS JOIN LAST LATERAL LEFT
LIKE LIMIT NATURAL NOT NULL NULLS OFFSET ON OR ORDER OUTER OVER PARTITION PRECEDING QUALIFY RANGE RECURSIVE
RIGHT ROW ROWS SELECT THEN TRUE UNBOUNDED UNION USING VALUES WHEN WHERE WINDOW WITH WITHIN
"""
KEYWORDS = frozenset(_WORDS.split())

_PIECE = re.compile(
    r"(?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))|(?P<text>'(?:[^']|'')*(?:'|\Z))|(?P<name>\"[^\"]*\"|`[^`]*`)"
    r"|(?P<number>\b\d+(?:\.\d+)?\b)|(?P<word>\w+)",
    re.DOTALL,
)


def sql_pieces(sql: str) -> list[tuple[str, str]]:
    """The text in pieces, each with its kind: `keyword`, `text`, `number`, `comment`, or nothing."""
    pieces: list[tuple[str, str]] = []
    end = 0
    for match in _PIECE.finditer(sql):
        if kind := _kind(match):
            pieces += [("", sql[end : match.start()]), (kind, match[0])]
            end = match.end()
    return [(kind, piece) for kind, piece in [*pieces, ("", sql[end:])] if piece]


def _kind(match: re.Match[str]) -> str:
    if match.lastgroup == "word":
        return "keyword" if match[0].upper() in KEYWORDS else ""
    return match.lastgroup if match.lastgroup in ("comment", "text", "number") else ""
