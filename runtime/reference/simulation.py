"""`cedilla simulate`: the reference over local folders of JSON Lines, for small streams (design, section 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from attrs import evolve

from cedilla.compiler.compile import CompiledQuery, compiled_query
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.plan import Plan, Source, check_paths
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, failure
from cedilla.runtime.items.csv_lines import lines_in
from cedilla.runtime.items.lines import Line, files_of, stream_files
from cedilla.runtime.items.rejections import is_fatal, refusal
from cedilla.runtime.items.tuple_lines import tuples_of
from cedilla.runtime.reference.inputs import Input, is_marker, parsed
from cedilla.runtime.reference.reference import Output, Reference
from cedilla.runtime.reference.table_domains import with_domains
from cedilla.runtime.reference.watching import SimulatedWatches
from cedilla.runtime.reference.writers import writers
from cedilla.runtime.terminal.options import Options, apply
from cedilla.runtime.terminal.places import check_inputs


def simulate(
    query: str | Path | CompiledQuery,
    options: Options | None = None,
    on_rejected: Callable[[Input, str], None] = lambda line, code: None,
    on_warning: Callable[[Diagnostic], None] = lambda warning: None,
) -> None:
    """Run a query without Spark: a path, the text itself, or what `compile_query` made of it.

    Outputs are printed, with their names where there are several; those for which the options have a sink are
    written into that folder as `run` writes them. `on_rejected` is told every tuple
    that is set aside and its code, `on_warning` what is doubtful about accents, and about values
    under `set suspect = warn`. Raises `DiagnosticError` where a marker or, by setting, a tuple ends the query.
    """
    options = options or Options()
    compiled, _ = compiled_query(query)
    _check(apply(compiled.plan, options))
    to = writers(compiled.plan, options)

    def step(outputs: Mapping[str, Output]) -> None:
        for name, output in outputs.items():
            to[name].add(output)

    try:
        replay(compiled.plan, options, on_rejected, step, on_warning)
    finally:
        for writer in to.values():
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
    that is set aside and its code, `on_warning` what is doubtful about accents, and about values
    under `set suspect = warn`. Raises `DiagnosticError` where a marker ends the query.
    """
    plan = apply(plan, options)
    check_paths(plan)
    _check(plan)
    plan = with_domains(plan)
    reference, watches = Reference(plan), SimulatedWatches.of(plan)
    for lines in _steps(plan):
        seen, warned, before = len(reference.rejected), len(reference.warnings), reference.states
        of = {id(line.item): line for line in lines}
        reference.place = lambda item, of=of: of[id(item)].line.place
        reference.on_taken = lambda source, row, item, of=of: watches.add(
            source, row, of[id(item)].line.place
        )
        try:
            outputs = reference.step([(line.source, line.item) for line in lines])
        except DiagnosticError as error:
            raise DiagnosticError(lines[-1].marked(each) for each in error.diagnostics) from None
        aside = [
            (evolve(of[id(item)], reason=reason), code)
            for (_, code, item), reason in zip(
                reference.rejected[seen:], reference.reasons[seen:], strict=True
            )
        ]
        _refuse(plan.settings, aside)
        for output in outputs:
            on_step(output)
        for warning, item in reference.warnings[warned:]:
            on_warning(of[id(item)].marked(warning))
        for warning in watches.step(before, reference.states):
            on_warning(warning)
        for line, code in aside:
            on_rejected(line, code)
    for warning in watches.end(reference.states):
        on_warning(warning)
    return reference.after


def _check(plan: Plan) -> None:
    for node in (*plan.sources, *plan.emits):
        if node.format not in ("json", "csv", "otlp"):
            message = f"`{node.format}` cannot be simulated: only JSON Lines, CSV and OTLP are"
            hint = "`cedilla run` reads and writes every format; `cedilla verify` takes JSON Lines, CSV and Parquet"
            if node.is_topic:
                option = "source" if isinstance(node, Source) else "sink"
                hint = f"records that were written to files, one a line: `--{option} {node.name}=FOLDER`"
            raise failure("RQ406", message, node.span, hint=hint)
    check_inputs(plan, stdin=True)


def _refuse(settings: Mapping[str, str], rejected: Sequence[tuple[Input, str]]) -> None:
    """Raise where a setting makes a rejected tuple fatal; what its step would emit is not told."""
    for code in sorted({code for _, code in rejected}):
        if is_fatal(code, settings):
            lines = [line for line, other in rejected if other == code]
            first = lines[0]
            raise refusal(code, len(lines), first.reason, first.line.place, first.line.text)


def _steps(plan: Plan) -> Iterator[list[Input]]:
    for are_markers, lines in groupby(_inputs(plan), key=lambda line: is_marker(line.item)):
        if are_markers:
            yield from ([line] for line in lines)
        else:
            yield list(lines)


def _inputs(plan: Plan) -> Iterator[Input]:
    for source in plan.sources:
        if source.table:
            yield from (
                parsed(source, line)
                for file in files_of(source.path)
                for line in tuples_of(lines_in(file, source.format), source)
            )
            yield Input(source.name, {"$punctuation": "[]"}, Line("[]", source.path))
    waiting = {s.name: stream_files(s.path, s.markers) for s in plan.sources if not s.table}
    while any(waiting.values()):
        for source in plan.sources:
            if files := waiting.get(source.name):
                file, is_markers = files.pop(0)
                format_ = "json" if is_markers else source.format
                lines = lines_in(file, format_)
                read = (parsed(source, line) for line in (lines if is_markers else tuples_of(lines, source)))
                yield from map(_of_markers, read) if is_markers else read


def _of_markers(line: Input) -> Input:
    """A line of a folder of markers, where a tuple ends the query (RQ224)."""
    return line if is_marker(line.item) else evolve(line, item={"$stray": line.line.text})
