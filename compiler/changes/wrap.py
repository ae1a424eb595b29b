"""`wrap(x, 65536)`: values from here on wrap around, as registers and counters do (theory N11)."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, cast

from attrs import frozen

from cedilla.compiler.changes.alter import check_numeric
from cedilla.compiler.changes.change import Before, Context, SourceFunction
from cedilla.compiler.regions.affine import Affine
from cedilla.compiler.regions.wrapped import Wrapped
from cedilla.grammar.diagnostics import failure
from cedilla.grammar.formatting.expression_formatter import decimal_text
from cedilla.grammar.syntax import Literal, WrapValues


@frozen
class Wrap(SourceFunction):
    """`wrap(X, M from L to F)`: values from here on differ by a multiple of M from those before, which lie in
    [L, L + M), and lie in [F, F + M). Without L and F, a signed number is written as an unsigned one."""

    node: ClassVar = WrapValues
    verb: ClassVar = "wraps"

    attribute: str
    function: Wrapped

    @classmethod
    def read(cls, node: WrapValues, context: Context) -> Wrap:
        """Raises RQ202 if the size is not positive or nothing changes, RQ208 if the attribute is not a number."""
        check_numeric(node.name, context.types[node.name], node.span, bends=True)
        size = _value(node.size)
        if size <= 0:
            hint = "the number of different values, as in `wrap(x, 65536)`"
            raise failure("RQ202", f"values wrap around at {node.size.text}", node.size.span, hint=hint)
        low = -size / 2 if node.low is None else _value(node.low)
        to = Fraction(0) if node.to is None else _value(node.to)
        if low == to:
            hint = "`from` is where values begin until here, `to` where they begin from here on, 0 without it"
            raise failure(
                "RQ202", "values do not change, because they begin where they began", node.span, hint=hint
            )
        for number in (size, low, to):
            Affine(Fraction(1), number).check()
        return cls(node.name, Wrapped(size, low, to))

    def inverse(self, before: Before) -> Wrap:
        return Wrap(self.attribute, self.function.inverse())

    def __str__(self) -> str:
        size, low, to = self.function.size, self.function.low, self.function.to
        words = [decimal_text(size)]
        words += ["from", decimal_text(low)] if low != -size / 2 else []
        words += ["to", decimal_text(to)] if to else []
        return f"wrap({self.attribute}, {' '.join(words)})"


def _value(number: Literal) -> Fraction:
    return Fraction(cast("int | Fraction", number.value))
