"""Expressions in plain Python, tuple by tuple: what their SQL must agree with (`compiler/expressions/expressions.py`).

`None` is undefined. Whole numbers are `int`, other numbers `float` or, exact, `Fraction`; strings are `str`,
conditions `bool`, timestamps `datetime` with a zone, dates `date`. It is slow and keeps to the words of Spark's manual.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from cedilla.compiler.expressions import expressions, scalar_functions
from cedilla.grammar.syntax import Attribute, Binary, Case, Expression, InRange, InSet, Literal, Scalar, Unary
from cedilla.runtime.reference.scalars import VALUES
from cedilla.runtime.reference.scalars.arguments import as_kind
from cedilla.runtime.reference.scalars.arithmetic import affine, arithmetic, in_range, number
from cedilla.runtime.reference.scalars.comparisons import COMPARED, compare
from cedilla.runtime.reference.scalars.times import micros

Row = Mapping[str, Any]


def evaluate(expression: Expression, row: Row) -> Any:
    """The value of an expression for one tuple; attributes that the tuple lacks are undefined."""
    match expression:
        case Attribute(name):
            return row.get(name)
        case Literal(value):
            return value
        case Unary("-", operand):
            value = number(evaluate(operand, row))
            return None if value is None else in_range(0 - value)
        case Unary(_, operand):
            value = evaluate(operand, row)
            return None if value is None else not value
        case InSet(operand, values, negated):
            value = evaluate(operand, row)
            return None if value is None else any(compare("=", value, v.value) for v in values) != negated
        case InRange(operand, pattern, negated):
            value = evaluate(operand, row)
            if value is None:
                return None
            low, high = pattern.low, pattern.high
            above = low is None or compare(">=" if pattern.low_closed else ">", value, low.value)
            below = high is None or compare("<=" if pattern.high_closed else "<", value, high.value)
            return (above and below) != negated
        case Binary("and" | "or" as word, left, right):
            sides = [evaluate(left, row), evaluate(right, row)]
            decided = word == "or"
            return decided if decided in sides else None if None in sides else not decided
        case Binary(sign, left, right):
            x, y = evaluate(left, row), evaluate(right, row)
            if x is None or y is None:
                return None
            if sign == "-" and (isinstance(x, datetime) or isinstance(y, datetime)):
                return float(micros(as_kind("timestamp", x)) - micros(as_kind("timestamp", y))) / 1e6
            return compare(sign, x, y) if sign in COMPARED else arithmetic(sign, number(x), number(y))
        case Case(branches, otherwise):
            for branch in branches:
                if evaluate(branch.condition, row) is True:
                    return evaluate(branch.value, row)
            return None if otherwise is None else evaluate(otherwise, row)
        case Scalar():
            return _call(expression, row)


def _call(node: Scalar, row: Row) -> Any:
    name, function = scalar_functions.FUNCTIONS[node.name].name, scalar_functions.FUNCTIONS[node.name]
    if name in ("floor", "ceil") and (form := expressions.single(node.arguments[0])) is not None:
        part = number(evaluate(form[0], row))
        arguments = [None if part is None else affine(form[1], part)]
    else:
        kinds = (*function.takes, *function.takes[-1:] * (len(node.arguments) - len(function.takes)))
        arguments = [as_kind(kind, evaluate(a, row)) for kind, a in zip(kinds, node.arguments, strict=False)]
    if function.defined == "every" and None in arguments:
        return None
    try:
        return VALUES[name](*arguments)
    except OverflowError:
        return None  # before the year 1 or after 9999
