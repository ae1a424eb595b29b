"""Expressions as Spark SQL."""

from __future__ import annotations

from collections.abc import Iterable

from cedilla.compiler.expressions import patterns, scalar_calls, scalar_functions, scalar_sql
from cedilla.compiler.expressions.expressions import (
    COMPARISONS,
    MIRRORED,
    Types,
    single,
    type_of,
    type_of_literal,
)
from cedilla.compiler.expressions.rounding import quotient_sql, rounded_sql
from cedilla.compiler.expressions.types import DOUBLE, LONG, TIMESTAMP, column, quote
from cedilla.compiler.regions.affine import IDENTITY
from cedilla.grammar.syntax import Attribute, Binary, Case, Expression, InRange, InSet, Literal, Scalar, Unary

_WITHOUT_OVERFLOW = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}
_ROUNDED = ("floor", "ceil", "ceiling")


def sql(expression: Expression, types: Types) -> str:
    """The expression as Spark SQL; a part that may be undefined makes it undefined.

    No value ends the query: division by zero and whole numbers that grow too large are undefined.
    """
    return column(expression.name) if isinstance(expression, Attribute) else _sql(expression, types)


def _sql(expression: Expression, types: Types) -> str:
    match expression:
        case Attribute(name):
            plain = column(name)
            return f"CAST({plain} AS DOUBLE)" if types[name].name == "decimal" else plain
        case Literal(value):
            return quote(value) if isinstance(value, str) else type_of_literal(value).sql(value)
        case Unary("-", operand):
            if isinstance(operand, Literal):
                return f"-{_operand(operand, types)}"
            match type_of(operand, types).name:
                case "int":
                    return f"-CAST({_operand(operand, types)} AS BIGINT)"
                case "long":
                    return f"try_subtract(0L, {_sql(operand, types)})"
                case _:  # a sign of its own would make another NaN of NaN
                    return f"0D - {_operand(operand, types)}"
        case Unary(_, operand):
            return f"NOT {_operand(operand, types)}"
        case InSet(operand, values, negated):
            of = type_of(operand, types)
            inside = of.member(_compared_operand(operand, types), map(of.value, values))
            return f"NOT ({inside})" if negated else inside
        case InRange(operand, pattern, negated):
            of, tested = type_of(operand, types), _compared_operand(operand, types)
            bounds: list[str] = []
            if pattern.low is not None:
                bounds.append(
                    f"{tested} {'>=' if pattern.low_closed else '>'} {of.sql(of.value(pattern.low))}"
                )
            if pattern.high is not None:
                bounds.append(
                    f"{tested} {'<=' if pattern.high_closed else '<'} {of.sql(of.value(pattern.high))}"
                )
            inside = " AND ".join(bounds) or f"{tested} = {tested}"  # undefined where the operand is
            return f"NOT ({inside})" if negated else inside
        case Binary("-", left, right) if TIMESTAMP in [type_of(side, types) for side in (left, right)]:
            return f"({_micros(left, types)} - {_micros(right, types)}) / 1000000D"
        case Binary(operator, left, right):
            if operator in COMPARISONS:
                return _comparison_sql(operator, left, right, types)
            if operator in _WITHOUT_OVERFLOW and type_of(expression, types) == LONG:
                return _whole_sql(operator, left, right, types)
            written = operator.upper() if operator in ("and", "or") else operator
            divisor = _operand(right, types)
            if operator in ("/", "%") and not (isinstance(right, Literal) and right.value):
                divisor = scalar_sql.not_zero(divisor, scalar_calls.read_as(type_of(right, types)))
            text = f"{_operand(left, types)} {written} {divisor}"
            if type_of(expression, types) == DOUBLE and _may_make_nan(operator, left, right, types):
                return f"nanvl({text}, double('NaN'))"
            return text
        case Scalar(name, (argument,)) if name in _ROUNDED:
            return _rounded_sql(scalar_functions.FUNCTIONS[name].name, argument, types)
        case Scalar(_, arguments):
            argument_types = [type_of(argument, types) for argument in arguments]
            return scalar_calls.sql(
                expression, argument_types, [_sql(argument, types) for argument in arguments]
            )
        case Case(branches, otherwise):
            wanted = type_of(expression, types)

            def chosen(part: Expression) -> str:
                type_ = scalar_calls.read_as(type_of(part, types))
                return scalar_calls.as_type(part, type_, _sql(part, types), wanted)

            cases = [
                f"WHEN {_sql(branch.condition, types)} THEN {chosen(branch.value)}" for branch in branches
            ]
            rest = [] if otherwise is None else [f"ELSE {chosen(otherwise)}"]
            return " ".join(["CASE", *cases, *rest, "END"])


def _micros(moment: Expression, types: Types) -> str:
    """A timestamp as microseconds, in SQL."""
    if isinstance(moment, Literal):
        return f"{patterns.value_of(TIMESTAMP, moment)}L"
    return f"unix_micros({_sql(moment, types)})"


def _whole_sql(operator: str, left: Expression, right: Expression, types: Types) -> str:
    """Sum, difference or product of whole numbers; those of 32 bits are widened first, and then never too large."""
    first, second = (_widened(side, types) for side in (left, right))
    if LONG in (type_of(left, types), type_of(right, types)):
        return f"{_WITHOUT_OVERFLOW[operator]}({first}, {second})"
    return f"{first} {operator} {second}"


def _widened(side: Expression, types: Types) -> str:
    return scalar_calls.as_type(side, type_of(side, types), _sql(side, types), LONG)


def _may_make_nan(operator: str, left: Expression, right: Expression, types: Types) -> bool:
    """Whether arithmetic may make NaN of other numbers, as the difference of two infinities does. There are several,
    which only Spark takes for one, so it is replaced by the one that all know."""
    endless = [_may_be_endless(side, types) for side in (left, right)]
    constant = [isinstance(side, Literal) for side in (left, right)]
    match operator:
        case "+" | "-" | "/":
            return all(endless)
        case "%":
            return endless[0]
        case _:
            return any(endless) and not any(constant)


def _may_be_endless(side: Expression, types: Types) -> bool:
    """Whether a number may be infinite."""
    if isinstance(side, Attribute):
        return types[side.name] == DOUBLE
    return not isinstance(side, Literal) and type_of(side, types) == DOUBLE


def _rounded_sql(name: str, argument: Expression, types: Types) -> str:
    """`floor` or `ceil`. What is affine is computed in one expression that is exact where it reaches a whole number."""
    of = type_of(argument, types)
    if of.is_integral:
        text = _sql(argument, types)
        return text if of == LONG else f"CAST({text} AS BIGINT)"
    part, function = single(argument) or (argument, IDENTITY)
    match part:
        case Attribute(name=attribute):  # decimals are not read as doubles here
            return rounded_sql(name, column(attribute), types[attribute], function)
        case Binary("/", left, right) if function.is_identity and _are_whole((left, right), types):
            return quotient_sql(name, _operand(left, types), _operand(right, types))
        case _:
            return rounded_sql(name, _operand(part, types), type_of(part, types), function)


def _are_whole(expressions: Iterable[Expression], types: Types) -> bool:
    return all(type_of(each, types).is_integral for each in expressions)


def _comparison_sql(operator: str, left: Expression, right: Expression, types: Types) -> str:
    if isinstance(left, Literal) and not isinstance(right, Literal):
        operator, left, right = MIRRORED[operator], right, left
    of = type_of(left, types)
    if isinstance(right, Literal):
        return f"{_compared_operand(left, types)} {operator} {of.sql(of.value(right))}"
    if DOUBLE in (of, type_of(right, types)):  # the other one is read as a double, too, not this as a decimal
        return f"{_operand(left, types)} {operator} {_operand(right, types)}"
    return f"{_compared_operand(left, types)} {operator} {_compared_operand(right, types)}"


def _compared_operand(expression: Expression, types: Types) -> str:
    """A side of a comparison: decimals are compared with all their digits."""
    return column(expression.name) if isinstance(expression, Attribute) else _operand(expression, types)


def _operand(expression: Expression, types: Types) -> str:
    text = _sql(expression, types)
    return text if isinstance(expression, Attribute | Literal | Scalar) else f"({text})"
