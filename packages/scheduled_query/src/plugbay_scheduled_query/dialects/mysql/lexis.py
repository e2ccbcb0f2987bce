"""How MariaDB and MySQL cut a text, from their manuals on literals and comments; a runner cuts by it, too."""

from plugbay_scheduled_query.core.guard.lexis import (
    BACKSLASH_STRING,
    BACKTICKED,
    DOUBLE_QUOTED,
    DOUBLE_QUOTED_BACKSLASH,
    PLAIN_STRING,
    Lexis,
    lexis,
)


def _lexis(strings: list[str], names: list[str]) -> Lexis:
    return lexis(
        strings=[f"[xXbBnN]{string}" for string in strings if string[0] == "'"] + strings,
        names=[BACKTICKED, *names],
        comments=[r"--(?=[ \t\r\n]|\Z)[^\n]*+", r"#[^\n]*+"],
        nesting="flat",
        operators=r"<=>|:=|<<|>>|<=|>=|<>|!=|\|\||&&|->>|->|[-+*/%<>=!~^&|]",
        variables=r"@@(?:[A-Za-z_]\w*+\.)?[A-Za-z_]\w*+",
        placeholders=r"\?|@[\w$.]*+",
        opening=r"['\"`]",
        refused=r"\\N|\[|:=",
    )


# How a server reads depends on its sql_mode: NO_BACKSLASH_ESCAPES and ANSI_QUOTES, each on or off.
READINGS = (
    _lexis([BACKSLASH_STRING, DOUBLE_QUOTED_BACKSLASH], []),
    _lexis([PLAIN_STRING, DOUBLE_QUOTED], []),
    _lexis([BACKSLASH_STRING], [DOUBLE_QUOTED]),
    _lexis([PLAIN_STRING], [DOUBLE_QUOTED]),
)
