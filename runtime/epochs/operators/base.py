"""The interface of a stateful operator in an epoch: its computation with Spark, and the contents of its state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any

from attrs import frozen
from pyspark.sql import DataFrame

from cedilla.compiler.regions import Tree
from cedilla.runtime.engines.spark.columns import Columns

if TYPE_CHECKING:
    from cedilla.runtime.epochs.operators.epoch import Epoch


@frozen
class AttributeState:
    """A state that may contain an attribute: its key, the SQL over its rows that is null for rows without the
    attribute, the columns that it reads, all columns, the purged region, and the rows that count, if not all."""

    key: str
    value: str
    reads: Collection[str]
    columns: Columns
    purged: Tree = False
    rows: Callable[[], DataFrame | None] | None = None


class Dataflow(ABC):
    """One stateful operator's part of an epoch; one object serves all operators of a class.

    State is read as of the previous epoch, and new state is written while the output is being planned.
    """

    @abstractmethod
    def run(self, epoch: Epoch, operator: Any, *frames: DataFrame) -> DataFrame:
        """Returns the operator's canonical output of this epoch, from the inputs' tuples of this epoch."""

    def has_output(self, epoch: Epoch, operator: Any) -> bool:
        """Returns True if there can be output in this epoch."""
        return any(map(epoch.has_rows, operator.inputs))

    def output_region(self, epoch: Epoch, operator: Any) -> Tree:
        """Returns a region around all of this epoch's output."""
        return True

    @abstractmethod
    def attribute_states(self, epoch: Epoch, operator: Any, attribute: str) -> Iterable[AttributeState]:
        """Returns the states that contain values of an attribute of the output (G13)."""
