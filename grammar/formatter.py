"""Syntax nodes to text in the ASCII spelling. `parse_query(format_query(q)) == q`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cedilla.grammar import syntax
from cedilla.grammar.syntax import Expression, Query, Relation, Statement

_WIDTH = 110
_COMMENT = re.compile(r"""("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|#[^\n]*""")
_LEVELS = {"or": 1, "and": 2, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6}
_NOT, _COMPARED, _OPPOSITE, _ATOM = 3, 4, 7, 8


def format_query(query: Query, text: str | None = None) -> str:
    """The query, one statement after the other, with a final newline.

    Nodes hold no comments and no blank lines: with `text`, the text `query` was parsed from, they are kept;
    a comment inside a statement moves in front of it.
    """
    statements = [format_statement(statement) for statement in query.statements]
    if text is None:
        return "".join(f"{statement}\n" for statement in statements)
    lines: list[str] = []
    position = 0
    for statement, formatted in zip(query.statements, statements, strict=True):
        start, end = statement.span.start, statement.span.end
        _keep_gap(lines, text[position:start])
        lines += [*_comments(text[start:end]), formatted]
        position = end
    _keep_gap(lines, text[position:])
    while lines and not lines[-1]:
        lines.pop()
    return "".join(f"{line}\n" for line in lines)


def _keep_gap(lines: list[str], gap: str) -> None:
    """Add the comments and blank lines between two statements; one on the line of the first stays there."""
    first, *rows = [row.strip() for row in gap.split("\n")]
    if first:
        lines[-1:] = [f"{lines[-1]}  {first}" if lines else first]
    if rows and not rows[-1]:
        rows.pop()  # the indentation of the next statement
    for row in rows:
        if row or (lines and lines[-1]):
            lines.append(row)


def _comments(text: str) -> list[str]:
    return [match[0].rstrip() for match in _COMMENT.finditer(text) if match[1] is None]


def format_statement(statement: Statement) -> str:
    """One statement, with its semicolon."""
    match statement:
        case syntax.StreamDeclaration():
            return _stream(statement)
        case syntax.Setting(name, value):
            return f"set {name} = {value};"
        case syntax.Definition(name, relation):
            return f"{name} := {format_relation(relation)};"
        case syntax.Emit(relation, format, path, original_units):
            units = " in original units" if original_units else ""
            return f"emit {format_relation(relation)} to {format} {quote(path)}{units};"


def _stream(stream: syntax.StreamDeclaration) -> str:
    head = f"{stream.kind} {stream.name}("
    attributes = [_attribute(attribute) for attribute in stream.attributes]
    clauses = [f"from {stream.format} {quote(stream.path)}"]
    clauses += [f"punctuated on {', '.join(scheme)}" for scheme in stream.punctuated]
    if stream.heartbeat is not None:
        clauses.append(f"heartbeat {stream.heartbeat.attribute} delay {_measure(stream.heartbeat.delay)}")
    declared = f"{head}{', '.join(attributes)})"
    if len(declared) > _WIDTH:
        declared = head + (",\n" + " " * len(head)).join(attributes) + ")"
    line = f"{declared} {' '.join(clauses)};"
    if len(clauses) == 1 and len(line) <= _WIDTH:
        return line
    return "\n  ".join([declared, *clauses]) + ";"


def _attribute(attribute: syntax.AttributeDeclaration) -> str:
    mark = "?" if attribute.optional else ""
    domain = "" if attribute.domain is None else f" in {_pattern(attribute.domain)}"
    return f"{attribute.name}{mark}: {_type(attribute.type)}{domain}"


def _type(type: syntax.TypeName) -> str:
    parameters = ", ".join(str(parameter) for parameter in type.parameters)
    return f"{type.name}({parameters})" if parameters else type.name


def _measure(measure: syntax.Measure) -> str:
    value = measure.value
    number = str(value) if value.denominator == 1 else _decimal(measure)
    if measure.unit is None:
        return number
    return f"{number} {measure.unit}" if value == 1 else f"{number} {measure.unit}s"


def _decimal(measure: syntax.Measure) -> str:
    """Exact: every measure that can be written has a denominator of twos and fives."""
    digits = 0
    scaled = measure.value
    while scaled.denominator != 1:
        scaled *= 10
        digits += 1
    whole, rest = divmod(scaled.numerator, 10**digits)
    return f"{whole}.{rest:0{digits}}"


# --- relations ---


def format_relation(relation: Relation) -> str:
    """A relation, on one line."""
    match relation:
        case syntax.Reference(name):
            return name
        case syntax.Union(left, right):
            return f"{format_relation(left)} union {_side(right, syntax.Union)}"
        case syntax.Join(left, right, on):
            sides = f"{_side(left, syntax.Union)} join {_side(right, syntax.Union, syntax.Join)}"
            return f"{sides} on {_pairs(on)}"
        case _:
            return f"{_operator(relation)}({format_relation(relation.input)})"


def _side(relation: Relation, *looser: type[Relation]) -> str:
    text = format_relation(relation)
    return f"({text})" if isinstance(relation, looser) else text


def _pairs(pairs: tuple[syntax.JoinPair, ...]) -> str:
    simple = all(pair.left == pair.right and pair.left.qualifier is None for pair in pairs)
    return (", " if simple else " and ").join(_pair(pair) for pair in pairs)


def _pair(pair: syntax.JoinPair) -> str:
    if pair.left == pair.right and pair.left.qualifier is None:
        return pair.left.name
    return f"{format_expression(pair.left)} = {format_expression(pair.right)}"


def _operator(relation: syntax.Select | syntax.Project | syntax.Window | syntax.Aggregate) -> str:
    match relation:
        case syntax.Select(predicate):
            return f"select[{format_expression(predicate)}]"
        case syntax.Project(items):
            return f"project[{', '.join(_item(item) for item in items)}]"
        case syntax.Window(length, every, on, alias):
            slide = "" if every is None else f" every {_measure(every)}"
            return f"window[{_measure(length)}{slide} on {on} as {alias}]"
        case syntax.Aggregate(function, calls, by, excepts):
            computed = function or ", ".join(_call(call) for call in calls)
            return f"aggregate[{computed}{_clause('by', by)}{_clause('except', excepts)}]"


def _item(item: syntax.ProjectItem) -> str:
    alias = "" if item.alias is None else f" as {item.alias}"
    return format_expression(item.expression) + alias


def _call(call: syntax.AggregateCall) -> str:
    argument = "" if call.argument is None else format_expression(call.argument)
    return f"{call.function}({argument}) as {call.alias}"


def _clause(word: str, names: Iterable[str] | None) -> str:
    return f" {word} {', '.join(names)}" if names else ""


# --- expressions ---


def format_expression(expression: Expression) -> str:
    """An expression, with parentheses only where they are needed."""
    match expression:
        case syntax.Attribute(name, qualifier):
            return name if qualifier is None else f"{qualifier}.{name}"
        case syntax.Literal(text=text):
            return text
        case syntax.Unary("not", operand):
            return f"not {_within(operand, _NOT)}"
        case syntax.Unary(_, operand):
            return f"-{_within(operand, _OPPOSITE)}"
        case syntax.Binary(operator, left, right):
            level = _LEVELS.get(operator, _COMPARED)
            # Comparisons do not associate, all others do to the left.
            first = _within(left, level + (level == _COMPARED))
            return f"{first} {operator} {_within(right, level + 1)}"
        case syntax.InSet(operand, values, negated):
            return f"{_within(operand, _COMPARED + 1)} {_in(negated)} {_set(values)}"
        case syntax.InRange(operand, range, negated):
            return f"{_within(operand, _COMPARED + 1)} {_in(negated)} {_pattern(range)}"


def _within(expression: Expression, level: int) -> str:
    text = format_expression(expression)
    return text if _level(expression) >= level else f"({text})"


def _level(expression: Expression) -> int:
    match expression:
        case syntax.Binary(operator):
            return _LEVELS.get(operator, _COMPARED)
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


def _pattern(pattern: syntax.SetPattern | syntax.RangePattern) -> str:
    if isinstance(pattern, syntax.SetPattern):
        return _set(pattern.values)
    low = "" if pattern.low is None else pattern.low.text
    high = "" if pattern.high is None else f" {pattern.high.text}"
    return f"{'[' if pattern.low_closed else '('}{low},{high}{']' if pattern.high_closed else ')'}"


# --- markers ---


def format_accent(accent: syntax.AccentText) -> str:
    """`[[description, change]]`."""
    return f"[[{', '.join([*map(_condition, accent.description), _change(accent.primitive)])}]]"


def format_punctuation(punctuation: syntax.PunctuationText) -> str:
    """`[conditions]`, `[*]` if there are none."""
    return f"[{', '.join(map(_condition, punctuation.conditions)) or '*'}]"


def _change(primitive: syntax.Primitive) -> str:
    match primitive:
        case syntax.AddAttribute(name, type):
            return f"+({name}: {_type(type)})"
        case syntax.DropAttribute(name):
            return f"-({name})"
        case syntax.AlterAttribute(name, parameter, body, inverse):
            back = ""
            if inverse is not None:
                back = f", {inverse.parameter} -> {format_expression(inverse.body)}"
            return f"alter({name}, {parameter} -> {format_expression(body)}{back})"


def _condition(condition: syntax.Condition) -> str:
    match condition.pattern:
        case syntax.Comparison(operator, value):
            return f"{condition.attribute} {operator} {value.text}"
        case syntax.Wildcard():
            return f"{condition.attribute} = *"
        case pattern:
            return f"{condition.attribute} in {_pattern(pattern)}"


# --- strings ---

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def quote(value: str) -> str:
    """The string as a constant in double quotes, readable by every start rule of the grammar."""
    return '"' + "".join(_ESCAPES.get(character, character) for character in value) + '"'
