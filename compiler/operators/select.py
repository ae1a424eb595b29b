"""Select σ: the tuples for which a predicate is true (paper, section 4; theory S1 to S6)."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from attrs import evolve, field

from cedilla.compiler import regions
from cedilla.compiler.expressions import expressions, predicates
from cedilla.compiler.expressions.expressions import Types
from cedilla.compiler.expressions.scalars import type_hints
from cedilla.compiler.expressions.types import BOOLEAN, Type
from cedilla.compiler.facts.facts import NO_STATE, Facts, StateFacts
from cedilla.compiler.operators.shared.base import Invariants, OpenGroups, Operator, Rules
from cedilla.compiler.operators.shared.conditions import condition_warnings
from cedilla.compiler.regions import Tree
from cedilla.grammar.diagnostics import Diagnostic, failure
from cedilla.grammar.parser import parse_expression
from cedilla.grammar.syntax import Expression
from cedilla.grammar.syntax.classes import lean


def _parsed(predicate: Expression | str) -> Expression:
    return parse_expression(predicate) if isinstance(predicate, str) else predicate


@lean(kw_only=True)
class Select(Operator):
    """`select[predicate](input)`; the predicate reads canonical values (theory D0c), so an Alter never
    changes it."""

    predicate: Expression = field(converter=_parsed)
    call: ClassVar[str] = "where"
    rules: ClassVar[Rules] = Rules("S1", "S4", "S6", read="S5", needed="S3")

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (self.predicate,)

    def required(self) -> Expression | None:
        return self.predicate

    def of_open_groups(self, rows: OpenGroups, types: Types) -> OpenGroups:
        return rows

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        (source,) = inputs
        type_ = expressions.type_of(self.predicate, source.types)
        if type_ != BOOLEAN:
            hint = type_hints.conversion("boolean", type_, self.predicate)
            raise failure(
                "RQ103", f"select requires a condition, found {type_}", self.predicate.span, hint=hint
            )
        return condition_warnings(self.predicate, source)

    def facts(self, inputs: tuple[Facts, ...], state: StateFacts = NO_STATE) -> Facts:
        (source,) = inputs
        return evolve(source, closed=regions.union(source.closed, self._never(source.types)))

    def _never(self, types: Types) -> Tree:
        """Returns a region that the predicate excludes."""
        read = tuple(types.get(name) for name in self.named(0))
        if read not in self._excluded:
            self._excluded[read] = regions.complement(predicates.possible(self.predicate, types))
        return self._excluded[read]

    @cached_property
    def _excluded(self) -> dict[tuple[Type | None, ...], Tree]:
        """The regions of `_never` by the types of the attributes: long predicates are asked for often."""
        return {}

    def named(self, side: int) -> tuple[str, ...]:
        return tuple(sorted(expressions.attributes(self.predicate)))

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        return Invariants(
            "every tuple for which the condition is true",
            "everything that its input closes, and all values that the condition excludes",
            "stateless",
        )
