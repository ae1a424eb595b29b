"""`cedilla simulate`: the reference over local folders and topics, for small streams (design, section 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path

from attrs import evolve

from cedilla.compiler.compile import CompiledQuery, compiled_query
from cedilla.compiler.explain.analysis.releases import releases
from cedilla.compiler.explain.analysis.waiting import Waiting
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.plan import Plan, check_paths
from cedilla.compiler.plan.formats import catalogued
from cedilla.compiler.plan.topics import is_topic
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, failure
from cedilla.runtime.connectors.records.rejections import is_fatal, of_states, refusal
from cedilla.runtime.control.markers.bad_markers import check_doubtful
from cedilla.runtime.engines.plain.output import Output
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.epochs.options.options import Options, apply
from cedilla.runtime.epochs.options.places import check_inputs
from cedilla.runtime.tools.simulation.inputs import Input, is_marker
from cedilla.runtime.tools.simulation.simulated_changes import SimulatedChanges
from cedilla.runtime.tools.simulation.simulated_sources import Offsets, SimulatedSources
from cedilla.runtime.tools.simulation.strangers import SimulatedStrangers
from cedilla.runtime.tools.simulation.table_domains import with_domains
from cedilla.runtime.tools.simulation.unreadable import SimulatedCauses
from cedilla.runtime.tools.simulation.watching import SimulatedWatches
from cedilla.runtime.tools.simulation.writers import writers


def simulate(
    query: str | Path | CompiledQuery,
    options: Options | None = None,
    on_rejected: Callable[[Input, str], None] = lambda line, code: None,
    on_warning: Callable[[Diagnostic], None] = lambda warning: None,
    *,
    end: bool = False,
) -> None:
    """Runs a query without an engine.

    Outputs are printed as JSON Lines, whatever their formats, with their names if there are several. Outputs
    with a sink in the options are written into that folder, as `run` writes JSON Lines.

    `query`: its path, its text, or the result of `compile_query`. `options`: those of a run. `on_rejected`: is
    called with every rejected tuple and its code. `on_warning`: is called with warnings about accents, about
    values under `set suspect = warn`, and about rows waiting at the end. `end`: every stream ends after its
    present content.

    Raises `DiagnosticError` if a marker or, by setting, a tuple ends the query.
    """
    compiled, name = compiled_query(query)
    options = printing(compiled.plan, (options or Options()).of_query(name, compiled.plan))
    check_inputs(apply(compiled.plan, options), stdin=True)
    for emit in compiled.plan.emits:
        sink = options.sinks.get(emit.name, "-")
        if is_topic(sink) or (emit.format_kind.by_catalog and catalogued(sink)):
            message = f"`simulate` writes to no topics and catalogs, and `{emit.name}` would go to {sink}"
            raise failure(
                "RQ406", message, emit.span, hint=f"a folder: `--sink {emit.name}=FOLDER`, or printed"
            )
    to = writers(compiled.plan, options)

    def step(outputs: Mapping[str, Output]) -> None:
        for name, output in outputs.items():
            to[name].add(output)

    try:
        replay(compiled.plan, options, on_rejected, step, on_warning, end=end)
    finally:
        for writer in to.values():
            writer.flush()


def printing(plan: Plan, options: Options) -> Options:
    """The options with which the outputs that have no sink are printed, wherever the query would write them."""
    return evolve(options, sinks={**{emit.name: "-" for emit in plan.emits}, **options.sinks})


def replay(
    plan: Plan,
    options: Options,
    on_rejected: Callable[[Input, str], None],
    on_step: Callable[[dict[str, Output]], None],
    on_warning: Callable[[Diagnostic], None] = lambda warning: None,
    until: Offsets | None = None,
    *,
    end: bool = False,
) -> Mapping[str, Facts]:
    """Runs a plan over its folders and topics, without Spark; returns the facts of every relation at the end.

    Streams are read one file of each in turn, in the order of their declarations, and topics one partition
    after the other, up to their present end, or to `until`. A run of tuples without a marker in between is
    one step. `on_step` gets the output of each step, `on_rejected` every rejected tuple and its code.
    `on_warning` gets warnings about accents, about values under `set suspect = warn`, and about rows waiting
    at the end. `end`: streams end after their content. Raises `DiagnosticError` if a marker ends the query.
    """
    plan = apply(plan, options)
    check_paths(plan)
    check_inputs(plan, stdin=True)
    sources = SimulatedSources.of(with_domains(plan), until)
    plan = sources.plan
    reference, watches, strangers = Reference(plan), SimulatedWatches.of(plan), SimulatedStrangers(plan)
    causes, changes = SimulatedCauses(plan), SimulatedChanges(plan)
    for lines in _steps(sources):
        rejected_before, warned, before = len(reference.rejected), len(reference.warnings), reference.states
        of = {id(line.item): line for line in lines}
        reference.place = lambda item, of=of: of[id(item)].line.place
        reference.on_taken = lambda source, row, item, of=of: watches.add(
            source, row, of[id(item)].line.place
        )
        try:
            outputs = reference.step([(line.source, line.item) for line in lines])
        except DiagnosticError as error:
            raise DiagnosticError(lines[-1].marked(diagnostic) for diagnostic in error.diagnostics) from None
        aside = [
            (evolve(of[id(item)], reason=reason), code)
            for (_, code, item), reason in zip(
                reference.rejected[rejected_before:], reference.reasons[rejected_before:], strict=True
            )
        ]
        for warning in strangers.see(lines, reference.states):
            on_warning(warning)
        causes.see(aside)
        _refuse(plan, aside)
        jumps = [*watches.step(before, reference.states)]
        check_doubtful(plan.settings, jumps)
        for output in outputs:
            on_step(output)
        for warning, item in reference.warnings[warned:]:
            on_warning(of[id(item)].marked(warning))
        for warning in (*jumps, *changes.see(lines)):
            on_warning(warning)
        for line, code in aside:
            on_rejected(line, code)
    reference.place = lambda item: "the end of the stream"
    for source in plan.sources if end else ():
        if reference.states[source.name].closed is not True:
            for output in reference.step([(source.name, {"$punctuation": "[]"})]):
                on_step(output)
    jumps = [*watches.end(reference.states)]
    check_doubtful(plan.settings, jumps)
    ends = (jumps, strangers.end(reference.states), causes.end(), _waiting(reference))
    for warning in chain.from_iterable(ends):
        on_warning(warning)
    return reference.after


def _waiting(reference: Reference) -> Iterator[Diagnostic]:
    """Yields RQ234 for rows that no punctuation has released."""
    plan = reference.plan
    for release in releases(plan):
        if count := reference.nodes[release.operator.name].waiting():
            waiting = Waiting.of(release, count, reference.after)
            advice = waiting.advice(plan)
            hint = "`--end` simulates as if the streams ended here" + (f"; {advice}" if advice else "")
            text = (
                waiting.text() if waiting.missing else f"{waiting.short()} open: nothing has closed them yet"
            )
            yield Diagnostic("RQ234", "note", text, release.operator.span, (), hint)


def _refuse(plan: Plan, rejected: Sequence[tuple[Input, str]]) -> None:
    """Raises if a setting makes a rejected tuple fatal; the output of its step is dropped."""
    for source, code in sorted({(line.source, code) for line, code in rejected}, key=itemgetter(1)):
        settings = of_states(plan.settings) if plan.source_of[source].latest else plan.settings
        if is_fatal(code, settings):
            lines = [line for line, other in rejected if other == code and line.source == source]
            first = lines[0]
            may_stay = settings is plan.settings
            raise refusal(
                code, len(lines), first.reason, first.line.place, first.line.text, may_stay=may_stay
            )


def _steps(sources: SimulatedSources) -> Iterator[list[Input]]:
    for are_markers, lines in groupby(sources.inputs(), key=lambda line: is_marker(line.item)):
        if are_markers:
            yield from ([line] for line in lines)
        else:
            yield list(lines)
