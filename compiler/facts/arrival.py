"""The order of a relation's tuples, and whether it depends on how the input is cut into epochs."""

from __future__ import annotations

from enum import IntEnum

from attrs import frozen


class Order(IntEnum):
    """The amount of order of a relation; a greater value promises more.

    A promise holds for any division of the input into epochs. Tuples of one place (copies in several windows,
    pairs with one row of a table) are distinguished by their values.
    """

    NONE = 0
    """Tuples have no places. Tuples of two streams, and results, come in the order of epochs."""
    PLACED = 1
    """Each tuple has the place of a stream's tuple; a later epoch may bring earlier places."""
    ARRIVAL = 2
    """Each tuple has a place, and tuples come in the order of their places."""


@frozen
class Arrival:
    """The order of a relation.

    `bounded`: it is computed from tables only, so the first epoch brings all of it.
    """

    order: Order
    bounded: bool = False

    @classmethod
    def of(cls, order: Order, inputs: tuple[Arrival, ...]) -> Arrival:
        """Returns the order of an operator's output over its inputs; the content of one epoch comes in order."""
        bounded = all(arrival.bounded for arrival in inputs)
        return cls(Order.ARRIVAL if bounded and order is Order.PLACED else order, bounded)
