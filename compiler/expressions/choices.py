"""Expressions that choose one of several attributes, and compute no value of their own."""

from __future__ import annotations

from cedilla.compiler.expressions.scalars.units_of_functions import CHOSEN
from cedilla.grammar.syntax import Attribute, Case, Expression, Literal, Scalar

_CHOOSE = CHOSEN | {"coalesce", "ifnull", "nvl", "nullif", "greatest", "least"}


def choices(expression: Expression) -> frozenset[str]:
    """Returns the attributes that an expression chooses from; none if it computes some of its values.

    >>> from cedilla.grammar.parser import parse_expression
    >>> sorted(choices(parse_expression("if(a > 1, b, coalesce(c, 0))")))
    ['b', 'c']
    >>> sorted(choices(parse_expression("if(before is null, total, total - before)")))
    []
    """
    match expression:
        case Attribute(name):
            return frozenset({name})
        case Literal():
            return frozenset()
        case Case(branches, otherwise):
            values = (*(branch.value for branch in branches), *([] if otherwise is None else [otherwise]))
        case Scalar(name, arguments) if name in _CHOOSE:
            values = arguments[1:] if name in CHOSEN else arguments
        case _:
            return frozenset()
    chosen = [choices(value) for value in values]
    are_all = all(names or isinstance(value, Literal) for names, value in zip(chosen, values, strict=True))
    return frozenset[str]().union(*chosen) if are_all else frozenset()
