"""Difference − with Spark: a left tuple passes when the right has closed it (theory 1.3, E1, E9, E10)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from cedilla.compiler.expressions.types import Type, column
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.operators import Minus, Operator
from cedilla.compiler.regions import Tree
from cedilla.runtime.epochs.operators.base import AttributeState
from cedilla.runtime.epochs.operators.counting import SURPLUS, CountingDataflow, state_columns

if TYPE_CHECKING:
    from cedilla.runtime.epochs.operators.epoch import Epoch


class MinusDataflow(CountingDataflow):
    """Returns left tuples that the right has closed: those that it never had, or the surplus."""

    def allowed(self, operator: Minus) -> str:
        if operator.all:
            return "IF({right}, greatest(`$left` - `$right`, 0L), 0L)"
        return "IF(`$left` > 0 AND `$right` = 0 AND {right}, 1L, 0L)"  # E1

    def needed(self, operator: Minus) -> str:
        if operator.all:
            return SURPLUS
        # Right tuples stay until the left has closed them (E9), left tuples until both have. Left tuples wait, then
        # have passed and must not pass again (E10).
        return "IF(`$right` > 0, NOT {left}, NOT {left} OR NOT {right})"

    def releases(self, epoch: Epoch, operator: Operator) -> Tree:
        return epoch.newly_closed(operator.inputs[1])

    def result(self, inputs: tuple[Facts, ...]) -> Mapping[str, Type]:
        return inputs[0].types

    def has_output(self, epoch: Epoch, operator: Operator) -> bool:
        left, right = operator.inputs
        may_pass = epoch.has_rows(left) and epoch.after[right].closed is not False
        return may_pass or self.releases(epoch, operator) is not False

    def attribute_states(self, epoch: Epoch, operator: Minus, attribute: str) -> Iterable[AttributeState]:
        inputs = epoch.inputs(operator.name)
        waiting = f"IF(`$left` > 0, {column(attribute)}, NULL)"
        yield AttributeState(
            operator.name, waiting, [attribute], state_columns(inputs), operator.decided(inputs)
        )
