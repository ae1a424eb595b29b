"""Types of attributes, their values, and sets of values of one attribute. Imports `regions` and the grammar."""

from cedilla.compiler.expressions.types.attribute_types import (
    BOOLEAN,
    DOUBLE,
    FARTHEST,
    LARGEST,
    LONG,
    MAX_DIGITS,
    STRING,
    TIMESTAMP,
    VERSION,
    Type,
    array_of,
    column,
    decimal_notation,
    finite,
    quote,
)

__all__ = [
    "BOOLEAN",
    "DOUBLE",
    "FARTHEST",
    "LARGEST",
    "LONG",
    "MAX_DIGITS",
    "STRING",
    "TIMESTAMP",
    "VERSION",
    "Type",
    "array_of",
    "column",
    "decimal_notation",
    "finite",
    "quote",
]
