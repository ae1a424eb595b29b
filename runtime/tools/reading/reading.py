"""`cedilla.read`: reads an output without knowledge of accents: rows, pandas, Arrow or Spark, in one unit
(theory D0).
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from attrs import frozen

from cedilla.compiler.expressions.types import Type
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, failure
from cedilla.grammar.diagnostics.suggestions import did_you_mean
from cedilla.grammar.parser import parse_accent
from cedilla.grammar.syntax import AddAttribute
from cedilla.runtime.connectors.records.entries import TYPES_HINT, Entry, unreadable
from cedilla.runtime.connectors.records.marker_files import MARK
from cedilla.runtime.connectors.topics.topic_lines import place_of
from cedilla.runtime.tools.reading.outputs import Entries, FolderOutput, Output, TopicOutput
from cedilla.runtime.tools.reading.units import Units, mixed

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

    from cedilla.compiler.compile import CompiledQuery
    from cedilla.compiler.plan import Emit, Plan

InUnits = Literal["canonical", "original", "latest"]


def read(
    folder: str | Path,
    units: InUnits = "canonical",
    *,
    query: str | Path | CompiledQuery | None = None,
    schema: str | None = None,
    latest: Sequence[str] = (),
) -> Reading:
    """Returns the tuples of an output, each attribute in one unit.

    `folder`: the folder of the output (JSON Lines, Parquet or XML), or the address of a topic. `units`: one of
    the words that follow. `query`: the query that writes the output, for types: its path, its text, or the
    result of `compile_query`. `schema`: types without a query, `"minute: long, litres: double"`; others
    are inferred from values. `latest`: the key of an output that is updated, `["minute", "meter"]`: of each key
    there is the last row, which has `$provisional` while its group is open. Without it the provisional rows are left
    out, because they are not part of the output.

    `canonical`: every Alter is undone; an attribute that was dropped and added again is in the units of that
    Add. `original`: the units of the output's start. These are the same, but are refused (RQ422) if an
    attribute was altered, dropped and added again. `latest`: the units of a tuple written now, at the end of
    the output; refused like `original`.

    Raises `DiagnosticError`: RQ421 without a folder, and as `compile_query`.
    """
    if units not in get_args(InUnits):
        raise ValueError(f"units are {', '.join(get_args(InUnits))}; not {units}")
    if not is_there(folder):
        hint = "the folder that `emit ... to json` names, or `--sink`"
        raise failure("RQ421", f"the output {folder} does not exist", hint=hint)
    return Reading(str(folder), units, _types(str(folder), query, schema), tuple(latest))


def is_there(folder: str | Path) -> bool:
    """Returns True for an output that exists, and for one that is not on this machine."""
    return "://" in str(folder) or place_of(str(folder)) is not None or Path(folder).exists()


@frozen
class Reading:
    """An output that is read on demand: each method sees the epochs that are committed then.

    `types`: of the declared attributes; an Add has the type of its own one. `latest`: the key of
    an output that is updated; of each key the last row is read.
    """

    folder: str
    units: InUnits
    types: Mapping[str, Type]
    latest: tuple[str, ...] = ()

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yields the tuples in stream order, as written except for their unit; undefined values are absent.

        Partitions of a topic follow each other. Reads one tuple at a time; `latest` reads the output twice.
        Raises `DiagnosticError`: RQ422, RQ423; RQ444 for a topic.
        """
        yield from self._gathered()[0]

    def follow(self, interval: float = 1.0) -> Iterator[dict[str, Any] | None]:
        """Yields as `rows`, then new tuples as they come, for ever; `None` before each wait.

        `interval`: the wait in seconds.

        `latest` means the present: rows from before an Alter keep their units. Raises RQ557 for the last rows by key.
        """
        self._check_whole("followed")
        output = self._output()
        units = {part: Units(self.types) for part in output.parts}
        while True:
            for part, of_part in units.items():
                yield from self.decoded(
                    output.new(part), of_part, of_part if self.units == "latest" else None
                )
            yield None
            time.sleep(interval)

    def pandas(self) -> pandas.DataFrame:
        """Returns a pandas DataFrame with all tuples in memory."""
        from cedilla.runtime.tools.reading.columns import pandas_frame

        return pandas_frame(*self._gathered())

    def arrow(self) -> pyarrow.Table:
        """Returns an Arrow table with all tuples in memory."""
        from cedilla.runtime.tools.reading.columns import arrow_table

        return arrow_table(*self._gathered())

    def spark(self, session: SparkSession) -> DataFrame:
        """Returns a Spark DataFrame that reads and converts lazily; only accents come to the driver.

        The folder may be any that Spark can read. `session`: that of the DataFrame.

        Raises `DiagnosticError`: RQ421 for a topic, RQ422, RQ557 for the last rows by key.
        """
        self._check_whole("read by Spark")
        if place_of(self.folder) is not None:
            hint = "`.arrow()` or `.pandas()`, or an output in Parquet"
            raise failure("RQ421", f"{self.folder} is a topic, and Spark reads folders here", hint=hint)
        from cedilla.runtime.tools.reading.spark_reading import spark_frame

        return spark_frame(session, self.folder, self.units, self.types)

    def items(self) -> Iterator[tuple[Entry, Units]]:
        """Yields the tuples and markers as written, in stream order, each with the units after it.

        Raises `DiagnosticError` as `rows`.
        """
        output = self._output()
        for part in output.parts:
            units = Units(self.types)
            for entry in output.new(part)(lambda units=units: units.state.types_of_raw):
                if entry.kind is None:
                    units.learn(entry.values)
                elif entry.kind == "accent":
                    _take(units, entry.place, entry.text)
                yield entry, units

    # --- inside ---

    def _output(self) -> Output:
        topic, with_provisional = place_of(self.folder), bool(self.latest)
        if topic is None:
            return FolderOutput(self.folder, with_provisional=with_provisional)
        return TopicOutput(topic, with_provisional=with_provisional)

    def _check_whole(self, how: str) -> None:
        if self.latest:
            message = f"the last row of each key is known at the end of an output, and it is {how}"
            raise failure("RQ557", message, hint="rows, pandas or Arrow; or all rows, without a key")

    def _last_by_key(self, rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yields the last row of each key, in the order of the keys' first rows. Raises RQ557 for a key that no row
        has."""
        last: dict[tuple[Any, ...], dict[str, Any]] = {}
        names: dict[str, None] = {}
        for row in rows:
            names.update(dict.fromkeys(row))
            last[tuple(row.get(name) for name in self.latest)] = row
        if last and (missing := [name for name in self.latest if name not in names]):
            hint = did_you_mean(missing[0], names.keys() - {MARK}, "attributes")
            raise failure(
                "RQ557", f"no row of {self.folder} has `{missing[0]}`, which is in the key", hint=hint
            )
        yield from last.values()

    def _gathered(self) -> tuple[Iterator[dict[str, Any]], Units]:
        """Returns the tuples of all parts, and the units of the last one: each part contains all markers."""
        output = self._output()
        entries = {part: output.new(part) for part in output.parts}
        units = {part: Units(self.types) for part in entries}
        ends: dict[int, Units] = {}
        if self.units == "latest":
            for part, of_part in entries.items():
                ends[part] = Units(self.types)
                for _ in self._through(of_part, ends[part]):
                    pass
        rows = chain.from_iterable(
            self.decoded(of_part, units[part], ends.get(part)) for part, of_part in entries.items()
        )
        return self._last_by_key(rows) if self.latest else rows, units[output.parts[-1]]

    def _through(self, entries: Entries, units: Units) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yields the tuples as written, each with its place; updates `units`."""
        for entry in entries(lambda: units.state.types_of_raw):
            if entry.kind is None:
                units.learn(entry.values)
                yield entry.place, entry.values
            elif entry.kind == "accent":
                _take(units, entry.place, entry.text)
                if units.came_back is not None and self.units != "canonical":
                    raise mixed(units.came_back, self.units)

    def decoded(self, entries: Entries, units: Units, end: Units | None) -> Iterator[dict[str, Any]]:
        """Yields tuples in canonical units, or in those of `end`; updates `units`."""
        for position, values in self._through(entries, units):
            try:
                yield units.decoded(values, end)
            except ValueError as problem:
                raise unreadable(position, problem, TYPES_HINT) from None


def _take(units: Units, location: str, text: str) -> None:
    try:
        units.accent(text)
    except DiagnosticError as error:
        raise DiagnosticError(
            Diagnostic(d.code, d.severity, d.message, None, (*d.notes, f"{location}: {text}"), d.help)
            for d in error.diagnostics
        ) from None


def _types(folder: str, query: str | Path | CompiledQuery | None, schema: str | None) -> dict[str, Type]:
    """Returns the types of the attributes at the output's start, by `query` or `schema`."""
    if schema is not None:
        return _declared(schema)
    if query is None:
        return {}
    from cedilla.compiler.compile import compiled_query

    plan = compiled_query(query)[0].plan
    return dict(plan.start[emit_of(plan, folder).relation].types)


def emit_of(plan: Plan, folder: str) -> Emit:
    """Returns the emit of a query that writes an output, by its path or its name. Raises `DiagnosticError` RQ421."""
    at = folder.partition("?")[0]
    emits = [e for e in plan.emits if Path(e.path.partition("?")[0]) == Path(at)] or [
        e for e in plan.emits if e.name == Path(folder).name
    ]
    if not emits and len(plan.emits) == 1:
        emits = list(plan.emits)
    if not emits:
        names = ", ".join(e.name for e in plan.emits)
        message = f"which output of the query {folder} is, neither its path nor its name tells"
        hint = f"the outputs are {names}; `schema` says the types, too"
        raise failure("RQ421", message, hint=hint)
    return emits[0]


_ARRAY = re.compile(r"(?P<name>[^\s,:?]+)(?P<between>\s*\??\s*:\s*)(?P<type>array<[\w\s(),<>]*?>+)")


def _declared(schema: str) -> dict[str, Type]:
    """Parses the types of a schema; outputs may have arrays, which streams cannot: `top: array<double>`."""
    from cedilla.runtime.tools.stream_tools.schema import declared_schema

    arrays: dict[str, Type] = {}
    for array in _ARRAY.finditer(schema):
        change = parse_accent(f"[[+({array['name']}: {array['type']})]]", "<schema>").primitive
        assert isinstance(change, AddAttribute)
        arrays[change.name] = Type.of(change.type)
    # A type of the same length keeps all other positions.
    plain = _ARRAY.sub(lambda m: f"{m['name']}{m['between']}{'double'.ljust(len(m['type']))}", schema)
    return {a.name: a.type for a in declared_schema(plain).source.attributes} | arrays
