"""`cedilla verify`: tests Figure 3 of the paper on a user's own input (theory 2.5, G30, G31).

The query runs on Spark over the raw input, and its output is decoded; the reference runs it over the decoded
input. Both must give the same tuples.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from math import isclose
from pathlib import Path
from typing import Any

from attrs import evolve, frozen
from pyspark.sql import SparkSession

from cedilla.compiler.expressions.types import DOUBLE, Type
from cedilla.compiler.plan import Emit, Plan, Source
from cedilla.runtime.formats.listing import listed_files
from cedilla.runtime.formats.parquet.source import Parquet
from cedilla.runtime.inspect.status import read_status
from cedilla.runtime.pipeline.program import start
from cedilla.runtime.pipeline.running_epoch import Flow
from cedilla.runtime.pipeline.sessions import engine_of, engine_session
from cedilla.runtime.records.json_objects import word
from cedilla.runtime.records.lines import files_of, lines_of
from cedilla.runtime.reference.decoder import Decoder, is_tuple
from cedilla.runtime.reference.node import Row, control
from cedilla.runtime.reference.reference import Output
from cedilla.runtime.reference.simulated_sources import Offsets
from cedilla.runtime.reference.simulation import replay
from cedilla.runtime.reference.values import read_value
from cedilla.runtime.storage.files import Files
from cedilla.runtime.terminal.options import Options, apply

_DIGITS = 9


@frozen
class Verdict:
    """The result of Figure 3 for one emit: the number of tuples, and those that only one side has."""

    emit: str
    tuples: int
    only_spark: tuple[Row, ...]
    only_reference: tuple[Row, ...]

    @property
    def holds(self) -> bool:
        """True if both sides are the same."""
        return not self.only_spark and not self.only_reference

    def text(self) -> str:
        """Writes the verdict, with the first difference."""
        if self.holds:
            return f"{self.emit}: {self.tuples} tuples, decode(out) = query(decode(in))"
        lines = [f"{self.emit}: the two sides of Figure 3 differ"]
        for side, rows in (("Spark", self.only_spark), ("the reference", self.only_reference)):
            if rows:
                lines.append(f"  only {side} has {len(rows)} of the tuples; the first: {_shown(rows[0])}")
        return "\n".join(lines)


def verify(plan: Plan, flow: Flow, options: Options) -> list[Verdict]:
    """Compares both sides for every emit. Writes only to a temporary folder.

    Raises `DiagnosticError` if the input ends the query.
    """
    plan = apply(plan, options)
    expected: dict[str, list[Row]] = {emit.name: [] for emit in plan.emits}
    types: dict[str, Mapping[str, Type]] = {}

    def gather(outputs: Mapping[str, Output]) -> None:
        for name, output in outputs.items():
            expected[name] += output.canonical

    with ExitStack() as opened:
        folder = opened.enter_context(tempfile.TemporaryDirectory())
        sinks = {emit.name: f"{folder}/out/{emit.name}" for emit in plan.emits}
        aside = Options(
            once=True,
            checkpoint=f"{folder}/checkpoint",
            sinks=sinks,
            files_per_epoch=options.files_per_epoch,
            engine=options.engine,
            master=options.master,
            remote=options.remote,
            conf=options.conf,
            allow_modules=options.allow_modules,
            allow_paths=("/",),  # all others are checked by now
        )
        binary = any(node.format == _BINARY for node in (*plan.sources, *plan.emits))
        session = engine_session(plan, aside, engine_of(aside), lambda step: None)
        spark = opened.enter_context(session) if binary else None
        read = _as_json(spark, plan, f"{folder}/in")
        ignored = Options(allow_paths=("/",)), lambda line, code: None, gather
        topics = any(source.is_topic for source in plan.sources)
        final = {} if topics else replay(read, *ignored)
        start(apply(plan, aside), flow, aside, lambda report: None, spark)
        if topics:  # other programs may write to them meanwhile
            final = replay(read, *ignored, until=_offsets(f"{folder}/checkpoint"))
        for emit in plan.emits:
            types[emit.name] = final[emit.relation].types
        outputs = _as_json(spark, apply(plan, aside), f"{folder}/again").emits
        return [
            _verdict(emit.name, decoded(emit.path, types[emit.name]), expected[emit.name], types[emit.name])
            for emit in outputs
        ]


_BINARY = "parquet"


def _offsets(checkpoint: str) -> Offsets:
    """Returns the offsets up to which a run has read its topics."""
    streams = read_status(checkpoint).sources
    return {s.name: {int(partition): offset for partition, offset in s.offsets.items()} for s in streams}


def _as_json(spark: SparkSession | None, plan: Plan, folder: str) -> Plan:
    """Returns the plan over copies in JSON Lines of existing Parquet files."""

    def copied(node: Source | Emit) -> Source | Emit:
        if spark is None or node.format != _BINARY:
            return node
        copy = f"{folder}/{node.name}" if Path(node.path).exists() else node.path
        if copy != node.path:
            _copy(spark, node.path, Path(copy))
        return evolve(node, format="json", path=copy)

    return evolve(plan, sources=list(map(copied, plan.sources)), emits=list(map(copied, plan.emits)))


def _copy(spark: SparkSession, path: str, folder: Path) -> None:
    """Copies a stream in Parquet to lines of JSON, file by file; for small streams, because all rows pass the
    driver.
    """
    folder.mkdir(parents=True)
    parquet = Parquet()
    files = listed_files(Files(), path)
    tables = {number: file for number, file in enumerate(files) if not file.is_markers}
    rows = parquet.lines(spark, tables).orderBy("file", "ordinal").collect() if tables else []
    for number, file in enumerate(files):
        lines = "".join(f"{row['raw']}\n" for row in rows if row["file"] == file.uri)
        lines = Files().read(file.path) if file.is_markers else lines
        (folder / f"{number:09d}.jsonl").write_text(lines, encoding="utf-8")


def _shown(row: Row) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sorted(row.items()))


def decoded(path: str, types: Mapping[str, Type]) -> list[Row]:
    """Returns the canonical tuples of an output folder."""

    def read(attribute: str, value: Any) -> Any:
        type_ = types.get(attribute)
        if type_ is not None and type_.name in ("timestamp", "date") and isinstance(value, str):
            return control(read_value(type_, value))
        return control(odd) if type_ == DOUBLE and (odd := word(value)) is not None else value

    decoder = Decoder(read)
    rows: list[Row] = []
    for file in files_of(path) if Path(path).exists() else ():
        for line in lines_of(file):
            item = json.loads(line.text)
            row = decoder.feed(item)
            if is_tuple(item) and row is not None:
                rows.append(row)
    return rows


def _verdict(emit: str, output: list[Row], expected: list[Row], types: Mapping[str, Type]) -> Verdict:
    def plain(row: Row) -> Any:
        return frozenset(
            (name, _plain(types.get(name), value)) for name, value in row.items() if value is not None
        )

    here, reference = Counter(map(plain, output)), Counter(map(plain, expected))
    only_here, only_there = here - reference, reference - here
    _cancel_close(only_here, only_there)
    return Verdict(
        emit, len(expected), tuple(map(dict, only_here.elements())), tuple(map(dict, only_there.elements()))
    )


def _plain(type_: Type | None, value: Any) -> Any:
    """Converts a value to a form that equals the value of the other side."""
    if isinstance(value, list):
        return tuple(_plain(type_, item) for item in value)
    if isinstance(value, str) and type_ is not None and type_.name in ("timestamp", "date"):
        return control(read_value(type_, value))
    if type_ == DOUBLE and (odd := word(value)) is not None:
        return str(odd)
    plain = control(value)
    if isinstance(plain, str | bool):
        return plain
    if isinstance(plain, int) and type_ is not None and type_.is_integral:
        return plain  # a double cannot distinguish moments of the year 9999
    return round(float(plain), _DIGITS) + 0.0


def _cancel_close(here: Counter[Any], there: Counter[Any]) -> None:
    """Removes pairs of rows whose numbers differ in the last digits only, because of rounding."""
    for mine in list(here.elements()):
        for theirs in list(there.elements()):
            if _close(dict(mine), dict(theirs)):
                here[mine] -= 1
                there[theirs] -= 1
                break


def _close(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    return a.keys() == b.keys() and all(_alike(a[name], b[name]) for name in a)


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_alike, a, b))
    if isinstance(a, int | float) and isinstance(b, int | float) and float in (type(a), type(b)):
        return isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    return a == b
