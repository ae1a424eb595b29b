"""Expressions, accents and punctuations as text, which parses to the same again."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from cedilla.grammar import syntax
from cedilla.grammar.syntax import Expression, accent_forms
from cedilla.grammar.syntax.connectives import terms

_NOT, _COMPARED, _OPPOSITE, _ATOM = 3, 4, 7, 8
LEVELS = {"or": 1, "and": 2, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6}


def type_text(type: syntax.TypeName) -> str:
    """A type as the language writes it: `decimal(5,2)`, `array<int>`."""
    if type.element is not None:
        return f"{type.name}<{type_text(type.element)}>"
    parameters = ", ".join(str(parameter) for parameter in type.parameters)
    return f"{type.name}({parameters})" if parameters else type.name


def declared_type_text(type: syntax.TypeName, *, decimal: str | None = None, zone: str | None = None) -> str:
    """A type as a stream declares it: `list of string`, `double decimal ","`, `timestamp zone "UTC"`."""
    text = type_text(type) if type.element is None else f"list of {type_text(type.element)}"
    return f"{text}{form_clause(decimal, zone)}"


def form_clause(decimal: str | None, zone: str | None) -> str:
    """The clause of an attribute whose texts have a form of their own; empty for others."""
    text = "" if decimal is None else f" decimal {signs_text(decimal)}"
    return text if zone is None else f"{text} zone {quote(zone)}"


def signs_text(signs: str) -> str:
    """Writes decimal signs: `","`, `"," or "."`."""
    return " or ".join(map(quote, signs))


def unit_text(unit: str) -> str:
    """Writes the name of a unit or a field, in quotes if it is not a single word."""
    return unit if unit.isidentifier() else quote(unit)


def measure_text(measure: syntax.Measure | syntax.Rows) -> str:
    """A length or delay, `5 minutes`, by the name of its constant where it has one."""
    if isinstance(measure, syntax.Rows):
        return f"{measure.count} rows"
    value = measure.value
    number = measure.name or decimal_text(value)
    if measure.unit is None:
        return number
    return f"{number} {measure.unit}" if value == 1 else f"{number} {measure.unit}s"


def decimal_text(number: Fraction) -> str:
    """A number in decimals, exact: every one that can be written has a denominator of twos and fives."""
    digits = 0
    scaled = number
    while scaled.denominator != 1:
        scaled *= 10
        digits += 1
    if not digits:
        return str(scaled)
    whole, rest = divmod(abs(scaled.numerator), 10**digits)
    return f"{'-' if number < 0 else ''}{whole}.{rest:0{digits}}"


def item_text(item: syntax.ProjectItem) -> str:
    """An item of a projection, with its alias."""
    return format_expression(item.expression) + alias_text(item)


def alias_text(item: syntax.ProjectItem) -> str:
    """The name of a projected item, and the unit that it is given."""
    unit = "" if item.unit is None else f" unit {unit_text(item.unit)}"
    return "" if item.alias is None else f" as {item.alias}{unit}"


def call_text(call: syntax.AggregateCall | syntax.ProjectItem) -> str:
    """A result of an aggregate: a call of a function, or what is computed of several."""
    if isinstance(call, syntax.ProjectItem):
        return item_text(call)
    return f"{called(call.function, call.arguments, call.distinct, call.where)} as {call.alias}"


def called(
    function: str,
    arguments: tuple[Expression, ...],
    distinct: bool = False,
    where: Expression | None = None,
) -> str:
    """A call of a function. The word of `delta resets` comes last, `delta(x resets)`, that of `increase since` before
    its last argument, and `weighted by` and `carried` after it."""
    if function.endswith(syntax.CARRIED):
        return called(function.removesuffix(syntax.CARRIED), arguments, distinct, where) + syntax.CARRIED
    name, _, word = function.partition(" ")
    if word == syntax.WEIGHTED:
        return f"{called(name, arguments, distinct, where)} {word}"
    if word == syntax.SINCE:
        *others, start = map(format_expression, arguments)
        return f"{name}({', '.join(others)} {word} {start})"
    words = ["distinct"] if distinct else []
    words += [", ".join(map(format_expression, arguments))] if arguments else []
    words += [f"where {format_expression(where)}"] if where is not None else []
    words += [word] if word else []
    return f"{name}({' '.join(words)})"


def format_expression(expression: Expression) -> str:
    """An expression, with parentheses only where they are needed."""
    match expression:
        case syntax.Attribute(name, qualifier):
            return name if qualifier is None else f"{qualifier}.{name}"
        case syntax.Literal(text=text):
            return text
        case syntax.Unary("not", operand):
            return f"not {within(operand, _NOT)}"
        case syntax.Unary(_, operand):
            return f"-{within(operand, _OPPOSITE)}"
        case syntax.Binary("and" | "or" as operator):
            return f" {operator} ".join(
                within(term, LEVELS[operator] + 1) for term in terms(operator, expression)
            )
        case syntax.Binary(operator, left, right):
            level = LEVELS.get(operator, _COMPARED)
            # Comparisons do not associate, all others do to the left.
            first = within(left, level + (level == _COMPARED))
            return f"{first} {operator} {within(right, level + 1)}"
        case syntax.InSet(operand, values, negated):
            return f"{within(operand, _COMPARED + 1)} {_in(negated)} {_set(values)}"
        case syntax.InRange(operand, range, negated):
            return f"{within(operand, _COMPARED + 1)} {_in(negated)} {pattern_text(range)}"
        case syntax.Scalar(name):
            return called(name, expression.arguments, expression.distinct, expression.where)
        case syntax.Case(branches, otherwise):
            return f"case {' '.join(map(branch_text, branches))}{_else(otherwise)} end"


def branch_text(branch: syntax.Branch) -> str:
    """A branch of a `case`."""
    return f"when {format_expression(branch.condition)} then {format_expression(branch.value)}"


def _else(otherwise: Expression | None) -> str:
    return "" if otherwise is None else f" else {format_expression(otherwise)}"


def within(expression: Expression, level: int) -> str:
    """An expression inside one that binds as `level` says; in parentheses where it binds less."""
    text = format_expression(expression)
    return text if _level(expression) >= level else f"({text})"


def _level(expression: Expression) -> int:
    match expression:
        case syntax.Binary(operator):
            return LEVELS.get(operator, _COMPARED)
        case syntax.Unary(operator):
            return _NOT if operator == "not" else _OPPOSITE
        case syntax.InSet() | syntax.InRange():
            return _COMPARED
        case _:
            return _ATOM


def _in(negated: bool) -> str:
    return "not in" if negated else "in"


def _set(values: tuple[syntax.Literal, ...]) -> str:
    return "{" + ", ".join(value.text for value in values) + "}"


def pattern_text(pattern: syntax.SetPattern | syntax.RangePattern) -> str:
    """A set `{1, 2}` or a range `[0, 60)`."""
    if isinstance(pattern, syntax.SetPattern):
        return _set(pattern.values)
    low = "" if pattern.low is None else pattern.low.text
    high = "" if pattern.high is None else f" {pattern.high.text}"
    return f"{'[' if pattern.low_closed else '('}{low},{high}{']' if pattern.high_closed else ')'}"


def format_accent(accent: syntax.AccentText) -> str:
    """`[[description, change]]`."""
    return f"[[{', '.join([*map(_condition, accent.description), _change(accent.primitives)])}]]"


def format_punctuation(punctuation: syntax.PunctuationText) -> str:
    """Writes `[conditions]`, or `[*]` without conditions."""
    return f"[{', '.join(map(_condition, punctuation.conditions)) or '*'}]"


def _change(primitives: tuple[syntax.Primitive, ...]) -> str:
    first, *others = primitives
    names = ", ".join(primitive.name for primitive in primitives)
    one_or_set = f"{{{names}}}" if others else names
    match first:
        case syntax.AddAttribute(name, type, unit):
            return f"+({name}: {type_text(type)}{'' if unit is None else f' unit {unit_text(unit)}'})"
        case syntax.DropAttribute():
            return f"-({names})"
        case syntax.AlterAttribute():
            return f"alter({one_or_set}, {_function(first)})"
        case syntax.Change():
            nodes = tuple(node for node in primitives if isinstance(node, syntax.Change))
            return accent_forms.OF_NODE[first.__class__].text(nodes, _filled)


def _filled(rule: str, value: Any) -> str:
    """Writes the value of a hole in the form of a change, by its rule."""
    return _WRITERS[rule](value)


def _codes_text(codes: tuple[tuple[syntax.Literal, syntax.Literal], ...]) -> str:
    return "{" + ", ".join(f"{before.text}: {after.text}" for before, after in codes) + "}"


def _function(alter: syntax.AlterAttribute) -> str:
    if isinstance(alter.body, syntax.Points):
        pairs = ", ".join(f"({x.text}, {y.text})" for x, y in alter.body.points)
        return f"by points {{{pairs}}}"
    text = f"{alter.parameter} -> {format_expression(alter.body)}"
    if alter.inverse is not None:
        text += f", {alter.inverse.parameter} -> {format_expression(alter.inverse.body)}"
    return text if alter.unit is None else f"{text}, unit {unit_text(alter.unit)}"


def _condition(condition: syntax.Condition) -> str:
    match condition.pattern:
        case syntax.Comparison(operator, value):
            return f"{condition.attribute} {operator} {value.text}"
        case syntax.Wildcard():
            return f"{condition.attribute} = *"
        case pattern:
            return f"{condition.attribute} in {pattern_text(pattern)}"


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def quote(value: str) -> str:
    """The string as a constant in double quotes, readable by every start rule of the grammar."""
    return '"' + "".join(_ESCAPES.get(character, character) for character in value) + '"'


_WRITERS: dict[str, Callable[[Any], str]] = {
    "NAME": str,
    "STRING": quote,
    "field": unit_text,
    "unit": unit_text,
    "signs": signs_text,
    "codes": _codes_text,
    "else_same": lambda _: "else same",
    "literals": _set,
    "members": pattern_text,
    "number": lambda number: number.text,
}
"""How the value of a hole is written, by its rule."""
