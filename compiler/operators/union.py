"""Union ∪ of two bags; no union compatibility is needed (paper, section 4; theory U1 to U4)."""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from cedilla.compiler import regions
from cedilla.compiler.evolution import ABSENT, COMMON, MOST, Facts, fold_presence, fold_units
from cedilla.compiler.operators.base import Held, Invariants, Kind, Operator, Reaction, Signature, fail
from cedilla.compiler.regions import ANYTHING, Domain, Steps, Tree
from cedilla.compiler.types import DOUBLE, LONG, Type
from cedilla.grammar.diagnostics import Diagnostic

_RULES = {"add": "U2", "drop": "U3", "alter": "U4"}


@frozen(kw_only=True)
class Union(Operator):
    """`left union right`: both inputs feed every output cell, so each accent is coordinated between them."""

    title: ClassVar[str] = "Union"

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        left, right = inputs
        for name in left.types.keys() & right.types.keys():
            a, b = left.types[name], right.types[name]
            if a != b and not (a.is_numeric and b.is_numeric):
                raise fail(
                    "RQ103", f"`{name}` is {a} in one input of the union and {b} in the other", self.span
                )
        return []

    def facts(self, inputs: tuple[Facts, ...], held: Held = {}) -> Facts:  # noqa: B006
        left, right = inputs
        names = dict.fromkeys([*left.types, *right.types])
        nothing: frozenset[str] = frozenset()
        present: dict[str, Tree] = {}
        units: dict[str, Tree] = {}
        for name in names:
            a, b = (fold_presence(f, f.present.get(name, ABSENT), nothing) for f in inputs)
            present[name] = regions.combine(a, b, MOST)
            if name in left.units or name in right.units:
                a, b = (fold_units(f, name, nothing) for f in inputs)
                units[name] = regions.combine(a, b, COMMON)
        return Facts(
            {name: _common_type(left.types.get(name), right.types.get(name)) for name in names},
            {name: _either(name, left, right) for name in names},
            present,
            units,
            regions.intersection(left.closed, right.closed),
        )

    def signature(self, inputs: tuple[Facts, ...]) -> Signature:
        return Signature(merge=tuple(dict.fromkeys(name for f in inputs for name in f.types)))

    def reaction(
        self, kind: Kind, attribute: str, mentions: frozenset[str], inputs: tuple[Facts, ...], side: int
    ) -> Reaction:
        return Reaction("coordinates", _RULES[kind], (attribute,), mentions)

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        return Invariants("every tuple", "what both inputs have closed (CombinePunct)", "stateless")

    def parameters(self) -> dict[str, object]:
        return {}

    def arguments(self) -> dict[str, str]:
        return {}

    def code(self, inputs: tuple[str, ...]) -> str:
        return f"{inputs[0]}.unionByName({inputs[1]}, allowMissingColumns=True)"


def _common_type(left: Type | None, right: Type | None) -> Type:
    if left is None or right is None or left == right:
        found = left or right
        assert found is not None
        return found
    return LONG if left.is_integral and right.is_integral else DOUBLE


def _either(name: str, left: Facts, right: Facts) -> Domain:
    """What an attribute can be in the output; ⊥ too where one input lacks it."""
    undefined = Domain(Steps(name, True, (), (False,)), True)
    domains = [f.universe.get(name, ANYTHING) if name in f.types else undefined for f in (left, right)]
    return Domain(
        regions.union(*(domain.members for domain in domains)), all(domain.integral for domain in domains)
    )
