"""Bounds predicates by regions outside which they are never true (theory 1.3, Select)."""

from __future__ import annotations

from cedilla.compiler import regions
from cedilla.compiler.expressions.expressions import COMPARISONS, Types
from cedilla.compiler.expressions.types import decimals, patterns
from cedilla.compiler.regions import Tree
from cedilla.grammar.syntax import (
    Attribute,
    Binary,
    Comparison,
    Expression,
    InRange,
    InSet,
    Literal,
    Scalar,
    SetPattern,
    Unary,
    signed_constant,
)

_MAX_ATTRIBUTES = 8
"""A tree has a level for each attribute, and in the worst case twice as many cells for each two."""


def possible(predicate: Expression, types: Types) -> Tree:
    """Returns a region outside which the predicate is never true; `True` if none is known (theory 1.3,
    Select).
    """
    return _bounds(predicate, types)[0]


def _bounds(predicate: Expression, types: Types) -> tuple[Tree, Tree]:
    """Returns regions outside which the predicate is never true, and never false."""
    match predicate:
        case Unary("not", operand):
            true, false = _bounds(operand, types)
            return false, true
        case Binary("and", left, right):
            a, b = _bounds(left, types), _bounds(right, types)
            return _both(a[0], b[0]), _either(a[1], b[1])
        case Binary("or", left, right):
            a, b = _bounds(left, types), _bounds(right, types)
            return _either(a[0], b[0]), _both(a[1], b[1])
        case Binary(operator, Attribute(name), right) if operator in COMPARISONS and (
            value := signed_constant(right)
        ):
            return _of_set(name, patterns.value_set(name, types[name], _compared(operator, value)))
        case Binary(operator, left, Attribute(name)) if operator in COMPARISONS and (
            value := signed_constant(left)
        ):
            pattern = _compared(decimals.MIRRORED[operator], value)
            return _of_set(name, patterns.value_set(name, types[name], pattern))
        case InSet(Attribute(name), values, negated):
            pattern = SetPattern(values, span=predicate.span)
            inside, outside = _of_set(name, patterns.value_set(name, types[name], pattern))
            return (outside, inside) if negated else (inside, outside)
        case InRange(Attribute(name), pattern, negated):
            inside, outside = _of_set(name, patterns.value_set(name, types[name], pattern))
            return (outside, inside) if negated else (inside, outside)
        case Scalar("isnull" | "isnotnull" as test, (Attribute(name),)):
            defined = regions.defined(name)
            undefined = regions.complement(defined)
            return (undefined, defined) if test == "isnull" else (defined, undefined)
        case _:
            return True, True


def _both(a: Tree, b: Tree) -> Tree:
    """A region around the intersection, which it is where it is not over too many attributes."""
    return a if _are_wide(a, b) else regions.intersection(a, b)


def _either(a: Tree, b: Tree) -> Tree:
    """A region around the union, which it is where it is not over too many attributes."""
    return True if _are_wide(a, b) else regions.union(a, b)


def _are_wide(a: Tree, b: Tree) -> bool:
    return len(regions.attributes(a) | regions.attributes(b)) > _MAX_ATTRIBUTES


def _compared(operator: str, value: Literal) -> Comparison:
    return Comparison(operator, value, span=value.span)  # type: ignore[arg-type]


def _of_set(name: str, members: Tree) -> tuple[Tree, Tree]:
    return members, regions.difference(regions.defined(name), members)
