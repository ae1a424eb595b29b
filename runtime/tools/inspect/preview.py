"""`cedilla simulate --watch`: sample rows in and out of every step of a query, and the rows that wait, with the reason.

The reference runs over the first lines of the sources. Nothing is written.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from attrs import define, field

from cedilla.compiler.compile import CompiledQuery, compile_query
from cedilla.compiler.explain.analysis.releases import releases
from cedilla.compiler.explain.analysis.waiting import Waiting
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.operators import Operator
from cedilla.compiler.plan import Source
from cedilla.grammar.diagnostics import DiagnosticError, render
from cedilla.runtime.connectors.records.json_objects import json_text
from cedilla.runtime.engines.plain.node import Node, Row, without_places
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.engines.plain.values import write_value
from cedilla.runtime.epochs.options.options import Options, apply
from cedilla.runtime.epochs.options.places import check_inputs
from cedilla.runtime.tools.simulation.inputs import Input, is_marker
from cedilla.runtime.tools.simulation.simulated_sources import SimulatedSources
from cedilla.runtime.tools.simulation.table_domains import with_domains

MAX_LINES = 2_000
"""The number of lines that are read, so that a preview answers while its query is typed."""
_SHOWN = 3


@define
class Step:
    """The tuples that went into a source or operator and came out of it, with the first ones that came out."""

    taken: int = 0
    given: int = 0
    rows: list[Row] = field(factory=list[Row])

    def add(self, taken: int, rows: Sequence[Row]) -> None:
        """Counts tuples in and out."""
        self.taken += taken
        self.given += len(rows)
        self.rows += rows[: _SHOWN - len(self.rows)]


def preview_text(compiled: CompiledQuery, options: Options) -> str:
    """Returns the preview of a query for people.

    Raises `DiagnosticError` for an input that cannot be read. A marker that ends the query is its last line.
    """
    plan = apply(compiled.plan, options)
    check_inputs(plan, stdin=True)
    sources = SimulatedSources.of(with_domains(plan))
    reference = Reference(sources.plan)
    steps = {node.name: Step() for node in (*plan.sources, *plan.operators)}
    for name, node in reference.nodes.items():
        _observe(node, steps[name])
    reference.on_taken = lambda source, row, item: steps[source].add(0, [row])
    lines = [*islice(sources.inputs(), MAX_LINES + 1)]
    stopped = _feed(reference, lines[:MAX_LINES], steps)
    parts = [*_nodes(reference, steps), *_rejected(reference), *stopped]
    if len(lines) > MAX_LINES:
        parts.append(f"the first {MAX_LINES:,} lines of the sources")
    return "\n".join(parts)


def _observe(node: Node, step: Step) -> None:
    """Lets an operator of the reference count what it takes and gives."""
    run = node.step

    def observed(new: Sequence[list[Row]], inputs: tuple[Facts, ...]) -> list[Row]:
        rows = run(new, inputs)
        step.add(sum(map(len, new)), without_places(rows))
        return rows

    node.step = observed


def _feed(reference: Reference, lines: Sequence[Input], steps: dict[str, Step]) -> list[str]:
    """Runs the reference over lines; returns the error that ends the query, if one does."""
    reference.place = lambda item: "the input"
    for _, run in groupby(
        enumerate(lines), key=lambda numbered: numbered[0] if is_marker(numbered[1].item) else -1
    ):
        inputs = [line for _, line in run]
        for line in inputs:
            steps[line.source].taken += not is_marker(line.item)
        try:
            reference.step([(line.source, line.item) for line in inputs])
        except DiagnosticError as error:
            return [render([inputs[-1].marked(diagnostic) for diagnostic in error.diagnostics], {})]
    return []


def _nodes(reference: Reference, steps: dict[str, Step]) -> Iterator[str]:
    """Yields the lines of every source and operator, from the sources to the outputs."""
    plan = reference.plan
    waits = {
        release.operator.name: Waiting.of(release, count, reference.after).text()
        for release in releases(plan)
        if (count := reference.nodes[release.operator.name].waiting())
    }
    for node in (*plan.sources, *plan.operators):
        step = steps[node.name]
        yield f"{_title(node)}: {step.taken:,} in, {step.given:,} out"
        facts = reference.after[node.name]
        yield from (f"    {_line(row, facts)}" for row in step.rows)
        if step.given > len(step.rows):
            yield f"    and {step.given - len(step.rows):,} more"
        if node.name in waits:
            yield f"    {waits[node.name]}"


def _title(node: Source | Operator) -> str:
    if isinstance(node, Source):
        return f"{'table' if node.table else 'stream'} {node.name}"
    return f"{node.title} {node.name}, line {node.line}"


def _line(row: Row, facts: Facts) -> str:
    values: dict[str, Any] = {
        name: write_value(facts.types[name], row[name]) for name in facts.types if row.get(name) is not None
    }
    return json_text(values)


def _rejected(reference: Reference) -> Iterator[str]:
    if reference.rejected:
        (source, code, item), reason = reference.rejected[0], reference.reasons[0]
        yield f"{len(reference.rejected):,} set aside, the first of {source} ({code}): {reason}"
        yield f"    {json.dumps(dict(item), ensure_ascii=False, default=str)}"


def watched(path: Path, options: Options, params: Mapping[str, str], pause: float = 0.3) -> Iterator[str]:
    """Yields the preview of a query's file, and again whenever the text has changed. Never ends.

    A query with errors gives its diagnostics. `params`: other values for its constants; `pause`: the seconds between
    two looks.
    """
    last = None
    while True:
        text = path.read_text("utf-8", errors="replace") if path.exists() else ""
        if text != last:
            last = text
            yield preview_of(text, str(path), options, params)
        time.sleep(pause)


def preview_of(text: str, name: str, options: Options, params: Mapping[str, str] | None = None) -> str:
    """Returns the preview of a query's text, or its diagnostics. `name`: that of its file."""
    try:
        compiled = compile_query(text, name, params)
        return preview_text(compiled, options.of_query(name, compiled.plan))
    except DiagnosticError as error:
        return render(error.diagnostics, {name: text})
