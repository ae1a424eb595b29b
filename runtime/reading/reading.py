"""`cedilla.read`: an output for whoever knows no accents, as rows, pandas, Arrow or Spark, in one unit (theory D0)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from attrs import frozen

from cedilla.compiler.expressions.types import Type
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, failure
from cedilla.runtime.items.entries import TYPES_HINT, entries_of, unreadable
from cedilla.runtime.items.lines import files_of
from cedilla.runtime.reading.units import Units, mixed

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

    from cedilla.compiler.compile import CompiledQuery

InUnits = Literal["canonical", "original", "latest"]


def read(
    folder: str | Path,
    units: InUnits = "canonical",
    *,
    query: str | Path | CompiledQuery | None = None,
    schema: str | None = None,
) -> Reading:
    """The tuples of an output folder (JSON Lines, Parquet or XML), all of an attribute in one unit.

    `canonical`: every Alter is undone; an attribute that was dropped and added again is in the units of that Add.
    `original`: in the units of the output's start: the same, but refused (RQ422) where there are none, because an
    attribute was altered, dropped and added again. `latest`: as the tuple would be written now, at the end of what
    there is; refused like `original`.

    `query`: the query that writes the output (its path, its text, or what `compile_query` made of it), or `schema`,
    `"minute: long, litres: double"`, tells the types; what they do not tell is seen from the values.

    Raises `DiagnosticError`: RQ421 where there is no folder, and as `compile_query` does.
    """
    if units not in get_args(InUnits):
        raise ValueError(f"units are {', '.join(get_args(InUnits))}; not {units}")
    if "://" not in str(folder) and not Path(folder).exists():
        hint = "the folder that `emit ... to json` names, or `--sink`"
        raise failure("RQ421", f"there is no output {folder}", hint=hint)
    return Reading(str(folder), units, _types(str(folder), query, schema))


@frozen
class Reading:
    """An output, read when it is asked for: each method sees the epochs that are committed then.

    `types`: of the attributes that are declared; an Add tells that of the one that it adds.
    """

    folder: str
    units: InUnits
    types: Mapping[str, Type]

    def rows(self) -> Iterator[dict[str, Any]]:
        """The tuples in stream order, values as they are in the files but for their unit; undefined ones are absent.

        One tuple at a time; `latest` goes through the files twice. Raises `DiagnosticError`: RQ422, RQ423.
        """
        yield from self._gathered(Units(self.types))[0]

    def follow(self, interval: float = 1.0) -> Iterator[dict[str, Any] | None]:
        """As `rows`, then those of new epochs as they come, for ever; `None` before each wait of so many seconds.

        `latest` is of the moment: rows that were given before an Alter stay as they were.
        """
        units = Units(self.types)
        earlier: set[Path] = set()
        while True:
            new = [file for file in self._files() if file not in earlier]
            earlier.update(new)
            yield from self._decoded(new, units, units if self.units == "latest" else None)
            yield None
            time.sleep(interval)

    def pandas(self) -> pandas.DataFrame:
        """A pandas DataFrame, which holds all tuples in memory."""
        from cedilla.runtime.reading.columns import pandas_frame

        units = Units(self.types)
        return pandas_frame(*self._gathered(units))

    def arrow(self) -> pyarrow.Table:
        """An Arrow table, which holds all tuples in memory."""
        from cedilla.runtime.reading.columns import arrow_table

        units = Units(self.types)
        return arrow_table(*self._gathered(units))

    def spark(self, session: SparkSession) -> DataFrame:
        """A Spark DataFrame that reads and converts when it is used; only accents come to the driver.

        The folder may be wherever Spark finds files. Raises `DiagnosticError` RQ422.
        """
        from cedilla.runtime.reading.spark_reading import spark_frame

        return spark_frame(session, self.folder, self.units, self.types)

    # --- inside ---

    def _files(self) -> list[Path]:
        return files_of(self.folder)

    def _gathered(self, units: Units) -> tuple[Iterator[dict[str, Any]], Units]:
        files = self._files()
        end = None
        if self.units == "latest":
            end = Units(self.types)
            for _ in self._through(files, end):
                pass
        return self._decoded(files, units, end), units

    def _through(self, files: Iterable[Path], units: Units) -> Iterator[tuple[str, dict[str, Any]]]:
        """The tuples as they are written, each with its place; `units` follows."""
        for entry in chain.from_iterable(entries_of(file, lambda: units.state.types) for file in files):
            if entry.kind is None:
                units.learn(entry.values)
                yield entry.place, entry.values
            elif entry.kind == "accent":
                _take(units, entry.place, entry.text)
                if units.came_back is not None and self.units != "canonical":
                    raise mixed(units.came_back, self.units)

    def _decoded(self, files: Iterable[Path], units: Units, end: Units | None) -> Iterator[dict[str, Any]]:
        for place, values in self._through(files, units):
            try:
                yield units.decoded(values, end)
            except ValueError as problem:
                raise unreadable(place, problem, TYPES_HINT) from None


def _take(units: Units, place: str, text: str) -> None:
    try:
        units.accent(text)
    except DiagnosticError as error:
        raise DiagnosticError(
            Diagnostic(d.code, d.severity, d.message, None, (*d.notes, f"{place}: {text}"), d.help)
            for d in error.diagnostics
        ) from None


def _types(folder: str, query: str | Path | CompiledQuery | None, schema: str | None) -> dict[str, Type]:
    """What the attributes' types are said to be at the output's start."""
    if schema is not None:
        from cedilla.runtime.streams.schema import declared_schema

        return {a.name: a.type for a in declared_schema(schema).source.attributes}
    if query is None:
        return {}
    from cedilla.compiler.compile import compiled_query

    plan = compiled_query(query)[0].plan
    emits = [e for e in plan.emits if Path(e.path) == Path(folder)] or [
        e for e in plan.emits if e.name == Path(folder).name
    ]
    if not emits and len(plan.emits) == 1:
        emits = list(plan.emits)
    if not emits:
        names = ", ".join(e.name for e in plan.emits)
        message = f"which output of the query {folder} is, neither its path nor its name tells"
        hint = f"the outputs are {names}; `schema` says the types, too"
        raise failure("RQ421", message, hint=hint)
    return dict(plan.start[emits[0].relation].types)
