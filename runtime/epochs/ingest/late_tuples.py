"""Names the tuple that has moved a heartbeat furthest, where most tuples are late: a clock may have been wrong."""

from __future__ import annotations

from collections.abc import MutableMapping
from fractions import Fraction

from attrs import frozen
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from cedilla.compiler.expressions.types import Type, column
from cedilla.compiler.plan import Heartbeat
from cedilla.compiler.regions import POSITION
from cedilla.runtime.connectors.formats.source import Format, InputFile
from cedilla.runtime.connectors.records.record_files import record_file
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.control.sources.latest_time import LatestTime
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.epochs.ingest.heartbeats import axis_sql

Lines = MutableMapping[tuple[str, Fraction, str], int | None]
"""Source, greatest time and file -> the line of the tuple, so that a run looks for it once."""


@frozen(eq=False)
class LateTuples:
    """The reason for late tuples of an epoch. `latest`: the greatest time of the source, at the end of the epoch."""

    spark: SparkSession
    source: str
    beat: Heartbeat
    state: SourceState
    format: Format
    latest: LatestTime

    def note(self, late: int, files: Files, lines: Lines) -> str:
        """Returns a note about a number of late tuples."""
        key = self.source, self.latest.time, self.latest.file
        if key not in lines:
            lines[key] = self._line(files)
        name, tuples = self.beat.attribute, "1 tuple is" if late == 1 else f"{late:,} tuples are"
        type_ = self.state.types[name]
        return (
            f"{tuples} late (RQ305): the greatest {self.latest.of(name, type_, lines[key])}; if a clock was wrong "
            f"there, {_guard(name, type_)} keeps such times out"
        )

    def _line(self, files: Files) -> int | None:
        """Returns the line of the first tuple with the greatest time; `None` if its file is gone, is of a topic, or has
        its times in another form."""
        name, path = self.beat.attribute, self.latest.file
        is_altered = name in self.state.original or name in self.state.names.of.values()
        if is_altered or record_file(path) is not None:
            return None
        beside = files.list(path.rpartition("/")[0])
        length = next((file.length for file in beside if file.path == path), None)
        if length is None:
            return None
        file, type_ = InputFile(path, length), self.state.types[name]
        rows = self.format.tuples(self.spark, {0: file}, self.state.field_types)
        is_greatest = F.expr(f"{axis_sql(name, type_)} = {_literal(self.latest.time, type_)}")
        (first,) = rows.where(is_greatest).agg(F.min(F.col(column(POSITION)))).collect()
        return None if first[0] is None else self.format.line_at(self.spark, file, first[0])


def _literal(time: Fraction, type_: Type) -> str:
    """Returns SQL for a time on its axis."""
    if type_.name == "double":
        return f"double('{float(time)!r}')"
    _, scale = type_.parameters if type_.name == "decimal" else (0, 0)
    digits = f"{int(time * 10**scale):0{scale + 1}d}"
    return f"{digits[:-scale]}.{digits[-scale:]}" if scale else f"{digits}"


def _guard(name: str, type_: Type) -> str:
    """Returns what keeps wrong times out."""
    domain = f"a domain, `{name}: {type_} in [..., ...)`,"
    return f"`within 1 day of now` after its delay, or {domain}" if type_.name == "timestamp" else domain
