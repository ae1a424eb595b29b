"""`missing(x, {-999})`: values from here on that mean undefined (theory N11)."""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from cedilla.compiler.changes.change import AtSource, Before, Context, Layer, in_order
from cedilla.compiler.changes.values import raw_value
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.regions import Value
from cedilla.grammar.syntax import MissingValues


@frozen
class Missing(AtSource):
    """`missing(X, V)`: values from here on that are undefined although a tuple has them (theory N11).

    `values`: as the producer writes them. They replace an earlier list.
    """

    node: ClassVar = MissingValues
    layer: ClassVar = Layer.SENTINEL
    verb: ClassVar = "lists missing values of"
    keeps: ClassVar = "{what} keeps the missing values that it had"

    attribute: str
    values: tuple[Value, ...]
    type: Type

    @property
    def is_identity(self) -> bool:
        return not self.values

    @classmethod
    def read(cls, node: MissingValues, context: Context) -> Missing:
        """Raises RQ208 for a value that is not of the attribute's type."""
        type_ = context.types[node.name]
        return cls(node.name, in_order({raw_value(type_, literal) for literal in node.values}), type_)

    def inverse(self, before: Before) -> None:
        """Returns `None`: nothing says which list was before."""

    def __str__(self) -> str:
        return f"missing({self.attribute}, {{{', '.join(map(self.type.wire, self.values))}}})"
