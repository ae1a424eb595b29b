"""`cedilla verify`: tests Figure 3 of the paper on a user's own input (theory 2.5, G30, G31).

The query runs on an engine over the raw input, and its output is decoded; the reference runs it over the decoded
input. Both must give the same tuples.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from fractions import Fraction
from math import isclose, isfinite
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from cedilla.compiler.expressions.types import DOUBLE, Type, decimal_notation
from cedilla.compiler.plan import Emit, Plan
from cedilla.runtime.connectors.records.file_lines import lines_in
from cedilla.runtime.connectors.records.json_objects import json_text, word
from cedilla.runtime.connectors.records.lines import LONGEST_OUTPUT_LINE, files_of
from cedilla.runtime.engines.plain.decoder import Decoder, is_tuple
from cedilla.runtime.engines.plain.node import Row, control
from cedilla.runtime.engines.plain.output import Output
from cedilla.runtime.engines.plain.scalars.arithmetic import double
from cedilla.runtime.engines.plain.values import read_value, write_value
from cedilla.runtime.epochs.options.options import Options, apply
from cedilla.runtime.epochs.pipeline.program import start
from cedilla.runtime.epochs.pipeline.running_epoch import Flow
from cedilla.runtime.tools.inspect.status import read_status
from cedilla.runtime.tools.simulation.simulated_sources import Offsets
from cedilla.runtime.tools.simulation.simulation import replay

_TOLERANCE = 1e-9
"""The tolerance of doubles: relative to the number, and absolute near zero, where differences of greater numbers
end."""
_TIMESTAMP = Type("timestamp")


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
        for side, rows in (("the engine", self.only_spark), ("the reference", self.only_reference)):
            if rows:
                lines.append(f"  only {side} has {len(rows)} of the tuples; the first: {_row_text(rows[0])}")
        return "\n".join(lines)


def verify(plan: Plan, flow: Flow, options: Options) -> list[Verdict]:
    """Compares both sides for every emit. Writes only to a temporary folder, and JSON Lines for formats that it does
    not read.

    Raises `DiagnosticError` if the input ends the query.
    """
    plan = apply(plan, options)
    expected: dict[str, list[Row]] = {emit.name: [] for emit in plan.emits}
    types: dict[str, Mapping[str, Type]] = {}

    def gather(outputs: Mapping[str, Output]) -> None:
        for name, output in outputs.items():
            expected[name] += output.canonical

    with tempfile.TemporaryDirectory() as folder:
        sinks = {emit.name: f"{folder}/out/{emit.name}" for emit in plan.emits}
        plan = evolve(plan, emits=[_readable(emit, sinks[emit.name]) for emit in plan.emits])
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
        ignored = Options(allow_paths=("/",)), lambda line, code: None, gather
        topics = any(source.is_topic for source in plan.sources)
        final = {} if topics else replay(plan, *ignored)
        start(apply(plan, aside), flow, aside, lambda report: None, is_watched=False)
        if topics:  # other programs may write to them meanwhile
            final = replay(plan, *ignored, until=_offsets(f"{folder}/checkpoint"))
        for emit in plan.emits:
            types[emit.name] = final[emit.relation].types
        return [
            _verdict(emit.name, decoded(emit.path, types[emit.name]), expected[emit.name], types[emit.name])
            for emit in apply(plan, aside).emits
        ]


def _readable(emit: Emit, folder: str) -> Emit:
    return emit if emit.format in ("json", "parquet") else evolve(emit, format="json", path=folder)


def _offsets(checkpoint: str) -> Offsets:
    """Returns the offsets up to which a run has read its topics."""
    streams = read_status(checkpoint).sources
    return {s.name: {int(partition): offset for partition, offset in s.offsets.items()} for s in streams}


def _row_text(row: Row) -> str:
    return ", ".join(f"{name} = {_text(value)}" for name, value in sorted(row.items()))


def _text(value: Any) -> str:
    match value:
        case list() | tuple():
            return f"[{', '.join(map(_text, value))}]"
        case date():
            return write_value(_TIMESTAMP, value)
        case Fraction():
            return decimal_notation(value) or repr(double(value))
        case _:
            return value if isinstance(value, str) else json_text(value)


def decoded(path: str, types: Mapping[str, Type]) -> list[Row]:
    """Returns the canonical tuples of an output folder; numbers have all their digits."""
    decoder = Decoder(lambda name, value: _comparable(types.get(name), value))
    rows: list[Row] = []
    for file in files_of(path) if Path(path).exists() else ():
        for line in lines_in(file, limit=LONGEST_OUTPUT_LINE):
            item = line.holds()
            row = decoder.feed(item)
            if is_tuple(item) and row is not None:
                rows.append(row)
    return rows


# --- the comparison --------------------------------------------------------------------------------------


@frozen
class _Compared:
    """A row for the comparison. `exact`: all that has to be equal; `doubles`: the finite doubles, by attribute."""

    exact: frozenset[tuple[str, Any]]
    doubles: tuple[tuple[str, float], ...]
    row: Row = field(eq=False)

    @classmethod
    def of(cls, row: Row, types: Mapping[str, Type]) -> _Compared:
        doubles: list[tuple[str, float]] = []
        exact = {
            (name, _exact_part(types.get(name), value, name, doubles))
            for name, value in sorted(row.items())
            if value is not None
        }
        return cls(frozenset(exact), tuple(doubles), row)

    def is_near(self, other: _Compared, largest: Mapping[str, float]) -> bool:
        """Returns True if the doubles of two rows with equal exact parts differ in their last digits only."""
        pairs = zip(self.doubles, other.doubles, strict=True)
        return all(
            isclose(a, b, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE * min(1.0, largest[name]))
            for (name, a), (_, b) in pairs
        )


def _verdict(emit: str, output: list[Row], expected: list[Row], types: Mapping[str, Type]) -> Verdict:
    of_spark, of_reference = ([_Compared.of(row, types) for row in rows] for rows in (output, expected))
    only_spark = Counter(of_spark) - Counter(of_reference)
    only_reference = Counter(of_reference) - Counter(of_spark)
    _cancel_near(only_spark, only_reference, _largest((*of_spark, *of_reference)))
    sides = (tuple(row.row for row in rows.elements()) for rows in (only_spark, only_reference))
    return Verdict(emit, len(expected), *sides)


def _largest(rows: Iterable[_Compared]) -> Mapping[str, float]:
    """Returns the greatest size of the doubles of each attribute, because small ones have small rounding errors."""
    largest: dict[str, float] = {}
    for row in rows:
        for name, value in row.doubles:
            largest[name] = max(largest.get(name, 0.0), abs(value))
    return largest


def _cancel_near(ours: Counter[_Compared], others: Counter[_Compared], largest: Mapping[str, float]) -> None:
    """Removes pairs of rows whose doubles differ in the last digits only, because of rounding."""
    waiting: dict[Any, list[_Compared]] = {}
    for theirs in others.elements():
        waiting.setdefault(theirs.exact, []).append(theirs)
    for mine in list(ours.elements()):
        candidates = waiting.get(mine.exact, [])
        index = next((n for n, theirs in enumerate(candidates) if mine.is_near(theirs, largest)), None)
        if index is not None:
            ours[mine] -= 1
            others[candidates.pop(index)] -= 1


def _exact_part(type_: Type | None, value: Any, name: str, doubles: list[tuple[str, float]]) -> Any:
    """Returns the part of a value that has to be equal, and adds its finite doubles to `doubles`."""
    if isinstance(value, list | tuple):
        return tuple(_exact_part(_element(type_), element, name, doubles) for element in value)
    if type_ != DOUBLE:
        return isinstance(value, bool), _comparable(type_, value)
    number = word(value)
    if number is None:
        number = double(_comparable(type_, value))
    if not isfinite(number):
        return str(number)
    doubles.append((name, number))
    return DOUBLE


def _comparable(type_: Type | None, value: Any) -> Any:
    """Converts a value of either side to one that equals and orders as its like."""
    if isinstance(value, list | tuple):
        return tuple(_comparable(_element(type_), element) for element in value)
    if isinstance(value, str) and type_ is not None and type_.name in ("timestamp", "date", "version"):
        return control(read_value(type_, value))
    if type_ == DOUBLE and (odd := word(value)) is not None:
        return control(odd)
    return control(double(value)) if type_ == DOUBLE and isinstance(value, Decimal) else control(value)


def _element(type_: Type | None) -> Type | None:
    return None if type_ is None else type_.element
