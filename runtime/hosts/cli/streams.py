"""Commands about one stream, which start no engine: validate, canonize, suspect, accent, read."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click
from attrs import evolve

from cedilla.grammar.diagnostics import Diagnostic, render
from cedilla.grammar.diagnostics.printable import counted
from cedilla.runtime.hosts.cli.inputs import compiled_query, json_text, markers_of, reported, schema_of
from cedilla.runtime.hosts.cli.options import Stream, format_option, schema_option, stream_options
from cedilla.runtime.hosts.terminal.console import Console

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cedilla.compiler.compile import CompiledQuery
    from cedilla.compiler.regions.affine import Affine
    from cedilla.runtime.tools.reading.reading import Reading
    from cedilla.runtime.tools.stream_tools.places import OrderedStream
    from cedilla.runtime.tools.stream_tools.schema import Schema


def _opened(stream: Stream, console: Console) -> tuple[Schema, list[OrderedStream]]:
    """Returns the schema of the streams that a command names, and the streams; exits without any."""
    from cedilla.runtime.tools.stream_tools.places import streams_at, with_schema

    schema = schema_of(stream, console)
    with reported(console, {}):
        return with_schema(streams_at(stream.path, markers_of(stream, schema, console), schema), schema)


@click.command("validate", short_help="Say whether a stream is valid.")
@stream_options
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=0),
    default=100,
    show_default=True,
    help="Show N findings.",
)
@format_option
def validate_command(
    stream: Stream,
    limit: int,
    form: str,
) -> None:
    """Say whether a stream is valid: its markers, and its tuples by them. Exit status 1 if not. Starts no engine.

    STREAM is a file in JSON Lines, CSV, Parquet or XML, a folder of them, a table of Delta or Iceberg, `-`, or a topic,
    HOST:PORT/TOPIC; each of its partitions is a stream.
    """
    from cedilla.runtime.tools.stream_tools.validate import Verdict, validate, verdict_json, verdict_text

    console = Console()
    schema, streams = _opened(stream, console)
    shown: list[Diagnostic] = []

    def show(diagnostic: Diagnostic) -> None:
        if len(shown) < limit:
            shown.append(diagnostic)
            if form == "text":
                console.out(render([diagnostic], {}) + "\n")

    verdict = Verdict()
    with reported(console, {}):
        for part in streams:
            validate(part.lines, schema, show, verdict)
    console.out(
        json_text(verdict_json(verdict, shown))
        if form == "json"
        else verdict_text(verdict, stream.path, len(shown))
    )
    sys.exit(not verdict.valid)


@click.command("suspect", short_help="Look for changes of unit that no accent announces.")
@stream_options
@click.option(
    "--by",
    metavar="NAME",
    multiple=True,
    help="Compare each value of this attribute separately; may be repeated.",
)
@format_option
def suspect_command(
    stream: Stream,
    by: tuple[str, ...],
    form: str,
) -> None:
    """Look for changes of unit that no accent announces, and propose the accents. Exit status 1 if there are any.

    STREAM is a file in JSON Lines, CSV, Parquet or XML, a folder of them, a table of Delta or Iceberg, `-`, or a topic,
    HOST:PORT/TOPIC; each of its partitions is a stream. Starts no engine.
    """
    from cedilla.runtime.tools.stream_tools.groupings import Search, groupings_of
    from cedilla.runtime.tools.stream_tools.suspect import diagnostic, suspect_json

    console = Console()
    schema, streams = _opened(stream, console)
    if unknown := set(by) - {a.name for a in schema.source.attributes}:
        raise click.UsageError(f"--by: the stream has no {', '.join(sorted(unknown))}")
    findings: list[dict[str, object]] = []
    tuples, texts = 0, list[str]()
    with reported(console, {}):
        for part in streams:
            search = Search(schema, [by] if by else groupings_of(schema.source))
            before = len(findings)
            for suspect in search.of(part.lines):
                findings.append(suspect_json(suspect))
                if form == "text":
                    console.out(render([diagnostic(suspect)], {}) + "\n")
            tuples += search.tuples
            texts.append(search.text(part.name, len(findings) - before))
    if form == "json":
        console.out(json_text({"version": 1, "tuples": tuples, "suspects": findings}))
    else:
        console.out("\n".join(texts))
    sys.exit(bool(findings))


@click.command("canonize", short_help="Write a valid stream in canonical order.")
@stream_options
@click.option("--rules", is_flag=True, help="Replace pair by pair, in memory, and count the cases used.")
def canonize_command(stream: Stream, rules: bool) -> None:
    """Write a valid stream in canonical order, and in the units of its start. Starts no engine.

    STREAM is a file in JSON Lines, CSV, Parquet or XML, a folder of them, a table of Delta or Iceberg, `-`, or a
    partition of a topic, HOST:PORT/TOPIC/NUMBER.
    """
    from collections import Counter

    from cedilla.runtime.tools.stream_tools.canonize import canonize
    from cedilla.runtime.tools.stream_tools.places import single_stream, with_schema

    console = Console()
    used: Counter[str] | None = Counter() if rules else None
    with reported(console, {}):
        declared = schema_of(stream, console)
        single = single_stream(stream.path, markers_of(stream, declared, console), declared)
        schema, (single,) = with_schema([single], declared)
        console.diagnostics(canonize(single.lines, schema, sys.stdout, used), {})
    for name, count in sorted((used or {}).items()):
        console.note(f"{name.replace('_', ' ')}: {count:,}")


@click.command("accent", short_help="Write markers at the end of a stream, if they are right.")
@stream_options
@click.argument("texts", metavar="MARKER...", nargs=-1, required=True)
def accent_command(stream: Stream, texts: tuple[str, ...]) -> None:
    """Write markers at the end of a stream, after a check that they are right there. Starts no engine.

    STREAM is a file in JSON Lines, or a folder, into which a file is written, of Parquet if its files are; with
    --markers the file goes there. Or it is a topic, HOST:PORT/TOPIC, and each partition gets them, or one
    partition, HOST:PORT/TOPIC/NUMBER.
    MARKER is an accent, `[[s = 2, unit(t, degC)]]`, or a punctuation, `[ts < 60]`.
    """
    from cedilla.runtime.tools.produce.stream import Stream as Sender
    from cedilla.runtime.tools.stream_tools.places import streams_at

    console = Console()
    with reported(console, {}):
        streams_at(stream.path, stream.markers)  # they are there
    schema = schema_of(stream, console)
    with reported(console, {}):
        sender = Sender.of(
            stream.path, schema, stream.markers, lambda diagnostic: console.diagnostics([diagnostic], {})
        )
        with sender:
            for text in texts:
                sender.marker(text)
    console.note(f"{counted(len(texts), 'marker')} written to {stream.markers or stream.path}")


_SECONDS = 1.0
"""The pause between two looks for an output that does not exist yet."""


@click.command("read", short_help="Print an output, each attribute in one unit.")
@click.argument("folder", metavar="FOLDER")
@click.option(
    "--units",
    metavar="UNITS",
    default="canonical",
    show_default=True,
    help="`canonical`: as at the start. `original`: as canonical, but refused if a value has no single original unit. "
    '`latest`: as written now. Or units by name, with --query: "t in degF, p in kPa".',
)
@click.option("--follow", is_flag=True, help="Wait for new epochs, and for the first one, until Ctrl-C.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "table", "csv", "parquet"]),
    default="jsonl",
    show_default=True,
    help="A tuple a line as JSON, a table for people, CSV, or one file of Parquet.",
)
@click.option(
    "--latest",
    metavar="KEY",
    help='Print the last row of each key of an output that is updated, "minute, meter": of open groups too.',
)
@schema_option
@click.option("--query", metavar="QUERY", help="Take the types from the query that writes the output.")
def read_command(
    folder: str,
    units: str,
    follow: bool,
    form: str,
    latest: str | None,
    schema: str | None,
    query: str | None,
) -> None:
    """Print the tuples of an output, each attribute in one unit, for readers that know no accents. Starts no engine.

    FOLDER is in JSON Lines, XML (with --query or --schema) or Parquet; or it is a topic, HOST:PORT/TOPIC.
    """
    from cedilla.runtime.tools.reading.reading import is_there
    from cedilla.runtime.tools.reading.written import texts_of, write_parquet

    console = Console()
    if follow and (form in ("csv", "parquet") or " in " in units):
        raise click.UsageError(
            "--follow is for lines and tables, in `canonical`, `original` or `latest` units"
        )
    if form == "parquet" and sys.stdout.isatty():
        raise click.UsageError("--format parquet writes bytes: `> FILE.parquet`")
    if follow and latest is not None:
        raise click.UsageError("--latest needs the whole output, without --follow")
    texts: dict[str, str] = {} if schema is None else {"<schema>": schema}
    with reported(console, texts):
        compiled = None if query is None else compiled_query(query, console)[2]
        try:
            if follow and not is_there(folder):
                console.note(f"waiting for {folder}")
                while not is_there(folder):
                    time.sleep(_SECONDS)
            reading, functions = _reading(folder, units, compiled, schema)
            if latest is not None:
                reading = evolve(reading, latest=tuple(name.strip() for name in latest.split(",")))
            if form == "parquet":
                write_parquet(reading, functions, sys.stdout.buffer)
                return
            for text in texts_of(reading, functions, form, follow=follow):
                console.data(text)
        except KeyboardInterrupt:
            sys.exit(130)


def _reading(
    folder: str, units: str, compiled: CompiledQuery | None, schema: str | None
) -> tuple[Reading, Mapping[str, Affine]]:
    """Returns the reading of an output, and the functions into units that are named. Raises `UsageError` for other
    words."""
    from typing import get_args

    from cedilla.runtime.tools.reading.reading import InUnits, read

    if units in get_args(InUnits):
        return read(folder, units, query=compiled, schema=schema), {}  # type: ignore[arg-type]
    if " in " not in units:
        raise click.UsageError(
            f"--units {units}: canonical, original, latest, or `t in degF`, which names units"
        )
    from cedilla.runtime.tools.reading.named_units import functions_of

    reading = read(folder, query=compiled, schema=schema)
    return reading, functions_of(reading, compiled, units)
