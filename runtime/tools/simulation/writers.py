"""Writes the output of `simulate`: to standard output, or into folders as `run` does."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import define, evolve, field

from cedilla.compiler.plan import Plan, printed_labels
from cedilla.grammar.diagnostics.printable import json_printable
from cedilla.runtime.connectors.records.json_objects import json_text
from cedilla.runtime.connectors.records.marker_files import PARTS, PROVISIONAL, TUPLES
from cedilla.runtime.engines.plain.output import Output
from cedilla.runtime.epochs.options.options import Options, apply
from cedilla.runtime.epochs.options.places import check_outputs, check_unread

_Parts = Sequence[Sequence[str]]


@define
class Printer:
    """Prints the lines of an emit; `label` precedes each if several emits are printed."""

    label: str = ""

    def write(self, parts: _Parts) -> None:
        lines = (f"{self.label}{json_printable(line)}\n" for part in parts for line in part)
        sys.stdout.write("".join(lines))


@define
class Folder:
    """Writes an epoch's lines into files as `run` does."""

    path: Path
    _epoch: int = 0

    def write(self, parts: _Parts) -> None:
        folder = self.path / f"epoch={self._epoch:012d}"
        folder.mkdir(parents=True)
        for name, part in zip((*PARTS, f"_{PROVISIONAL}"), parts, strict=True):
            if part:
                number = "-00000" if name in (TUPLES, f"_{PROVISIONAL}") else ""
                (folder / f"{name}{number}.jsonl").write_text(
                    "".join(f"{line}\n" for line in part), encoding="utf-8"
                )
        self._epoch += 1


@define
class Writer:
    """Cuts an emit's stream into epochs.

    An epoch ends where the order `+`, tuples, punctuations, `≀`, `−` goes back (theory 3.3), and after provisional
    rows, which are those of an epoch.
    """

    _to: Printer | Folder
    _parts: list[list[str]] = field(factory=lambda: [[] for _ in (*PARTS, PROVISIONAL)])

    def add(self, output: Output) -> None:
        """Takes the next part of the stream."""
        parts = output.parts()
        first = next((index for index, part in enumerate(parts) if part), len(parts))
        if any(self._parts[first + 1 :]):
            self.flush()
        for lines, part in zip(self._parts, (*parts, output.marked), strict=True):
            lines.extend(map(json_text, part))
        if output.provisional:
            self.flush()

    def flush(self) -> None:
        """Writes the collected lines."""
        if any(self._parts):
            self._to.write(self._parts)
        self._parts = [[] for _ in self._parts]


def writers(plan: Plan, options: Options) -> Mapping[str, Writer]:
    """Returns a writer of JSON Lines for each emit: to the folder in the options, otherwise to standard
    output.

    Raises `DiagnosticError`: RQ405 if a folder has results, or cannot be written, RQ116 if a source reads it.
    """
    paths = {emit.name: options.sinks.get(emit.name, "-") for emit in plan.emits}
    redirected = evolve(
        plan, emits=[evolve(emit, path=paths[emit.name], format="json") for emit in plan.emits]
    )
    check_unread(evolve(apply(plan, options), emits=redirected.emits))
    check_outputs(redirected)
    labels = printed_labels(redirected)
    return {
        name: Writer(Printer(labels[name]) if path == "-" else Folder(Path(path)))
        for name, path in paths.items()
    }
