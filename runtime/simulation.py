"""`cedilla simulate`: the reference over local folders of JSON Lines, for small streams (design, section 7)."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from itertools import groupby
from pathlib import Path
from typing import Any

from attrs import define, evolve, field, frozen

from cedilla.compiler.compile import CompiledQuery, compiled_query
from cedilla.compiler.evolution import Facts
from cedilla.compiler.plan import Emit, Plan, Source, check_paths, folders
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.runtime.lines import Line, files_of, lines_of, stream_files
from cedilla.runtime.near_markers import is_near
from cedilla.runtime.options import Options, apply
from cedilla.runtime.reference import Item, Output, Reference
from cedilla.runtime.values import json_text

_NAMES = ("0-adds", "1-tuples-00000", "2-punctuations", "3-alters", "4-drops")


@frozen
class Input:
    """A line of a source, with its text and place for messages."""

    source: str
    item: Item
    line: Line

    def marked(self, diagnostic: Diagnostic) -> Diagnostic:
        """The diagnostic at the line, with an excerpt where it is a marker."""
        marker = self.item.get("$accent") or self.item.get("$punctuation")
        return self.line.mark(diagnostic, None if marker is None else str(marker))


def simulate(
    query: str | Path | CompiledQuery,
    options: Options | None = None,
    on_rejected: Callable[[Input, str], None] = lambda line, code: None,
    on_warning: Callable[[Diagnostic], None] = lambda warning: None,
) -> None:
    """Run a query without Spark: a path, the text itself, or what `compile_query` made of it.

    Outputs are written as `run` writes them; a sink `-` is standard output. `on_rejected` is told every tuple
    that is set aside and its code, `on_warning` what is doubtful about accents. Raises `DiagnosticError` where a
    marker ends the query.
    """
    options = options or Options()
    compiled, _ = compiled_query(query)
    writers = {emit.name: Writer(emit) for emit in apply(compiled.plan, options).emits}

    def step(outputs: Mapping[str, Output]) -> None:
        for name, output in outputs.items():
            writers[name].add(output)

    try:
        replay(compiled.plan, options, on_rejected, step, on_warning)
    finally:
        for writer in writers.values():
            writer.flush()


def replay(
    plan: Plan,
    options: Options,
    on_rejected: Callable[[Input, str], None],
    on_step: Callable[[dict[str, Output]], None],
    on_warning: Callable[[Diagnostic], None] = lambda warning: None,
) -> Mapping[str, Facts]:
    """Run a plan over what its folders hold, without Spark; the facts of every relation at the end.

    Streams are read one file of each after the other, in the order of their declarations; a run of tuples
    without a marker in between is one step. `on_step` gets what each step emits, `on_rejected` every tuple
    that is set aside and its code, `on_warning` what is doubtful about accents. Raises `DiagnosticError` where a
    marker ends the query.
    """
    plan = apply(plan, options)
    check_paths(plan)
    _check(plan)
    reference = Reference(plan)
    for lines in _steps(plan):
        seen, doubted = len(reference.rejected), len(reference.doubts)
        of = {id(line.item): line for line in lines}
        reference.place = lambda item, of=of: of[id(item)].line.place
        try:
            outputs = reference.step([(line.source, line.item) for line in lines])
        except DiagnosticError as error:
            raise DiagnosticError(lines[-1].marked(each) for each in error.diagnostics) from None
        for output in outputs:
            on_step(output)
        for warning, item in reference.doubts[doubted:]:
            on_warning(of[id(item)].marked(warning))
        for _, code, item in reference.rejected[seen:]:
            on_rejected(of[id(item)], code)
    return reference.after


def _check(plan: Plan) -> None:
    for node in (*plan.sources, *plan.emits):
        if node.format != "json":
            message = f"`{node.format}` cannot be simulated: only JSON Lines are"
            hint = (
                "`cedilla run` reads and writes every format; `cedilla verify` takes JSON Lines and Parquet"
            )
            raise DiagnosticError([Diagnostic("RQ406", "error", message, node.span, help=hint)])
    for name, folder, what in folders(plan):
        if not Path(folder).exists():
            message = f"the folder {folder} of {what} does not exist"
            hint = f"--source {name}=PATH reads another; an empty folder is fine"
            span = plan.source_of[name.partition(".")[0]].span
            raise DiagnosticError([Diagnostic("RQ401", "error", message, span, help=hint)])


def _steps(plan: Plan) -> Iterator[list[Input]]:
    for is_marker, lines in groupby(_inputs(plan), key=lambda line: _is_marker(line.item)):
        if is_marker:
            yield from ([line] for line in lines)
        else:
            yield list(lines)


def _is_marker(item: Item) -> bool:
    return any(item.get(key) is not None for key in ("$accent", "$punctuation", "$spoilt", "$stray"))


def _inputs(plan: Plan) -> Iterator[Input]:
    for source in plan.sources:
        if source.table:
            yield from (_parsed(source, line) for file in files_of(source.path) for line in lines_of(file))
            yield Input(source.name, {"$punctuation": "[]"}, Line("[]", source.path))
    waiting = {s.name: stream_files(s.path, s.markers) for s in plan.sources if not s.table}
    while any(waiting.values()):
        for source in plan.sources:
            if files := waiting.get(source.name):
                file, is_markers = files.pop(0)
                parsed = (_parsed(source, line) for line in lines_of(file))
                yield from map(_of_markers, parsed) if is_markers else parsed


def _of_markers(line: Input) -> Input:
    """A line of a folder of markers, where a tuple ends the query (RQ224)."""
    return line if _is_marker(line.item) else evolve(line, item={"$stray": line.line.text})


def _parsed(source: Source, line: Line) -> Input:
    try:
        item: Any = json.loads(line.text, parse_float=Decimal)
    except ValueError:
        item = None
    declared = {attribute.name for attribute in source.attributes}
    if isinstance(item, dict) and is_near(line.text, declared):
        item = {"$spoilt": line.text}
    elif not isinstance(item, dict) or not line.is_utf8:
        spoilt = '"$accent"' in line.text or '"$punctuation"' in line.text
        item = {"$spoilt" if spoilt else "$corrupt": line.text}
    return Input(source.name, item, line)


@define
class Writer:
    """Writes an emit's stream: into a folder as `run` does, or as lines to standard output (path `-`).

    A folder's epoch ends where the order `+`, tuples, punctuations, `≀`, `−` would go back (theory 3.3).
    """

    emit: Emit
    _epoch: int = 0
    _parts: list[list[str]] = field(factory=lambda: [[] for _ in _NAMES])

    def add(self, output: Output) -> None:
        """The next part of the stream."""
        m = output.markers
        parts: list[list[Any]] = [
            [{"$accent": text} for text in m.adds],
            list(output.tuples),
            [{"$punctuation": text} for text in m.punctuations],
            [{"$accent": text} for text in m.alters],
            [{"$accent": text} for text in m.drops],
        ]
        first = next((index for index, part in enumerate(parts) if part), len(parts))
        if any(self._parts[first + 1 :]):
            self.flush()
        for mine, part in zip(self._parts, parts, strict=True):
            mine.extend(map(json_text, part))

    def flush(self) -> None:
        """Write what has been gathered."""
        if any(self._parts):
            if self.emit.path == "-":
                sys.stdout.write("".join(f"{line}\n" for part in self._parts for line in part))
            else:
                folder = Path(self.emit.path) / f"epoch={self._epoch:012d}"
                folder.mkdir(parents=True)
                for name, part in zip(_NAMES, self._parts, strict=True):
                    if part:
                        text = "".join(f"{line}\n" for line in part)
                        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
            self._epoch += 1
        self._parts = [[] for _ in _NAMES]
