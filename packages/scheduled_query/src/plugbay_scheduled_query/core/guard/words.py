"""Lists of words, written as text."""


def words(text: str) -> frozenset[str]:
    """The words of a text, apart by space."""
    return frozenset(text.split())
