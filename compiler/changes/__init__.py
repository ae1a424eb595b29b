"""The changes that accents announce, one specification each (theory 2.5, N1 to N13).

A specification has the form of a change, its layer, its inverse and its words in messages. Its layer changes the state
of a source (`runtime.control`).
"""

from typing import cast

from cedilla.compiler.changes.add import Add
from cedilla.compiler.changes.alter import Alter, SourceAlter
from cedilla.compiler.changes.change import (
    AtSource,
    Before,
    Change,
    Context,
    Layer,
    SourceFunction,
)
from cedilla.compiler.changes.drop import Drop
from cedilla.compiler.changes.grow import Grow
from cedilla.compiler.changes.missing import Missing
from cedilla.compiler.changes.recode import Recode
from cedilla.compiler.changes.rename import Rename
from cedilla.compiler.changes.swap import Swap
from cedilla.compiler.changes.text_forms import ToForm, ToSign, ToZone, to_form
from cedilla.compiler.changes.units import ToLevel, ToUnit
from cedilla.compiler.changes.wrap import Wrap
from cedilla.compiler.regions.composition import Bent
from cedilla.compiler.regions.function import Function
from cedilla.compiler.regions.wrapped import Wrapped
from cedilla.grammar.syntax import Node

EpochChange = Grow | ToForm
"""A change of all tuples that begins an epoch."""
ALL: tuple[type[Change], ...] = (
    *(Add, Drop, Alter, SourceAlter, ToUnit, ToLevel),
    *(Rename, Recode, Missing, Swap, Wrap, Grow, ToZone, ToSign),
)
"""All changes."""
OF_NODE: dict[type[Node], type[Change]] = {change.node: change for change in ALL if hasattr(change, "node")}
"""The node of a change -> its specification."""


def at_source(attribute: str, function: Function) -> AtSource:
    """Returns the change of a function that a source undoes, one of `composition.parts`."""
    if isinstance(function, Wrapped):
        return Wrap(attribute, function)
    return SourceAlter(attribute, cast("Bent", function))


__all__ = [
    "ALL",
    "OF_NODE",
    "Add",
    "Alter",
    "AtSource",
    "Before",
    "Change",
    "Context",
    "Drop",
    "EpochChange",
    "Grow",
    "Layer",
    "Missing",
    "Recode",
    "Rename",
    "SourceAlter",
    "SourceFunction",
    "Swap",
    "ToForm",
    "ToLevel",
    "ToSign",
    "ToUnit",
    "ToZone",
    "Wrap",
    "at_source",
    "to_form",
]
