"""Expressions over the attributes of one tuple: types, SQL, affine form, and the region of a predicate."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from cedilla.compiler import patterns, regions
from cedilla.compiler.affine import Affine
from cedilla.compiler.regions import Tree
from cedilla.compiler.types import BOOLEAN, DOUBLE, LONG, STRING, Type, column, quote
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, Span
from cedilla.grammar.syntax import (
    Attribute,
    Binary,
    Comparison,
    Expression,
    InRange,
    InSet,
    Literal,
    SetPattern,
    Unary,
)

Types = Mapping[str, Type]
_COMPARISONS = {"=", "!=", "<", "<=", ">", ">="}
_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def attributes(expression: Expression) -> frozenset[str]:
    """The attributes that an expression reads."""
    match expression:
        case Attribute(name):
            return frozenset({name})
        case Literal():
            return frozenset()
        case Unary(_, operand) | InSet(operand) | InRange(operand):
            return attributes(operand)
        case Binary(_, left, right):
            return attributes(left) | attributes(right)


# --- types -----------------------------------------------------------------------------------------------


def type_of(expression: Expression, types: Types) -> Type:
    """The type of an expression.

    Raises `DiagnosticError` with RQ102 (unknown attribute) or RQ103 (type clash).
    """
    match expression:
        case Attribute(name, qualifier):
            if qualifier is not None:
                raise DiagnosticError(
                    [
                        Diagnostic(
                            "RQ112",
                            "error",
                            f"`{qualifier}.` says where a join attribute comes from; here there is one input",
                            expression.span,
                            help=f"`{name}` alone",
                        )
                    ]
                )
            if name not in types:
                raise unknown_attribute(name, types, expression.span)
            return types[name]
        case Literal(value):
            return _type_of_literal(value)
        case Unary("-", operand):
            return _numeric(operand, types)
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
        case Binary(operator, left, right) if operator in _COMPARISONS:
            _check_comparison(left, right, types, expression.span)
            return BOOLEAN
        case Binary(operator, left, right):
            kinds = {_numeric(left, types).name, _numeric(right, types).name}
            if operator == "/" or kinds & {"double", "decimal"}:
                return DOUBLE
            return LONG if "long" in kinds else Type("int")


def _type_of_literal(value: int | Fraction | str | bool) -> Type:
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, str):
        return STRING
    return DOUBLE if isinstance(value, Fraction) else Type("int") if abs(value) < 2**31 else LONG


def _numeric(operand: Expression, types: Types) -> Type:
    found = type_of(operand, types)
    if not found.is_numeric:
        raise clash(f"arithmetic requires numbers, found {found}", operand.span)
    return found


def _boolean(operand: Expression, types: Types) -> Type:
    found = type_of(operand, types)
    if found != BOOLEAN:
        raise clash(f"a condition requires type boolean, found {found}", operand.span)
    return found


def _check_pattern(operand: Expression, values: list[Literal] | tuple[Literal, ...], types: Types) -> None:
    found = type_of(operand, types)
    for value in values:
        patterns.value_of(found, value)


def _check_comparison(left: Expression, right: Expression, types: Types, span: Span) -> None:
    if isinstance(left, Literal) and not isinstance(right, Literal):
        left, right = right, left
    of_left = type_of(left, types)
    if isinstance(right, Literal):
        patterns.value_of(of_left, right)
        return
    of_right = type_of(right, types)
    if of_left.name != of_right.name and not (of_left.is_numeric and of_right.is_numeric):
        raise clash(f"{of_left} cannot be compared with {of_right}", span)


def clash(message: str, span: Span, hint: str | None = None) -> DiagnosticError:
    return DiagnosticError([Diagnostic("RQ103", "error", message, span, help=hint)])


def unknown_attribute(name: str, types: Types, span: Span | None) -> DiagnosticError:
    known = ", ".join(types)
    return DiagnosticError(
        [Diagnostic("RQ102", "error", f"unknown attribute `{name}`", span, help=f"known attributes: {known}")]
    )


# --- SQL -------------------------------------------------------------------------------------------------


def sql(expression: Expression, types: Types) -> str:
    """The expression as Spark SQL; a part that may be undefined makes it undefined."""
    match expression:
        case Attribute(name):
            plain = column(name)
            return f"CAST({plain} AS DOUBLE)" if types[name].name == "decimal" else plain
        case Literal(value):
            return quote(value) if isinstance(value, str) else _type_of_literal(value).sql(value)
        case Unary("-", operand):
            return f"-{_operand(operand, types)}"
        case Unary(_, operand):
            return f"NOT {_operand(operand, types)}"
        case InSet(operand, values, negated):
            of = type_of(operand, types)
            listed = ", ".join(of.sql(of.value(v)) for v in values)
            return f"{_operand(operand, types)} {'NOT IN' if negated else 'IN'} ({listed})"
        case InRange(operand, pattern, negated):
            of, tested = type_of(operand, types), _operand(operand, types)
            parts: list[str] = []
            if pattern.low is not None:
                parts.append(
                    f"{tested} {'>=' if pattern.low_closed else '>'} {of.sql(of.value(pattern.low))}"
                )
            if pattern.high is not None:
                parts.append(
                    f"{tested} {'<=' if pattern.high_closed else '<'} {of.sql(of.value(pattern.high))}"
                )
            inside = " AND ".join(parts) or f"{tested} IS NOT NULL"
            return f"NOT ({inside})" if negated else inside
        case Binary(operator, left, right):
            if operator in _COMPARISONS:
                return _comparison_sql(operator, left, right, types)
            written = operator.upper() if operator in ("and", "or") else operator
            divisor = _operand(right, types)
            if operator in ("/", "%") and not (isinstance(right, Literal) and right.value):
                divisor = f"nullif({divisor}, 0)"  # division by zero is undefined, not the query's end
            return f"{_operand(left, types)} {written} {divisor}"


def _comparison_sql(operator: str, left: Expression, right: Expression, types: Types) -> str:
    if isinstance(left, Literal) and not isinstance(right, Literal):
        operator, left, right = _MIRRORED[operator], right, left
    of = type_of(left, types)
    bare = _operand(left, types)
    constant = of.sql(of.value(right)) if isinstance(right, Literal) else _operand(right, types)
    return f"{bare} {operator} {constant}"


def _operand(expression: Expression, types: Types) -> str:
    text = sql(expression, types)
    return text if isinstance(expression, Attribute | Literal) else f"({text})"


# --- affine form -----------------------------------------------------------------------------------------


def affine(expression: Expression) -> tuple[str, Affine] | None:
    """The one attribute and the function, where an expression is affine in exactly one (theory G20)."""
    form = _linear(expression)
    if form is None or len(form[0]) != 1:
        return None
    ((name, slope),) = form[0].items()
    return name, Affine(slope, form[1])


def _linear(expression: Expression) -> tuple[dict[str, Fraction], Fraction] | None:
    """Coefficients by attribute and the constant term; `None` where the expression is not linear."""
    match expression:
        case Attribute(name):
            return {name: Fraction(1)}, Fraction(0)
        case Literal(value) if not isinstance(value, bool | str):
            return {}, Fraction(value)
        case Unary("-", operand):
            return _scaled(_linear(operand), Fraction(-1))
        case Binary("+" | "-" as operator, left, right):
            a, b = _linear(left), _linear(right)
            b = _scaled(b, Fraction(1 if operator == "+" else -1))
            if a is None or b is None:
                return None
            total = {
                name: a[0].get(name, Fraction(0)) + b[0].get(name, Fraction(0)) for name in {**a[0], **b[0]}
            }
            return {name: slope for name, slope in total.items() if slope}, a[1] + b[1]
        case Binary("*", left, right):
            a, b = _linear(left), _linear(right)
            if a is None or b is None or (a[0] and b[0]):
                return None
            return _scaled(b, a[1]) if not a[0] else _scaled(a, b[1])
        case Binary("/", left, right):
            a, b = _linear(left), _linear(right)
            return None if b is None or b[0] or not b[1] else _scaled(a, 1 / b[1])
        case _:
            return None


def _scaled(
    form: tuple[dict[str, Fraction], Fraction] | None, factor: Fraction
) -> tuple[dict[str, Fraction], Fraction] | None:
    if form is None:
        return None
    return {name: slope * factor for name, slope in form[0].items() if factor}, form[1] * factor


# --- regions of predicates -------------------------------------------------------------------------------


def possible(predicate: Expression, types: Types) -> Tree:
    """A region outside which the predicate is never true; `True` where nothing is known (theory 1.3, Select)."""
    return _bounds(predicate, types)[0]


def _bounds(predicate: Expression, types: Types) -> tuple[Tree, Tree]:
    """Regions outside which the predicate is never true, and never false."""
    match predicate:
        case Unary("not", operand):
            true, false = _bounds(operand, types)
            return false, true
        case Binary("and", left, right):
            a, b = _bounds(left, types), _bounds(right, types)
            return regions.intersection(a[0], b[0]), regions.union(a[1], b[1])
        case Binary("or", left, right):
            a, b = _bounds(left, types), _bounds(right, types)
            return regions.union(a[0], b[0]), regions.intersection(a[1], b[1])
        case Binary(operator, Attribute(name), Literal() as value) if operator in _COMPARISONS:
            return _of_set(name, patterns.value_set(name, types[name], _compared(operator, value)))
        case Binary(operator, Literal() as value, Attribute(name)) if operator in _COMPARISONS:
            return _of_set(name, patterns.value_set(name, types[name], _compared(_MIRRORED[operator], value)))
        case InSet(Attribute(name), values, negated):
            pattern = SetPattern(values, span=predicate.span)
            inside, outside = _of_set(name, patterns.value_set(name, types[name], pattern))
            return (outside, inside) if negated else (inside, outside)
        case InRange(Attribute(name), pattern, negated):
            inside, outside = _of_set(name, patterns.value_set(name, types[name], pattern))
            return (outside, inside) if negated else (inside, outside)
        case _:
            return True, True


def _compared(operator: str, value: Literal) -> Comparison:
    return Comparison(operator, value, span=value.span)  # type: ignore[arg-type]


def _of_set(name: str, members: Tree) -> tuple[Tree, Tree]:
    return members, regions.difference(regions.defined(name), members)
