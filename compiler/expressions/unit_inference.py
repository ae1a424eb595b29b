"""Infers units of expressions, checks that they match, and writes conversions out as arithmetic.

`infer_units` returns an expression without open conversions: all later code, here and in a run, handles plain
numbers. Constants are converted exactly, other parts by one affine function. Pint is used only if units are
named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from attrs import evolve, field, frozen

from cedilla.compiler.expressions import expressions
from cedilla.compiler.expressions.scalars.units_of_functions import (
    ALIKE,
    CHOSEN,
    DEGREE,
    GIVEN,
    KEPT,
    POWERS,
    READ_IN,
    ROOTS,
)
from cedilla.compiler.expressions.types import TIMESTAMP, Type
from cedilla.compiler.expressions.units import units
from cedilla.compiler.expressions.units.conversions import (
    applied,
    check_is_number,
    is_decimal,
    known_unit,
    number_of,
    spelt_out,
    taken_to_be_in,
    with_values,
)
from cedilla.compiler.expressions.units.units import NUMBER, RADIAN
from cedilla.compiler.regions.affine import Affine, exact
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, Span, failure
from cedilla.grammar.formatting.expression_formatter import format_expression, unit_text
from cedilla.grammar.syntax import (
    SECOND,
    Attribute,
    Binary,
    Case,
    Expression,
    InRange,
    InSet,
    Literal,
    Scalar,
    Unary,
)

Units = Mapping[str, str]
"""Attribute -> its unit, for attributes with one."""

_IMPLIED = {SECOND, RADIAN, DEGREE, NUMBER}
"""Units that no text names: differences of timestamps, angles, quotients."""

_LOST = ""
"""The unit of a value that is computed from values with units but has no known one. No attribute is in it."""


@frozen
class WithUnit:
    """An expression, the unit of its values, and its value if it is a constant."""

    expression: Expression
    unit: str | None = None
    constant: Fraction | None = None

    @property
    def is_fixed(self) -> bool:
        """True if it consists of constants."""
        return not expressions.attributes(self.expression)

    @property
    def is_plain(self) -> bool:
        """True if it consists of numbers without units, which take the unit of the value that they meet."""
        return self.unit is None and self.is_fixed


def has_units(expression: Expression) -> bool:
    """Returns True if an expression has a constant with a unit; a length of time is a number of seconds."""
    if isinstance(expression, Literal):
        return expression.unit not in (None, SECOND)
    return any(map(has_units, expressions.parts(expression)))


def infer_units(
    expression: Expression, types: Mapping[str, Type], of: Units, warn: Callable[[Diagnostic], object]
) -> WithUnit:
    """Infers the unit of an expression, and converts its parts.

    `warn` takes RQ162, if a number without a unit meets one with a unit. Raises `DiagnosticError`: RQ142 if
    units do not match, RQ143 if one is unknown, RQ144 if a constant with a unit meets a value that is not a
    number, RQ163 if a lost unit is needed.
    """
    result = _Reader(types, of, warn).read(expression)
    return evolve(result, unit=result.unit or None)


@frozen
class _Reader:
    types: Mapping[str, Type]
    of: Units = field()
    warn: Callable[[Diagnostic], object]

    def read(self, node: Expression) -> WithUnit:
        match node:
            case Attribute(name):
                return WithUnit(node, self.of.get(name))
            case Literal(bool() | str()):
                return WithUnit(node)
            case Literal(value, _, unit):
                if unit is not None and unit != SECOND:
                    known_unit(unit, node.span)
                return WithUnit(node, unit, Fraction(value))
            case Unary("-", operand):
                return self._opposite(node, self.read(operand))
            case Binary("-", left, right) if self._are_times(left, right):
                return WithUnit(self._rebuilt(node), SECOND)
            case Binary("+" | "-" as operator, left, right):
                return self._sum(node, operator, self.read(left), self.read(right))
            case Binary("*" | "/" as operator, left, right):
                self._refuse_parted(operator, left, right)
                return self._product(node, operator, self.read(left), self.read(right))
            case Binary("%", left, right):
                (a, b), unit = self._alike([self.read(left), self.read(right)], node.span)
                return WithUnit(evolve(node, left=a, right=b), unit)
            case Binary(operator, left, right) if operator in expressions.COMPARISONS:
                (a, b), _ = self._alike([self.read(left), self.read(right)], node.span)
                return WithUnit(evolve(node, left=a, right=b))
            case InSet() | InRange():
                return WithUnit(self._inside(node))
            case Scalar():
                return self._call(node)
            case Case(branches, otherwise):
                values = [*(b.value for b in branches), *(() if otherwise is None else (otherwise,))]
                results, unit = self._alike([self.read(value) for value in values], node.span)
                chosen = tuple(
                    evolve(branch, condition=self.read(branch.condition).expression, value=value)
                    for branch, value in zip(branches, results, strict=False)
                )
                return WithUnit(
                    evolve(node, branches=chosen, otherwise=None if otherwise is None else results[-1]), unit
                )
            case _:
                return WithUnit(self._rebuilt(node))

    def _rebuilt(self, node: Expression) -> Expression:
        return expressions.rebuilt(node, lambda part: self.read(part).expression)

    def _are_times(self, *sides: Expression) -> bool:
        return TIMESTAMP in map(self._type_of, sides)

    def _opposite(self, node: Unary, of: WithUnit) -> WithUnit:
        constant = None if of.constant is None else -of.constant
        if constant is None and of.unit not in (None, _LOST, *_IMPLIED) and units.is_scale(of.unit or ""):
            return WithUnit(evolve(node, operand=of.expression), _LOST)
        return WithUnit(evolve(node, operand=of.expression), of.unit, constant)

    # --- what meets each other ---

    def _alike(self, sides: Sequence[WithUnit], span: Span) -> tuple[list[Expression], str | None]:
        """Converts values that are compared, or alternatives, to one unit: that of the first computed one."""
        with_unit = [side for side in sides if side.unit]
        computed = [side for side in with_unit if side.constant is None] or with_unit
        if not computed:
            return [side.expression for side in sides], self._shared(sides)
        unit = computed[0].unit or ""
        if computed[0].constant is not None:
            self._refuse_bare(computed[0], [side for side in sides if side.unit is None])
        self._check_others(computed[0], sides)
        return [self._in_unit(side, unit, span) for side in sides], unit

    @staticmethod
    def _shared(sides: Sequence[WithUnit]) -> str | None:
        """Returns the unit of values without a known one."""
        return _LOST if any(side.unit == _LOST for side in sides) else None

    def _check_others(self, with_unit: WithUnit, sides: Sequence[WithUnit]) -> None:
        """Checks values without a unit that meet one with a unit.

        Raises RQ163 if a unit is lost; warns of RQ162.
        """
        unit = with_unit.unit or ""
        for side in sides:
            text, span = format_expression(side.expression), side.expression.span
            if side.unit == _LOST:
                message = f"`{text}` has lost its unit, and what it meets is in {unit}"
                hint = f"`project[..., {text} as x unit ...](R)` states its unit"
                raise failure("RQ163", message, span, hint=hint)
            if side.unit is None and not side.is_plain and not {unit, with_unit.unit} & _IMPLIED:
                self.warn(taken_to_be_in(unit, f"`{text}`", span))

    def _in_unit(self, side: WithUnit, unit: str, span: Span) -> Expression:
        """Converts a value to a unit; a value without one is taken to be in it."""
        if not side.unit or side.unit == unit:
            return _bare(side)
        try:
            function = units.conversion(known_unit(side.unit, span), known_unit(unit, span))
        except units.Mismatch as problem:
            raise self._mismatch(side, unit, problem, span) from None
        return _changed(side, function, self.types)

    def _mismatch(self, side: WithUnit, unit: str, problem: units.Mismatch, span: Span) -> DiagnosticError:
        other = "a plain number" if unit == NUMBER else f"in {unit}"
        message = f"`{format_expression(side.expression)}` is in {side.unit}, and what it meets is {other}"
        return failure("RQ142", message, span, hint=str(problem))

    def _refuse_bare(self, constant: WithUnit, others: Sequence[WithUnit]) -> None:
        """Raises RQ142 if a constant with a unit meets an attribute without one.

        A length of time is a number of seconds, too.
        """
        if constant.unit == SECOND:
            return
        for other in others:
            if not other.is_plain:
                text = format_expression(other.expression)
                if (type_ := self._type_of(other.expression)) is not None:
                    check_is_number(text, type_, constant.expression.span, "a constant without a unit")
                hint = f"declare `{text}: double unit {unit_text(constant.unit or '')}`"
                if not isinstance(other.expression, Attribute):
                    hint = "write the constant without a unit; a computed attribute has a unit if its parts have units"
                message = f"`{text}` has no unit, and {format_expression(constant.expression)} has one"
                raise failure("RQ142", message, constant.expression.span, hint=hint)

    def _type_of(self, expression: Expression) -> Type | None:
        try:
            return expressions.type_of(expression, self.types)
        except DiagnosticError:  # reported when the operator is checked
            return None

    # --- arithmetic ---

    def _sum(self, node: Binary, operator: str, a: WithUnit, b: WithUnit) -> WithUnit:
        plain = evolve(node, left=a.expression, right=b.expression)
        if not a.unit or not b.unit:
            one, other = (b, a) if b.unit else (a, b)
            if not one.unit:
                return WithUnit(plain, self._shared([a, b]))
            if one.constant is not None and other.unit is None:
                self._refuse_bare(one, [other])
                return WithUnit(plain, one.unit if other.is_plain else None)
            self._check_others(one, [other])
            return WithUnit(plain, one.unit)
        if a.unit == b.unit and a.unit in _IMPLIED:
            return WithUnit(plain, a.unit)
        try:
            total = units.total(operator, a.unit, b.unit)
        except units.Mismatch as problem:
            message = f"{a.unit} {operator} {b.unit}: `{format_expression(node)}` has no meaning"
            raise failure("RQ142", message, node.span, hint=str(problem)) from None
        left, right = _changed(a, total.left, self.types), _changed(b, total.right, self.types)
        return WithUnit(evolve(node, left=left, right=right), total.unit)

    def _product(self, node: Binary, operator: str, a: WithUnit, b: WithUnit) -> WithUnit:
        result = evolve(node, left=a.expression, right=b.expression)
        for side in (a, b):
            self._refuse_point(operator, side)
        if (not a.unit and not b.unit) or _LOST in (a.unit, b.unit):
            return WithUnit(result, self._shared([a, b]))
        if a.unit is not None and b.unit is not None:
            if operator == "/" and a.unit == b.unit:
                return WithUnit(result, NUMBER)
            if {a.unit, b.unit} <= _IMPLIED:
                return WithUnit(result)
            return WithUnit(result, _or_lost(units.product(operator, a.unit, b.unit)))
        one, other = (b, a) if a.unit is None else (a, b)
        unit = one.unit or ""
        if unit in _IMPLIED:
            is_number = other.is_plain or one.is_fixed
            is_kept = is_number and (operator == "*" or one is a)
            return WithUnit(result, unit if is_kept else None)
        if not (other.is_plain or one.is_fixed) or units.is_scale(unit):
            return WithUnit(result, _LOST)
        return WithUnit(
            result, unit if operator == "*" or one is a else _or_lost(units.power(unit, Fraction(-1)))
        )

    def _refuse_point(self, operator: str, side: WithUnit) -> None:
        """Raises RQ163 for a constant that is a point of a scale: `x * 1 degC` does not give a number a unit."""
        if side.constant is None or not side.unit or side.unit in _IMPLIED or not units.is_scale(side.unit):
            return
        point = format_expression(side.expression)
        message = (
            f"`{point}` is a point on a scale, such as a temperature, and cannot be a factor of `{operator}`"
        )
        hint = f"`project[..., x as t unit {unit_text(side.unit)}](R)` says that a number is in {side.unit}"
        raise failure("RQ163", message, side.expression.span, hint=hint)

    # --- sets and ranges ---

    def _inside(self, node: InSet | InRange) -> Expression:
        operand = self.read(node.operand)
        if isinstance(node, InSet):
            literals: list[Literal | None] = list(node.values)
        else:
            literals = [node.range.low, node.range.high]
        values = [None if literal is None else self.read(literal) for literal in literals]
        if all(value is None or value.unit in (None, operand.unit) for value in values):
            return evolve(node, operand=operand.expression)
        if not operand.unit:
            for value in values:
                if value is not None and value.unit is not None:
                    self._refuse_bare(value, [operand])
            return evolve(node, operand=operand.expression)
        unit = operand.unit
        numbers = [None if value is None else self._value(value, unit, node.span) for value in values]
        if all(number is None or is_decimal(number) for number in numbers):
            return with_values(node, operand.expression, numbers)
        return spelt_out(node, operand.expression, numbers)

    def _value(self, value: WithUnit, unit: str, span: Span) -> Fraction:
        if value.constant is None:
            raise failure("RQ103", f"{format_expression(value.expression)} is not a number", span)
        if value.unit is None:
            return value.constant
        try:
            return Fraction(units.conversion(known_unit(value.unit, span), unit)(exact(value.constant)))
        except units.Mismatch as problem:
            raise self._mismatch(value, unit, problem, span) from None

    # --- functions ---

    def _call(self, node: Scalar) -> WithUnit:
        parts = [self.read(argument) for argument in node.arguments]
        plain = evolve(node, arguments=tuple(part.expression for part in parts))
        name = node.name
        if name in KEPT and parts:
            return WithUnit(plain, parts[0].unit)
        if name == "list_sum" and parts:
            unit = parts[0].unit
            return WithUnit(plain, _LOST if unit and unit not in _IMPLIED and units.is_scale(unit) else unit)
        if name == "histogram_quantile" and len(parts) > 1:
            return WithUnit(plain, parts[1].unit)
        if name in ALIKE:
            alike, unit = self._alike(parts, node.span)
            return WithUnit(evolve(node, arguments=tuple(alike)), unit)
        if name == "atan2":
            alike, _ = self._alike(parts, node.span)
            return WithUnit(evolve(node, arguments=tuple(alike)), RADIAN)
        if name in CHOSEN and parts:
            alike, unit = self._alike(parts[1:], node.span)
            return WithUnit(evolve(node, arguments=(parts[0].expression, *alike)), unit)
        if name in READ_IN:
            read = tuple(self._read_in(part, READ_IN[name], node.span) for part in parts)
            return WithUnit(evolve(node, arguments=read), GIVEN.get(name))
        if name in ROOTS and parts:
            return WithUnit(plain, self._power(parts[0].unit, ROOTS[name]))
        if name in POWERS and len(parts) == 2 and parts[0].unit not in (None, *_IMPLIED):
            exponent = parts[1].constant
            return WithUnit(plain, _LOST if exponent is None else self._power(parts[0].unit, exponent))
        return WithUnit(plain)

    def _refuse_parted(self, operator: str, left: Expression, right: Expression) -> None:
        """Raises RQ102 if a unit of several words is not quoted, `10 km/h`."""
        match left, right:
            case Literal(unit=str() as unit), Attribute(name) if unit != SECOND and name not in self.types:
                whole = f"{unit}{operator}{name}"
                hint = f'a unit with other signs is written in quotes: `{left.text.split()[0]} "{whole}"`'
                raise failure("RQ102", f"unknown attribute `{name}`", right.span, hint=hint)
            case _:
                pass

    def _power(self, unit: str | None, exponent: Fraction) -> str | None:
        return None if unit is None or unit in _IMPLIED else _or_lost(unit and units.power(unit, exponent))

    def _read_in(self, part: WithUnit, unit: str, span: Span) -> Expression:
        # A difference of timestamps is a number of seconds for functions of numbers.
        if part.unit in _IMPLIED and unit == NUMBER:
            return part.expression
        if part.unit == NUMBER and unit == RADIAN:  # a quotient of two lengths is an angle in radians
            return part.expression
        return self._in_unit(part, unit, span)


def _or_lost(unit: str | None) -> str:
    return _LOST if unit is None else unit


def _bare(side: WithUnit) -> Expression:
    """Returns a constant without its unit; a length of time stays unchanged."""
    if side.constant is None or side.unit in (None, SECOND):
        return side.expression
    return number_of(side.constant, side.expression.span)


def _changed(side: WithUnit, function: Affine, types: Mapping[str, Type]) -> Expression:
    """Converts a value to another unit by `function`."""
    if function.is_identity:
        return _bare(side)
    if side.constant is not None:
        return number_of(Fraction(function(exact(side.constant))), side.expression.span)
    return applied(function, side.expression, types)
