"""How PostgreSQL cuts a text, from its manual on lexical structure; a runner cuts by it, too."""

from plugbay_scheduled_query.core.guard.lexis import (
    BACKSLASH_STRING,
    DOLLAR_QUOTED,
    DOUBLE_QUOTED,
    LINE_COMMENT,
    PLAIN_STRING,
    Lexis,
    lexis,
)

_OPERATORS = r"(?:(?!--|/\*)[-+*/<>=~!@#%^&|?])++|::|:=|:"


def _lexis(plain_string: str) -> Lexis:
    return lexis(
        strings=[
            f"[eE]{BACKSLASH_STRING}",
            f"[uU]&{PLAIN_STRING}",  # a server that reads plain texts otherwise refuses these
            f"[bBxXnN]?{plain_string}",
            DOLLAR_QUOTED,
        ],
        names=[DOUBLE_QUOTED],
        comments=[LINE_COMMENT],
        nesting="nested",
        operators=_OPERATORS,
        placeholders=r"\$[0-9]++",
        opening=r"['\"$]",
        refused=r"[uU]&\"",  # a name with escapes would have to be undone first
    )


# The second is how a server reads that has standard_conforming_strings off.
READINGS = (_lexis(PLAIN_STRING), _lexis(BACKSLASH_STRING))
