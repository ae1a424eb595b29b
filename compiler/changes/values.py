"""Values in changes, as tuples write them."""

from __future__ import annotations

from attrs import evolve

from cedilla.compiler.expressions.types import Type, patterns
from cedilla.compiler.regions import Value
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.grammar.syntax import Literal

BITS = {"int": 31, "long": 63}
"""The whole-number types, with their bits."""


def raw_value(type_: Type, literal: Literal) -> Value:
    """Returns a value as tuples write it. Raises RQ208 if no tuple can have it."""
    try:
        value = patterns.value_of(type_, literal)
    except DiagnosticError as error:
        raise as_marker_error(error) from None
    bits = BITS.get(type_.name)
    if bits is not None and not (isinstance(value, int) and -(2**bits) <= value < 2**bits):
        hint = "a value of whole numbers is one, and as large as its type has them"
        raise failure("RQ208", f"{literal.text} is not a value of type {type_}", literal.span, hint=hint)
    return value


def as_marker_error(error: DiagnosticError) -> DiagnosticError:
    """Turns codes of queries into those of markers: RQ207 for an unknown attribute, RQ208 for a clash of
    types.
    """
    codes = {"RQ102": "RQ207", "RQ103": "RQ208"}
    return DiagnosticError([evolve(d, code=codes.get(d.code, d.code)) for d in error.diagnostics])
