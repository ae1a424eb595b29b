"""Expressions: types, SQL, affine form and the region of a predicate (design, section 4; theory G20)."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cedilla.compiler import expressions, regions
from cedilla.compiler.regions import UNDEFINED
from cedilla.compiler.types import Type
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.grammar.parser import parse_expression
from cedilla.grammar.syntax import Attribute, Binary, Expression, InRange, InSet, Literal, Unary
from tests.strategies import DENSE, HEAVY, LIGHT, rows

TYPES = {
    "a": Type("double"),
    "b": Type("int"),
    "n": Type("long"),
    "d": Type("decimal", (8, 2)),
    "s": Type("string"),
    "f": Type("boolean"),
    "ts": Type("timestamp"),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", "double"),
        ("b + 1", "int"),
        ("b + n", "long"),
        ("b * 1.5", "double"),
        ("b / 2", "double"),
        ("d * 2", "double"),
        ("-n", "long"),
        ("b + 3000000000", "long"),
        ("'x'", "string"),
        ("a > 1 and not f or s in {'x'}", "boolean"),
        ("ts >= '2013-01-31'", "boolean"),
        ("1 < b", "boolean"),
        ("b = n", "boolean"),
    ],
)
def test_types(text: str, expected: str) -> None:
    assert str(expressions.type_of(parse_expression(text), TYPES)) == expected


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("a + z", "RQ102", "z"),
        ("a + s", "RQ103", "s"),
        ("-f", "RQ103", "f"),
        ("not a", "RQ103", "a"),
        ("a and f", "RQ103", "a"),
        ("a = 'x'", "RQ103", "'x'"),
        ("'x' < a", "RQ103", "'x'"),
        ("ts > 5", "RQ103", "5"),
        ("s in {'x', 1}", "RQ103", "1"),
        ("b in ['x', 'y']", "RQ103", "'x'"),
        ("s = a", "RQ103", "s = a"),
    ],
)
def test_clashes_are_shown_where_they_are(text: str, code: str, place: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        expressions.type_of(parse_expression(text), TYPES)
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert found.span is not None
    assert text[found.span.start : found.span.end] == place


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a * 0.5 + 1", "(a * 0.5D) + 1"),
        ("a > 90", "a > 90.0D"),
        ("90 > a", "a < 90.0D"),
        ("d >= 1.25", "CAST(d AS DOUBLE) >= 1.25BD"),
        ("s in {'x', \"it's\"}", "s IN ('x', 'it\\'s')"),
        ("b not in [1, 10)", "NOT (b >= 1 AND b < 10)"),
        ("b in [,]", "b IS NOT NULL"),
        ("not f and b != 2", "(NOT f) AND (b != 2)"),
        ("ts < '1970-01-01'", "ts < TIMESTAMP'1970-01-01 00:00:00+00:00'"),
        ("-(a + 1)", "-(a + 1)"),
    ],
)
def test_sql(text: str, expected: str) -> None:
    assert expressions.sql(parse_expression(text), TYPES) == expected


# --- affine form ---


@pytest.mark.parametrize(
    "text", ["a * a", "a / a", "1 / a", "a + b", "5", "a - a", "0 * a", "a % 2", "a / 0", "a > 1"]
)
def test_other_shapes_are_not_affine_in_one_attribute(text: str) -> None:
    assert expressions.affine(parse_expression(text)) is None


NUMBERS = st.integers(-5, 5) | st.decimals(-5, 5, places=1)
TERMS = st.recursive(
    st.just("a") | NUMBERS.map(lambda v: f"({v})"),
    lambda inner: (
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*/"), inner) | inner.map("(-{})".format)
    ),
    max_leaves=6,
)


@LIGHT
@given(TERMS)
def test_the_affine_form_computes_the_expression(text: str) -> None:
    """g is found exactly, so g∘α∘g⁻¹ is exact too (G20)."""
    expression = parse_expression(text)
    form = expressions.affine(expression)
    if form is None:
        return
    name, function = form
    assert (name, function.slope != 0) == ("a", True)
    for value in (Fraction(-7, 3), Fraction(0), Fraction(2)):
        try:
            assert evaluate(expression, {"a": value}) == function(value)
        except ZeroDivisionError:  # `a / 0 * 0`
            raise AssertionError(f"{text} has no value but a form") from None


# --- regions of predicates ---


def evaluate(node: Expression, row: Mapping[str, Any]) -> Any:
    """SQL's meaning of an expression; `None` is undefined."""
    match node:
        case Attribute(name):
            value = row.get(name)
            return None if value is UNDEFINED else value
        case Literal(value):
            return value
        case Unary("-", operand):
            value = evaluate(operand, row)
            return None if value is None else -value
        case Unary(_, operand):
            value = evaluate(operand, row)
            return None if value is None else not value
        case InSet(operand, members, negated):
            value = evaluate(operand, row)
            return None if value is None else (value in {m.value for m in members}) != negated
        case InRange(operand, pattern, negated):
            value = evaluate(operand, row)
            if value is None:
                return None
            low, high = (None if end is None else end.value for end in (pattern.low, pattern.high))
            above = low is None or value > low or (value == low and pattern.low_closed)
            below = high is None or value < high or (value == high and pattern.high_closed)
            return (above and below) != negated
        case Binary("and" | "or" as word, left, right):
            found = [evaluate(left, row), evaluate(right, row)]
            decided = word == "or"
            if decided in found:
                return decided
            return None if None in found else not decided
        case Binary(operator, left, right):
            x, y = evaluate(left, row), evaluate(right, row)
            if x is None or y is None:
                return None
            match operator:
                case "+" | "-" | "*":
                    return {"+": x + y, "-": x - y, "*": x * y}[operator]
                case "/":
                    return Fraction(x) / y
                case _:
                    return {"=": x == y, "!=": x != y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[
                        operator
                    ]


CONSTANT = st.sampled_from(["0", "0.5", "1", "2", "3"])
COMPARATOR = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
NAME = st.sampled_from("ac")
IN = st.sampled_from(["in", "not in"])
BRACKETS = st.sampled_from(["[{}, {}]", "[, {1}]", "({0},)", "[,]"])
SIMPLE = (
    st.builds("{} {} {}".format, NAME, COMPARATOR, CONSTANT)
    | st.builds("{} {} {}".format, CONSTANT, COMPARATOR, NAME)
    | st.builds("{} {} {{{}, {}}}".format, NAME, IN, CONSTANT, CONSTANT)
    | st.builds(
        lambda n, i, b, x, y: f"{n} {i} {b.format(*sorted((x, y)))}", NAME, IN, BRACKETS, CONSTANT, CONSTANT
    )
)
UNCLEAR = st.builds("a + 1 {} c".format, COMPARATOR) | st.builds("a * 2 {} 1".format, COMPARATOR)


def predicates(simple: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.recursive(
        simple,
        lambda inner: (
            st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner)
            | inner.map("not ({})".format)
        ),
        max_leaves=6,
    )


FLOATS = {"a": Type("double"), "c": Type("double")}
SPACE = list(rows({"a": DENSE, "c": DENSE}))


def check_possible(text: str, *, exact: bool) -> None:
    predicate = parse_expression(text)
    region = expressions.possible(predicate, FLOATS)
    for row in SPACE:
        holds = evaluate(predicate, row) is True
        inside = regions.contains(region, row)
        assert inside or not holds
        assert not exact or inside == holds


@LIGHT
@given(predicates(SIMPLE))
def test_the_region_of_simple_conditions_is_where_they_hold(text: str) -> None:
    """Comparisons with constants under and, or, not: the region is exact, three-valued as in SQL."""
    check_possible(text, exact=True)


@LIGHT
@given(predicates(SIMPLE | UNCLEAR))
def test_a_predicate_is_never_true_outside_its_region(text: str) -> None:
    """What the region leaves out may be closed from the start (Prop of Select, theory 1.3)."""
    check_possible(text, exact=False)


@pytest.mark.soak
@HEAVY
@given(predicates(SIMPLE | UNCLEAR))
def test_a_predicate_is_never_true_outside_its_region_at_length(text: str) -> None:
    """What the region leaves out may be closed from the start (Prop of Select, theory 1.3)."""
    check_possible(text, exact=False)


def test_attributes_are_those_that_are_read() -> None:
    assert expressions.attributes(parse_expression("a + b > 1 and s in {'x'} or not f")) == {
        "a",
        "b",
        "s",
        "f",
    }
