"""Declared streams and tables as sources of the plan: their clauses are checked here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.expressions.types.patterns import value_of
from cedilla.compiler.expressions.unit_inference import Units
from cedilla.compiler.expressions.units.conversions import in_declared_unit
from cedilla.compiler.operators.shared.conditions import domain_warnings
from cedilla.compiler.passes.declared_paths import check_field_paths
from cedilla.compiler.passes.declared_units import check_units, declared_unit, taken_for_units
from cedilla.compiler.passes.defaults import check_default
from cedilla.compiler.passes.one_input import length_of
from cedilla.compiler.plan import Attribute, Heartbeat, Source
from cedilla.compiler.plan.change_events import check_changes
from cedilla.compiler.plan.field_paths import TextPath, field_path_of, other_paths_of
from cedilla.compiler.plan.formats import FORMATS, check_source_format, names_where
from cedilla.compiler.plan.record_fields import check_record_fields
from cedilla.compiler.plan.telemetry import check_points
from cedilla.compiler.plan.topics import check_topic
from cedilla.compiler.plan.unfolding import unfoldings_of, unread
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import Diagnostic, failure
from cedilla.grammar.diagnostics.suggestions import did_you_mean, unknown_attribute
from cedilla.grammar.formatting.expression_formatter import format_expression
from cedilla.grammar.syntax import RangePattern, SetPattern, TableColumn


def source_of(node: syntax.StreamDeclaration, above: Iterable[Source], warnings: list[Diagnostic]) -> Source:
    """Builds a declared stream or table; `above`: the sources declared before it.

    Adds RQ125, RQ126, RQ150 and RQ580 to `warnings`. Raises what the checks below raise.
    """
    check_source_format(node.format, node.format_span or node.span)
    check_declared_once(node.attributes)
    warnings += taken_for_units(node.attributes)
    of_rows = node.changes is not None
    attributes = {
        declared.name: attribute_of(declared, node.format, of_rows=of_rows) for declared in node.attributes
    }
    types = {name: attribute.type for name, attribute in attributes.items()}
    for declared in node.attributes:
        if isinstance(declared.domain, TableColumn):
            check_column(node, declared, declared.domain, types[declared.name], above)
        elif declared.domain is not None:
            warnings += domain_warnings(declared.name, types[declared.name], declared.domain)
    _check_lists(node)
    check_clauses(node, attributes)
    unfolded = unfoldings_of(node)
    every = (
        a
        for attribute in attributes.values()
        for a in (attribute.keys or (attribute.name,), *attribute.others)
    )
    warnings += unread(node, unfolded, [*every])
    units = {name: attribute.unit for name, attribute in attributes.items() if attribute.unit}
    return Source(
        name=node.name,
        attributes=tuple(attributes.values()),
        format=node.format,
        path=node.path,
        table=node.kind == "table",
        punctuated=node.punctuated,
        heartbeat=heartbeat_of(node.heartbeat, types, units),
        markers=node.markers,
        metrics=node.metrics,
        over=node.over,
        partitioned=node.partitioned,
        registry=node.registry,
        changes=() if node.changes is None else node.changes.keys,
        latest=node.changes is not None and node.changes.latest is not None,
        by_name=node.by_name,
        markers_only=node.markers_only,
        none=frozenset(node.none),
        unfolded=unfolded,
        line=node.span.line,
        span=node.span,
    )


_OF_LISTS = ("string", "int", "long", "double")
"""The types of elements of declared lists."""


def _check_lists(node: syntax.StreamDeclaration) -> None:
    """Raises RQ169 for lists of other values, with a domain, or in a format without lists."""
    for declared in node.attributes:
        if declared.type.element is None:
            continue
        if FORMATS[node.format].has_requests and declared.domain is None:
            continue
        if declared.type.element.name not in _OF_LISTS or declared.domain is not None:
            hint = f"`{declared.name}: list of double`; `each` takes a list apart, and each element has its domain"
            message = "a declared list is of strings, `int`, `long` or `double`, without a domain"
            raise failure("RQ169", message, declared.span, hint=hint)
        if not FORMATS[node.format].has_objects:
            message = f"tuples of format `{node.format}` have no lists"
            readable = " and ".join(f"`{name}`" for name in names_where(lambda kind: kind.has_objects))
            raise failure(
                "RQ169",
                message,
                declared.span,
                hint=f"lists are read from {readable}",
            )


def check_declared_once(attributes: Iterable[syntax.AttributeDeclaration]) -> None:
    """Raises RQ104 if a stream declares an attribute twice."""
    names: set[str] = set()
    for attribute in attributes:
        if attribute.name in names:
            hint = "leave one of them out, or give it another name"
            raise failure("RQ104", f"`{attribute.name}` is declared twice", attribute.span, hint=hint)
        names.add(attribute.name)


def attribute_of(node: syntax.AttributeDeclaration, format_: str, *, of_rows: bool = False) -> Attribute:
    """Returns a declared attribute of a source. Its domain is text, as in markers. `of_rows`: its tuples are rows in
    change events."""
    type_ = Type.of(node.type)
    unit = declared_unit(node)
    check_default(node, type_, unit)
    domain = None if node.domain is None else in_declared_unit(node.domain, unit)
    named = (node.unit.attribute, node.unit.units) if isinstance(node.unit, syntax.UnitFrom) else None
    keys = field_path_of(node.origin, format_, of_rows=of_rows)
    text = _domain_text(domain, type_)
    in_text = isinstance(keys, TextPath)
    return Attribute(
        node.name,
        type_,
        node.optional or node.default is not None,
        text,
        unit=unit,
        unit_from=named,
        keys=tuple(keys),
        others=other_paths_of(node.origin, format_),
        in_text=in_text,
        decimal=node.decimal,
        zone=node.zone,
        default=None if node.default is None else format_expression(node.default),
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

    Raises RQ102 for an unknown attribute, RQ103 for another type, RQ369 for a clock with an attribute that is not a
    timestamp.
    """
    if node is None:
        return None
    if node.attribute not in types:
        raise unknown_attribute(node.attribute, types, node.span, "in `heartbeat`")
    type_ = types[node.attribute]
    if not type_.is_axis:
        fitting = [name for name, t in types.items() if t.is_axis]
        hint = (
            f"attributes that are one: {', '.join(fitting)}"
            if fitting
            else "as in `heartbeat at delay 10 seconds`"
        )
        message = f"a heartbeat requires a number or a timestamp, found {type_}"
        raise failure("RQ103", message, node.span, hint=hint)
    unit = units.get(node.attribute)
    delay = Fraction(length_of(type_, node.delay, unit))
    if node.within is None:
        return Heartbeat(node.attribute, delay)
    if type_.name != "timestamp":
        hint = f"`{node.attribute}: timestamp`, or a domain of `{node.attribute}`"
        message = f"`within ... of now` requires a timestamp, found {type_}"
        raise failure("RQ369", message, node.within.span, hint=hint)
    return Heartbeat(node.attribute, delay, Fraction(length_of(type_, node.within, unit)))


def check_clauses(node: syntax.StreamDeclaration, attributes: Mapping[str, Attribute]) -> None:
    """Checks the clauses of a declared stream or table.

    Raises RQ102 if a promised punctuation names an unknown attribute, RQ226 if a table has a folder of
    markers, RQ454 if `ordered by name` is for a source without files; and as `check_units`.
    """
    check_record_fields(node, attributes)
    check_field_paths(node, attributes)
    check_points(node, attributes)
    check_changes(node, attributes)
    check_units(node, attributes)
    for scheme in node.punctuated:
        for name in scheme:
            if name not in attributes:
                raise unknown_attribute(name, attributes, node.span, "in `punctuated on`")
    if node.none and not FORMATS[node.format].undefined_texts:
        hint = "`from csv`; elsewhere an undefined value is absent or null"
        message = f"`none` is for CSV, and `{node.name}` is `from {node.format}`"
        raise failure("RQ487", message, node.span, hint=hint)
    if node.markers is not None and node.kind == "table":
        hint = "a table is read once: its markers are in its own files"
        raise failure(
            "RQ226", f"`markers` is for streams, and `{node.name}` is a table", node.span, hint=hint
        )
    if node.partitioned is not None and node.partitioned not in attributes:
        raise unknown_attribute(node.partitioned, attributes, node.span, "in `partitioned by`")
    if FORMATS[node.format].is_table and node.kind == "table":
        hint = "`stream`, or a folder of Parquet files, which another query or a job writes"
        raise failure(
            "RQ473",
            f"tables with a log are read as streams, and `{node.name}` is a `table`",
            node.span,
            hint=hint,
        )
    if node.by_name and (node.kind == "table" or FORMATS[node.format].place != "folder"):
        what = "table" if node.kind == "table" else f"stream from `{node.format}`"
        hint = "a table is read as a whole; topics and tables with a log have an order of their own"
        message = f"`ordered by name` is for streams of files, and `{node.name}` is a {what}"
        raise failure("RQ454", message, node.span, hint=hint)
    if FORMATS[node.format].is_topic:
        check_topic(node)
    elif node.registry is not None:
        hint = "a registry has the schemas of records of a topic, `from kafka`"
        raise failure("RQ441", f"`registry` is for topics, and `{node.name}` has files", node.span, hint=hint)
    elif node.partitioned is not None:
        hint = "the files of a folder are one stream, in one order"
        raise failure(
            "RQ441", f"`partitioned by` is for topics, and `{node.name}` has files", node.span, hint=hint
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
        guess = did_you_mean(domain.attribute, attributes, "attributes")
        raise failure("RQ102", f"the table `{table.name}` has no `{domain.attribute}`", span, hint=guess)
    if (theirs := attributes[domain.attribute]) != type_:
        message = f"`{name}` is {type_}, and `{table.name}.{domain.attribute}` is {theirs}"
        hint = f"`{name}: {theirs} in {table.name}.{domain.attribute}`"
        raise failure("RQ103", message, span, hint=hint)
