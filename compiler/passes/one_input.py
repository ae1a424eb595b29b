"""Operators with one input, from their syntax: units of lengths and expressions are inferred."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from attrs import evolve, frozen

from cedilla.compiler import operators
from cedilla.compiler.expressions import expressions
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.expressions.types.zones import NoMoment, no_constant
from cedilla.compiler.expressions.unit_inference import Units, WithUnit, infer_units
from cedilla.compiler.expressions.units.conversions import (
    applied,
    check_is_number,
    converted,
    is_of_differences,
    is_unit,
    known_unit,
)
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.operators import Call, Operator
from cedilla.compiler.operators.completion import Completion, check_axis, not_by_window
from cedilla.compiler.operators.sample import digits_of
from cedilla.compiler.operators.shared.base import require, require_axis
from cedilla.compiler.operators.shared.orders import MAX_LENGTH, Frame, Key
from cedilla.compiler.passes.angles import doubtful_attributes, doubtful_call, with_circle
from cedilla.compiler.passes.calendar_windows import calendar_of, is_calendar
from cedilla.compiler.passes.report import check_once
from cedilla.compiler.plan import Source
from cedilla.compiler.regions.affine import IDENTITY, exact
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import Diagnostic, Span, failure
from cedilla.grammar.formatting.expression_formatter import format_expression, unit_text
from cedilla.grammar.syntax.operator_forms import form_of


@frozen
class Input:
    """A planned relation that an operator reads: its facts at the start, its units, and the list of warnings."""

    node: Source | Operator
    facts: Facts
    units: Units
    warnings: list[Diagnostic]

    def read(self, expression: syntax.Expression) -> WithUnit:
        """Infers the unit of an expression over its attributes, and converts its parts."""
        return infer_units(expression, self.facts.types, self.units, self.warnings.append)

    def length_on(self, attribute: str, measure: syntax.Measure) -> Fraction:
        """Returns a length on an attribute, in its unit. Raises as `length_of`."""
        type_ = self.facts.types[attribute]
        return Fraction(length_of(type_, measure, self.units.get(attribute)))


def operator_of(node: syntax.OneInput, common: dict[str, Any], source: Input) -> Operator:
    """Builds an operator from its syntax; `common`: what all operators have.

    Raises RQ104 if a list contains a name twice, and as the functions below.
    """
    match node:
        case syntax.Select(predicate):
            return operators.Select(**common, predicate=source.read(predicate).expression)
        case syntax.Project():
            return _project(node, common, source)
        case syntax.Rename(items):
            return operators.Rename(**common, names=_new_names(items))
        case syntax.Sample():
            return _sample(node, common, source)
        case syntax.Window(length, every, on, alias=alias):
            require_axis(on, (), source.facts, node.span, "window")
            type_ = source.facts.types[on]
            if is_calendar(node):
                calendar = calendar_of(node, type_)
                about = Fraction(calendar.begin(1) - calendar.begin(0))
                return operators.Window(
                    **common, length=about, on=on, alias=alias, on_type=type_, calendar=calendar
                )
            cut = source.length_on(on, length)
            step = cut if every is None else source.length_on(on, every)
            return operators.Window(**common, length=cut, step=step, on=on, alias=alias, on_type=type_)
        case syntax.Session(gap, on, per, alias):
            check_once(per, "per", node.span)
            require_axis(on, (), source.facts, node.span, "session")
            pause, type_ = source.length_on(on, gap), source.facts.types[on]
            return operators.Session(**common, gap=pause, on=on, per=per, alias=alias, on_type=type_)
        case syntax.Aggregate():
            return _aggregate(node, common, source)
        case _:
            return _operator(node, common, source)


def _operator(node: syntax.OneInput, common: dict[str, Any], source: Input) -> Operator:
    """Builds an operator from the parts of its text. Raises RQ104 if a list has a name twice."""
    kind: type[Operator] = getattr(operators, type(node).__name__)
    values: dict[str, Any] = {}
    for hole in form_of(node).holes:
        if hole.is_calls:
            values |= _calls(node, kind, getattr(node, hole.field), source)
            continue
        values[hole.field] = getattr(node, hole.field)
        if hole.rule == "frame":
            values[hole.field] = _frame(values[hole.field], values["on"], node.span, source)
        elif hole.is_names:
            check_once(values[hole.field], hole.label, node.span)
        elif hole.is_keys:
            values[hole.field] = _sort_keys(values[hole.field], hole.label, node.span)
    return kind(**common, **values)


def _calls(
    node: syntax.OneInput,
    kind: type[Operator],
    listed: Iterable[syntax.AggregateCall | syntax.ProjectItem],
    source: Input,
    taken: Sequence[str] = (),
) -> dict[str, Any]:
    """Returns the calls of an operator, with the units of their results and those that are of differences.

    Raises RQ104 if a result has the name of another or one that is `taken`, RQ109 if it is not one call.
    """
    calls: dict[str, Call] = {}
    units: dict[str, str] = {}
    differences: list[str] = []
    for call in listed:
        if isinstance(call, syntax.ProjectItem):
            hint = (
                f"`extend` computes with the results: `extend[x / 2 as half]({form_of(node).word}[...](R))`"
            )
            raise failure("RQ109", "a result is one call of a function", call.span, hint=hint)
        if call.alias in calls or call.alias in taken:
            hint = f"another name, for example `as {call.alias}_2`"
            raise failure("RQ104", f"`{call.alias}` is named twice", call.span, hint=hint)
        arguments = [source.read(argument) for argument in call.arguments]
        source.warnings.extend(doubtful_call(call, arguments))
        where = None if call.where is None else source.read(call.where).expression
        plain = evolve(call, arguments=tuple(a.expression for a in arguments), where=where)
        calls[call.alias] = Call.of(with_circle(plain, arguments))
        unit = kind.unit_of_call(call, [argument.unit for argument in arguments])
        units |= {} if unit is None else {call.alias: unit}
        differences += (
            [call.alias] if any(_is_difference(operand, source.units) for operand in arguments) else []
        )
    return {"calls": calls, "units": units, "differences": differences}


def _sort_keys(keys: tuple[syntax.SortKey, ...], label: str, span: Span) -> tuple[tuple[str, bool], ...]:
    """Returns the sort attributes, each with True for descending. Raises RQ104 if one occurs twice.

    `label`: the word before them.
    """
    check_once([key.name for key in keys], label, span)
    return tuple((key.name, key.descending) for key in keys)


def _frame(
    frame: syntax.Rows | syntax.Measure | syntax.Ties | None, keys: Sequence[Key], span: Span, source: Input
) -> Frame | None:
    """Returns a frame in an order. Raises RQ152 if the order has no distances, RQ103 if they have another unit."""
    match frame:
        case None:
            return None
        case syntax.Rows(count):
            return Frame(f"last {count} rows", rows=count)
        case syntax.Ties():
            return Frame("all with ties")
        case syntax.Measure():
            ((name, descending), *others) = keys
            require([name], source.facts, span, "running function")
            type_ = source.facts.types[name]
            if others or descending or not (type_.is_axis and type_.is_integral):
                message = "a frame of a length is in the ascending order of one timestamp or whole number"
                hint = "a frame of rows may have any order: `over last 5 rows`"
                raise failure("RQ152", message, frame.span, hint=hint)
            length = source.length_on(name, frame)
            if not 0 < length < MAX_LENGTH or length.denominator > 1:
                message = f"a frame on `{name}` has a whole length above 0 in its unit"
                raise failure("RQ152", message, frame.span, hint="as in `over last 10 minutes`")
            return Frame(f"last {type_.length_text(length)}", length=int(length))


def _new_names(items: tuple[syntax.Renamed, ...]) -> dict[str, str]:
    """Returns old name -> new name. Raises RQ104 if either occurs twice."""
    names: dict[str, str] = {}
    for item in items:
        if item.name in names or item.alias in names.values():
            message = f"`{item.name}` or `{item.alias}` is named twice in `rename`"
            raise failure("RQ104", message, item.span, hint="each attribute gets one new name of its own")
        names[item.name] = item.alias
    return names


def length_of(type_: Type, measure: syntax.Measure, unit: str | None) -> int | Fraction:
    """Returns a length on an attribute of a type, in a unit.

    Raises RQ103 if the type is not measured that way, RQ142 if the length is not in a unit of time.
    """
    if unit is not None and measure.unit is not None:
        return exact(measure.value * converted(measure.unit, unit, measure.span).slope)
    try:
        return type_.measure(measure)
    except ValueError as problem:
        hint = "on a number a length is a number, `300`, or has a unit where the attribute has one, `ts: long unit s`; "
        hint += "on a timestamp it has one: `5 minutes`"
        raise failure("RQ103", str(problem), measure.span, hint=hint) from None


def _items(items: tuple[syntax.ProjectItem, ...]) -> dict[str, syntax.ProjectItem]:
    """Returns name -> item of a projection. Raises RQ104 if a name occurs twice, RQ114 if it is missing."""
    chosen: dict[str, syntax.ProjectItem] = {}
    for item in items:
        name = item.alias or (item.expression.name if isinstance(item.expression, syntax.Attribute) else None)
        if name is None:
            hint = _with_name(item.expression)
            operand = getattr(item.expression, "operand", None)
            if isinstance(operand, syntax.Attribute):
                hint = f"{hint}; attributes that stay are named: `project[a, b](R)`"
            after = items[items.index(item) + 1 :]
            if after and isinstance(after[0].expression, syntax.Literal):
                hint = f"{hint}; a number has a point and no comma: `0.5`"
            raise failure("RQ114", "a computed attribute requires a name", item.span, hint=hint)
        if name in chosen:
            hint = f"another name for one of them, for example `as {name}_2`; or leave one out"
            raise failure("RQ104", f"`{name}` is projected twice", item.span, hint=hint)
        chosen[name] = item
    return chosen


def _project(node: syntax.Project, common: dict[str, Any], source: Input) -> operators.Project:
    """Builds a projection; computed attributes have units of their own."""
    check_once(node.excepts, "except", node.span)
    chosen = {
        name: _in_given_unit(item, source.read(item.expression), source.facts.types)
        for name, item in _items(node.items).items()
    }
    return operators.Project(
        **common,
        items={name: value.expression for name, value in chosen.items()},
        rest=node.rest,
        excepts=node.excepts,
        units={name: value.unit for name, value in chosen.items() if value.unit is not None},
        differences=[name for name, value in chosen.items() if _is_difference(value, source.units)],
    )


def _in_given_unit(item: syntax.ProjectItem, value: WithUnit, types: Mapping[str, Type]) -> WithUnit:
    """Converts an item to its `unit` clause: a value with a unit is converted, another one is taken to be in
    the unit.

    Raises RQ142 if the unit is of another dimension; RQ143, RQ144 if the item is not a number.
    """
    if (unit := item.unit) is None:
        return value
    known_unit(unit, item.span)
    type_ = expressions.type_of(value.expression, types)
    check_is_number(format_expression(item.expression), type_, item.span, f"without `unit {unit_text(unit)}`")
    function = IDENTITY if value.unit is None else converted(value.unit, unit, item.span)
    return evolve(value, expression=applied(function, value.expression, types), unit=unit)


def _is_difference(value: WithUnit, units: Units) -> bool:
    """Returns True if values are differences of points of a scale, as `t - 50 degF`."""
    form = expressions.affine(value.expression)
    return form is not None and is_of_differences(value.unit, units.get(form[0]))


def _with_name(expression: syntax.Expression) -> str:
    """Returns the expression with a name, for a hint; also for `x = a * 2`, which has its name in front."""
    match expression:
        case syntax.Binary("=", syntax.Attribute(name), value):
            return f"`{format_expression(value)} as {name}`"
        case syntax.Binary("=", value, syntax.Attribute(name)):
            return f"`{format_expression(value)} as {name}`"
        case syntax.Binary(right=syntax.Literal(unit=str() as unit) as last) if not is_unit(unit):
            plain = evolve(expression, right=evolve(last, unit=None, text=last.text.split(" ")[0]))
            return f"`{format_expression(plain)} as {unit}`"
        case syntax.Literal(str() as text) if text.isidentifier():
            return f"an attribute is written without quotes: `{text}`"
        case _:
            return f"`{format_expression(expression)} as name`"


def _aggregate(node: syntax.Aggregate, common: dict[str, Any], source: Input) -> operators.Aggregate:
    """Builds an aggregate; groups over a count window are complete by count. Warns with RQ159. Raises RQ160."""
    check_once(node.by, "by", node.span)
    warnings = source.warnings
    warnings += doubtful_attributes(node, source.units)
    calls = _calls(node, operators.Aggregate, node.calls, source, node.by)
    full = source.node.full_at(node.by) if isinstance(source.node, Operator) else None
    return operators.Aggregate(
        **common,
        by=node.by,
        function=node.function,
        excepts=node.excepts or (),
        complete=None if full is None else full[0],
        completion=None if node.begin is None else _completion(node, node.begin, source),
        **calls,
    )


def _completion(node: syntax.Aggregate, begin: syntax.Literal, source: Input) -> Completion:
    """Returns the windows that have a row without a tuple. Raises RQ590 unless the input is a window that has whole
    bounds, RQ592 unless the constants are values of its attribute, in their order."""
    window = source.node
    if not isinstance(window, operators.Window):
        raise not_by_window((), node.by, node.span)
    check_axis(window, node.span)
    constants = [constant for constant in (begin, node.end) if constant is not None]
    first, *last = (_moment(window, constant) for constant in constants)
    if last and last[0] <= first:
        message = f"no window begins from {begin.text} on and before {constants[1].text}"
        raise failure("RQ592", message, constants[1].span, hint="the first time comes first: `from 0 to 100`")
    nameless = evolve(window, name="", inputs=())  # another name of the window is no other completion
    return Completion(nameless, first, next(iter(last), None), tuple(constant.text for constant in constants))


def _moment(window: operators.Window, constant: syntax.Literal) -> int:
    """Returns a constant as a value of a window's attribute; clocks of a calendar show its own times."""
    type_ = Type(window.on_type.name, zone=window.zone)
    try:
        value = type_.value(constant)
    except NoMoment as problem:
        raise no_constant(problem, constant, str(window.zone)) from None
    except ValueError as problem:
        hint = 'as in `complete from "2026-01-01"` on a timestamp, `complete from 0` on a number'
        raise failure("RQ592", str(problem), constant.span, hint=hint) from None
    if constant.unit is not None or not isinstance(value, int):
        hint = f"a whole number, in the unit of `{window.on}`"
        raise failure("RQ592", f"{constant.text} is not a whole number", constant.span, hint=hint)
    return value


def _sample(node: syntax.Sample, common: dict[str, Any], source: Input) -> operators.Sample:
    """Builds a sample. Raises RQ120 for a share above 1."""
    check_once(node.by, "by", node.span)
    if node.count > node.parts:
        message = f"a sample of {node.count} in {node.parts} is more than all tuples"
        raise failure("RQ120", message, node.span, hint="the share comes first: `sample[1 in 10 by k](R)`")
    digits = digits_of(node.by, source.facts.types)
    return operators.Sample(**common, count=node.count, parts=node.parts, by=node.by, digits=digits)
