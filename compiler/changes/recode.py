"""`recode(k, {"M": "male", "F": "female"})`: values from here on are codes of those before (theory N3)."""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from cedilla.compiler.changes.change import AtSource, Before, Context, Layer
from cedilla.compiler.changes.values import BITS, raw_value
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.regions.value_mapping import ValueMapping
from cedilla.grammar.diagnostics import failure
from cedilla.grammar.syntax import RecodeAttribute


@frozen
class Recode(AtSource):
    """`recode(X, π)`: values from here on are mapped by a value mapping (theory N3)."""

    node: ClassVar = RecodeAttribute
    layer: ClassVar = Layer.VALUE
    verb: ClassVar = "recodes"
    keeps: ClassVar = "{what} keeps the codes that it had"

    attribute: str
    code: ValueMapping
    type: Type

    @property
    def is_identity(self) -> bool:
        return all(one == other for one, other in self.code.pairs)

    @classmethod
    def read(cls, node: RecodeAttribute, context: Context) -> Recode:
        """Raises RQ208 if the attribute cannot have codes, or a value is not of its type; RQ462 if two values have one
        code, or one has two."""
        type_ = context.types[node.name]
        if type_.name not in ("string", *BITS):
            raise failure(
                "RQ208",
                f"`{node.name}` is of type {type_}; only strings and whole numbers are codes",
                node.span,
                hint="numbers that measure something are altered; else a drop and an add, under a new name",
            )
        pairs = [tuple(raw_value(type_, literal) for literal in pair) for pair in node.codes]
        for side in (0, 1):
            values = [pair[side] for pair in pairs]
            if (twice := next((v for n, v in enumerate(values) if v in values[:n]), None)) is not None:
                span = node.codes[len(values) - 1 - values[::-1].index(twice)][side].span
                first, second = [type_.wire(pair[1 - side]) for pair in pairs if pair[side] == twice][:2]
                message = f"{type_.wire(twice)} would be written as {first} and as {second}"
                if first == second:
                    message = f"{type_.wire(twice)} is listed twice"
                if side == 1:
                    message = f"{first} and {second} would both be written as {type_.wire(twice)}"
                raise failure("RQ462", message, span, hint="give each value a code of its own")
        mapping = ValueMapping.else_same if node.else_same else ValueMapping
        return cls(node.name, mapping(tuple((before, after) for before, after in pairs)), type_)

    def inverse(self, before: Before) -> Recode:
        return Recode(self.attribute, self.code.inverse(), self.type)

    def __str__(self) -> str:
        pairs = (f"{self.type.wire(before)}: {self.type.wire(after)}" for before, after in self.code.pairs)
        rest = "" if self.code.left_out is None else ", else same"
        return f"recode({self.attribute}, {{{', '.join(pairs)}}}{rest})"
