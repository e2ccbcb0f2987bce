"""A source whose references are resolved: what a runner needs to open it, and what must never be shown."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import quote, quote_plus

MASK = "***"
SHORT_SECRET = 4  # characters: replaced only where it stands alone, or it would garble every word


@dataclass(frozen=True)
class Target:
    """Where to connect, as plain data; `secrets` are masked in whatever is said about it."""

    dialect: str
    params: Mapping[str, Any]
    secrets: tuple[str, ...] = ()

    @property
    def language(self) -> str:
        """Whose SQL it speaks, by SQLAlchemy's name: the guard reads a query by it."""
        return str(self.params["scheme"]).partition("+")[0] if "scheme" in self.params else self.dialect

    @cached_property
    def key(self) -> str:
        """Equal for targets between which a session can be shared."""
        text = json.dumps([self.dialect, self.params], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def mask(self, text: str) -> str:
        """The text without any secret, in clear or as it stands in a URL."""
        for pattern in self._patterns:
            text = pattern.sub(MASK, text)
        return text

    @cached_property
    def _patterns(self) -> list[re.Pattern[str]]:
        forms = {form for secret in self.secrets for form in _forms(secret) if form}
        return [_pattern(form) for form in sorted(forms, key=len, reverse=True)]

    def __repr__(self) -> str:
        return f"Target({self.dialect})"


def _forms(secret: str) -> tuple[str, ...]:
    return secret, quote(secret, safe=""), quote(secret), quote_plus(secret)


def _pattern(secret: str) -> re.Pattern[str]:
    text = re.escape(secret)
    return re.compile(text if len(secret) >= SHORT_SECRET else rf"(?<!\w){text}(?!\w)")
