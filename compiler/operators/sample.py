"""Sample: the tuples whose hash of some attributes falls into a share of all hashes (as a select, S1 to S6; D0c)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from attrs import field

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.facts.facts import NO_STATE, Facts, StateFacts
from cedilla.compiler.operators.shared.base import Invariants, Operator, Rules, require
from cedilla.compiler.operators.shared.equality import floating
from cedilla.grammar.diagnostics import Diagnostic, failure
from cedilla.grammar.parser import parse_expression
from cedilla.grammar.syntax import Expression
from cedilla.grammar.syntax.classes import lean

_HASHES = 2**32
"""The number of values of `hash`, from -2^31 on."""
_MAX_DIGITS = 15
"""The digits that `round` can keep."""


def digits_of(by: tuple[str, ...], types: Mapping[str, Type]) -> dict[str, int]:
    """Returns for each attribute the digits after the point, if its type gives their number."""
    digits: dict[str, int] = {}
    for name in by:
        type_ = types.get(name)
        if type_ is not None and type_.name in ("int", "long"):
            digits[name] = 0
        elif type_ is not None and type_.name == "decimal" and type_.parameters[1] <= _MAX_DIGITS:
            digits[name] = type_.parameters[1]
    return digits


@lean(kw_only=True)
class Sample(Operator):
    """`sample[count in parts by k](input)`; the hash is of canonical values (theory D0c), so an Alter never changes
    which tuples are chosen. `digits`: what is rounded before it is hashed, as an Alter that is undone may leave
    56.99999999999999 of the whole number 57.
    """

    count: int
    parts: int
    by: tuple[str, ...] = field(converter=tuple)
    digits: Mapping[str, int] = field(factory=dict[str, int], converter=dict[str, int])
    rules: ClassVar[Rules] = Rules("S1", "S4", "S6", read="S5", needed="S3")

    @property
    def predicate(self) -> Expression:
        """Returns the condition of chosen tuples, in the language: a hash in the first `count` of `parts` parts."""
        end = -(-self.count * _HASHES // self.parts) - _HASHES // 2
        return parse_expression(f"hash({', '.join(map(self._hashed, self.by))}) < {end}")

    def _hashed(self, name: str) -> str:
        digits = self.digits.get(name)
        return name if digits is None else f"round({name}, {digits})"

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        (source,) = inputs
        require(self.by, source, self.span, "sample")
        for name in self.by:
            if source.types[name].element is not None:
                raise failure("RQ103", f"sample requires values, `{name}` is {source.types[name]}", self.span)
        return floating(self.by, source.types, self.span, "tuples are drawn")

    def facts(self, inputs: tuple[Facts, ...], state: StateFacts = NO_STATE) -> Facts:
        (source,) = inputs
        return source

    def named(self, side: int) -> tuple[str, ...]:
        return self.by

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        share = f"{self.count} in {self.parts} of the values of {', '.join(self.by)}, chosen by a hash"
        return Invariants(f"the tuples of {share}", "everything that its input closes", "stateless")
