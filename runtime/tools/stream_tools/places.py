"""The streams at a path: one for a file or folder, one for each partition of a topic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from cedilla.compiler.plan.record_fields import record_fields
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.connectors.records.file_lines import lines_in
from cedilla.runtime.connectors.records.lines import Line, stream_files
from cedilla.runtime.connectors.records.path_keys import keys_below
from cedilla.runtime.connectors.records.table_folders import table_format
from cedilla.runtime.connectors.records.tuple_lines import tuples_of
from cedilla.runtime.connectors.topics.topic_lines import RecordedTopic, place_of
from cedilla.runtime.tools.stream_tools.schema import SAMPLE, Schema, inferred_schema

if TYPE_CHECKING:
    from cedilla.runtime.connectors.formats.parquet.local_tables import LocalTable


@frozen
class OrderedStream:
    """A stream that is one list of lines (theory G38), with its name."""

    name: str
    lines: Iterator[Line]


def streams_at(path: str, markers: str | None = None, schema: Schema | None = None) -> list[OrderedStream]:
    """Returns the streams at a path: a file, a folder or `-`; a topic, `host:9092/topic`, or one partition,
    `host:9092/topic/2`.

    A topic is read up to its present end, with the fields and the registry of records that the `schema` has. Raises
    `DiagnosticError`: RQ410 without a stream; RQ441 for a topic with a folder of markers; RQ442 to RQ445.
    """
    if (address := place_of(path)) is None or Path(path).exists():
        return [OrderedStream(path, stream_lines(path, markers))]
    if markers is not None:
        hint = "markers are records of the topic: one in each partition that it concerns"
        raise failure("RQ441", f"a topic has no folder of markers, and {path} is one", hint=hint)
    topic = RecordedTopic(address, None if schema is None else schema.source.registry)
    fields = () if schema is None else record_fields(schema.source)
    return [
        OrderedStream(topic.name(n), topic.lines(n, *topic.ends(n), fields=fields)) for n in topic.partitions
    ]


def single_stream(path: str, markers: str | None = None, schema: Schema | None = None) -> OrderedStream:
    """Returns the only stream at a path. Raises as `streams_at`; RQ410 if there are several."""
    first, *others = streams_at(path, markers, schema)
    if others:
        message = f"the topic at {path} has {len(others) + 1} partitions, and each is a stream of its own"
        raise failure("RQ410", message, hint=f"one of them: {path.partition('?')[0]}/0")
    return first


def stream_lines(path: str, markers: str | None = None) -> Iterator[Line]:
    """Returns the lines of a file, a folder, or `-`, in order, with those of its folder of markers in
    between.

    Raises `DiagnosticError` RQ410 without a stream, or for a query in its place.
    """
    if markers is not None and not Path(markers).exists():
        hint = "a folder of files `*.rqm`, or one such file; leave it out if the stream contains its markers"
        raise failure("RQ410", f"the folder of markers {markers} does not exist", hint=hint)
    for name in (path, markers or path):
        if name != "-" and not Path(name).exists():
            raise _no_stream(f"the stream {name} does not exist")
        if name.endswith(".rq") and Path(name).is_file():
            hint = f"name the folder or file of its data, and the query by `--query {name}`"
            raise failure("RQ410", f"{name} is a query, not a stream", hint=hint)
    table = None
    if (format_ := table_format(path)) is not None:
        from cedilla.runtime.connectors.formats.parquet.local_tables import local_table

        table = local_table(path, path, format_)
    files = stream_files(path, markers, data=None if table is None else table.times)
    return chain.from_iterable(_lines(path, table, file, only_markers=only) for file, only in files)


def _lines(path: str, table: LocalTable | None, file: Path, *, only_markers: bool) -> Iterator[Line]:
    if table is None or only_markers:
        keys, lines = {} if only_markers else keys_below(path, file), lines_in(file)
    else:
        keys, lines = table.keys[file], table.lines(file)
    for line in lines:
        yield evolve(line, only_markers=only_markers, keys=keys) if only_markers or keys else line


def _no_stream(message: str) -> DiagnosticError:
    hint = (
        "a file in JSON Lines, CSV, Parquet or XML, a folder of such files, a table of Delta or Iceberg, a topic "
        "`host:9092/topic`, or `-`"
    )
    return failure("RQ410", message, hint=hint)


def with_schema(
    streams: Sequence[OrderedStream], schema: Schema | None
) -> tuple[Schema, list[OrderedStream]]:
    """Returns the schema, inferred from the first lines of all streams if it is `None`; and the streams with
    it.
    """
    if schema is not None:
        return schema, [evolve(stream, lines=tuples_of(stream.lines, schema.source)) for stream in streams]
    samples = [list(islice(stream.lines, SAMPLE)) for stream in streams]
    whole = [
        evolve(stream, lines=chain(sample, stream.lines))
        for stream, sample in zip(streams, samples, strict=True)
    ]
    return inferred_schema(chain.from_iterable(samples)), whole
