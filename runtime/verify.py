"""`cedilla verify`: Figure 3 of the paper on a user's own input (theory 2.5, G30, G31).

The query runs on Spark over the input as it is, and its output is decoded; the reference runs it over the
decoded input. Both must give the same tuples.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Mapping
from math import isclose
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from cedilla.compiler.plan import Plan
from cedilla.compiler.types import Type
from cedilla.runtime.decoder import Decoder, is_tuple
from cedilla.runtime.executor import Function
from cedilla.runtime.lines import files_of, lines_of
from cedilla.runtime.naive import Row, control
from cedilla.runtime.options import Options, apply
from cedilla.runtime.program import start
from cedilla.runtime.reference import Output, read_value
from cedilla.runtime.simulation import replay

_DIGITS = 9


@frozen
class Verdict:
    """What Figure 3 says of one emit: how many tuples, and those that only one side has."""

    emit: str
    tuples: int
    only_spark: tuple[Row, ...]
    only_reference: tuple[Row, ...]

    @property
    def holds(self) -> bool:
        """Whether both sides are the same."""
        return not self.only_spark and not self.only_reference

    def text(self) -> str:
        """The verdict in words, with the first difference."""
        if self.holds:
            return f"{self.emit}: {self.tuples} tuples, decode(out) = query(decode(in))"
        lines = [f"{self.emit}: the two sides of Figure 3 differ"]
        for side, rows in (("Spark", self.only_spark), ("the reference", self.only_reference)):
            if rows:
                lines.append(f"  only {side} has {len(rows)} of the tuples; the first: {_shown(rows[0])}")
        return "\n".join(lines)


def verify(plan: Plan, functions: Mapping[str, Function], options: Options) -> list[Verdict]:
    """Compare both sides for every emit. Nothing is written but to a temporary folder.

    Raises `DiagnosticError` where the input ends the query.
    """
    expected: dict[str, list[Row]] = {emit.name: [] for emit in plan.emits}
    types: dict[str, Mapping[str, Type]] = {}

    def gather(outputs: Mapping[str, Output]) -> None:
        for name, output in outputs.items():
            expected[name] += output.canonical

    final = replay(plan, options, lambda line, code: None, gather)
    for emit in plan.emits:
        types[emit.name] = final[emit.relation].types
    with tempfile.TemporaryDirectory() as folder:
        sinks = {emit.name: f"{folder}/out/{emit.name}" for emit in plan.emits}
        aside = evolve(options, once=True, checkpoint=f"{folder}/checkpoint", sinks=sinks)
        start(apply(plan, aside), functions, aside, lambda report: None)
        return [
            _verdict(name, decoded(sinks[name], types[name]), rows, types[name])
            for name, rows in expected.items()
        ]


def _shown(row: Row) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sorted(row.items()))


def decoded(path: str, types: Mapping[str, Type]) -> list[Row]:
    """The canonical tuples of an output folder."""

    def read(attribute: str, value: Any) -> Any:
        type_ = types.get(attribute)
        if type_ is not None and type_.name in ("timestamp", "date") and isinstance(value, str):
            return control(read_value(type_, value))
        return value

    decoder = Decoder(read)
    rows: list[Row] = []
    for file in files_of(path) if Path(path).exists() else ():
        for line in lines_of(file):
            item = json.loads(line.text)
            row = decoder.feed(item)
            if is_tuple(item) and row is not None:
                rows.append(row)
    return rows


def _verdict(emit: str, found: list[Row], expected: list[Row], types: Mapping[str, Type]) -> Verdict:
    def plain(row: Row) -> Any:
        return frozenset(
            (name, _plain(types.get(name), value)) for name, value in row.items() if value is not None
        )

    here, there = Counter(map(plain, found)), Counter(map(plain, expected))
    only_here, only_there = here - there, there - here
    _cancel_close(only_here, only_there)
    return Verdict(
        emit, len(expected), tuple(map(dict, only_here.elements())), tuple(map(dict, only_there.elements()))
    )


def _plain(type_: Type | None, value: Any) -> Any:
    """A value that equals its like from the other side."""
    if isinstance(value, list):
        return tuple(_plain(type_, each) for each in value)
    if isinstance(value, str) and type_ is not None and type_.name in ("timestamp", "date"):
        return control(read_value(type_, value))
    plain = control(value)
    return plain if isinstance(plain, str | bool) else round(float(plain), _DIGITS) + 0.0


def _cancel_close(here: Counter[Any], there: Counter[Any]) -> None:
    """Take out pairs of rows whose numbers differ in the last digits only: rounding put them apart."""
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
    return (
        isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) if isinstance(a, float) and isinstance(b, float) else a == b
    )
