"""The streams at a place: the one of a file or folder, or those of a topic, of which each partition is one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from attrs import evolve, frozen

from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.items.csv_lines import lines_in
from cedilla.runtime.items.lines import Line, files_of, stream_files
from cedilla.runtime.items.tuple_lines import tuples_of
from cedilla.runtime.streams.schema import SAMPLE, Schema, inferred_schema
from cedilla.runtime.topics.recorded import RecordedTopic, place_of


@frozen
class OrderedStream:
    """A stream that is one list of lines (theory G38), and what it is called."""

    name: str
    lines: Iterator[Line]


def streams_at(path: str, markers: str | None = None) -> list[OrderedStream]:
    """The streams at a path: a file, a folder or `-`; a topic, `host:9092/topic`, or one partition of it,
    `host:9092/topic/2`, as it is now.

    Raises `DiagnosticError`: RQ410 where there is none; RQ441 where a topic is to have a folder of markers; RQ442 to
    RQ445.
    """
    if (place := place_of(path)) is None or Path(path).exists():
        return [OrderedStream(path, stream_lines(path, markers))]
    if markers is not None:
        hint = "markers are records of the topic: one in each partition that it concerns"
        raise failure("RQ441", f"a topic has no folder of markers, and {path} is one", hint=hint)
    topic = RecordedTopic(place)
    return [OrderedStream(topic.name(n), topic.lines(n, *topic.ends(n))) for n in topic.partitions]


def single_stream(path: str, markers: str | None = None) -> OrderedStream:
    """The one stream at a path. Raises as `streams_at` does; RQ410 where there are several."""
    first, *others = streams_at(path, markers)
    if others:
        message = f"the topic at {path} has {len(others) + 1} partitions, and each is a stream of its own"
        raise failure("RQ410", message, hint=f"one of them: {path.partition('?')[0]}/0")
    return first


def stream_lines(path: str, markers: str | None = None) -> Iterator[Line]:
    """The lines of a stream: a file, a folder, or `-`, one after the other; those of its folder of markers in between.

    Raises `DiagnosticError` RQ410 where there is none, or a file is Parquet.
    """
    for each in (path, markers or path):
        if each != "-" and not Path(each).exists():
            raise _no_stream(f"the stream {each} does not exist")
    files = stream_files(path, markers) if markers else [(file, False) for file in files_of(path)]
    for file, _ in files if path != "-" else ():
        with file.open("rb") as stream:
            if stream.read(len(_PARQUET)) == _PARQUET:
                raise _no_stream(f"{file} is Parquet, and only JSON Lines and CSV are read here")
    return (
        evolve(line, only_markers=only) if only else line for file, only in files for line in lines_in(file)
    )


_PARQUET = b"PAR1"


def _no_stream(message: str) -> DiagnosticError:
    hint = "a file in JSON Lines or CSV, a folder of such files, a topic `host:9092/topic`, or `-`"
    return failure("RQ410", message, hint=hint)


def with_schema(
    streams: Sequence[OrderedStream], schema: Schema | None
) -> tuple[Schema, list[OrderedStream]]:
    """The schema given, or what the first lines of all streams tell; and the streams by it."""
    if schema is not None:
        return schema, [evolve(each, lines=tuples_of(each.lines, schema.source)) for each in streams]
    samples = [list(islice(each.lines, SAMPLE)) for each in streams]
    whole = [
        evolve(each, lines=chain(sample, each.lines)) for each, sample in zip(streams, samples, strict=True)
    ]
    return inferred_schema(chain.from_iterable(samples)), whole
