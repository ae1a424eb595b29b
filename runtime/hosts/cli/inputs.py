"""Reads the arguments of commands, queries and schemas. Diagnostics end the command."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.grammar.diagnostics.printable import json_printable
from cedilla.runtime.epochs.options.permissions import folder_of
from cedilla.runtime.hosts.cli.options import Stream
from cedilla.runtime.hosts.terminal.command_options import allowed_of, params_of
from cedilla.runtime.hosts.terminal.console import Console

if TYPE_CHECKING:
    from cedilla.compiler import Engine
    from cedilla.compiler.compile import CompiledQuery
    from cedilla.compiler.plan import Plan
    from cedilla.runtime.tools.stream_tools.schema import Schema


def schema_of(stream: Stream, console: Console) -> Schema | None:
    """The schema that the options of a stream tool give, `None` where it is to be inferred."""
    from cedilla.runtime.tools.stream_tools.schema import Schema, declared_schema

    schema, query, source = stream.schema, stream.query, stream.source
    if schema is not None and query is not None:
        raise click.UsageError("one of --schema and --query, please")
    if query is None:
        if source is not None:
            raise click.UsageError("--source requires --query")
        if schema is None:
            return None
        with reported(console, {"<schema>": schema}):
            return declared_schema(schema)
    name, _, compiled = compiled_query(query, console)
    sources = compiled.plan.source_of
    if source is None and len(sources) == 1:
        (source,) = sources
    if source not in sources:
        raise click.UsageError(f"--source NAME requires one of {', '.join(sources)}")
    return Schema(known_domains(compiled.plan, name, console).source_of[source], True)


def markers_of(stream: Stream, schema: Schema | None, console: Console) -> str | None:
    """The folder of markers of a stream: the one that the options name, else that of the query."""
    from attrs import evolve

    from cedilla.compiler.plan import Plan
    from cedilla.runtime.epochs.options.permissions import check_permitted

    if stream.markers is not None or stream.query is None or schema is None or schema.source.markers is None:
        return stream.markers
    source = evolve(schema.source, path=schema.source.markers)
    with reported(console, {}):
        allowed = (*allowed_of(click.get_current_context()), *folder_of(stream.query))
        check_permitted(Plan(name=stream.query, sources=[source], operators=(), emits=()), allowed)
    if "://" not in source.path and not Path(source.path).exists():
        console.note(
            f"no markers are read: the query names {source.path}, which does not exist here (--markers)"
        )
        return None
    return source.path


def known_domains(plan: Plan, query: str, console: Console) -> Plan:
    """The plan of a query's file with the domains that come from tables, which are read; exits with what is wrong with
    them."""
    from cedilla.runtime.tools.simulation.table_domains import with_permitted_domains

    with reported(console, {}):
        allowed = (*allowed_of(click.get_current_context()), *folder_of(query))
        return with_permitted_domains(plan, allowed)


def read_query(query: str) -> tuple[str, str]:
    """The name and the text of a query. Raises `DiagnosticError` RQ400 where it cannot be read."""
    from cedilla.compiler.compile import query_text

    name = "<stdin>" if query == "-" else query
    return name, query_text(name, sys.stdin.buffer.read if query == "-" else Path(query).read_bytes)


def compiled_query(
    query: str, console: Console, engine: Engine = "spark"
) -> tuple[str, Mapping[str, str], CompiledQuery]:
    """The name of a query, its text by that name, and what it is compiled to for an engine; exits with its
    diagnostics."""
    from cedilla.compiler.compile import compile_query

    texts: dict[str, str] = {}
    with reported(console, texts):
        name, text = read_query(query)
        texts[name] = text
        return name, texts, compile_query(text, name, params_of(click.get_current_context()), engine)


@contextmanager
def reported(console: Console, texts: Mapping[str, str]) -> Iterator[None]:
    """Diagnostics that end the work are written; the exit status is 1, 2 where an option is wrong."""
    try:
        yield
    except DiagnosticError as error:
        sys.exit(console.failed(error, texts))


def json_text(value: object) -> str:
    """A value as JSON for people, over several lines."""
    return json_printable(json.dumps(value, ensure_ascii=False, indent=2))
