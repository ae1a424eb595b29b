"""Expressions over the attributes of one tuple: parts, types, definedness, affine form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

from attrs import evolve

from cedilla.compiler.expressions.scalars import (
    changing_functions,
    scalar_calls,
    scalar_functions,
    type_hints,
)
from cedilla.compiler.expressions.types import (
    BOOLEAN,
    DOUBLE,
    LONG,
    STRING,
    TIMESTAMP,
    Type,
    decimals,
    patterns,
)
from cedilla.compiler.expressions.units.conversions import called, written_out
from cedilla.compiler.regions.affine import Affine
from cedilla.grammar.diagnostics import DiagnosticError, Span, failure
from cedilla.grammar.diagnostics.suggestions import did_you_mean
from cedilla.grammar.parser import parse_expression
from cedilla.grammar.syntax import Attribute, Binary, Case, Expression, InRange, InSet, Literal, Scalar, Unary

Types = Mapping[str, Type]
COMPARISONS = decimals.MIRRORED.keys()
_Part = TypeVar("_Part")
_CACHED = 8192
"""The greatest number of expressions in a cache, because every accent asks the same of them."""


def parts(expression: Expression) -> tuple[Expression, ...]:
    """Returns the direct parts of an expression."""
    match expression:
        case Attribute() | Literal():
            return ()
        case Unary(_, operand) | InSet(operand) | InRange(operand):
            return (operand,)
        case Binary(_, left, right):
            return left, right
        case Scalar(_, arguments):
            return arguments
        case Case(branches, otherwise):
            chosen = tuple(part for branch in branches for part in (branch.condition, branch.value))
            return chosen if otherwise is None else (*chosen, otherwise)


def rebuilt(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Rebuilds an expression with each of its parts changed."""
    match expression:
        case Attribute() | Literal():
            return expression
        case Unary(_, operand) | InSet(operand) | InRange(operand):
            return evolve(expression, operand=change(operand))
        case Binary(_, left, right):
            return evolve(expression, left=change(left), right=change(right))
        case Scalar(_, arguments):
            return evolve(expression, arguments=tuple(map(change, arguments)))
        case Case(branches, otherwise):
            chosen = tuple(
                evolve(branch, condition=change(branch.condition), value=change(branch.value))
                for branch in branches
            )
            return evolve(expression, branches=chosen, otherwise=otherwise and change(otherwise))


def written(text: str, span: Span, **parts: Expression) -> Expression:
    """Returns the expression of a text at a place; `parts`: names in the text -> what they stand for."""

    def filled(node: Expression) -> Expression:
        if isinstance(node, Attribute) and node.name in parts:
            return parts[node.name]
        return evolve(rebuilt(node, filled), span=span)

    return filled(parse_expression(text))


@lru_cache(_CACHED)
def attributes(expression: Expression) -> frozenset[str]:
    """Returns the attributes that an expression reads."""
    if isinstance(expression, Attribute):
        return frozenset({expression.name})
    return frozenset[str]().union(*(attributes(part) for part in parts(expression)))


def defined(
    expression: Expression,
    of: Callable[[str], _Part],
    every: Callable[[Iterable[_Part]], _Part],
    some: Callable[[Iterable[_Part]], _Part],
) -> _Part:
    """Combines the definedness of attributes to that of an expression (G20).

    `of` returns it for an attribute. `every` combines parts that are all needed; `some` combines parts if
    one of them is enough. `every` of no parts means: always.
    """

    def inside(part: Expression) -> _Part:
        return defined(part, of, every, some)

    match expression:
        case Attribute(name):
            return of(name)
        case Binary("and" | "or"):  # `false and ⊥` is false
            return some(map(inside, parts(expression)))
        case Case(branches, otherwise):
            chosen = [every((inside(branch.condition), inside(branch.value))) for branch in branches]
            return some(chosen if otherwise is None else [*chosen, inside(otherwise)])
        case Scalar(name, arguments) if name in scalar_functions.FUNCTIONS:
            match scalar_functions.FUNCTIONS[name].defined:
                case "every":
                    return every(map(inside, arguments))
                case "some":
                    return some(map(inside, arguments))
                case "rest":
                    return some(map(inside, arguments[1:]))
                case "first":
                    return inside(arguments[0])
                case "always":
                    return every(())
        case _:
            return every(map(inside, parts(expression)))


def remembered_type(expression: Expression, types: Types) -> Type:
    """Returns `type_of` an expression without errors. The result is cached by the types of the attributes that the
    expression reads, because a plan asks for each accent."""
    return _type_by_attributes(expression, tuple(types[name] for name in attributes(expression)))


@lru_cache(_CACHED)
def _type_by_attributes(expression: Expression, types: tuple[Type, ...]) -> Type:
    return type_of(expression, dict(zip(attributes(expression), types, strict=True)))


def type_of(expression: Expression, types: Types) -> Type:
    """Returns the type of an expression.

    Raises `DiagnosticError` with RQ102 (unknown attribute) or RQ103 (type clash).
    """
    match expression:
        case Attribute(name, qualifier):
            if qualifier is not None:
                raise qualified(expression, types)
            if name not in types:
                raise unknown_attribute(name, types, expression.span)
            return types[name]
        case Literal(value):
            return type_of_literal(value)
        case Unary("-", Literal(int() | Fraction() as value)) if not isinstance(value, bool):
            return type_of_literal(-value)
        case Unary("-", operand):
            type_ = _numeric(operand, types)
            return LONG if type_.is_integral else type_
        case Unary(_, operand):
            return _boolean(operand, types)
        case InSet(operand, values):
            _check_pattern(operand, values, types)
            return BOOLEAN
        case InRange(operand, pattern):
            _check_pattern(operand, [v for v in (pattern.low, pattern.high) if v is not None], types)
            return BOOLEAN
        case Binary("and" | "or", left, right):
            _boolean(left, types)
            return _boolean(right, types)
        case Binary(operator, left, right) if operator in COMPARISONS:
            _check_comparison(left, right, types, expression.span)
            return BOOLEAN
        case Binary("-", left, right) if TIMESTAMP in (
            sides := [type_of(side, types) for side in (left, right)]
        ):
            _check_difference(left, right, sides)
            return DOUBLE
        case Binary(operator, left, right):
            return decimals.arithmetic_type(
                operator, [(side, _numeric(side, types)) for side in (left, right)]
            )
        case Scalar("affine", arguments):
            scalar_calls.check(expression, [type_of(argument, types) for argument in arguments])
            argument, function = called(expression)
            return type_of(written_out(function, argument), types)
        case Scalar(_, arguments):
            # Check the function before its arguments, which may be valid in another language only.
            scalar_calls.function_of(expression)
            scalar_calls.check_count(expression)
            scalar_calls.check_constants(expression, types)
            return scalar_calls.check(expression, [type_of(argument, types) for argument in arguments])
        case Case(branches, otherwise):
            for branch in branches:
                _boolean(branch.condition, types)
            values = [branch.value for branch in branches] + ([] if otherwise is None else [otherwise])
            return scalar_calls.common([(v, type_of(v, types)) for v in values], "a case")


def signed(side: Expression) -> Expression:
    """Returns a negative number beyond the positive ones of a `long` as one constant, which is compared exactly."""
    match side:
        case Unary("-", Literal(int() | Fraction() as value) as constant) if value >= 2**63:
            return evolve(constant, value=-value)
        case _:
            return side


def type_of_literal(value: int | Fraction | str | bool) -> Type:
    """Returns the narrowest type of a constant."""
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, str):
        return STRING
    if isinstance(value, Fraction):
        return decimals.type_of_constant(value)
    if abs(value) >= 2**63:
        return DOUBLE
    return Type("int") if abs(value) < 2**31 else LONG


def _numeric(operand: Expression, types: Types) -> Type:
    type_ = type_of(operand, types)
    if not type_.is_numeric:
        hint = type_hints.conversion("number", type_, operand)
        if type_ == STRING:
            hint = "; ".join(filter(None, ("strings are joined by `a || b`", hint)))
        raise clash(f"arithmetic requires numbers, found {type_}", operand.span, hint)
    return type_


def _check_difference(left: Expression, right: Expression, sides: Sequence[Type]) -> None:
    """Raises RQ103 unless both sides of a difference are timestamps; one may be a string in ISO form."""
    for side, type_ in zip((left, right), sides, strict=True):
        if isinstance(side, Literal) and isinstance(side.value, str):
            patterns.value_of(TIMESTAMP, side)
        elif type_ != TIMESTAMP:
            hint = type_hints.conversion("timestamp", type_, side)
            later = "a time later is `timestamp_seconds(unix_seconds(at) + 60)`, a date `date_add(d, 7)`"
            raise clash(
                f"a timestamp is required, found {type_}",
                side.span,
                f"{hint or later}; {later}" if hint else later,
            )


def _boolean(operand: Expression, types: Types) -> Type:
    type_ = type_of(operand, types)
    if type_ != BOOLEAN:
        hint = type_hints.conversion("boolean", type_, operand)
        raise clash(f"a condition requires type boolean, found {type_}", operand.span, hint)
    return type_


def _check_pattern(operand: Expression, values: list[Literal] | tuple[Literal, ...], types: Types) -> None:
    type_ = type_of(operand, types)
    for value in values:
        patterns.value_of(type_, value)


def _check_comparison(left: Expression, right: Expression, types: Types, span: Span) -> None:
    if isinstance(left, Literal) and not isinstance(right, Literal):
        left, right = right, left
    if isinstance(left, Literal) and isinstance(left.value, str) and left.value in types:
        raise clash(
            f"{left.text} is a string", left.span, f"an attribute is written without quotes: `{left.value}`"
        )
    for side, other in ((left, right), (right, left)):
        if not isinstance(side, Attribute) or side.qualifier is not None or side.name in types:
            continue
        if isinstance(other, Attribute) and types.get(other.name) == STRING:
            raise unknown_attribute(side.name, types, side.span, is_text=True)
    of_left = type_of(left, types)
    if isinstance(right, Literal):
        patterns.value_of(of_left, right)
        return
    of_right = type_of(right, types)
    if of_left.name != of_right.name and not (of_left.is_numeric and of_right.is_numeric):
        hint = type_hints.comparison((of_left, of_right), (left, right))
        raise clash(f"{of_left} cannot be compared with {of_right}", span, hint)


def clash(message: str, span: Span, hint: str | None = None) -> DiagnosticError:
    """Returns the error of types that do not match (RQ103)."""
    return failure("RQ103", message, span, hint=hint)


def qualified(attribute: Attribute, types: Types) -> DiagnosticError:
    """Returns the error of `R.a` with one input (RQ112); its hint is what the user may have wanted."""
    name, qualifier = attribute.name, attribute.qualifier
    hint = f"`{name}` alone"
    if qualifier in types and name in scalar_functions.FUNCTIONS:
        hint = f"`{name}({qualifier})` calls the function"
    elif qualifier in types:
        path = f'`{name}: string from "{qualifier}.{name}"`'
        hint = f"`{name}` alone; or declare a field inside of `{qualifier}`: {path}"
    message = f"`{qualifier}.` says where a join attribute comes from; here there is one input"
    return failure("RQ112", message, attribute.span, hint=hint)


EMPTY = ("null", "NULL", "Null", "none", "None", "nil", "undefined", "TRUE", "FALSE", "True", "False")
"""Constants of other languages, which no attribute is called."""


def unknown_attribute(name: str, types: Types, span: Span | None, is_text: bool = False) -> DiagnosticError:
    """Returns the error of an unknown attribute (RQ102), with a suggestion. `is_text`: the user may have
    wanted a string."""
    if changing_functions.is_changing(name):
        return changing_functions.refused(name, span)
    help = did_you_mean(name, types, "attributes")
    if name.lower() in ("true", "false"):
        help = f"`{name.lower()}` is written in lower case"
    elif name in EMPTY:
        help = "`x is null` and `x is not null` ask whether a value is undefined; "
        help += "a `case` without `else` is undefined where no branch fits"
    elif is_text and not help.startswith("did"):
        help += f'; a string is written in quotes: "{name}"'
    return failure("RQ102", f"unknown attribute `{name}`", span, hint=help)


def affine(expression: Expression) -> tuple[str, Affine] | None:
    """Returns the attribute and the function of an expression that is affine in exactly one (theory G20)."""
    form = single(expression)
    if form is None or not isinstance(form[0], Attribute):
        return None
    return form[0].name, form[1]


@lru_cache(_CACHED)
def single(expression: Expression) -> tuple[Expression, Affine] | None:
    """Returns the part and the function of an expression that is affine in exactly one part.

    A part is an attribute, or an expression that is not arithmetic.
    """
    slopes, shift = _linear(expression)
    if len(slopes) != 1:
        return None
    ((part, slope),) = slopes.items()
    return (part, Affine(slope, shift)) if slope else None


_Form = tuple[dict[Expression, Fraction], Fraction]


def _linear(expression: Expression) -> _Form:
    """Returns coefficients by part and the constant term.

    A part that is not an attribute stays, even times zero: it may be undefined when the rest is defined.
    """
    match expression:
        case Literal(value) if not isinstance(value, bool | str):
            return {}, Fraction(value)
        case Unary("-", operand):
            return _scaled(_linear(operand), Fraction(-1))
        case Binary("+" | "-" as operator, left, right):
            a, b = _linear(left), _scaled(_linear(right), Fraction(1 if operator == "+" else -1))
            total = {
                part: a[0].get(part, Fraction(0)) + b[0].get(part, Fraction(0)) for part in {**a[0], **b[0]}
            }
            return {p: slope for p, slope in total.items() if slope or not isinstance(p, Attribute)}, a[
                1
            ] + b[1]
        case Binary("*", left, right):
            a, b = _linear(left), _linear(right)
            if not a[0]:
                return _scaled(b, a[1])
            if not b[0]:
                return _scaled(a, b[1])
        case Binary("/", left, right):
            b = _linear(right)
            if not b[0] and b[1]:
                return _scaled(_linear(left), 1 / b[1])
        case Scalar("affine"):
            argument, function = called(expression)
            slopes, shift = _scaled(_linear(argument), function.slope)
            return slopes, shift + function.shift
        case _:
            pass
    return {expression: Fraction(1)}, Fraction(0)


def _scaled(form: _Form, factor: Fraction) -> _Form:
    return {
        p: slope * factor for p, slope in form[0].items() if factor or not isinstance(p, Attribute)
    }, form[1] * factor
