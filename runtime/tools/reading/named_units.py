"""Converts the columns of an output into units that its reader names, `with litres in m3` (theory N6)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type

from cedilla.compiler.compile import CompiledQuery, compiled_query
from cedilla.compiler.expressions.types import decimal_notation
from cedilla.compiler.expressions.units.exact_conversions import exact_type
from cedilla.compiler.expressions.units.registry import UnknownUnit
from cedilla.compiler.expressions.units.units import Mismatch, conversion
from cedilla.compiler.regions.affine import Affine
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.connectors.records.arrow_types import arrow_type
from cedilla.runtime.engines.spark.columns import type_named
from cedilla.runtime.tools.reading.reading import Reading, emit_of


def functions_of(
    reading: Reading, query: str | CompiledQuery | None, wanted: str | None
) -> dict[str, Affine]:
    """Returns the functions from canonical values into units. `wanted`: `litres in m3, t in degC`.

    Raises `DiagnosticError` RQ490 without a query, for an attribute without a unit, or one of another kind.
    """
    if wanted is None:
        return {}
    if query is None or reading.units != "canonical":
        hint = '`--query pumps.rq`, in Spark `.option("query", "pumps.rq")`, and no other `units`'
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
    """Returns a table whose columns are converted: exactly if their new types are exact, else as an Alter of a double
    converts. Raises `DiagnosticError` RQ490 for a whole number that is too large in its new unit."""
    wanted = named_types(table.schema, functions)
    for number, field in enumerate(wanted):
        if field.name in functions and not functions[field.name].is_identity:
            function = functions[field.name]
            values = [_converted(value, function, field.type) for value in table.column(number).to_pylist()]
            try:
                table = table.set_column(number, field, pa.array(values, field.type))
            except (pa.ArrowInvalid, OverflowError):
                message = f"`{field.name}` has a whole number beyond 64 bits in its unit"
                raise failure("RQ490", message, hint="a larger unit, or a double in the query") from None
    return table


def named_types(schema: pa.Schema, functions: Mapping[str, Affine]) -> pa.Schema:
    """Returns the schema of a table after `in_named_units`: exact numbers stay exact where they can (theory N12)."""
    return pa.schema(
        field.with_type(_type_of(field.type, functions[field.name])) if field.name in functions else field
        for field in schema
    )


def _type_of(type_: pa.DataType, function: Affine) -> pa.DataType:
    if function.is_identity:
        return type_
    if pa.types.is_list(type_):
        return pa.list_(_type_of(type_.value_type, function))
    exact = exact_type(type_named(from_arrow_type(type_).simpleString()), function)
    return pa.float64() if exact is None else arrow_type(exact)


def _converted(value: Any, function: Affine, type_: pa.DataType) -> Any:
    if value is None:
        return None
    if isinstance(value, list):
        return [_converted(element, function, type_.value_type) for element in value]
    if pa.types.is_floating(type_):
        return function.of_double(float(value))
    exact = function(Fraction(value))
    return Decimal(str(decimal_notation(exact))) if pa.types.is_decimal(type_) else int(exact)
