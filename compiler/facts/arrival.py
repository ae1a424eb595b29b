"""The order of a relation's tuples: which relations have one that does not depend on how the input is cut."""

from __future__ import annotations

from enum import IntEnum

from attrs import frozen


class Order(IntEnum):
    """How much order a relation has; a greater value promises more.

    Whatever is promised holds for any division of the input into epochs. Tuples of one place (copies in several
    windows, pairs with one row of a table) are told apart by their values.
    """

    NONE = 0
    """Tuples have no places: those of two streams, and results, come as the input is cut."""
    PLACED = 1
    """Each tuple has a place, that of a stream's tuple; a later epoch may bring earlier places."""
    ARRIVAL = 2
    """Each tuple has a place, and tuples come in the order of their places."""


@frozen
class Arrival:
    """The order of a relation. `bounded`: computed from tables only, so that the first epoch brings all of it."""

    order: Order
    bounded: bool = False

    @classmethod
    def of(cls, order: Order, inputs: tuple[Arrival, ...]) -> Arrival:
        """The order of an operator's output over its inputs; what comes in one epoch comes in order."""
        bounded = all(each.bounded for each in inputs)
        return cls(Order.ARRIVAL if bounded and order is Order.PLACED else order, bounded)
