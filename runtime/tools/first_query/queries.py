"""Writes a query over the samples of some paths, with comments on what was seen in them and guessed from it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import PurePath

from attrs import frozen

from cedilla.compiler.compile import CompiledQuery, compile_query
from cedilla.compiler.expressions.types import STRING
from cedilla.compiler.plan.change_events import READ
from cedilla.compiler.plan.field_paths import path_text
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.grammar.diagnostics.printable import one_line
from cedilla.grammar.formatting.formatter import format_query
from cedilla.grammar.parser import parse_query
from cedilla.runtime.connectors.records.tuple_lines import tuples_of
from cedilla.runtime.control.markers.unannounced import is_name
from cedilla.runtime.tools.first_query.declared import Declared
from cedilla.runtime.tools.first_query.names import base_name
from cedilla.runtime.tools.first_query.roles import Versions, window_of
from cedilla.runtime.tools.first_query.samples import Sample
from cedilla.runtime.tools.stream_tools.groupings import Search, groupings_of
from cedilla.runtime.tools.stream_tools.schema import Schema
from cedilla.runtime.tools.stream_tools.validate import validate

_SOURCE = "<first query>"
_SUSPECTS = 5
"""The most changes without an accent that comments report."""


@frozen
class FirstQuery:
    """A query over samples: its text, what it compiles to, and the streams that it reads."""

    text: str
    compiled: CompiledQuery
    streams: tuple[Declared, ...]


def first_query(samples: Sequence[Sample], paths: Sequence[str]) -> FirstQuery:
    """Returns a query that runs. `paths`: those of the samples as the query names them.

    Raises `DiagnosticError` for names or paths that no query has.
    """
    streams: list[Declared] = []
    for sample, path in zip(samples, paths, strict=True):
        streams.append(Declared(sample, _name(sample.path, {stream.name for stream in streams}), path))
    statements = [_statements(stream, is_only=len(streams) == 1) for stream in streams]
    compiled = compile_query("\n".join(statements), _SOURCE)
    parts = [
        "# A first query, written by `cedilla init --from`. Comments say what was seen, and what is guessed.\n"
    ]
    for stream, text in zip(streams, statements, strict=True):
        parts.append("\n".join([*_seen(stream), *_findings(stream, compiled), text]))
    text = "\n".join(parts)
    text = format_query(parse_query(text, _SOURCE, keep_names=True), text)
    return FirstQuery(text, compile_query(text, _SOURCE), tuple(streams))


def _name(path: str, taken: set[str]) -> str:
    """Returns the name of a stream, by its file, folder or topic."""
    last = PurePath(path.partition("?")[0]).name.partition(".")[0] or "data"
    plain = re.sub(r"\W+", "_", last).strip("_")
    short = plain if plain and not plain[0].isdigit() and is_name(plain) else f"stream_{plain}".strip("_")
    return next(name for name in (short, *(f"{short}_{n}" for n in range(2, 999))) if name not in taken)


def _statements(stream: Declared, *, is_only: bool) -> str:
    """Returns the statements of a stream, its steps and its output."""
    return "\n".join([stream.text(), *_steps(stream, "" if is_only else f"{stream.name}_")])


def _seen(stream: Declared) -> list[str]:
    """Returns comments on the sample of a stream."""
    lines = [f"# `{stream.name}`: {one_line(stream.sample.what)}."]
    if stream.sample.events is not None:
        lines.append(f"# {READ}")
    lines += [f"# No tuples: {count:,} x {one_line(why)}." for why, count in stream.sample.bad.most_common(3)]
    if stream.sample.accents:
        lines.append(f"# {stream.sample.accents:,} accents are among the rows.")
    return lines


def _steps(stream: Declared, prefix: str) -> Iterator[str]:
    """Yields the definitions and the output: averages by window, or the tuples themselves without a time."""
    below = stream.name
    if merged := [*_merged(stream)]:
        below = f"{prefix}merged"
        yield f"{below} := project[*, {', '.join(merged)}]({stream.name});"
    axis = stream.axis
    if axis is None:
        yield "# Most rows have no time, so the query has no windows: every tuple is written when it arrives."
        yield _emitted(stream.name, below)
        return
    length, result = window_of(axis), f"{prefix}averages"
    if axis.guess.is_time:
        result, length = f"{prefix}by_{length}", f"1 {length}"
    begin, end, count = stream.own
    results, by = stream.results(_measured(stream)), [*stream.groups(), begin, end]
    yield f"{prefix}windows := window[{length} on {stream.names[axis.path]} as [{begin}, {end}]]({below});"
    yield f"{result} := aggregate[{', '.join([*results, f'count() as {count}'])} by {', '.join(by)}]({prefix}windows);"
    if axis.guess.scale:  # a window of numbers has numbers as bounds
        function = {1_000_000: "timestamp_seconds", 1000: "timestamp_millis", 1: "timestamp_micros"}[
            axis.guess.scale
        ]
        bounds = [f"{function}({bound}) as {bound}" for bound in (begin, end)]
        items = [*by[:-2], *bounds, *(text.rpartition(" as ")[2] for text in results), count]
        yield f"{result}_moments := project[{', '.join(items)}]({result});"
        result = f"{result}_moments"
    yield _emitted(stream.name, result)


def _emitted(name: str, relation: str) -> str:
    return f"\nemit {relation} to json {STRING.wire(f'out/{name}')};\n"


def _merged(stream: Declared) -> Iterator[str]:
    """Yields items of a projection that make one attribute of two versions in different units."""
    for versions in stream.versions:
        if versions.before.path in stream.names and versions.after.path in stream.names:
            names = stream.names[versions.before.path], stream.names[versions.after.path]
            yield f"coalesce({names[0]}, {names[1]}) as {_merged_name(stream, versions)}"


def _merged_name(stream: Declared, versions: Versions) -> str:
    """Returns the name of two versions together, without the unit that each has in its name."""
    names = [stream.names[field.path] for field in (versions.before, versions.after)]
    base = base_name(versions.before.path[-1])
    return base if is_name(base) and base not in stream.names.values() else "_or_".join(names)


def _measured(stream: Declared) -> list[str]:
    """Returns the measured attributes, one of two versions in place of both."""
    names: list[str] = []
    for own in stream.measures:
        name = stream.names[own.path]
        for versions in stream.versions:
            pair = [stream.names.get(f.path) for f in (versions.before, versions.after)]
            if name in pair and pair[0] and pair[1]:
                name = _merged_name(stream, versions)
        names.append(name)
    return list(dict.fromkeys(names))


# --- what the tools of streams say of the sample ---


def _findings(stream: Declared, compiled: CompiledQuery) -> list[str]:
    """Returns comments on tuples that are set aside, and on changes that nothing announces."""
    schema = Schema(compiled.plan.source_of[stream.name], True)
    lines = [*tuples_of(stream.sample.lines, schema.source)]
    counts = validate(lines, schema).findings
    del counts["RQ306"]  # fields that the query does not read
    comments: list[str] = []
    if counts:
        codes = ", ".join(f"{code}: {count:,}" for code, count in sorted(counts.items()))
        comments.append(
            f"# Of these rows, `{stream.name}` sets aside {codes} (`cedilla rule CODE`, `cedilla validate`)."
        )
    for versions in stream.versions:
        names = [one_line(path_text(f.path)) for f in (versions.before, versions.after)]
        how = "in another unit by its name" if versions.function else "under another name"
        comments.append(f"# `{names[1]}` is likely `{names[0]}` {how}: no row has both.")
    search = Search(schema, groupings_of(schema.source))
    try:
        suspects = [*islice(search.of(lines), _SUSPECTS)]
    except DiagnosticError:  # RQ228: more groups than a search follows
        suspects = []
    for suspect in suspects:
        text = f"# `{suspect.attribute}` changes as by {suspect.jump.name}, and no accent says so: {suspect.accent}"
        comments.append(one_line(text))
    return comments
