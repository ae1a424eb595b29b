"""A stream that its sender writes, checked line by line by the code of `cedilla validate` (theory G34)."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from time import sleep
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.plan import Source
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, failure
from cedilla.grammar.formatting.expression_formatter import unit_text
from cedilla.runtime.connectors.records.file_lines import format_of
from cedilla.runtime.connectors.records.lines import Line, stream_files
from cedilla.runtime.connectors.records.table_folders import table_format
from cedilla.runtime.connectors.records.tuple_lines import tuples_of
from cedilla.runtime.connectors.records.typed_files import parquet_of
from cedilla.runtime.connectors.topics.topic_lines import place_of
from cedilla.runtime.epochs.options.permissions import folder_of
from cedilla.runtime.tools.produce.files import Appended, Published, Target
from cedilla.runtime.tools.produce.topics import Sent
from cedilla.runtime.tools.simulation.table_domains import with_permitted_domains
from cedilla.runtime.tools.stream_tools.places import OrderedStream, streams_at, with_schema
from cedilla.runtime.tools.stream_tools.row_texts import json_line
from cedilla.runtime.tools.stream_tools.schema import Schema, declared_schema, of_values
from cedilla.runtime.tools.stream_tools.stream_checker import StreamChecker

if TYPE_CHECKING:
    from cedilla.compiler.compile import CompiledQuery

Where = str | Mapping[str, Any]
"""A description: accent text, `'s in {1, 2}, ts >= 60'`, or attribute -> a value or a list of values."""


class Writable(Protocol):
    """A target for checked lines, each with its end: an open text file, or a topic."""

    def write(self, text: str, /) -> object: ...


def _warn(diagnostic: Diagnostic) -> None:
    warnings.warn(f"{diagnostic.code}: {diagnostic.message}", stacklevel=6)


_NEXT_FILE = 0.002
"""Seconds after which a file gets a later time than the previous one; stores resolve milliseconds."""


class Stream:
    """The end of a stream.

    `to`: a file in JSON Lines, which is made or continued; a folder, to which each `flush` adds a new file, of Parquet
    if its files are or `query` reads it so; a topic, `host:9092/topic?key=s`, or one partition, `host:9092/topic/2`, to
    which each `flush` is a transaction; or an object with a `write`, on which a new stream begins. `query`: the query
    that declares the attributes, as a path, a text, or the result of `compile_query`. `source`: which source of the
    query; its only one by default. `schema`: the attributes without a query, as between the parentheses of a `stream`.
    `markers`: a folder that takes the markers, next to the folder of tuples. `on_warning`: is called with each
    suspicious marker, which is written; by default it is a Python warning.

    The present content of a stream is read first. Every method raises `DiagnosticError` with the errors of
    `cedilla validate`, and then writes nothing; RQ435 to RQ437, RQ442 to RQ445 and RQ449 for the target. One thread
    uses it. A `where` is a description, `"s in {1, 2}, ts >= 60"`, or equalities, `{"s": 2}`, `{"s": [1, 2]}`.
    """

    def __init__(
        self,
        to: str | Path | Writable,
        *,
        query: str | Path | CompiledQuery | None = None,
        source: str | None = None,
        schema: str | None = None,
        markers: str | Path | None = None,
        on_warning: Callable[[Diagnostic], None] = _warn,
    ) -> None:
        declared = _schema(query, source, schema)
        self._open(to, declared, None if markers is None else str(markers), on_warning)

    @classmethod
    def of(
        cls, to: str, schema: Schema | None, markers: str | None, on_warning: Callable[[Diagnostic], None]
    ) -> Stream:
        """Returns the end of a stream with a schema; `None`: the schema of its first lines."""
        stream = cls.__new__(cls)
        stream._open(to, schema, markers, on_warning)
        return stream

    def _open(
        self,
        to: str | Path | Writable,
        declared: Schema | None,
        markers: str | None,
        on_warning: Callable[[Diagnostic], None],
    ) -> None:
        self.name = str(to) if isinstance(to, str | Path) else str(getattr(to, "name", "stream"))
        self._on_warning = on_warning
        self._tuples: Target | Writable = to if not isinstance(to, str | Path) else _target(str(to))
        self._markers = self._tuples if markers is None else _beside(self._tuples, markers)
        self._last = self._tuples
        self._written = 0
        try:
            at = isinstance(to, str | Path)
            streams = streams_at(self.name, markers, declared) if at else [OrderedStream(self.name, iter(()))]
            schema, streams = with_schema(streams, None if declared is None else of_values(declared))
            self._source: Source = schema.source
            if isinstance(self._tuples, Sent):
                self._tuples.check_key(self._source)
            if isinstance(self._tuples, Published) and _is_parquet(self.name, self._source):
                self._tuples.be_of("parquet", self._as_parquet)
            # Each partition of a topic is a stream of its own.
            self._checkers = {part: StreamChecker(schema, is_reader=False) for part in self._parts()}
            for checker, stream in zip(self._checkers.values(), streams, strict=True):
                for line in stream.lines:
                    try:
                        _checked(checker, line)
                    except DiagnosticError as error:
                        raise _cannot_continue(self.name, error.diagnostics[0]) from None
        except BaseException:
            self._on_targets("abandon")
            raise

    # --- tuples and markers ---

    def tuple(self, values: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        """Writes a tuple: attribute -> value. `None` is undefined."""
        row = {name: value for name, value in {**(values or {}), **more}.items() if value is not None}
        if marker := next((name for name in ("$accent", "$punctuation") if name in row), None):
            raise failure(
                "RQ212", f"a tuple has an attribute `{marker}`", hint="`marker(text)` writes markers"
            )
        text = json_line(row)
        if isinstance(self._tuples, Sent):
            record = self._tuples.dealt(row, text)
            self._write(self._tuples, text, [record[0]], lambda target: target.take(record))
        else:
            self._write(self._tuples, text, self._parts(), lambda target: target.write(text + "\n"))

    def add(self, name: str, type: str | Type, where: Where = "", *, unit: str | None = None) -> None:
        """Writes an Add: from here on these tuples may have an attribute, in a unit if one is given."""
        measured = "" if unit is None else f" unit {_unit(unit)}"
        self.accent(f"+({name}: {type}{measured})", where)

    def drop(self, name: str, where: Where = "") -> None:
        """Writes a Drop: from here on these tuples lack the attribute."""
        self.accent(f"-({name})", where)

    def alter(self, name: str, function: str, where: Where = "", *, unit: str | None = None) -> None:
        """Writes an Alter: from here on values are `function` of the earlier ones, such as `y -> y * 1000`.

        A unit is checked if the stream's units are known.
        """
        measured = "" if unit is None else f", unit {_unit(unit)}"
        self.accent(f"alter({name}, {function}{measured})", where)

    def unit(self, name: str, unit: str, where: Where = "") -> None:
        """Writes the Alter to a unit: from here on values are in it."""
        self.accent(f"unit({name}, {_unit(unit)})", where)

    def rename(self, field: str, name: str, where: Where = "") -> None:
        """Writes a Rename: from here on tuples have `field` for the attribute `name` of the stream's readers."""
        self.accent(f"rename({_unit(field)}, {name})", where)

    def punctuate(self, where: Where) -> None:
        """Writes a punctuation: no more such tuples come; `""`: the stream ends."""
        self.marker(f"[{', '.join(self._conditions(where))}]")

    def accent(self, change: str, where: Where = "") -> None:
        """Writes an accent with any change."""
        self.marker(f"[[{', '.join([*self._conditions(where), change])}]]")

    def marker(self, text: str) -> None:
        """Writes an accent `[[...]]` or a punctuation `[...]` unchanged."""
        kind = "accent" if text.lstrip().startswith("[[") else "punctuation"
        line = json_line({f"${kind}": text})
        parts = self._parts(text)
        if isinstance(self._markers, Sent):
            records = [(part, None, line.encode()) for part in parts]
            self._write(self._markers, line, parts, lambda target: [*map(target.take, records)])
        else:
            self._write(self._markers, line, parts, lambda target: target.write(line + "\n"))

    def _conditions(self, where: Where) -> list[str]:
        if isinstance(where, str):
            return [where] if where.strip() else []
        return [self._condition(name, value) for name, value in where.items()]

    def _condition(self, name: str, value: Any) -> str:
        if isinstance(value, list | set | frozenset):
            return f"{name} in {{{', '.join(sorted(map(_constant, value)))}}}"
        return f"{name} = {_constant(value)}"

    # --- writing ---

    def _parts(self, marker: str | None = None) -> Sequence[int]:
        """Returns the partitions of the stream, or those that a marker goes to."""
        if not isinstance(self._tuples, Sent):
            return (0,)
        return self._tuples.parts if marker is None else self._tuples.parts_of(marker, self._source)

    def _write(
        self, target: Target | Writable, text: str, parts: Sequence[int], put: Callable[[Any], object]
    ) -> None:
        if target is self._tuples and isinstance(target, Published):
            self._check_format()
        checkers = [self._checkers[part] for part in parts]
        before = [checker.state for checker in checkers]
        lines = [*tuples_of([Line(text, f"{self.name}:+{self._written + 1}")], self._source)]
        try:
            doubts = {
                (d.code, d.message): d
                for checker in checkers
                for line in lines
                for d in _checked(checker, line)
            }
            if self._last is not target:  # earlier lines belong to an earlier file
                self.flush()
                sleep(_NEXT_FILE)
            self._last = target
            put(target)
        except BaseException:
            for checker, state in zip(checkers, before, strict=True):
                checker.state = state
            raise
        self._written += 1
        for doubt in doubts.values():
            self._on_warning(doubt)

    def _check_format(self) -> None:
        """Raises RQ435 for a folder whose readers would not see lines of JSON."""
        kind = self._source.format_kind
        if (own := table_format(self.name)) is not None:
            hint = "a job that appends to it; a folder of markers: `--markers FOLDER`"
            raise failure(
                "RQ435",
                f"{self.name} is a table of {own.title()}, into which no lines are written",
                hint=hint,
            )
        if not (kind.has_objects or kind.has_requests or kind.columnar):
            message = f"the query reads {self.name} as {kind.name}, and only lines of JSON are written here"
            raise failure("RQ435", message, hint="a folder of markers: `--markers FOLDER`")

    def _as_parquet(self, lines: Sequence[str]) -> bytes:
        (checker,) = self._checkers.values()
        return parquet_of(lines, {**checker.state.types, **checker.state.field_types})

    def flush(self) -> None:
        """Makes all lines visible to readers: in a folder, a new file appears."""
        self._on_targets("flush")

    def close(self) -> None:
        """Flushes, and releases the stream."""
        self._on_targets("close")

    def _on_targets(self, action: str) -> None:
        for target in dict.fromkeys((self._tuples, self._markers)):
            if isinstance(target, Target):
                getattr(target, action)()
            elif action == "flush" and callable(flush := getattr(target, "flush", None)):
                flush()

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the stream after an error, too, because all written lines are valid."""
        self.close()


def _checked(checker: StreamChecker, line: Line) -> list[Diagnostic]:
    """Returns the warnings about the next line. Raises `DiagnosticError` for errors."""
    diagnostics = [checked for single in line.singles for checked in checker.take(single)[1]]
    if errors := [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]:
        raise DiagnosticError(errors)
    return diagnostics


def _schema(query: str | Path | CompiledQuery | None, source: str | None, schema: str | None) -> Schema:
    if (query is None) == (schema is None):
        raise TypeError("one of `query` and `schema`, please")
    if schema is not None:
        return declared_schema(schema)
    from cedilla.compiler.compile import compiled_query

    assert query is not None
    compiled, name = compiled_query(query)
    plan = compiled.plan
    names = [node.name for node in plan.sources]
    chosen = names[0] if source is None and len(names) == 1 else source
    if chosen not in names:
        raise TypeError(f"`source` has to be one of {', '.join(names)}")
    return Schema(with_permitted_domains(plan, folder_of(name)).source_of[chosen], True)


_OTHERS = (".csv", ".xml", ".parquet", ".gz", ".bz2", ".zst")


def _target(path: str) -> Target:
    if (topic := place_of(path)) is not None:
        return Sent(topic)
    if path.endswith(_OTHERS):
        message = f"lines cannot be added to {path}: only JSON Lines are written here, not compressed"
        raise failure("RQ435", message, hint="a file `.jsonl`, or a folder, whose files may have any format")
    if path == "-":
        raise failure("RQ435", "lines cannot be added to standard input", hint="a file, or a folder")
    is_folder = path.endswith("/") or Path(path).is_dir()
    return Published(Path(path)) if is_folder else Appended(Path(path))


def _is_parquet(path: str, source: Source) -> bool:
    """Returns True for a folder of Parquet: by the query that reads it, else by its first file."""
    if source.format == "parquet" or table_format(path) is not None:
        return source.format == "parquet"
    first = next((file for file, _ in stream_files(path, None)), None)
    return first is not None and format_of(first) == "parquet"


def _beside(tuples: Target | Writable, markers: str) -> Published:
    """Returns a folder of markers; its files are ordered among those of the tuples by their times."""
    if isinstance(tuples, Published):
        return Published(Path(markers))
    if isinstance(tuples, Target):
        tuples.abandon()
    message = f"the folder of markers {markers} is for a folder of tuples"
    raise failure("RQ435", message, hint="a folder for the tuples, or markers among them")


def _cannot_continue(name: str, problem: Diagnostic) -> DiagnosticError:
    """Returns RQ436: an invalid stream has no state to continue from."""
    message = f"{name} has an error, so no line can be added: {problem.code}: {problem.message}"
    hint = f"repair it before you add lines (`cedilla validate {shlex.quote(name)}` shows all errors), or begin another"
    return failure("RQ436", message, hint=hint, notes=problem.notes[-1:])


def _unit(unit: str) -> str:
    """Returns a unit in the spelling of accents, with or without quotes."""
    return unit if unit[:1] in "\"'" else unit_text(unit)


def _constant(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case datetime():
            return f'"{value.isoformat().replace("+00:00", "Z")}"'
        case date():
            return f'"{value.isoformat()}"'
        case str():
            return Type("string").wire(value)
        case _:
            return str(value)
