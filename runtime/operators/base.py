"""What a stateful operator is to an epoch: how it computes with Spark, and what its state holds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from attrs import frozen
from pyspark.sql import DataFrame

from cedilla.compiler.operators import Operator
from cedilla.compiler.regions import Tree

if TYPE_CHECKING:
    from cedilla.runtime.operators.epoch import Epoch


@frozen
class AttributeState:
    """A state that may hold an attribute: its key, the SQL over its rows that is null where they lack the
    attribute, the region of its rows that are purged already, and which rows count, if not all."""

    key: str
    value: str
    purged: Tree = False
    rows: Callable[[], DataFrame | None] | None = None


class Dataflow(ABC):
    """One stateful operator's part of an epoch. There is one object for all operators of a class.

    State is read as of the epoch before, new state is written while the output is being planned.
    """

    @abstractmethod
    def run(self, epoch: Epoch, operator: Any, *frames: DataFrame) -> DataFrame:
        """The operator's output of this epoch, canonical, over the inputs' tuples of this epoch."""

    @abstractmethod
    def busy(self, epoch: Epoch, operator: Operator) -> bool:
        """Whether there can be output in this epoch."""

    def passes(self, epoch: Epoch, operator: Any) -> Tree:
        """A region that all of this epoch's output lies in."""
        return True

    @abstractmethod
    def attribute_states(self, epoch: Epoch, operator: Any, attribute: str) -> Iterable[AttributeState]:
        """The states that hold values of an attribute of the output (G13)."""
