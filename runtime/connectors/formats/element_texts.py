"""SQL for the texts of values in files of text, and for a function of each element of an array."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql.types import ArrayType, DataType

from cedilla.compiler.expressions.types import quote

TIMESTAMP = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"
"""Format of timestamps in text, with the full precision of Spark; its own default cuts them to milliseconds."""


def timestamp_text(value: str, kind: DataType) -> str:
    """Returns SQL for the text of a timestamp, or for the texts of an array of them."""
    return element_wise(lambda element: f"date_format({element}, {quote(TIMESTAMP)})", value, kind)


def innermost(kind: DataType) -> DataType:
    """Returns the type of the values in an array, however deep; of another type itself."""
    return innermost(kind.elementType) if isinstance(kind, ArrayType) else kind


def digits_text(value: str, kind: DataType) -> str:
    """Returns SQL for the JSON of a decimal, or of an array of decimals: `to_json` may lose digits."""
    if not isinstance(kind, ArrayType):
        return f"CAST({value} AS STRING)"
    texts = f"transform({value}, e -> coalesce({digits_text('e', kind.elementType)}, 'null'))"
    return f"concat('[', array_join({texts}, ','), ']')"


def element_wise(function: Callable[[str], str], value: str, kind: DataType) -> str:
    """Returns a function of a column as SQL; for an array, element by element (theory 2.8)."""
    if not isinstance(kind, ArrayType):
        return function(value)
    return f"transform({value}, e -> {element_wise(function, 'e', kind.elementType)})"
