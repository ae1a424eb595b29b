"""Commands that run a query, or show its state: run, simulate, verify, status, doctor, plan."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import click

from cedilla.runtime.epochs.options.options import Options, apply
from cedilla.runtime.epochs.options.permissions import check_modules
from cedilla.runtime.epochs.options.places import check_inputs, check_places
from cedilla.runtime.hosts.cli.garbage import without_collections
from cedilla.runtime.hosts.cli.inputs import compiled_query, json_text, reported
from cedilla.runtime.hosts.cli.options import format_option, query_argument
from cedilla.runtime.hosts.terminal.command_options import params_of, path_options, run_options
from cedilla.runtime.hosts.terminal.console import Console
from cedilla.runtime.hosts.terminal.watch_options import Watching, watch_options

_MOST_REJECTED = 20
"""The most lines that `simulate` shows of one code."""
_LONGEST_LINE = 500
"""The most characters that it shows of a line."""


@click.command("run", short_help="Run a query on an engine, Spark or Sail, until it is stopped.")
@query_argument
@run_options
@watch_options
def run_command(query: str, options: Options, watching: Watching) -> None:
    """Compile a query and run it on an engine, Spark or Sail, until it is stopped (Ctrl-C)."""
    console = watching.console(query)
    with without_collections():
        from cedilla.compiler.explain.analysis.findings import warnings as unbounded

        name, texts, compiled = compiled_query(query, console)
        with reported(console, texts):
            options = options.of_query(name, compiled.plan)
            check_modules(compiled.plan, options.allow_modules)
            applied = apply(compiled.plan, options)
            console.diagnostics((*compiled.warnings, *unbounded(applied)), texts)
            check_places(applied, options.checkpoint)

        from cedilla.runtime.epochs.pipeline.load import load
        from cedilla.runtime.hosts.terminal.program import execute

        # The program's own text is what runs, so that `run` and `spark-submit` do the same.
        plan, flow = load(compiled)
    with reported(console, texts):
        sys.exit(execute(plan, flow, options, console, watching))


@click.command("simulate", short_help="Compute the results without an engine, for small streams.")
@query_argument
@run_options
@click.option("--end", is_flag=True, help="Pretend that every stream ends here: what waits is shown.")
@click.option(
    "--watch", is_flag=True, help="Show rows in and out of every step, again whenever the query changes."
)
def simulate_command(query: str, options: Options, end: bool, watch: bool) -> None:
    """Compute the results of a query in plain Python, without an engine, for small streams.

    Results are printed, each line with the name of its output where there are several; `--sink NAME=PATH` writes one
    into a folder. `--source NAME=-` reads standard input. Rows that wait for punctuation are reported on standard
    error.
    """
    from cedilla.compiler.explain.analysis.findings import warnings as unbounded
    from cedilla.runtime.tools.simulation.inputs import Input
    from cedilla.runtime.tools.simulation.simulated_sources import order_notes
    from cedilla.runtime.tools.simulation.simulation import printing, simulate

    console = Console()
    if watch:
        _watch(query, options, console)
        return
    name, texts, compiled = compiled_query(query, console)
    with reported(console, texts):
        options = printing(compiled.plan, options.of_query(name, compiled.plan))
        applied = apply(compiled.plan, options)
    console.diagnostics((*compiled.warnings, *unbounded(applied)), texts)

    counts: Counter[str] = Counter()

    def rejected(line: Input, code: str) -> None:
        counts[code] += 1
        if counts[code] <= _MOST_REJECTED:
            text = line.line.beginning(_LONGEST_LINE)
            console.note(f"{line.line.place}: rejected ({code}): {line.reason}: {text}")

    with reported(console, texts):
        for note in order_notes(applied):
            console.note(note)
        try:
            simulate(
                compiled, options, rejected, lambda warning: console.diagnostics([warning], texts), end=end
            )
        finally:
            for code, count in counts.items():
                if count > _MOST_REJECTED:
                    console.note(f"rejected ({code}): {count - _MOST_REJECTED:,} more lines")


def _watch(query: str, options: Options, console: Console) -> None:
    """Shows a preview of a query's file, and again after each change, until Ctrl-C. With --once, shows it once.

    Raises `UsageError` for a query that is not a file.
    """
    from cedilla.runtime.tools.inspect.preview import watched

    if query == "-":
        raise click.UsageError("--watch requires the file of a query")
    params = params_of(click.get_current_context())
    for text in watched(Path(query), options, params):
        if console.clears:
            click.clear()
        console.out(text)
        if options.once:
            return


@click.command("verify", short_help="Run a query on an engine and without, and compare.")
@query_argument
@run_options
def verify_command(query: str, options: Options) -> None:
    """Run a query on an engine and without one, and compare the results.

    Exit status 1: they differ.
    """
    from cedilla.runtime.epochs.pipeline.load import load
    from cedilla.runtime.tools.inspect.verify import verify

    console = Console()
    name, texts, compiled = compiled_query(query, console)
    with reported(console, texts):
        options = options.of_query(name, compiled.plan)
        check_modules(compiled.plan, options.allow_modules)
        check_inputs(apply(compiled.plan, options))
    plan, flow = load(compiled)
    with reported(console, texts):
        verdicts = verify(plan, flow, options)
    for verdict in verdicts:
        console.out(verdict.text())
    sys.exit(not all(verdict.holds for verdict in verdicts))


@click.command("status", short_help="Show the position of a run, its accents and its state.")
@click.argument("checkpoint", metavar="CHECKPOINT")
@format_option
def status_command(checkpoint: str, form: str) -> None:
    """Show the position of a query: accents in force, waiting rows, closed regions, state. Starts no engine."""
    from cedilla.runtime.tools.inspect.status import read_status, status_json, status_text

    console = Console()
    with reported(console, {}):
        status = read_status(checkpoint)
    console.out(json_text(status_json(status)) if form == "json" else status_text(status))


@click.command("doctor", short_help="Show what of a checkpoint is whole, missing or damaged.")
@click.argument("checkpoint", metavar="CHECKPOINT")
@format_option
def doctor_command(checkpoint: str, form: str) -> None:
    """Show what of a checkpoint is whole, missing, damaged, or named by no record. Changes nothing, starts no engine.

    Exit status 0: the next run continues. 1: something is missing or damaged.
    """
    from cedilla.runtime.tools.inspect.doctor import examine, integrity_json, integrity_text

    console = Console()
    with reported(console, {}):
        report = examine(checkpoint)
    console.out(json_text(integrity_json(report)) if form == "json" else integrity_text(checkpoint, report))
    console.diagnostics(report.problems, {})
    sys.exit(bool(report.problems))


@click.command("plan", short_help="Show what an edited query does to a checkpoint.")
@query_argument
@click.argument("checkpoint", metavar="CHECKPOINT")
@path_options
@format_option
def plan_command(query: str, checkpoint: str, options: Options, form: str) -> None:
    """Show what an edited query does to a checkpoint, change by change. Starts no engine.

    Exit status 0: the query continues with all of its state, although `run` may ask first (--yes). 1: some state or
    output begins again, or a new checkpoint is needed.
    """
    from cedilla.runtime.epochs.checkpoint.checkpoint_folder import changes_of
    from cedilla.runtime.epochs.checkpoint.edits.plan_changes import changes_json, changes_text
    from cedilla.runtime.tools.simulation.table_domains import can_read, with_domains

    console = Console()
    name, texts, compiled = compiled_query(query, console)
    with reported(console, texts):
        plan = apply(compiled.plan, options.of_query(name, compiled.plan))
        changes = changes_of(checkpoint, with_domains(plan) if can_read(plan) else plan)
    console.out(json_text(changes_json(changes)) if form == "json" else changes_text(changes))
    sys.exit(changes.effect not in ("at once", "continues"))
