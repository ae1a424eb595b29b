"""Writes the declarations of sources, and of their attributes."""

from __future__ import annotations

from itertools import pairwise

from cedilla.grammar import syntax
from cedilla.grammar.formatting.expression_formatter import (
    declared_type_text,
    format_expression,
    measure_text,
    pattern_text,
    quote,
    unit_text,
)


def _heartbeat(beat: syntax.Heartbeat) -> str:
    guard = "" if beat.within is None else f" within {measure_text(beat.within)} of now"
    return f"heartbeat {beat.attribute} delay {measure_text(beat.delay)}{guard}"


def format_source(stream: syntax.StreamDeclaration, width: int) -> str:
    """One stream or table. `width`: the most characters of a line that is not broken."""
    head = f"{stream.kind} {stream.name}("
    attributes = [format_attribute(attribute) for attribute in stream.attributes]
    clauses = [f"from {stream.format} {quote(stream.path)}"]
    if stream.registry is not None:
        clauses[0] += f" registry {quote(stream.registry)}"
    if stream.changes is not None:
        clauses[0] += f" {_changes(stream.changes)}"
    clauses[0] += "".join(f" {step.words} {quote(step.path)}" for step in stream.unfolded)
    clauses += [f"punctuated on {', '.join(scheme)}" for scheme in stream.punctuated]
    if stream.heartbeat is not None:
        clauses.append(_heartbeat(stream.heartbeat))
    if stream.markers is not None:
        clauses.append(f"markers {'only ' if stream.markers_only else ''}{quote(stream.markers)}")
    if stream.metrics:
        clauses.append(f"metrics {_metrics(stream)}")
    if stream.partitioned is not None:
        clauses.append(f"partitioned by {stream.partitioned}")
    if stream.by_name:
        clauses.append("ordered by name")
    if stream.none:
        clauses.append(f"none {{{', '.join(map(quote, stream.none))}}}")
    declared = f"{head}{', '.join(attributes)})"
    if len(declared) > width:
        declared = head + (",\n" + " " * len(head)).join(attributes) + ")"
    line = f"{declared} {' '.join(clauses)};"
    if len(clauses) == 1 and len(line) <= width:
        return line
    return "\n  ".join([declared, *clauses]) + ";"


def _changes(changes: syntax.Changes) -> str:
    keys = f" by {', '.join(changes.keys)}" if changes.keys else ""
    latest = "" if changes.latest is None else f" as latest by {', '.join(changes.latest)}"
    return f"format {changes.format}{keys}{latest}"


def _metrics(stream: syntax.StreamDeclaration) -> str:
    """Writes the metrics, with `over` between two if the first replaces the second."""
    first, *_ = stream.metrics
    joined = (
        f"{' over ' if pair in stream.over else ', '}{quote(pair[1])}" for pair in pairwise(stream.metrics)
    )
    return quote(first) + "".join(joined)


def format_attribute(attribute: syntax.AttributeDeclaration) -> str:
    """One declared attribute."""
    domain = "" if attribute.domain is None else f" in {_domain(attribute.domain)}"
    unit = "" if attribute.unit is None else f" unit {_unit(attribute.unit)}"
    origin = "" if attribute.origin is None else f" {_origin(attribute.origin)}"
    type_ = declared_type_text(attribute.type, decimal=attribute.decimal, zone=attribute.zone)
    default = "" if attribute.default is None else f" default {format_expression(attribute.default)}"
    return f"{attribute.name}{'?' if attribute.optional else ''}: {type_}{origin}{unit}{domain}{default}"


def _origin(origin: syntax.Origin) -> str:
    root = "" if origin.root is None else f"{origin.root} "
    return f"from {root}{' or '.join(map(quote, (origin.text, *origin.others)))}"


def _unit(unit: str | syntax.UnitFrom) -> str:
    if isinstance(unit, str):
        return unit_text(unit)
    return f"from {unit.attribute} in {{{', '.join(map(unit_text, unit.units))}}}"


def _domain(domain: syntax.SetPattern | syntax.RangePattern | syntax.TableColumn) -> str:
    if isinstance(domain, syntax.TableColumn):
        return f"{domain.table}.{domain.attribute}"
    return pattern_text(domain)
