"""Units in expressions: what has which unit, what does not go together, and conversions written out as arithmetic.

`measured` gives an expression without conversions left to do: all that follows it, here and in a run, knows numbers
only. Constants are converted exactly, other parts by one affine function. Pint is asked only where units are named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import reduce

from attrs import evolve, field, frozen

from cedilla.compiler.expressions import expressions
from cedilla.compiler.expressions.conversions import (
    applied,
    check_is_number,
    is_decimal,
    known,
    literal_of,
    number_of,
)
from cedilla.compiler.expressions.types import TIMESTAMP, Type
from cedilla.compiler.regions.affine import Affine, exact
from cedilla.compiler.units import units
from cedilla.compiler.units.units import NUMBER, RADIAN
from cedilla.grammar.diagnostics import DiagnosticError, Span, failure
from cedilla.grammar.expression_formatter import format_expression, unit_text
from cedilla.grammar.syntax import (
    SECOND,
    Attribute,
    Binary,
    BinaryOperator,
    Case,
    Expression,
    InRange,
    InSet,
    Literal,
    Scalar,
    Unary,
)

Units = Mapping[str, str]
"""Attribute -> its unit, of those that have one."""

_DEGREE = "degree"
_IMPLIED = {SECOND, RADIAN, _DEGREE, NUMBER}
"""What has a unit though no text names one: differences of timestamps, angles, quotients."""

_KEPT = {"abs", "floor", "ceil", "ceiling", "round", "bround", "rint", "int", "long", "bigint", "double"}
_ALIKE = {"greatest", "least", "coalesce", "ifnull", "nvl", "hypot", "mod", "pmod", "nullif"}
_CHOSEN = {"nvl2", "if"}
_ANGLES = {"sin", "cos", "tan"}
_INVERSE = {"asin", "acos", "atan"}
_PURE = {"exp", "expm1", "ln", "log", "log10", "log2", "log1p", "sinh", "cosh", "tanh"}
_READ_IN = {
    **dict.fromkeys(_ANGLES, RADIAN),
    **dict.fromkeys((*_INVERSE, *_PURE), NUMBER),
    "degrees": RADIAN,
    "radians": _DEGREE,
    "timestamp_seconds": SECOND,
    "timestamp_millis": "millisecond",
    "timestamp_micros": "microsecond",
}
"""Functions that read their arguments in one unit, where these have any."""
_GIVEN = {**dict.fromkeys((*_INVERSE, "atan2", "radians"), RADIAN), "degrees": _DEGREE}
_ROOTS = {"sqrt": Fraction(1, 2), "cbrt": Fraction(1, 3)}
_POWERS = {"pow", "power"}


@frozen
class Measured:
    """An expression, the unit of its values, and its value where it is a constant."""

    expression: Expression
    unit: str | None = None
    constant: Fraction | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is made of numbers without units, which take the unit of what they meet."""
        return self.unit is None and not expressions.attributes(self.expression)


def has_units(expression: Expression) -> bool:
    """Whether an expression has a constant with a unit; a length of time is a number of seconds."""
    if isinstance(expression, Literal):
        return expression.unit not in (None, SECOND)
    return any(map(has_units, expressions.parts(expression)))


def measured(expression: Expression, types: Mapping[str, Type], of: Units) -> Measured:
    """An expression over attributes with units.

    Raises `DiagnosticError`: RQ142 where units do not go together, RQ143 where one is unknown, RQ144 where a constant
    with a unit meets what is no number.
    """
    return _Reader(types, of).read(expression)


@frozen
class _Reader:
    types: Mapping[str, Type]
    of: Units = field()

    def read(self, node: Expression) -> Measured:
        match node:
            case Attribute(name):
                return Measured(node, self.of.get(name))
            case Literal(bool() | str()):
                return Measured(node)
            case Literal(value, _, unit):
                if unit is not None and unit != SECOND:
                    known(unit, node.span)
                return Measured(node, unit, Fraction(value))
            case Unary("-", operand):
                return self._opposite(node, self.read(operand))
            case Binary("-", left, right) if self._are_times(left, right):
                return Measured(self._rebuilt(node), SECOND)
            case Binary("+" | "-" as operator, left, right):
                return self._sum(node, operator, self.read(left), self.read(right))
            case Binary("*" | "/" as operator, left, right):
                self._refuse_parted(operator, left, right)
                return self._product(node, operator, self.read(left), self.read(right))
            case Binary("%", left, right):
                (a, b), unit = self._alike([self.read(left), self.read(right)], node.span)
                return Measured(evolve(node, left=a, right=b), unit)
            case Binary(operator, left, right) if operator in expressions.COMPARISONS:
                (a, b), _ = self._alike([self.read(left), self.read(right)], node.span)
                return Measured(evolve(node, left=a, right=b))
            case InSet() | InRange():
                return Measured(self._inside(node))
            case Scalar():
                return self._call(node)
            case Case(branches, otherwise):
                values = [*(b.value for b in branches), *(() if otherwise is None else (otherwise,))]
                results, unit = self._alike([self.read(value) for value in values], node.span)
                chosen = tuple(
                    evolve(branch, condition=self.read(branch.condition).expression, value=value)
                    for branch, value in zip(branches, results, strict=False)
                )
                return Measured(
                    evolve(node, branches=chosen, otherwise=None if otherwise is None else results[-1]), unit
                )
            case _:
                return Measured(self._rebuilt(node))

    def _rebuilt(self, node: Expression) -> Expression:
        return expressions.rebuilt(node, lambda part: self.read(part).expression)

    def _are_times(self, *sides: Expression) -> bool:
        return TIMESTAMP in map(self._type_of, sides)

    def _opposite(self, node: Unary, of: Measured) -> Measured:
        constant = None if of.constant is None else -of.constant
        if constant is None and of.unit not in (None, *_IMPLIED) and units.is_scale(of.unit or ""):
            return Measured(evolve(node, operand=of.expression))
        return Measured(evolve(node, operand=of.expression), of.unit, constant)

    # --- what meets each other ---

    def _alike(self, sides: Sequence[Measured], span: Span) -> tuple[list[Expression], str | None]:
        """Values that are compared or stand for each other, all in one unit: that of the first that is computed."""
        with_unit = [side for side in sides if side.unit is not None]
        computed = [side for side in with_unit if side.constant is None] or with_unit
        if not computed:
            return [side.expression for side in sides], None
        unit = computed[0].unit or ""
        if computed[0].constant is not None:
            self._refuse_bare(computed[0], [side for side in sides if side.unit is None])
        return [self._in_unit(side, unit, span) for side in sides], unit

    def _in_unit(self, side: Measured, unit: str, span: Span) -> Expression:
        """A value in a unit; one that has none is taken to be in it."""
        if side.unit is None or side.unit == unit:
            return _bare(side)
        try:
            function = units.conversion(known(side.unit, span), known(unit, span))
        except units.Mismatch as problem:
            raise self._mismatch(side, unit, problem, span) from None
        return _changed(side, function)

    def _mismatch(self, side: Measured, unit: str, problem: units.Mismatch, span: Span) -> DiagnosticError:
        other = "a plain number" if unit == NUMBER else f"in {unit}"
        message = f"`{format_expression(side.expression)}` is in {side.unit}, and what it meets is {other}"
        return failure("RQ142", message, span, hint=str(problem))

    def _refuse_bare(self, constant: Measured, others: Sequence[Measured]) -> None:
        """Raise where a constant with a unit meets an attribute without one. A length of time is a number of
        seconds, too."""
        if constant.unit == SECOND:
            return
        for other in others:
            if not other.is_plain:
                written = format_expression(other.expression)
                if (type_ := self._type_of(other.expression)) is not None:
                    check_is_number(written, type_, constant.expression.span, "a constant without a unit")
                hint = f"`{written}: double unit {unit_text(constant.unit or '')}` where it is declared"
                if not isinstance(other.expression, Attribute):
                    hint = "a constant without a unit; what is computed has one where its parts give it one"
                message = f"`{written}` has no unit, and {format_expression(constant.expression)} has one"
                raise failure("RQ142", message, constant.expression.span, hint=hint)

    def _type_of(self, expression: Expression) -> Type | None:
        try:
            return expressions.type_of(expression, self.types)
        except DiagnosticError:  # said where the operator is checked
            return None

    # --- arithmetic ---

    def _sum(self, node: Binary, operator: str, a: Measured, b: Measured) -> Measured:
        plain = evolve(node, left=a.expression, right=b.expression)
        if a.unit is None or b.unit is None:
            one, other = (a, b) if b.unit is None else (b, a)
            if one.constant is not None and one.unit is not None:
                self._refuse_bare(one, [other])
                return Measured(plain, one.unit if other.is_plain else None)
            return Measured(plain, one.unit)
        if a.unit == b.unit and a.unit in _IMPLIED:
            return Measured(plain, a.unit)
        try:
            total = units.total(operator, a.unit, b.unit)
        except units.Mismatch as problem:
            message = f"{a.unit} {operator} {b.unit}: `{format_expression(node)}` has no meaning"
            raise failure("RQ142", message, node.span, hint=str(problem)) from None
        left, right = _changed(a, total.left), _changed(b, total.right)
        return Measured(evolve(node, left=left, right=right), total.unit)

    def _product(self, node: Binary, operator: str, a: Measured, b: Measured) -> Measured:
        result = evolve(node, left=a.expression, right=b.expression)
        if a.unit is None and b.unit is None:
            return Measured(result)
        if a.unit is not None and b.unit is not None:
            if operator == "/" and a.unit == b.unit:
                return Measured(result, NUMBER)
            if {a.unit, b.unit} <= _IMPLIED:
                return Measured(result)
            return Measured(result, units.product(operator, a.unit, b.unit))
        unit, other = (a.unit, b) if b.unit is None else (b.unit, a)
        if unit is None or not other.is_plain:
            return Measured(result)
        if operator == "/" and a.unit is None:
            return Measured(result, None if unit in _IMPLIED else units.power(unit, Fraction(-1)))
        return Measured(result, unit if unit in _IMPLIED or not units.is_scale(unit) else None)

    # --- sets and ranges ---

    def _inside(self, node: InSet | InRange) -> Expression:
        operand = self.read(node.operand)
        if isinstance(node, InSet):
            written: list[Literal | None] = list(node.values)
        else:
            written = [node.range.low, node.range.high]
        values = [None if each is None else self.read(each) for each in written]
        if all(value is None or value.unit in (None, operand.unit) for value in values):
            return evolve(node, operand=operand.expression)
        if operand.unit is None:
            for value in values:
                if value is not None and value.unit is not None:
                    self._refuse_bare(value, [operand])
            return evolve(node, operand=operand.expression)
        unit = operand.unit
        numbers = [None if value is None else self._value(value, unit, node.span) for value in values]
        if all(number is None or is_decimal(number) for number in numbers):
            return self._with_values(node, operand.expression, numbers)
        return self._spelt_out(node, operand.expression, numbers)

    def _value(self, value: Measured, unit: str, span: Span) -> Fraction:
        if value.constant is None:
            raise failure("RQ103", f"{format_expression(value.expression)} is not a number", span)
        if value.unit is None:
            return value.constant
        try:
            return Fraction(units.conversion(known(value.unit, span), unit)(exact(value.constant)))
        except units.Mismatch as problem:
            raise self._mismatch(value, unit, problem, span) from None

    def _with_values(
        self, node: InSet | InRange, operand: Expression, numbers: Sequence[Fraction | None]
    ) -> Expression:
        literals = [None if number is None else literal_of(number, node.span) for number in numbers]
        if isinstance(node, InSet):
            return evolve(node, operand=operand, values=tuple(each for each in literals if each is not None))
        return evolve(node, operand=operand, range=evolve(node.range, low=literals[0], high=literals[1]))

    def _spelt_out(
        self, node: InSet | InRange, operand: Expression, numbers: Sequence[Fraction | None]
    ) -> Expression:
        """The same in comparisons, for numbers that have no decimal notation."""
        span = node.span

        def test(operator: BinaryOperator, number: Fraction) -> Expression:
            return Binary(operator, operand, number_of(number, span), span=span)

        if isinstance(node, InSet):
            tests = [test("=", number) for number in numbers if number is not None]
        else:
            low, high = numbers
            tests = [] if low is None else [test(">=" if node.range.low_closed else ">", low)]
            tests += [] if high is None else [test("<=" if node.range.high_closed else "<", high)]
        joined: BinaryOperator = "or" if isinstance(node, InSet) else "and"
        result = reduce(lambda one, other: Binary(joined, one, other, span=other.span), tests)
        return Unary("not", result, span=span) if node.negated else result

    # --- functions ---

    def _call(self, node: Scalar) -> Measured:
        parts = [self.read(argument) for argument in node.arguments]
        plain = evolve(node, arguments=tuple(part.expression for part in parts))
        name = node.name
        if name in _KEPT and parts:
            return Measured(plain, parts[0].unit)
        if name in _ALIKE:
            alike, unit = self._alike(parts, node.span)
            return Measured(evolve(node, arguments=tuple(alike)), unit)
        if name == "atan2":
            alike, _ = self._alike(parts, node.span)
            return Measured(evolve(node, arguments=tuple(alike)), RADIAN)
        if name in _CHOSEN and parts:
            alike, unit = self._alike(parts[1:], node.span)
            return Measured(evolve(node, arguments=(parts[0].expression, *alike)), unit)
        if name in _READ_IN:
            read = tuple(self._read_in(part, _READ_IN[name], node.span) for part in parts)
            return Measured(evolve(node, arguments=read), _GIVEN.get(name))
        if name in _ROOTS and parts:
            return Measured(plain, self._power(parts[0].unit, _ROOTS[name]))
        if name in _POWERS and len(parts) == 2 and parts[1].constant is not None:
            return Measured(plain, self._power(parts[0].unit, parts[1].constant))
        return Measured(plain)

    def _refuse_parted(self, operator: str, left: Expression, right: Expression) -> None:
        """Raise RQ102 where a unit of several words is in no quotes, `10 km/h`."""
        match left, right:
            case Literal(unit=str() as unit), Attribute(name) if unit != SECOND and name not in self.types:
                whole = f"{unit}{operator}{name}"
                hint = (
                    f'a unit that is no single word is written in quotes: `{left.text.split()[0]} "{whole}"`'
                )
                raise failure("RQ102", f"unknown attribute `{name}`", right.span, hint=hint)
            case _:
                pass

    def _power(self, unit: str | None, exponent: Fraction) -> str | None:
        return None if unit is None or unit in _IMPLIED else units.power(unit, exponent)

    def _read_in(self, part: Measured, unit: str, span: Span) -> Expression:
        # A difference of timestamps is a number of seconds to functions of numbers, as it always was.
        if part.unit in _IMPLIED and unit == NUMBER:
            return part.expression
        if part.unit == NUMBER and unit == RADIAN:  # a quotient of two lengths is an angle in radians
            return part.expression
        return self._in_unit(part, unit, span)


def _bare(side: Measured) -> Expression:
    """A constant without its unit; a length of time stays as it is written."""
    if side.constant is None or side.unit in (None, SECOND):
        return side.expression
    return number_of(side.constant, side.expression.span)


def _changed(side: Measured, function: Affine) -> Expression:
    """A value in another unit; `function` leads there."""
    if function.is_identity:
        return _bare(side)
    if side.constant is not None:
        return number_of(Fraction(function(exact(side.constant))), side.expression.span)
    return applied(function, side.expression)
