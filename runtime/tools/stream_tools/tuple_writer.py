"""Writes the tuples of a canonized stream as lines of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import IO, Any

from attrs import define

from cedilla.compiler.expressions.types import Type, decimal_notation
from cedilla.compiler.expressions.units.altered_decimals import WHOLE, holds
from cedilla.compiler.regions import Value
from cedilla.runtime.connectors.records.json_objects import json_text
from cedilla.runtime.connectors.records.lines import Line
from cedilla.runtime.connectors.records.values import number_to_json
from cedilla.runtime.tools.stream_tools.stream_checker import Row


@define
class TupleWriter:
    """Writes tuples as lines of JSON. `exact`: the attributes that are declared as whole numbers or decimals."""

    file: IO[str]
    exact: Mapping[str, Type]

    def write(self, line: Line, row: Row, values: Mapping[str, Value]) -> None:
        """Writes a tuple with other values; copies the line if they are the same."""
        changed = {name: value for name, value in values.items() if value != row.raw[name]}
        if not changed and line.item is None and not row.differs:
            self.file.write(f"{line.text}\n")
            return
        raw = {name: self._value(name, value) for name, value in changed.items()}
        self.file.write(f"{json_text({**row.item, **raw})}\n")

    def _value(self, name: str, value: Value) -> Any:
        type_ = self.exact.get(name)
        if type_ is None or not isinstance(value, int | Fraction):
            return number_to_json(value)
        if value == int(value):
            return int(value)
        is_held = holds(WHOLE if type_.is_integral else type_, value)
        return Decimal(decimal_notation(value) or 0) if is_held else number_to_json(value)
