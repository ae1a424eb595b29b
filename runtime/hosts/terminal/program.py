"""Runs a compiled program with a console: for `cedilla run` and, as its `main`, for `spark-submit`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial

from attrs import evolve

from cedilla.compiler.codegen.edits import check_flow
from cedilla.compiler.compile import compile_query
from cedilla.compiler.explain.analysis.findings import warnings
from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.grammar.syntax.settings import CHANGES
from cedilla.runtime.connectors.storage.system_errors import no_memory
from cedilla.runtime.control.markers.allowed import NotAllowed
from cedilla.runtime.engines.spark.java_messages import silence
from cedilla.runtime.engines.spark.last_words import LastWords
from cedilla.runtime.engines.spark.memory import MemoryGrowth, restart_process
from cedilla.runtime.epochs.options.options import Options, apply, wrong
from cedilla.runtime.epochs.options.places import default_checkpoint
from cedilla.runtime.epochs.pipeline.failures import killed, with_commit
from cedilla.runtime.epochs.pipeline.program import MemoryLimitExceeded, start
from cedilla.runtime.epochs.pipeline.report import EpochReport
from cedilla.runtime.epochs.pipeline.running_epoch import Flow
from cedilla.runtime.epochs.pipeline.sessions import engine_of
from cedilla.runtime.epochs.pipeline.stopping import Stopping
from cedilla.runtime.hosts.terminal.command_options import run_options
from cedilla.runtime.hosts.terminal.console import Console
from cedilla.runtime.hosts.terminal.run_console import RunConsole
from cedilla.runtime.hosts.terminal.streams import open_closed_streams
from cedilla.runtime.hosts.terminal.watch_options import Watching, watch_options
from cedilla.runtime.hosts.terminal.watcher import watched


def execute(plan: Plan, flow: Flow, options: Options, console: RunConsole, watching: Watching) -> int:
    """Run for the command line: progress and messages on the console. The exit status."""
    growth, stopping = MemoryGrowth(), Stopping()
    words = LastWords(partial(last_words, console))
    stopping.before_exit = words.take_back
    last: int | None = None

    def tell(report: EpochReport) -> None:
        nonlocal last
        last = report.number
        words.epoch(last)
        console.epoch(report)
        if report.engine == "sail":
            growth.look()

    try:
        home = options.checkpoint or default_checkpoint(plan)
        in_process = engine_of(options) == "sail"
        with (
            watched(home, watching.ui, watching.metrics, console.address),
            stopping.terminable(),
            words.ready() if in_process else nullcontext(),
        ):
            run_once = partial(
                start,
                plan,
                flow,
                on_report=tell,
                consent=console.consent,
                on_step=console.note,
                on_warning=lambda warning: console.diagnostics([warning], {}),
                growth=growth,
                stopping=stopping,
            )
            with_approvals(run_once, options, console) if options.approve else run_once(options)
    except MemoryLimitExceeded:
        console.note("Sail has taken 1 GiB more of memory than at the start: going on in a new process")
        console.close()
        restart_process()
    except KeyboardInterrupt:
        silence()
        after = "the last committed epoch" if last is None else f"epoch {last}, the last that is committed"
        console.note(f"stopped; the next run continues after {after}")
        console.close()
        return stopping.status
    except DiagnosticError:
        raise
    except Exception as problem:
        console.crashed(problem)
        raise
    if last is None and options.once:
        console.note("nothing new: all that is there was read before")
    console.close()
    return 0


def with_approvals(run: Callable[[Options], None], options: Options, console: Console) -> None:
    """Runs a query, and asks at the terminal about each kind of change that its policy does not take.

    All before such an accent is committed. With a yes the next run continues at it, and takes that kind of change, of
    these attributes. Raises `DiagnosticError` RQ570 after a no, RQ477 without a terminal.
    """
    if not console.can_ask:
        hint = "without it such an accent ends the run, and `--on stop COMMAND` runs a command then"
        raise wrong("--approve asks at the terminal, but this run has none", hint)
    while True:
        try:
            return run(options)
        except DiagnosticError as error:
            asked = next((d for d in error.diagnostics if isinstance(d, NotAllowed)), None)
            if asked is None:
                raise
            console.diagnostics([evolve(asked, severity="note", help=None)], {})
            if not console.ask(f"take {asked.kind} from here on?"):
                raise
        settings = {**options.settings, CHANGES: asked.wider}  # an edit that is approved by now
        options = evolve(options, settings=settings, approve=False)
        console.note(f"going on; the next run asks again without `set {CHANGES} = {asked.wider};`")


def last_words(console: RunConsole, epoch: int | None) -> list[str]:
    """Returns what another process says after an epoch, if this one has no memory for it, or is killed."""
    errors = (no_memory("the process ended at an allocation"), killed())
    return [
        console.text_of(with_commit(error, -1 if epoch is None else epoch).diagnostics[0]) for error in errors
    ]


def main(query: str, flow: Flow, name: str = "query", params: Mapping[str, str] | None = None) -> None:
    """The command line of a generated program: the options of `cedilla run`.

    `name`, `params`: the name of the query, and other values for its constants. A flow that is not the query's is
    refused (RQ415): its data would go one way, and its accents another.
    """
    import click

    open_closed_streams()

    @click.command(name=name)
    @run_options
    @watch_options
    def command(options: Options, watching: Watching) -> None:
        console = watching.console(f"{name}.rq")
        texts = {f"{name}.rq": query}
        try:
            plan = compile_query(query, f"{name}.rq", params).plan
            options = options.of_query(sys.argv[0], plan)
            console.diagnostics(warnings(apply(plan, options)), texts)
            check_flow(plan, inspect.getsource(flow))
            sys.exit(execute(plan, flow, options, console, watching))
        except DiagnosticError as error:
            sys.exit(console.failed(error, texts))

    command()
