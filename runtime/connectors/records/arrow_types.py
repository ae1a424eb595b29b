"""The types of attributes in Arrow."""

from __future__ import annotations

import pyarrow as pa

from cedilla.compiler.expressions.types import Type

_SIMPLE = {
    "int": pa.int32(),
    "long": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", "UTC"),
    "date": pa.date32(),
    "version": pa.string(),
}


def arrow_type(type_: Type) -> pa.DataType:
    """Returns the type of an attribute in Arrow."""
    if type_.element is not None:
        return pa.list_(arrow_type(type_.element))
    return pa.decimal128(*type_.parameters) if type_.name == "decimal" else _SIMPLE[type_.name]
