"""The words and marks of a statement, as the database itself would cut them."""

from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """What a piece of the text is; comments and space are left out."""

    WORD = "word"  # keyword or bare name
    NAME = "quoted name"
    STRING = "text"
    NUMBER = "number"
    VARIABLE = "system variable"
    OPERATOR = "operator"
    MARK = "mark"  # ( ) [ ] { } , ; .


class Token(NamedTuple):
    """One piece: its kind, what it says without its quotes, and where it begins."""

    kind: Kind
    value: str
    start: int

    @property
    def word(self) -> str:
        """The word in capitals when this is a bare one of ASCII letters, else nothing."""
        return self.value.upper() if self.kind is Kind.WORD and self.value.isascii() else ""

    @property
    def is_name(self) -> bool:
        """Can this name a table, a column or a function?"""
        return self.kind in (Kind.WORD, Kind.NAME)

    def is_mark(self, *marks: str) -> bool:
        return self.kind is Kind.MARK and self.value in marks

    def is_operator(self, operator: str) -> bool:
        return self.kind is Kind.OPERATOR and self.value == operator


def words_at(tokens: list[Token], index: int, *words: str) -> bool:
    """Do these bare words stand here, one after the other?"""
    return [token.word for token in tokens[index : index + len(words)]] == list(words)
