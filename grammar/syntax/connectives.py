"""Conditions of many terms: `a or b or c` as a tree whose depth grows with the logarithm of its terms.

Programs write conditions of a thousand terms, and every stage walks them by recursion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal as OneOf

from attrs import evolve

from cedilla.grammar.syntax import Binary, Expression

Connective = OneOf["and", "or"]

_MIN_GROUPED = 8
"""The number of terms up to which a chain is joined from left to right."""


def terms(operator: str, *operands: Expression) -> list[Expression]:
    """The terms that a connective joins, also inside of operands with the same connective."""
    waiting, operators = [*reversed(operands)], list[Expression]()
    while waiting:
        match waiting.pop():
            case Binary(same, left, right) if same == operator:
                waiting += (right, left)
            case term:
                operators.append(term)
    return operators


def connected(operator: Connective, joined: Sequence[Expression]) -> Expression:
    """Terms joined by a connective, which is associative over three truth values. At least one term."""
    if len(joined) > _MIN_GROUPED:
        middle = len(joined) // 2
        return _both(operator, connected(operator, joined[:middle]), connected(operator, joined[middle:]))
    result = joined[0]
    for term in joined[1:]:
        result = _both(operator, result, term)
    return result


def _both(operator: Connective, left: Expression, right: Expression) -> Binary:
    a, b = left.span, right.span
    span = evolve(a, end=b.end, end_line=b.end_line, end_column=b.end_column)
    return Binary(operator, left, right, span=span)
