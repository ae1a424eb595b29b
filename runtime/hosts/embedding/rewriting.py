"""Rewrites the text of a query for data that a program gives: other formats and paths of sources and sinks.

The text is what a checkpoint stores, so that a later run compares like with like.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from cedilla.compiler.compile import CompiledQuery, compile_query
from cedilla.compiler.plan.field_paths import alternatives, in_files, path_text
from cedilla.compiler.plan.formats import FORMATS
from cedilla.compiler.plan.sources import Source
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import failure
from cedilla.grammar.formatting.formatter import format_query
from cedilla.grammar.parser import parse_query
from cedilla.runtime.hosts.embedding.frames import StagedData


def rewritten(
    compiled: CompiledQuery,
    sources: Mapping[str, StagedData],
    sinks: Mapping[str, str],
    sink_format: str = "json",
) -> CompiledQuery:
    """Returns a query that reads sources from staged data, and writes final rows to other folders. `sinks`: folders by
    emit."""
    plan = compiled.plan
    query = parse_query(plan.text, compiled.source)
    emits = iter(plan.emits)

    def changed(statement: syntax.Statement) -> syntax.Statement:
        if isinstance(statement, syntax.StreamDeclaration) and statement.name in sources:
            return _declared(statement, sources[statement.name])
        if isinstance(statement, syntax.Emit) and (folder := sinks.get(next(emits).name)) is not None:
            return evolve(statement, format=sink_format, path=folder, latest=())
        return statement

    text = format_query(evolve(query, statements=tuple(map(changed, query.statements))))
    return compile_query(text, compiled.source, plan.params)


def columns_of(source: Source, columns: tuple[str, ...]) -> dict[str, str]:
    """Maps columns of a frame to the attributes that are read from them under another name.

    Raises `DiagnosticError` RQ488 for an attribute inside a column of objects.
    """
    renamed: dict[str, str] = {}
    for name, keys in source.paths.items():
        present = [path for path in alternatives(keys) if path[0] in columns]
        if name in columns or not present:
            continue
        flat = [path[0] for path in present if len(path) == 1]
        if len(flat) > 1:
            message = f"`{name}` is read from one of its columns, and the frame has {' and '.join(flat)}"
            raise failure("RQ488", message, source.span, hint="leave all but one of them out of the frame")
        if not flat:
            message = f"`{name}` is read from {path_text(keys)}, and the columns of a frame are flat"
            hint = f"a column `{name}` in the frame, or rows as dictionaries"
            raise failure("RQ488", message, source.span, hint=hint)
        renamed[flat[0]] = name
    return renamed


def _declared(node: syntax.StreamDeclaration, data: StagedData) -> syntax.StreamDeclaration:
    keeps_paths = data.columns is None and not FORMATS[node.format].has_columns
    attributes: Any = tuple(
        a if a.origin is None else evolve(a, origin=in_files(a.origin, node.format)) for a in node.attributes
    )
    if not keeps_paths:
        attributes = tuple(
            evolve(
                attribute,
                origin=_as_path(attribute.origin, data),
                decimal=attribute.decimal if data.columns is None else None,
                zone=attribute.zone if data.format == "json" else None,
            )
            for attribute in attributes
        )
    requests = data.columns is None and FORMATS[node.format].has_requests
    return evolve(
        node,
        attributes=attributes,
        format=FORMATS[node.format].in_files if requests else data.format,
        path=data.folder,
        metrics=node.metrics if requests else (),
        partitioned=None,
        registry=None,
        changes=node.changes if keeps_paths and data.format == "json" else None,
        by_name=False,
        none=(),
    )


def _as_path(origin: syntax.Origin | None, data: StagedData) -> syntax.Origin | None:
    """Returns the name of a column of CSV as the key of an object; columns of frames have been renamed."""
    if origin is None or data.columns is not None:
        return None
    text, *others = (path_text((path,)) for path in (origin.text, *origin.others))
    return evolve(origin, text=text, others=tuple(others))
