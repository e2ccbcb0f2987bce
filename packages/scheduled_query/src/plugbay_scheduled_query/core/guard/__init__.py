"""The guard before every source: one statement that only reads, by its words and its tree, or a reason."""

from plugbay_scheduled_query.core.guard.verdict import (
    DEFAULT_KEYWORDS,
    MAX_LENGTH,
    Allowed,
    Rejection,
    Rules,
    Verdict,
)

__all__ = ["DEFAULT_KEYWORDS", "MAX_LENGTH", "Allowed", "Rejection", "Rules", "Verdict"]
