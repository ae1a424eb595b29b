"""Intersect ∩ with Spark: a tuple passes when its second side arrives (theory 1.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.operators import Intersect, Operator
from cedilla.compiler.operators.shared.equality import common_types
from cedilla.compiler.regions import Tree
from cedilla.runtime.epochs.operators.base import AttributeState
from cedilla.runtime.epochs.operators.counting import SURPLUS, CountingDataflow

if TYPE_CHECKING:
    from cedilla.runtime.epochs.operators.epoch import Epoch


class IntersectDataflow(CountingDataflow):
    """Returns tuples of both sides: once, or as often as both have them."""

    def allowed(self, operator: Intersect) -> str:
        if operator.all:
            return "least(`$left`, `$right`)"
        return "IF(`$left` > 0 AND `$right` > 0, 1L, 0L)"

    def needed(self, operator: Intersect) -> str:
        if operator.all:
            return SURPLUS
        # Keep1 and Keep2: tuples of one side until the other closes them, of both sides until either does.
        return "IF(`$right` = 0, NOT {right}, IF(`$left` = 0, NOT {left}, NOT {left} AND NOT {right}))"

    def releases(self, epoch: Epoch, operator: Operator) -> Tree:
        return False

    def result(self, inputs: tuple[Facts, ...]) -> Mapping[str, Type]:
        return common_types(inputs)

    def attribute_states(self, epoch: Epoch, operator: Intersect, attribute: str) -> Iterable[AttributeState]:
        return ()  # passing tuples have just come on at least one side
