"""Checks single clauses of statements and builds their part of the plan.

Does not resolve names of relations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from attrs import evolve

from cedilla.compiler.expressions import expressions
from cedilla.compiler.expressions.conversions import (
    applied,
    check_is_number,
    converted,
    in_declared_unit,
    is_of_differences,
    is_unit,
    known_unit,
    unit_of_call,
)
from cedilla.compiler.expressions.patterns import value_of
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.expressions.unit_inference import Units, WithUnit
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.operators import (
    Aggregate,
    Call,
    Operator,
    Project,
    Sample,
)
from cedilla.compiler.operators.sample import digits_of
from cedilla.compiler.plan import Attribute, Heartbeat, Source
from cedilla.compiler.plan.angles import doubtful_attributes, doubtful_call, with_circle
from cedilla.compiler.plan.declared_units import check_units, declared_unit
from cedilla.compiler.plan.field_paths import TextPath, check_field_paths, field_path_of
from cedilla.compiler.plan.formats import DELTA
from cedilla.compiler.plan.telemetry import check_points
from cedilla.compiler.plan.topics import TOPICS, check_topic
from cedilla.compiler.regions.affine import IDENTITY, exact
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import Diagnostic, Span, failure
from cedilla.grammar.expression_formatter import format_expression, unit_text
from cedilla.grammar.suggestions import meant
from cedilla.grammar.syntax import Measure, RangePattern, SetPattern, TableColumn


def check_once(names: tuple[str, ...], where: str, span: Span) -> None:
    """Raises RQ104 if a list contains a name twice."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise failure("RQ104", f"`{twice}` is named twice in `{where}`", span, hint=f"name `{twice}` once")


def check_declared_once(attributes: Iterable[syntax.AttributeDeclaration]) -> None:
    """Raises RQ104 if a stream declares an attribute twice."""
    seen: set[str] = set()
    for attribute in attributes:
        if attribute.name in seen:
            hint = "leave one of them out, or give it another name"
            raise failure("RQ104", f"`{attribute.name}` is declared twice", attribute.span, hint=hint)
        seen.add(attribute.name)


def sort_keys(keys: tuple[syntax.SortKey, ...], span: Span) -> tuple[tuple[str, bool], ...]:
    """Returns the sort attributes, each with True for descending. Raises RQ104 if one occurs twice."""
    check_once(tuple(key.name for key in keys), "by", span)
    return tuple((key.name, key.descending) for key in keys)


def new_names(items: tuple[syntax.Renamed, ...]) -> dict[str, str]:
    """Returns old name -> new name. Raises RQ104 if either occurs twice."""
    names: dict[str, str] = {}
    for item in items:
        if item.name in names or item.alias in names.values():
            message = f"`{item.name}` or `{item.alias}` is named twice in `rename`"
            raise failure("RQ104", message, item.span, hint="each attribute gets one new name of its own")
        names[item.name] = item.alias
    return names


def attribute_of(node: syntax.AttributeDeclaration) -> Attribute:
    """Returns a declared attribute. Its domain is text, as in markers."""
    type_ = Type.of(node.type)
    unit = declared_unit(node)
    domain = None if node.domain is None else in_declared_unit(node.domain, unit)
    named = (node.unit.attribute, node.unit.units) if isinstance(node.unit, syntax.UnitFrom) else None
    keys = field_path_of(node.origin)
    text = _domain_text(domain, type_)
    in_text = isinstance(keys, TextPath)
    return Attribute(
        node.name, type_, node.optional, text, unit=unit, unit_from=named, keys=tuple(keys), in_text=in_text
    )


def _domain_text(domain: SetPattern | RangePattern | TableColumn | None, type_: Type) -> str | None:
    match domain:
        case None:
            return None
        case TableColumn(table, attribute):
            return f"{table}.{attribute}"
        case SetPattern(values):
            return "{" + ", ".join(type_.wire(value_of(type_, v)) for v in values) + "}"
        case RangePattern(low, high, low_closed, high_closed):
            lowest = "" if low is None else type_.wire(value_of(type_, low))
            highest = "" if high is None else type_.wire(value_of(type_, high))
            return f"{'[' if low_closed else '('}{lowest}, {highest}{']' if high_closed else ')'}"


def heartbeat_of(node: syntax.Heartbeat | None, types: dict[str, Type], units: Units) -> Heartbeat | None:
    """Builds a heartbeat over attributes of these types.

    Raises RQ102 for an unknown attribute, RQ103 for another type.
    """
    if node is None:
        return None
    if node.attribute not in types:
        guess = meant(node.attribute, types, "attributes")
        raise failure("RQ102", f"unknown attribute `{node.attribute}` in `heartbeat`", node.span, hint=guess)
    type_ = types[node.attribute]
    if not type_.is_numeric and type_.name != "timestamp":
        fitting = [name for name, t in types.items() if t.is_numeric or t.name == "timestamp"]
        hint = (
            f"attributes that are one: {', '.join(fitting)}"
            if fitting
            else "as in `heartbeat at delay 10 seconds`"
        )
        message = f"a heartbeat requires a number or a timestamp, found {type_}"
        raise failure("RQ103", message, node.span, hint=hint)
    return Heartbeat(node.attribute, Fraction(length_of(type_, node.delay, units.get(node.attribute))))


def length_of(type_: Type, measure: Measure, unit: str | None) -> int | Fraction:
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


def items_of(items: tuple[syntax.ProjectItem, ...]) -> dict[str, syntax.ProjectItem]:
    """Returns name -> item of a projection. Raises RQ104 if a name occurs twice, RQ114 if it is missing."""
    chosen: dict[str, syntax.ProjectItem] = {}
    for item in items:
        name = item.alias or (item.expression.name if isinstance(item.expression, syntax.Attribute) else None)
        if name is None:
            hint = _named(item.expression)
            after = items[items.index(item) + 1 :]
            if after and isinstance(after[0].expression, syntax.Literal):
                hint = f"{hint}; a number has a point and no comma: `0.5`"
            raise failure("RQ114", "a computed attribute requires a name", item.span, hint=hint)
        if name in chosen:
            hint = f"another name for one of them, for example `as {name}_2`; or leave one out"
            raise failure("RQ104", f"`{name}` is projected twice", item.span, hint=hint)
        chosen[name] = item
    return chosen


def project_of(
    common: dict[str, Any],
    inputs: tuple[str, ...],
    items: dict[str, syntax.ProjectItem],
    rest: bool,
    types: Mapping[str, Type],
    read: Callable[[syntax.Expression], WithUnit],
) -> Project:
    """Builds a projection; computed attributes have units of their own. Raises as `_in_given_unit`."""
    chosen = {name: _in_given_unit(item, read(item.expression), types) for name, item in items.items()}
    return Project(
        **common,
        inputs=inputs,
        items={name: value.expression for name, value in chosen.items()},
        rest=rest,
        units={name: value.unit for name, value in chosen.items() if value.unit is not None},
        differences=[name for name, value in chosen.items() if _is_difference(value, read)],
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


def _is_difference(value: WithUnit, read: Callable[[syntax.Expression], WithUnit]) -> bool:
    """Returns True if values are differences of points of a scale, as `t - 50 degF`."""
    form = expressions.affine(value.expression)
    if form is None:
        return False
    return is_of_differences(value.unit, read(syntax.Attribute(form[0], span=value.expression.span)).unit)


def _named(expression: syntax.Expression) -> str:
    """Returns the expression with a name, for a hint; also for `x = a * 2`, which has its name in front."""
    match expression:
        case syntax.Binary("=", syntax.Attribute(name), value):
            return f"`{format_expression(value)} as {name}`"
        case syntax.Binary(right=syntax.Literal(unit=str() as unit) as last) if not is_unit(unit):
            plain = evolve(expression, right=evolve(last, unit=None, text=last.text.split(" ")[0]))
            return f"`{format_expression(plain)} as {unit}`"
        case syntax.Literal(str() as text) if text.isidentifier():
            return f"an attribute is written without quotes: `{text}`"
        case _:
            return f"`{format_expression(expression)} as name`"


def aggregate_of(
    node: syntax.Aggregate,
    common: dict[str, Any],
    inputs: tuple[str, ...],
    planned: list[Operator],
    reader: Callable[[str], Callable[[syntax.Expression], WithUnit]],
    of: Mapping[str, Units],
    warnings: list[Diagnostic],
) -> Aggregate:
    """Builds an aggregate over planned inputs; groups over a count window are complete by count.

    `reader`: of a relation; `of`: the units of relations. Adds RQ159 to `warnings`. Raises RQ104 if a name
    occurs twice, RQ160.
    """
    check_once(node.by, "by", node.span)
    read = reader(inputs[0])
    warnings += doubtful_attributes(node, of[inputs[0]])
    calls: dict[str, Call] = {}
    units: dict[str, str] = {}
    differences: list[str] = []
    for call in node.calls:
        assert isinstance(call, syntax.AggregateCall)
        if call.alias in calls or call.alias in node.by:
            hint = f"another name, for example `as {call.alias}_2`"
            raise failure("RQ104", f"`{call.alias}` is named twice", call.span, hint=hint)
        arguments = [read(argument) for argument in call.arguments]
        warnings += doubtful_call(call, arguments)
        where = None if call.where is None else read(call.where).expression
        plain = evolve(call, arguments=tuple(a.expression for a in arguments), where=where)
        plain = with_circle(plain, arguments)
        calls[call.alias] = Call.of(plain)
        unit = unit_of_call(call.function, [argument.unit for argument in arguments])
        units |= {} if unit is None else {call.alias: unit}
        differences += [call.alias] if any(_is_difference(each, read) for each in arguments) else []
    full = next((o.full_at(node.by) for o in planned if o.name in inputs), None)
    return Aggregate(
        **common,
        inputs=inputs,
        by=node.by,
        function=node.function,
        excepts=node.excepts or (),
        calls=calls,
        complete=None if full is None else full[0],
        units=units,
        differences=differences,
    )


def sample_of(
    node: syntax.Sample, common: dict[str, Any], inputs: tuple[str, ...], types: Mapping[str, Type]
) -> Sample:
    """Builds a sample of an input with attributes of these types.

    Raises RQ104 if one occurs twice, RQ120 for a share above 1.
    """
    check_once(node.by, "by", node.span)
    if node.count > node.parts:
        message = f"a sample of {node.count} in {node.parts} is more than all tuples"
        raise failure("RQ120", message, node.span, hint="the share comes first: `sample[1 in 10 by k](R)`")
    digits = digits_of(node.by, types)
    return Sample(**common, inputs=inputs, count=node.count, parts=node.parts, by=node.by, digits=digits)


def ambiguous(constants: Mapping[str, Span], facts: Mapping[str, Facts]) -> Iterator[Diagnostic]:
    """Yields RQ137 for each constant with the name of an attribute."""
    for name, span in constants.items():
        relations = [relation for relation, of_relation in facts.items() if name in of_relation.types]
        if relations:
            message = f"`{name}` is a constant and an attribute of `{relations[0]}`"
            yield Diagnostic("RQ137", "error", message, span, help="one of them takes another name")


def check_clauses(node: syntax.StreamDeclaration, attributes: Mapping[str, Attribute]) -> None:
    """Checks the clauses of a declared stream or table.

    Raises RQ102 if a promised punctuation names an unknown attribute, RQ226 if a table has a folder of
    markers, RQ454 if `ordered by name` is for a source without files; and as `check_units`.
    """
    check_field_paths(node, attributes)
    check_points(node, attributes)
    check_units(node, attributes)
    for scheme in node.punctuated:
        for name in scheme:
            if name not in attributes:
                guess = meant(name, attributes, "attributes")
                raise failure(
                    "RQ102", f"unknown attribute `{name}` in `punctuated on`", node.span, hint=guess
                )
    if node.markers is not None and node.kind == "table":
        hint = "a table is read once and for all: its markers stand in its own files"
        raise failure(
            "RQ226", f"`markers` is for streams, and `{node.name}` is a table", node.span, hint=hint
        )
    if node.partitioned is not None and node.partitioned not in attributes:
        guess = meant(node.partitioned, attributes, "attributes")
        raise failure(
            "RQ102", f"unknown attribute `{node.partitioned}` in `partitioned by`", node.span, hint=guess
        )
    if node.format == DELTA and node.kind == "table":
        hint = "`stream`, or a folder of Parquet files, which another query or a job writes"
        raise failure(
            "RQ473",
            f"tables of Delta are read as streams, and `{node.name}` is a `table`",
            node.span,
            hint=hint,
        )
    if node.by_name and (node.kind == "table" or node.format in (*TOPICS, DELTA)):
        what = "table" if node.kind == "table" else f"stream from `{node.format}`"
        hint = "a table is read as a whole; topics and tables of Delta have an order of their own"
        message = f"`ordered by name` is for streams of files, and `{node.name}` is a {what}"
        raise failure("RQ454", message, node.span, hint=hint)
    if node.format in TOPICS:
        check_topic(node)
    elif node.partitioned is not None:
        hint = "the files of a folder are one stream, in one order"
        raise failure(
            "RQ441", f"`partitioned by` is for topics, and `{node.name}` is none", node.span, hint=hint
        )


def check_column(
    node: syntax.StreamDeclaration,
    declared: syntax.AttributeDeclaration,
    domain: syntax.TableColumn,
    type_: Type,
    sources: Iterable[Source],
) -> None:
    """Raises RQ101, RQ102, RQ103, RQ139 if the table of a domain cannot provide its values."""
    name, span = declared.name, domain.span
    if domain.table == node.name:
        hint = "its files are read to know the domain; a table above it, or a list"
        raise failure("RQ139", f"the domain of `{name}` comes from `{node.name}` itself", span, hint=hint)
    table = next((s for s in sources if s.name == domain.table), None)
    if table is None or not table.table:
        what = "a stream" if table is not None else "computed"
        hint = "its values have to be known before the first tuple: they come from a table"
        message = f"the domain of `{name}` comes from `{domain.table}`, which is {what}"
        raise failure("RQ139", message, span, hint=hint)
    attributes = {a.name: a.type for a in table.attributes}
    if domain.attribute not in attributes:
        guess = meant(domain.attribute, attributes, "attributes")
        raise failure("RQ102", f"the table `{table.name}` has no `{domain.attribute}`", span, hint=guess)
    if (theirs := attributes[domain.attribute]) != type_:
        message = f"`{name}` is {type_}, and `{table.name}.{domain.attribute}` is {theirs}"
        hint = f"`{name}: {theirs} in {table.name}.{domain.attribute}`"
        raise failure("RQ103", message, span, hint=hint)
