"""Writes expressions as Spark SQL."""

from __future__ import annotations

from collections.abc import Sequence

from cedilla.compiler.expressions.expressions import (
    COMPARISONS,
    Types,
    signed,
    single,
    type_of,
    type_of_literal,
)
from cedilla.compiler.expressions.scalars import scalar_calls, scalar_functions, scalar_sql
from cedilla.compiler.expressions.types import (
    DOUBLE,
    LONG,
    TIMESTAMP,
    Type,
    column,
    decimals,
    patterns,
    quote,
)
from cedilla.compiler.expressions.types.rounding import quotient_sql, rounded_sql
from cedilla.compiler.expressions.units.conversions import called, written_out
from cedilla.compiler.regions.affine import IDENTITY
from cedilla.grammar.syntax import Attribute, Binary, Case, Expression, InRange, InSet, Literal, Scalar, Unary
from cedilla.grammar.syntax.connectives import terms

_WITHOUT_OVERFLOW = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}
_ROUNDED = ("floor", "ceil", "ceiling")


def sql(expression: Expression, types: Types) -> str:
    """Writes an expression as Spark SQL; an undefined part makes it undefined.

    No value ends the query: division by zero and whole numbers that grow too large are undefined.
    """
    text = _sql(expression, types)
    if isinstance(expression, Binary) and (type_ := type_of(expression, types)).name == "decimal":
        return f"CAST({text} AS {type_.spark})"  # engines compute with one digit more
    return text


def _sql(expression: Expression, types: Types) -> str:
    match expression:
        case Attribute(name):
            return column(name)
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
                case "decimal":
                    return decimals.opposite_sql(_operand(operand, types), type_of(operand, types))
                case _:  # a sign of its own would create another NaN
                    return f"0D - {_operand(operand, types)}"
        case Unary(_, operand):
            return f"NOT {_operand(operand, types)}"
        case InSet(operand, values, negated):
            return _in_set_sql(operand, values, negated, types)
        case InRange(operand, pattern, negated):
            bounds: list[str] = []
            if pattern.low is not None:
                bounds.append(
                    _with_constant(">=" if pattern.low_closed else ">", operand, pattern.low, types)
                )
            if pattern.high is not None:
                bounds.append(
                    _with_constant("<=" if pattern.high_closed else "<", operand, pattern.high, types)
                )
            tested = _operand(operand, types)
            inside = " AND ".join(bounds) or f"{tested} = {tested}"  # undefined if the operand is
            return f"NOT ({inside})" if negated else inside
        case Binary("-", left, right) if TIMESTAMP in [type_of(side, types) for side in (left, right)]:
            return f"({_micros(left, types)} - {_micros(right, types)}) / 1000000D"
        case Binary(operator, left, right):
            if operator in COMPARISONS:
                return _comparison_sql(operator, left, right, types)
            if operator in ("and", "or"):
                joined = terms(operator, expression)
                return f" {operator.upper()} ".join(_operand(term, types) for term in joined)
            return _arithmetic_sql(operator, left, right, types)
        case Scalar(name, (argument,)) if name in _ROUNDED:
            return _rounded_sql(scalar_functions.FUNCTIONS[name].name, argument, types)
        case Scalar("affine"):
            argument, function = called(expression)
            if isinstance(argument, Attribute) and types[argument.name] == DOUBLE:
                return f"({function.sql(column(argument.name))})"
            return f"({sql(written_out(function, argument), types)})"
        case Scalar(_, arguments):
            argument_types = [type_of(argument, types) for argument in arguments]
            return scalar_calls.sql(
                expression, argument_types, [sql(argument, types) for argument in arguments]
            )
        case Case(branches, otherwise):
            wanted = type_of(expression, types)

            def chosen(part: Expression) -> str:
                return scalar_calls.as_type(part, type_of(part, types), sql(part, types), wanted)

            cases = [
                f"WHEN {_sql(branch.condition, types)} THEN {chosen(branch.value)}" for branch in branches
            ]
            rest = [] if otherwise is None else [f"ELSE {chosen(otherwise)}"]
            return " ".join(["CASE", *cases, *rest, "END"])


def _micros(moment: Expression, types: Types) -> str:
    """Writes a timestamp as microseconds."""
    if isinstance(moment, Literal):
        return f"{patterns.value_of(TIMESTAMP, moment)}L"
    return f"unix_micros({_sql(moment, types)})"


def _arithmetic_sql(operator: str, left: Expression, right: Expression, types: Types) -> str:
    """Writes sum, difference, product, quotient or remainder of two numbers: exact if both are, else in
    doubles.
    """
    sides = (left, right)
    of = [type_of(side, types) for side in sides]
    result = decimals.arithmetic_type(operator, list(zip(sides, of, strict=True)))
    if operator in _WITHOUT_OVERFLOW and result == LONG:
        return _whole_sql(operator, left, right, types)
    if result.name == "decimal":
        exact = [_decimal(side, types) for side in sides]
        if operator == "%":
            exact[1] = _divisor(exact[1][0], right, of[1]), exact[1][1]
        return decimals.arithmetic_sql(operator, exact[0], exact[1], result)
    if operator == "/" and Type("decimal") in [Type(type_.name) for type_ in of] and DOUBLE not in of:
        return _quotient_sql(left, right, types)
    texts = [
        _operand(side, types) if type_.is_integral and result != DOUBLE else _real(side, types)
        for side, type_ in zip(sides, of, strict=True)
    ]
    if operator in ("/", "%"):
        texts[1] = _divisor(texts[1], right, DOUBLE if of[1].name == "decimal" else of[1])
    text = f" {operator} ".join(texts)
    if result == DOUBLE and _may_make_nan(operator, left, right, types):
        return f"nanvl({text}, double('NaN'))"
    return text


def _divisor(text: str, expression: Expression, type_: Type) -> str:
    """Returns a divisor that is undefined if it is zero."""
    is_constant = isinstance(expression, Literal) and expression.value
    return text if is_constant else scalar_sql.not_zero(text, type_)


def _decimal(side: Expression, types: Types) -> tuple[str, decimals.Digits]:
    """Writes an exact number as a decimal, and returns its digits."""
    type_ = type_of(side, types)
    return decimals.as_decimal(_operand(side, types), side, type_), decimals.digits_of(side, type_)


def _real(side: Expression, types: Types) -> str:
    """Writes a number next to a double: decimals as doubles, whole numbers unchanged."""
    type_ = type_of(side, types)
    return (
        scalar_calls.as_type(side, type_, _operand(side, types), DOUBLE)
        if type_.name == "decimal"
        else _operand(side, types)
    )


def _quotient_sql(left: Expression, right: Expression, types: Types) -> str:
    """Writes the double nearest to the quotient of two exact numbers, if both have few enough digits."""
    sides = [_decimal(side, types) for side in (left, right)]
    first, second = (digits for _, digits in sides)
    after = max(first.after, second.after)
    if not decimals.is_scaled(first, second):
        texts = [_real(left, types), _real(right, types)]
    else:
        texts = [
            DOUBLE.sql(side.value * 10**after)
            if isinstance(side, Literal) and not isinstance(side.value, str)
            else decimals.scaled_sql(*decimal, after)
            for side, decimal in zip((left, right), sides, strict=True)
        ]
    return f"{texts[0]} / {_divisor(texts[1], right, DOUBLE)}"


def _whole_sql(operator: str, left: Expression, right: Expression, types: Types) -> str:
    """Writes sum, difference or product of whole numbers; those of 32 bits are widened first, and never too
    large.
    """
    first, second = (_widened(side, types) for side in (left, right))
    if LONG in (type_of(left, types), type_of(right, types)):
        return f"{_WITHOUT_OVERFLOW[operator]}({first}, {second})"
    return f"{first} {operator} {second}"


def _widened(side: Expression, types: Types) -> str:
    return scalar_calls.as_type(side, type_of(side, types), _sql(side, types), LONG)


def _may_make_nan(operator: str, left: Expression, right: Expression, types: Types) -> bool:
    """Returns True if arithmetic may make NaN of other numbers, as the difference of two infinities does.

    There are several NaNs, which only Spark treats as equal, so the result is replaced by the common one.
    """
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
    """Returns True if a number may be infinite."""
    if isinstance(side, Attribute):
        return types[side.name] == DOUBLE
    return not isinstance(side, Literal) and type_of(side, types) == DOUBLE


def _rounded_sql(name: str, argument: Expression, types: Types) -> str:
    """Writes `floor` or `ceil`. An affine function becomes one expression that is exact at whole numbers."""
    of = type_of(argument, types)
    if of.is_integral:
        text = _sql(argument, types)
        return text if of == LONG else f"CAST({text} AS BIGINT)"
    part, function = single(argument) or (argument, IDENTITY)
    if of.name == "decimal" and not type_of(part, types).is_integral:
        part, function = argument, IDENTITY  # computed with the digits that the language defines
    match part:
        case Attribute(name=attribute):
            return rounded_sql(name, column(attribute), types[attribute], function)
        case Binary("/", left, right) if function.is_identity and _has_whole_sides(part, types):
            return quotient_sql(name, *(_as_whole(side, part, types) for side in (left, right)))
        case _:
            return rounded_sql(name, _operand(part, types), type_of(part, types), function)


def _has_whole_sides(quotient: Binary, types: Types) -> bool:
    sides = (quotient.left, quotient.right)
    return decimals.is_quotient_of_longs([(side, type_of(side, types)) for side in sides])


def _as_whole(side: Expression, quotient: Binary, types: Types) -> str:
    """Scales a side of a quotient by the power of ten that makes both whole, as a long."""
    after = max(_decimal(operand, types)[1].after for operand in (quotient.left, quotient.right))
    if not after:
        return _operand(side, types)
    return f"CAST({_decimal(side, types)[0]} * {10**after}BD AS BIGINT)"


def _comparison_sql(operator: str, left: Expression, right: Expression, types: Types) -> str:
    left, right = map(signed, (left, right))
    if isinstance(left, Literal) and not isinstance(right, Literal):
        operator, left, right = decimals.MIRRORED[operator], right, left
    if isinstance(right, Literal):
        return _with_constant(operator, left, right, types)
    names = {type_of(side, types).name for side in (left, right)}
    if "decimal" not in names:
        return f"{_operand(left, types)} {operator} {_operand(right, types)}"
    if "double" in names:
        return f"{_real(left, types)} {operator} {_real(right, types)}"
    return decimals.compared_sql(operator, _decimal(left, types), _decimal(right, types))


def _with_constant(operator: str, operand: Expression, constant: Literal, types: Types) -> str:
    """Compares with a constant, exactly if the operand is exact."""
    of, text = type_of(operand, types), _operand(operand, types)
    value = of.value(constant)
    if of.name == "decimal" or (
        of.name in ("int", "long") and not (isinstance(value, int) and of.has(value))
    ):
        assert not isinstance(value, str)
        return decimals.compared_with_constant(operator, text, of, value)
    return f"{text} {operator} {of.sql(value)}"


def _in_set_sql(operand: Expression, values: Sequence[Literal], negated: bool, types: Types) -> str:
    of = type_of(operand, types)
    text, constants = _operand(operand, types), [of.value(value) for value in values]
    tests = [_with_constant("=", operand, value, types) for value in values]
    if tests == [f"{text} = {of.sql(constant)}" for constant in constants]:
        joined = of.member(text, constants)
    else:
        joined = " OR ".join(f"({test})" for test in tests)
    return f"NOT ({joined})" if negated else joined


def _operand(expression: Expression, types: Types) -> str:
    text = _sql(expression, types)
    return text if scalar_calls.is_atom(expression) else f"({text})"
