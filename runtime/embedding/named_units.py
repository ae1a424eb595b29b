"""Converts the columns of an output into units that its reader names, `with litres in m3` (theory N6)."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from cedilla.compiler.compile import compiled_query
from cedilla.compiler.regions.affine import Affine
from cedilla.compiler.units.registry import UnknownUnit
from cedilla.compiler.units.units import Mismatch, conversion
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.reading.reading import Reading, emit_of


def functions_of(reading: Reading, query: str | None, wanted: str | None) -> dict[str, Affine]:
    """Returns the functions from canonical values into units. `wanted`: `litres in m3, t in degC`.

    Raises `DiagnosticError` RQ490 without a query, for an attribute without a unit, or one of another kind.
    """
    if wanted is None:
        return {}
    if query is None or reading.units != "canonical":
        hint = '`.option("query", "pumps.rq")`, and no `units`'
        raise failure("RQ490", "units are known by the query that writes the output", hint=hint)
    units = emit_of(compiled_query(query)[0].plan, reading.folder).units
    functions: dict[str, Affine] = {}
    for part in wanted.split(","):
        name, _, unit = (word.strip() for word in part.partition(" in "))
        if name not in units or not unit:
            listed = ", ".join(f"{n} in {u}" for n, u in units.items()) or "none"
            hint = f"attributes with units: {listed}"
            raise failure("RQ490", f"`{part.strip()}` names no attribute with a unit", hint=hint)
        try:
            functions[name] = conversion(units[name], unit)
        except (Mismatch, UnknownUnit) as problem:
            hint = f"a unit of the kind of {units[name]}"
            raise failure("RQ490", f"`{name}` is in {units[name]}: {problem}", hint=hint) from None
    return functions


def in_named_units(table: pa.Table, functions: Mapping[str, Affine]) -> pa.Table:
    """Returns a table whose columns are converted, each value as an Alter of a double converts it."""
    for name, function in functions.items():
        if name in table.column_names and not function.is_identity:
            values = [
                None if v is None else function.of_double(float(v)) for v in table.column(name).to_pylist()
            ]
            column = pa.array(values, pa.float64())
            table = table.set_column(table.column_names.index(name), name, column)
    return table
