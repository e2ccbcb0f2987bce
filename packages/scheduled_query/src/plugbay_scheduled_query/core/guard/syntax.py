"""The parsed statement, walked once and looked at often."""

from collections.abc import Iterator
from typing import TypeVar

from sqlglot import exp

Node = TypeVar("Node", bound=exp.Expr)


class SyntaxTree:
    """The tree of one statement: its root, and all its nodes by kind."""

    def __init__(self, root: exp.Expr) -> None:
        self.root = root
        self.nodes = list(root.walk())

    def all(self, *kinds: type[Node]) -> Iterator[Node]:
        """Every node of these kinds."""
        return (node for node in self.nodes if isinstance(node, kinds))
