"""Evaluates expressions in plain Python, tuple by tuple; their SQL must agree
(`compiler/expressions/expressions.py`).

`None` is undefined. Whole numbers are `int`, other numbers `float` or, exact, `Fraction`; strings are `str`,
conditions `bool`, timestamps `datetime` with a zone, dates `date`. It is slow and follows Spark's manual
literally.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any

from attrs import field, frozen

from cedilla.compiler.expressions import expressions
from cedilla.compiler.expressions.scalars import scalar_functions
from cedilla.compiler.expressions.types import DOUBLE, Type, rounding
from cedilla.compiler.expressions.units.conversions import called, written_out
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.grammar.syntax import Attribute, Binary, Case, Expression, InRange, InSet, Literal, Scalar, Unary
from cedilla.runtime.engines.plain.scalars import VALUES
from cedilla.runtime.engines.plain.scalars.arguments import as_kind
from cedilla.runtime.engines.plain.scalars.arithmetic import (
    affine,
    arithmetic,
    double,
    exact_quotient,
    fitted,
    in_range,
    number,
    typed_arithmetic,
)
from cedilla.runtime.engines.plain.scalars.comparisons import COMPARED, compare
from cedilla.runtime.engines.plain.scalars.decoded import decoded
from cedilla.runtime.engines.plain.scalars.times import micros

Row = Mapping[str, Any]


def evaluate(expression: Expression, row: Row, types: Mapping[str, Type] | None = None) -> Any:
    """Evaluates an expression for one tuple; attributes that the tuple lacks are undefined.

    `types`: of the attributes. With them, values have the digits of their types, and doubles are rounded;
    without them, arithmetic of exact numbers is exact without limit.
    """
    return _Evaluation(row, None if types is None else _typing(tuple(types.items()))).value(expression)


@frozen
class _Typing:
    """The types of expressions over attributes of some types."""

    types: Mapping[str, Type]
    known: dict[int, tuple[Expression, Type]] = field(factory=dict[int, tuple[Expression, Type]])

    def of(self, expression: Expression) -> Type:
        entry = self.known.get(id(expression))
        if entry is None:  # the expression is kept, so that no other one gets its id
            entry = self.known[id(expression)] = expression, expressions.type_of(expression, self.types)
        return entry[1]


@lru_cache(maxsize=256)
def _typing(types: tuple[tuple[str, Type], ...]) -> _Typing:
    return _Typing(dict(types))


@lru_cache(maxsize=1024)
def _conversion(node: Scalar) -> tuple[Expression, Affine, Expression]:
    """Returns the argument and the function of a call of `affine`, and the same as arithmetic."""
    argument, function = called(node)
    return argument, function, written_out(function, argument)


@frozen
class _Evaluation:
    row: Row
    typing: _Typing | None

    def value(self, expression: Expression) -> Any:
        match expression:
            case Attribute(name):
                value = self.row.get(name)  # a value that an Alter turns into a double may still be exact
                return value if self._is_double(expression) else self._fitted(value, expression)
            case Literal(value):
                return self._fitted(value, expression)
            case Unary("-", operand):
                value = number(self.value(operand))
                return None if value is None else in_range(0 - value)
            case Unary(_, operand):
                value = self.value(operand)
                return None if value is None else not value
            case InSet(operand, values, negated):
                value = self.value(operand)
                return None if value is None else any(compare("=", value, v.value) for v in values) != negated
            case InRange():
                return self._in_range(expression)
            case Binary("and" | "or" as word, left, right):
                sides = [self.value(left), self.value(right)]
                decided = word == "or"
                return decided if decided in sides else None if None in sides else not decided
            case Binary():
                return self._binary(expression)
            case Case(branches, otherwise):
                for branch in branches:
                    if self.value(branch.condition) is True:
                        return self._fitted(self.value(branch.value), expression)
                return None if otherwise is None else self._fitted(self.value(otherwise), expression)
            case Scalar():
                return self._call(expression)

    def _fitted(self, value: Any, expression: Expression) -> Any:
        return value if self.typing is None else fitted(value, self.typing.of(expression))

    def _is_double(self, expression: Expression) -> bool:
        return self.typing is not None and self.typing.of(expression) == DOUBLE

    def _in_range(self, test: InRange) -> bool | None:
        value = self.value(test.operand)
        if value is None:
            return None
        low, high = test.range.low, test.range.high
        above = low is None or compare(">=" if test.range.low_closed else ">", value, low.value)
        below = high is None or compare("<=" if test.range.high_closed else "<", value, high.value)
        return (above and below) != test.negated

    def _binary(self, node: Binary) -> Any:
        sign, sides = node.operator, (node.left, node.right)
        if sign in COMPARED:  # a constant is compared with all its digits
            sides = map(expressions.signed, sides)
            x, y = (side.value if isinstance(side, Literal) else self.value(side) for side in sides)
            return None if x is None or y is None else compare(sign, x, y)
        x, y = map(self.value, sides)
        if x is None or y is None:
            return None
        if sign == "-" and (isinstance(x, datetime) or isinstance(y, datetime)):
            return float(micros(as_kind("timestamp", x)) - micros(as_kind("timestamp", y))) / 1e6
        if self.typing is None:
            return arithmetic(sign, number(x), number(y))
        typed = [(side, self.typing.of(side)) for side in sides]
        return typed_arithmetic(sign, [number(x), number(y)], typed, self.typing.of(node))

    def _call(self, node: Scalar) -> Any:
        if node.name == "affine":
            return self._converted(node)
        function = scalar_functions.FUNCTIONS[node.name]
        if function.name in ("floor", "ceil"):
            return self._rounded(function.name, node.arguments[0])
        kinds = (*function.takes, *function.takes[-1:] * (len(node.arguments) - len(function.takes)))
        values = [self.value(argument) for argument in node.arguments]
        if self.typing is not None and function.name in ("mod", "pmod"):
            if None in values:
                return None
            typed = [(argument, self.typing.of(argument)) for argument in node.arguments]
            sign = "%" if function.name == "mod" else "pmod"
            return typed_arithmetic(sign, [number(value) for value in values], typed, self.typing.of(node))
        if function.gives == "same":
            values = [
                self._fitted(value, node) if kind == "same" else value
                for kind, value in zip(kinds, values, strict=False)
            ]
        arguments = [as_kind(kind, value) for kind, value in zip(kinds, values, strict=False)]
        if function.defined == "every" and None in arguments:
            return None
        if kinds[:1] == ("numbers",) and self.typing is not None:
            arguments = [[*map(self._as_element(node.arguments[0]), arguments[0])]]
        try:
            return VALUES[function.name](*arguments)
        except OverflowError:
            return None  # before the year 1 or after 9999

    def _as_element(self, argument: Expression) -> Callable[[Any], Any]:
        """Returns the function that makes an element of a list one of its type: doubles may be whole numbers here."""
        assert self.typing is not None
        return double if self.typing.of(argument).element == DOUBLE else number

    def _converted(self, node: Scalar) -> Any:
        """Evaluates a call of `affine`: for a double attribute as on paper, else as the equivalent
        arithmetic.
        """
        argument, function, arithmetic = _conversion(node)
        value = self.value(argument)
        is_double = isinstance(value, float) or (value is not None and self._is_double(argument))
        if is_double and isinstance(argument, Attribute):
            return decoded(function, number(value))
        return self.value(arithmetic)

    def _rounded(self, name: str, argument: Expression) -> int | None:
        """Evaluates `floor` or `ceil`.

        Affine functions, and quotients of exact numbers, are computed in one step.
        """
        part, function = expressions.single(argument) or (argument, IDENTITY)
        if self.typing is not None and self.typing.of(argument).name == "decimal":
            part, function = (part, function) if self.typing.of(part).is_integral else (argument, IDENTITY)
        quotient = self._quotient(part) if function.is_identity else None
        value = number(self.value(part)) if quotient is None else quotient
        if value is None:
            return None
        result = affine(function, value) if self.typing is None else self._in_one_go(part, function, value)
        return None if result is None else VALUES[name](result)

    def _quotient(self, part: Expression) -> Fraction | None:
        if not isinstance(part, Binary) or part.operator != "/":
            return None
        sides = (part.left, part.right)
        typed = [] if self.typing is None else [(side, self.typing.of(side)) for side in sides]
        return exact_quotient([number(self.value(side)) for side in sides], typed)

    def _in_one_go(self, part: Expression, function: Affine, value: Any) -> Any:
        """Applies an affine function to a part in one step; undefined if decimals cannot hold the result."""
        assert self.typing is not None
        type_ = self.typing.of(part)
        if not function.is_identity and not isinstance(value, float):
            limit = rounding.limit_of(type_, function)
            if not rounding.is_exact(type_, function):
                value = double(value)
            elif limit is not None and abs(value) >= 10**limit:
                return None
        return affine(function, value)
