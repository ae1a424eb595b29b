"""Rename ρ: other names for attributes, and no other change (theory 1.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from attrs import evolve, field

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.expressions.unit_inference import Units
from cedilla.compiler.facts.facts import (
    ABSENT,
    COMMON_HISTORY,
    NO_FEEDER,
    NO_STATE,
    PRESENT_IF_ANY,
    Facts,
    StateFacts,
)
from cedilla.compiler.facts.schemes import Schemes, renamed
from cedilla.compiler.operators.shared.base import Invariants, OpenGroups, Operator, Rules, require
from cedilla.compiler.regions import UNION, Box, Operation, Tree
from cedilla.grammar.diagnostics import Diagnostic, failure
from cedilla.grammar.syntax.classes import lean


@lean(kw_only=True)
class Rename(Operator):
    """`rename[a as b](input)`; `names`: old name -> new name. All other attributes stay, later ones too."""

    names: dict[str, str] = field(converter=dict)
    rules: ClassVar[Rules] = Rules("P1", "P1", "P1")

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        (source,) = inputs
        for name, new in self.names.items():
            if name not in source.types and new in source.types:
                hint = f"the old name comes first: `rename[{new} as {name}](R)`"
                raise failure("RQ102", f"unknown attribute `{name}` in rename", self.span, hint=hint)
            require((name,), source, self.span, "rename")
        if (taken := self.conflict(inputs)) is not None:
            raise failure(
                "RQ104",
                f"there is already an attribute `{taken}`",
                self.span,
                hint="choose another name; the old name comes first: `rename[old as new](R)`",
            )
        return []

    def conflict(self, inputs: tuple[Facts, ...]) -> str | None:
        """An attribute of the input that has a new name of another (J2)."""
        (source,) = inputs
        return next((n for n in self.names.values() if n in source.types and n not in self.names), None)

    def of_open_groups(self, rows: OpenGroups, types: Mapping[str, Type]) -> OpenGroups:
        new = {self.names.get(name, name): group for name, group in rows.names.items()}
        return OpenGroups(new, frozenset(self.names.get(name, name) for name in rows.steady))

    def carried_units(self, inputs: tuple[Units, ...]) -> dict[str, str]:
        (source,) = inputs
        new = self.names.values()
        return {self._new(n): unit for n, unit in source.items() if n in self.names or n not in new}

    def facts(self, inputs: tuple[Facts, ...], state: StateFacts = NO_STATE) -> Facts:
        (source,) = inputs
        kept = [n for n in source.types if n in self.names or n not in self.names.values()]
        return Facts(
            {self._new(n): source.types[n] for n in kept},
            {
                self._new(n): evolve(domain, members=self._moved(domain.members, UNION, False))
                for n, domain in source.universe.items()
                if n in kept
            },
            {
                self._new(n): self._moved(t, PRESENT_IF_ANY, ABSENT)
                for n, t in source.present.items()
                if n in kept
            },
            {
                self._new(n): self._moved(t, COMMON_HISTORY, NO_FEEDER)
                for n, t in source.units.items()
                if n in kept
            },
            self._moved(source.closed, UNION, False),
            frozenset(self._new(n) for n in source.lacking if n in kept),
        )

    def _new(self, name: str) -> str:
        return self.names.get(name, name)

    def _moved(self, tree: Tree, operation: Operation, start: Any) -> Tree:
        """Builds a tree in the new names: attributes have an order in trees, so names cannot be exchanged in place."""
        if not self.names.keys() & regions.attributes(tree):
            return tree
        return regions.reshape(tree, self._image, operation, start)

    def _image(self, box: dict[str, Tree]) -> Iterable[Box]:
        yield {self._new(n): regions.renamed(members, self._new(n)) for n, members in box.items()}

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        return Invariants("every tuple", "everything that its input closes", "stateless")

    def schemes(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> Schemes:
        return renamed(promised[0], {name: self.names.get(name, name) for name in inputs[0].types})

    def arguments(self) -> dict[str, Any]:
        return {"items": self.names}
