"""Unnest: a tuple for each element of a list (a computed attribute with several values; theory P1, 2.8)."""

from __future__ import annotations

from typing import ClassVar

from attrs import evolve

from cedilla.compiler.expressions.unit_inference import Units
from cedilla.compiler.facts.facts import NO_STATE, Facts, StateFacts
from cedilla.compiler.operators.shared.base import Invariants, Operator, Rules, require, taken
from cedilla.grammar.diagnostics import Diagnostic, failure
from cedilla.grammar.syntax.classes import lean


@lean(kw_only=True)
class Unnest(Operator):
    """`unnest[tags as tag](input)`: adds the elements of a list, one in each copy of its tuple.

    All attributes stay, the list too. Tuples without a list, or with an empty one, give nothing.
    """

    on: str
    alias: str
    rules: ClassVar[Rules] = Rules("P1", "P1", "P1", read="P1", needed="G20")

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        (source,) = inputs
        require((self.on,), source, self.span, "unnest")
        if (type_ := source.types[self.on]).element is None:
            hint = (
                f"`{self.on}: list of {type_}` where it is declared; `collect(x)` of an aggregate is a list"
            )
            raise failure("RQ103", f"unnest requires a list, `{self.on}` is {type_}", self.span, hint=hint)
        if self.alias in source.types:
            hint = f"another name, for example `as {self.alias}_2`"
            raise failure("RQ104", f"there is already an attribute `{self.alias}`", self.span, hint=hint)
        return []

    def conflict(self, inputs: tuple[Facts, ...]) -> str | None:
        return taken((self.alias,), inputs)

    def carried_units(self, inputs: tuple[Units, ...]) -> dict[str, str]:
        (source,) = inputs
        return {**source, **({self.alias: source[self.on]} if self.on in source else {})}

    def facts(self, inputs: tuple[Facts, ...], state: StateFacts = NO_STATE) -> Facts:
        (source,) = inputs
        element = source.types[self.on].element
        assert element is not None
        units = {self.alias: source.units[self.on]} if self.on in source.units else {}
        return evolve(
            source,
            types={**source.types, self.alias: element},
            present={**source.present, self.alias: source.present[self.on]},
            units={**source.units, **units},
        )

    def named(self, side: int) -> tuple[str, ...]:
        return (self.on,)

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        return Invariants(
            f"each tuple, once for every element of {self.on}",
            "everything that its input closes",
            "stateless",
        )
