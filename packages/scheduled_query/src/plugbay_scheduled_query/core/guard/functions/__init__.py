"""Which functions a query may call, per database: those known to be harmless, and those known to do harm.

A name on neither list is refused too, with another sentence: a function of one's own, or of an extension,
can do anything its author may do, and only an operator can know that (`allowed_functions`).
"""

import re
from dataclasses import dataclass
from fnmatch import translate

from ..words import words


@dataclass(frozen=True)
class Functions:
    """The names to allow, and families of dangerous ones with what they do."""

    harmless: frozenset[str]
    dangerous: tuple[tuple[str, re.Pattern[str]], ...]

    def danger(self, name: str) -> str | None:
        """What a function of this name does that no query may do, if that is known."""
        if name in self.harmless:
            return None
        return next((harm for harm, family in self.dangerous if family.fullmatch(name)), None)


def functions(harmless: str, dangerous: dict[str, str]) -> Functions:
    """From harmless names, and from the harm that families of names do; `*` stands for any letters."""
    families = ((harm, "|".join(map(translate, names.split()))) for harm, names in dangerous.items())
    return Functions(words(harmless), tuple((harm, re.compile(pattern)) for harm, pattern in families))
