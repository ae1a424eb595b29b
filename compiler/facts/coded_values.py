"""Parses changes that list values as tuples write them: recodes and missing values (theory N3, N11)."""

from __future__ import annotations

from attrs import evolve

from cedilla.compiler.expressions.types import Type, patterns
from cedilla.compiler.facts.markers import Missing, Recode
from cedilla.compiler.regions import Value
from cedilla.compiler.regions.value_mapping import ValueMapping
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.grammar.syntax import Literal, MissingValues, RecodeAttribute


def read_recode(node: RecodeAttribute, type_: Type) -> Recode:
    """Raises RQ208 if the attribute cannot have codes, or a value is not of its type.

    Raises RQ462 if two values have one code, or one has two.
    """
    if type_.name not in ("string", *_BITS):
        raise failure(
            "RQ208",
            f"`{node.name}` is of type {type_}; only strings and whole numbers are codes",
            node.span,
            hint="numbers that measure something are altered; else a drop and an add, under a new name",
        )
    pairs = [tuple(_code_value(type_, literal) for literal in pair) for pair in node.codes]
    for side, problem in enumerate(("has two codes", "is the code of two values")):
        values = [pair[side] for pair in pairs]
        if (twice := next((v for n, v in enumerate(values) if v in values[:n]), None)) is not None:
            span = node.codes[len(values) - 1 - values[::-1].index(twice)][side].span
            hint = "each value has a code of its own: afterwards the two could not be distinguished"
            raise failure("RQ462", f"{type_.wire(twice)} {problem}", span, hint=hint)
    mapping = ValueMapping.else_same if node.else_same else ValueMapping
    return Recode(node.name, mapping(tuple((before, after) for before, after in pairs)), type_)


def read_missing(node: MissingValues, type_: Type) -> Missing:
    """Raises RQ208 for a value that is not of the attribute's type."""
    values = {_code_value(type_, literal) for literal in node.values}
    return Missing(node.name, tuple(sorted(values)), type_)  # type: ignore[type-var]


def _code_value(type_: Type, literal: Literal) -> Value:
    """Returns a value as tuples write it. Raises RQ208 if no tuple can have it."""
    try:
        value = patterns.value_of(type_, literal)
    except DiagnosticError as error:
        raise as_marker_error(error) from None
    bits = _BITS.get(type_.name)
    if bits is not None and not (isinstance(value, int) and -(2**bits) <= value < 2**bits):
        hint = "a value of whole numbers is one, and as large as its type has them"
        raise failure("RQ208", f"{literal.text} is no {type_}", literal.span, hint=hint)
    return value


_BITS = {"int": 31, "long": 63}
"""The whole-number types, with their bits."""


def as_marker_error(error: DiagnosticError) -> DiagnosticError:
    """Turns codes of queries into those of markers: RQ207 for an unknown attribute, RQ208 for a clash of
    types.
    """
    codes = {"RQ102": "RQ207", "RQ103": "RQ208"}
    return DiagnosticError([evolve(d, code=codes.get(d.code, d.code)) for d in error.diagnostics])
