"""`-(p)`: tuples lack the attribute from here on (paper, section 2)."""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from cedilla.compiler.changes.change import Before, Change, Context
from cedilla.grammar.syntax import DropAttribute


@frozen
class Drop(Change):
    """`−X`: tuples lack the attribute from here on."""

    node: ClassVar = DropAttribute
    verb: ClassVar = "drops"
    keeps: ClassVar = "{what} is not dropped"
    grouped: ClassVar = True

    attribute: str

    @classmethod
    def read(cls, node: DropAttribute, context: Context) -> Drop:
        return cls(node.name)

    def inverse(self, before: Before) -> None:
        """Returns `None`: nothing names the unit of values that come back."""

    def __str__(self) -> str:
        return f"-({self.attribute})"
