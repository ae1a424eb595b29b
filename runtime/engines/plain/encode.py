"""Encodes a canonical tuple for an output (theory D0)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from cedilla.compiler.expressions.types import DOUBLE, Type
from cedilla.compiler.expressions.units.altered_decimals import holds, written_type
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.regions import Tree
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.runtime.connectors.records.rejections import beyond
from cedilla.runtime.control.sinks.announce import SinkState
from cedilla.runtime.engines.plain.node import Row, inside
from cedilla.runtime.engines.plain.raw_values import applied, value_at
from cedilla.runtime.engines.plain.scalars.arithmetic import double, loses_digits
from cedilla.runtime.engines.plain.values import write_value


def encoded_row(row: Row, sink: SinkState, start: Facts, after: Facts, dropped: Mapping[str, Tree]) -> Row:
    """Returns a row in the units that the sink has announced. `start`, `after`: the relation's facts when the query
    began and now. `dropped`: the regions where values are left out. Raises `DiagnosticError` RQ310 for a number
    whose digits the written type does not keep."""
    result: Row = {}
    row = _without_dropped(row, dropped)
    for name, value in row.items():
        function = value_at(sink.scale.get(name, IDENTITY), row)
        if isinstance(value, int | Fraction) and _was_exact(start, name, after) and loses_digits(value):
            raise beyond(name)
        type_ = after.types[name]
        if name in sink.scale and (sent_type := written_type(type_, sink.scale[name])) != type_:
            result[name] = write_value(sent_type, _encoded_decimal(name, function, value, sent_type))
        else:
            result[name] = write_value(type_, applied(function, value))
    return result


def _without_dropped(row: Row, dropped: Mapping[str, Tree]) -> Row:
    """Leaves out dropped values, and then those that exist only by such values."""
    kept = {name: value for name, value in row.items() if not inside(dropped.get(name, False), row)}
    return row if kept.keys() == row.keys() else _without_dropped(kept, dropped)


def _was_exact(start: Facts, name: str, after: Facts) -> bool:
    """Returns True if an Alter has turned an attribute into doubles since the query began."""
    return after.types[name] == DOUBLE and start.types.get(name, DOUBLE) != DOUBLE


def _encoded_decimal(name: str, function: Affine, value: Any, written_type: Type) -> Any:
    """Returns an exact number, or a list of them, in the units of an output. Raises `DiagnosticError` RQ310 if the type
    that is written does not keep its digits."""
    if isinstance(value, list):
        return [
            _encoded_decimal(name, function, element, written_type.element or written_type)
            for element in value
        ]
    if written_type != DOUBLE:
        if not holds(written_type, image := function(value)):
            raise beyond(name)
        return image
    if loses_digits(value):
        raise beyond(name)
    return applied(function, double(value))
