"""Syntax nodes to text in the ASCII spelling. `parse_query(format_query(q)) == q`."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from functools import partial
from typing import Any, cast

from attrs import frozen

from cedilla.grammar import syntax
from cedilla.grammar.formatting.comments import ends_in_comment, woven
from cedilla.grammar.formatting.expression_formatter import (
    LEVELS,
    alias_text,
    branch_text,
    call_text,
    format_accent,
    format_expression,
    item_text,
    measure_text,
    quote,
    unit_text,
    within,
)
from cedilla.grammar.formatting.source_formatter import format_attribute, format_source
from cedilla.grammar.syntax import Expression, Query, Relation, Statement
from cedilla.grammar.syntax.connectives import terms
from cedilla.grammar.syntax.operator_forms import FORMS, Form, Hole, form_of

_WIDTH = 110
_STEP = 2
_broken: ContextVar[bool] = ContextVar("broken", default=False)
"""True if every part gets its own line, because a comment follows one of them."""
_LOOSE = (syntax.Union, syntax.Minus)


def format_query(query: Query, text: str | None = None) -> str:
    """The query, one statement after the other, with a final newline.

    Nodes hold no comments and no blank lines: with `text`, the text `query` was parsed from, they keep their
    places (`comments`).
    """
    if text is None:
        return "".join(f"{format_statement(statement)}\n" for statement in query.statements)
    lines, position = list[str](), 0
    for statement in query.statements:
        start, end = statement.span.start, statement.span.end
        _keep_gap(lines, text[position:start])
        lines += woven(text[start:end], partial(_statement_text, statement)).split("\n")
        position = end
    _keep_gap(lines, text[position:])
    while lines and not lines[-1]:
        lines.pop()
    return "".join(f"{line}\n" for line in lines)


def _keep_gap(lines: list[str], gap: str) -> None:
    """Add the comments and blank lines between two statements; one on the line of the first stays there."""
    first, *rows = [row.strip() for row in gap.split("\n")]
    if first and lines and not ends_in_comment(lines[-1]):
        lines[-1] += f"  {first}"
    elif first:
        lines.append(first)
    if rows and not rows[-1]:
        rows.pop()  # the indentation of the next statement
    for row in rows:
        if row or (lines and lines[-1]):
            lines.append(row)


def _statement_text(statement: Statement, broken: bool) -> str:
    before = _broken.set(broken)
    try:
        return format_statement(statement)
    finally:
        _broken.reset(before)


def _width() -> int:
    return 0 if _broken.get() else _WIDTH


def format_statement(statement: Statement) -> str:
    """One statement, with its semicolon."""
    match statement:
        case syntax.StreamDeclaration():
            return format_source(statement, _width())
        case syntax.OperatorDeclaration():
            return _declared(statement)
        case syntax.Setting(name, value):
            return f"set {name} = {value};"
        case syntax.Let(name, value):
            constant = value.text if isinstance(value, syntax.Literal) else measure_text(value)
            return f"let {name} = {constant};"
        case syntax.UnitDefinition(name, value):
            return f"unit {unit_text(name)}{'' if value is None else f' = {format_expression(value)}'};"
        case syntax.StatedAccent(source, accent):
            return f"accent {source} {format_accent(accent)};"
        case syntax.StatedFile(source, path):
            return f"accent {source} from file {quote(path)};"
        case syntax.Use(path):
            return f"use {quote(path)};"
        case syntax.Definition(name, relation):
            head = f"{name} := "
            return f"{head}{_laid(relation, _Position(0, len(head), 1))};"
        case syntax.Emit(relation, format, path, original_units, units, latest):
            fixed = f" with {', '.join(f'{u.name} in {unit_text(u.unit)}' for u in units)}" * bool(units)
            tail = f" as latest by {', '.join(latest)}" * bool(latest)
            tail += f" to {format} {quote(path)}{' in original units' * original_units}{fixed};"
            return f"emit {_laid(relation, _Position(0, len('emit '), len(tail)))}{tail}"


def _declared(operator: syntax.OperatorDeclaration) -> str:
    parts = [f"operator {operator.name}({', '.join(operator.inputs)})"]
    for word, names in (
        ("foundation", operator.foundation),
        ("merge", operator.merge),
        ("accumulate", operator.accumulate),
    ):
        parts.append(f"{word} {{{', '.join(names)}}}")
    if operator.returns is not None:
        parts.append(f"returns ({', '.join(map(format_attribute, operator.returns))})")
    parts.append(f"from {quote(operator.function)}")
    line = " ".join(parts) + ";"
    return line if len(line) <= _width() else "\n  ".join(parts) + ";"


# --- relations ---


def format_relation(relation: Relation) -> str:
    """A relation, on one line."""
    match relation:
        case syntax.Reference(name):
            return name
        case syntax.Union() | syntax.Minus() | syntax.Intersect() | syntax.Join():
            word, after, left, right = _between(relation)
            return f"{_side(relation.left, *left)} {word} {_side(relation.right, *right)}{after}"
        case syntax.Applied(name, (lone,)):
            return f"{name}({format_relation(lone)})"
        case syntax.Applied(name, inputs):
            sides = [_side(side, *_LOOSE, syntax.Intersect, syntax.Join) for side in inputs]
            return f"{name}({', '.join(sides)})"
        case _:
            return f"{_operator(relation)}({format_relation(relation.input)})"


_Types = tuple[type[Relation], ...]


def _between(relation: syntax.TwoInputs) -> tuple[str, str, _Types, _Types]:
    """The word between two inputs, the text after them, and the left and right inputs that are in parentheses."""
    match relation:
        case syntax.Union():
            return "union", "", (), _LOOSE
        case syntax.Minus(all=all):
            return f"minus{' all' if all else ''}", "", (), _LOOSE
        case syntax.Intersect(all=all):
            return f"intersect{' all' if all else ''}", "", _LOOSE, (*_LOOSE, syntax.Intersect)
        case syntax.Join(on=pairs, kind=kind):
            looser = (*_LOOSE, syntax.Intersect)
            word = "join" if kind == "inner" else f"{kind} join"
            return word, f" on {_pairs(pairs)}", looser, (*looser, syntax.Join)


# --- long relations, over several lines ---


@frozen
class _Position:
    """The beginning of a text: the indentation of its line, and its column. `tail`: the length of what follows."""

    indent: int
    column: int
    tail: int = 0

    def inside(self, tail: int = 0) -> _Position:
        """A line of its own, one step further in."""
        return _Position(self.indent + _STEP, self.indent + _STEP, tail)

    def fits(self, text: str) -> bool:
        return self.column + len(text) + self.tail <= _width()


def _laid(relation: Relation, position: _Position) -> str:
    """A relation, on one line where it fits; else its operators, inputs and parameters have lines of their own."""
    flat = format_relation(relation)
    if position.fits(flat):
        return flat
    match relation:
        case syntax.Reference():
            return flat
        case syntax.Union() | syntax.Minus() | syntax.Intersect() | syntax.Join():
            return _laid_chain(relation, position)
        case syntax.Applied(name, inputs):
            return _laid_inputs(f"{name}(", inputs, position)
        case _:
            head = f"{_operator(relation)}("
            if position.column + len(head) <= _width():
                return _laid_inputs(head, (relation.input,), position)
            head, short = _laid_operator(relation, position.indent), format_relation(relation.input)
            if _Position(position.indent, position.indent + len("]("), position.tail + 1).fits(short):
                return f"{head}{short})"
            return _laid_inputs(head, (relation.input,), position)


def _laid_inputs(head: str, inputs: tuple[Relation, ...], position: _Position) -> str:
    margin = " " * position.indent
    looser = (*_LOOSE, syntax.Intersect, syntax.Join) if len(inputs) > 1 else ()
    lines = [
        f"{margin}{' ' * _STEP}{_laid_side(relation, position.inside(1), *looser)}" for relation in inputs
    ]
    return f"{head}\n{f',{chr(10)}'.join(lines)}\n{margin})"


def _laid_chain(relation: syntax.TwoInputs, position: _Position) -> str:
    """`a` and, each on a line of its own, `union b`, `union c`."""
    word, on, left, right = _between(relation)
    first = _Position(position.indent, position.column)
    if isinstance(relation.left, (syntax.Union, syntax.Minus, syntax.Intersect, syntax.Join)) and not (
        isinstance(relation.left, left)
    ):  # one chain is broken everywhere or nowhere
        begun = _laid_chain(relation.left, first)
    else:
        begun = _laid_side(relation.left, first, *left)
    second = position.inside(len(on) + position.tail)
    moved = _Position(second.indent, second.column + len(word) + 1, second.tail)
    return f"{begun}\n{' ' * second.indent}{word} {_laid_side(relation.right, moved, *right)}{on}"


def _laid_side(relation: Relation, position: _Position, *looser: type[Relation]) -> str:
    if not isinstance(relation, looser):
        return _laid(relation, position)
    return f"({_laid(relation, _Position(position.indent, position.column + 1, position.tail + 1))})"


def _laid_operator(relation: syntax.OneInput, indent: int) -> str:
    """`project[` with an item per line, as far as an operator has such parts, and `](`."""
    form = _form(relation)
    first = getattr(relation, form.holes[0].field)
    match relation, first:
        case syntax.Select(predicate), _:
            parts = _connected(predicate)
        case syntax.Project(items=(_, *_)), _:
            parts = _separated(_laid_item(item, indent + _STEP) for item in relation.items)
        case _, (syntax.Renamed() | syntax.ProjectItem() | syntax.AggregateCall(), *_):
            parts = _separated(_part(form.holes[0], item) for item in first)
        case _:
            return f"{_operator(relation)}("
    margin = " " * indent
    clauses = form.parts(relation, _part)[1:]
    lines = "".join(
        f"{margin}{' ' * _STEP}{part}\n" for part in [*parts, *([" ".join(clauses)] if clauses else [])]
    )
    return f"{form.word}[\n{lines}{margin}]("


def _laid_item(item: syntax.ProjectItem, indent: int) -> str:
    """A projected item; a `case` that is too long has a line for each branch."""
    flat = item_text(item)
    if not isinstance(item.expression, syntax.Case) or _Position(indent, indent, 1).fits(flat):
        return flat
    branches = [branch_text(branch) for branch in item.expression.branches]
    if item.expression.otherwise is not None:
        branches.append(f"else {format_expression(item.expression.otherwise)}")
    margin = " " * indent
    lines = "".join(f"{margin}{' ' * _STEP}{branch}\n" for branch in branches)
    return f"case\n{lines}{margin}end{alias_text(item)}"


def _separated(parts: Iterable[str]) -> list[str]:
    *others, last = parts
    return [*(f"{part}," for part in others), last]


def _connected(predicate: Expression) -> list[str]:
    """The operands of the loosest connective of a predicate, each but the first after its word."""
    if not isinstance(predicate, syntax.Binary) or predicate.operator not in ("and", "or"):
        return [format_expression(predicate)]
    operator, level = predicate.operator, LEVELS[predicate.operator]
    first, *others = (within(term, level + 1) for term in terms(operator, predicate))
    return [first, *(f"{operator} {other}" for other in others)]


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


def _operator(relation: syntax.OneInput) -> str:
    return _form(relation).text(relation, _part)


def _form(relation: syntax.OneInput) -> Form:
    if isinstance(relation, syntax.Project) and not relation.excepts:
        return FORMS["extend" if relation.rest and relation.items else "project"]
    return form_of(relation)


def _part(hole: Hole, value: Any) -> str:
    """The text of what fills a hole of a form."""
    match value:
        case (str(), str()) if hole.type.startswith("str"):
            return f"[{', '.join(value)}]"
        case tuple():
            return ", ".join(_part(hole, part) for part in cast("tuple[object, ...]", value)) or "*"
        case syntax.SortKey(name, descending):
            return f"{name} desc" if descending else name
        case syntax.Renamed(name, alias):
            return f"{name} as {alias}"
        case syntax.ProjectItem() | syntax.AggregateCall():
            return call_text(value)
        case syntax.Measure() | syntax.Rows():
            return f"last {measure_text(value)}" if hole.rule == "frame" else measure_text(value)
        case syntax.Ties():
            return "all with ties"
        case syntax.Node():
            return format_expression(cast("Expression", value))
        case _:
            return quote(value) if hole.rule == "text" else str(value)
