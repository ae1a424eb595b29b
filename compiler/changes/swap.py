"""`swap(a, b)`: from here on each of two attributes has the place of the other (theory N11)."""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from cedilla.compiler.changes.change import AtSource, Before, Context, Layer, unknown
from cedilla.grammar.diagnostics import failure
from cedilla.grammar.syntax import SwapAttributes


@frozen
class Swap(AtSource):
    """`swap(X, Y)`: in tuples from here on each of two attributes has the place of the other (theory N11)."""

    node: ClassVar = SwapAttributes
    layer: ClassVar = Layer.PLACE
    verb: ClassVar = "swaps"
    keeps: ClassVar = "{what} and `{other}` keep the places that they had"

    attribute: str
    other: str

    @property
    def attributes(self) -> tuple[str, ...]:
        return (self.attribute, self.other)

    @classmethod
    def read(cls, node: SwapAttributes, context: Context) -> Swap:
        """Raises RQ001 for one attribute, RQ207 for an unknown one, RQ240 if the two have different units."""
        if node.name == node.other:
            raise failure("RQ001", f"`{node.name}` is named twice", node.span, hint="two attributes")
        if node.other not in context.types:
            raise unknown(cls.verb, node.other, context.types, node.span)
        if context.units.get(node.name) != context.units.get(node.other):
            hint = "both are declared in one unit"
            message = f"the accent swaps `{node.name}` and `{node.other}`, which have different units"
            raise failure("RQ240", message, node.span, hint=hint)
        return cls(node.name, node.other)

    def inverse(self, before: Before) -> Swap:
        return self

    def __str__(self) -> str:
        return f"swap({self.attribute}, {self.other})"
