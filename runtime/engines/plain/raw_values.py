"""Converts raw tuples to canonical ones: undoes swaps and sentinels, then the function of each value (D0, N11)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.expressions.units.altered_decimals import holds
from cedilla.compiler.regions import Tree
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.compiler.regions.bent import Shift
from cedilla.compiler.regions.function import Function, NumberFunction
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.engines.plain.node import Row, control
from cedilla.runtime.engines.plain.scalars.decoded import decoded

NO_CODE = object()
"""In place of a value that a code, a bent function, or the declared decimal does not take."""


def canonical_values(state: SourceState, raw: Row) -> Row:
    """Returns the canonical values of a raw tuple, by attribute; `NO_CODE` for a value without one."""
    if state.swaps.here:
        raw = state.swaps.back(raw, {name: control(value) for name, value in raw.items()})
    if state.sentinels.here:
        undefined = state.sentinels.among({name: control(value) for name, value in raw.items()})
        raw = {name: value for name, value in raw.items() if name not in undefined}
    functions = {name: value_at(state.original.get(name, IDENTITY), raw) for name in raw}
    return {
        name: exactly(functions[name], value, state.types[name])
        if name in state.numbers.raw_types
        else applied(functions[name], value)
        for name, value in raw.items()
    }


def value_at(tree: Tree, row: Row) -> Any:
    """Returns the leaf of a tree for a tuple."""
    return regions.contains(tree, {name: control(row.get(name)) for name in regions.attributes(tree)})


def exactly(function: Affine, value: int | Fraction, type_: Type) -> Any:
    """Returns the canonical value of an altered decimal; `NO_CODE` if its declared type does not hold that (RQ334)."""
    canonical = Fraction(function(value))
    return canonical if holds(type_, canonical) else NO_CODE


def applied(function: Function, value: Any) -> Any:
    """Applies a function to a value; returns `NO_CODE` if it does not take the value."""
    if not function.takes(control(value) if isinstance(function, Shift) else value):
        return NO_CODE
    if isinstance(function, NumberFunction):
        return function.of_moment(value) if isinstance(function, Shift) else decoded(function, value)
    return function.of(value)
