"""Which functions a query may call, per database: those known to be harmless, and those known to do harm.

A name on neither list is refused too, with another sentence: a function of one's own, or of an extension,
can do anything its author may do, and only an operator can know that (`allowed_functions`).
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Functions:
    """The names to allow, and families of dangerous ones with what they do."""

    harmless: frozenset[str]
    dangerous: tuple[tuple[re.Pattern[str], str], ...]

    def danger(self, name: str) -> str | None:
        """What a function of this name does that no query may do, if that is known."""
        if name in self.harmless:
            return None
        return next((harm for pattern, harm in self.dangerous if pattern.fullmatch(name)), None)


def functions(harmless: str, dangerous: dict[str, str]) -> Functions:
    """From names apart by space, and from patterns with the harm they do."""
    families = tuple((re.compile(pattern), harm) for pattern, harm in dangerous.items())
    return Functions(frozenset(harmless.split()), families)
