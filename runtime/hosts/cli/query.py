"""Commands about the text of a query: check, compile, explain, fmt, trace. Only `explain --spark` starts an engine."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click
from click.core import ParameterSource

from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, render, to_json
from cedilla.grammar.diagnostics.printable import printable
from cedilla.runtime.hosts.cli.inputs import compiled_query, json_text, known_domains, read_query, reported
from cedilla.runtime.hosts.cli.options import engine_option, format_option, queries_argument, query_argument
from cedilla.runtime.hosts.terminal.command_options import (
    allow_module_option,
    allow_path_option,
    param_option,
    params_of,
)
from cedilla.runtime.hosts.terminal.console import USAGE, Console

if TYPE_CHECKING:
    from cedilla.compiler import Engine
    from cedilla.compiler.compile import CompiledQuery
    from cedilla.compiler.plan import Plan
    from cedilla.runtime.epochs.checkpoint.commits import Commit

STRICT = ("RQ106", "RQ125", "RQ126", "RQ130", "RQ159", "RQ162", "RQ523", "RQ524", "RQ525")
"""Warnings that `check --strict` fails on."""

_output = click.option(
    "-o",
    "output",
    metavar="FILE.py",
    type=click.File("w", encoding="utf-8", lazy=True),
    default="-",
    help="The file of the program; standard output by default.",
)


@click.command("compile", short_help="Write the PySpark program of a query.")
@query_argument
@_output
def compile_command(query: str, output: TextIO) -> None:
    """Write the PySpark program of a query; `spark-submit` of it does what `run` does."""
    console = Console()
    _, texts, compiled = compiled_query(query, console)
    console.diagnostics(compiled.warnings, texts)
    output.write(compiled.program)


@click.command("explain", short_help="Show the plan: its state, and what accents do.")
@query_argument
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "dot", "mermaid"]),
    default="text",
    help="Text, JSON as data, or a diagram for Graphviz or Mermaid.",
)
@click.option("--words", is_flag=True, help="In words, with what each operator does with accents.")
@click.option(
    "--full", is_flag=True, help="With each reaction and its rule, all bounds of state, and a legend."
)
@click.option(
    "--evolution",
    is_flag=True,
    help="Show for each possible change if it would reach an output, wait, or end the query.",
)
@click.option(
    "--trace",
    "trace",
    is_flag=True,
    help="Types, values and promises of each relation, with its line and inputs.",
)
@click.option(
    "--spark", is_flag=True, help="The DataFrame code, and the engine's plan of one epoch; starts it."
)
@engine_option
@allow_module_option
def explain_command(
    query: str, form: str, engine: Engine, allow_modules: tuple[str, ...], **views: bool
) -> None:
    """Show the plan: each operator's signature and invariants, and what it keeps and until when.

    Or one of the other views. Lines fit the terminal, else 100 columns or COLUMNS. Only --spark starts an engine.
    """
    from cedilla.compiler.explain.views import show

    chosen = [name for name, is_chosen in views.items() if is_chosen]
    if len(chosen) > 1:
        raise click.UsageError(f"one of --{' and --'.join(chosen)}, please")
    if chosen and form in ("dot", "mermaid"):
        raise click.UsageError(f"--format {form} is for the plan, without --{chosen[0]}")
    console = Console()
    _, texts, compiled = compiled_query(query, console, engine)
    shown = show(compiled, *chosen, form=form, color=console.color, texts=texts, width=console.width)
    if "spark" in chosen:
        engine_name, plans = _engine_plans(compiled, allow_modules, console, texts)
        if form == "json":
            shown = json_text({**json.loads(shown), "engine": engine_name, "plans": plans})
        else:
            heads = (
                f"# {name}: the plan of {engine_name} for an epoch\n{plan}" for name, plan in plans.items()
            )
            shown = "\n\n".join([shown, *heads])
    console.out(shown, painted=console.color)


def _engine_plans(
    compiled: CompiledQuery, allow_modules: tuple[str, ...], console: Console, texts: Mapping[str, str]
) -> tuple[Engine, dict[str, str]]:
    """Returns the plans of the engine that is named, else of the one that `run` takes."""
    from cedilla.runtime.epochs.options.options import Options
    from cedilla.runtime.tools.inspect import engine_plan

    context = click.get_current_context()
    is_named = context.get_parameter_source("engine") is not ParameterSource.DEFAULT
    engine = context.params["engine"] if is_named else None
    with reported(console, texts):
        return engine_plan.engine_plans(compiled, Options(engine=engine, allow_modules=allow_modules))


@click.command("check", short_help="Show errors and warnings of queries.")
@queries_argument
@format_option
@click.option("--strict", is_flag=True, help="Exit status 1 also for warnings of what is likely wrong.")
@click.option(
    "--registry", metavar="URL", help="Compare streams of Kafka with their schemas in a registry, too."
)
@click.option("--subject", metavar="NAME", help="Of the schemas; `TOPIC-value` otherwise.")
@engine_option
def check_command(
    queries: tuple[str, ...],
    form: str,
    strict: bool,
    registry: str | None,
    subject: str | None,
    engine: Engine,
) -> None:
    """Show the errors and warnings of queries, including state that grows without limit.

    With --registry it shows which schemas a query names, and what its declaration and accents do not say about them;
    no broker is asked. Exit status 1 if there is an error. Starts no engine.
    """
    console = Console()
    diagnostics: list[Diagnostic] = []
    for query in queries:
        texts, of_query = _diagnose(query, engine)
        if registry is not None and not any(diagnostic.severity == "error" for diagnostic in of_query):
            notes, more = _beside_registry(query, registry, subject)
            of_query = (*of_query, *more)
            for note in notes if form == "text" else ():
                console.out(note)
        diagnostics += of_query
        if form == "text":
            console.out(render(of_query, texts) or f"{query}: no errors or warnings")
    if form == "json":
        console.out(
            json_text({"version": 1, "diagnostics": [to_json(diagnostic) for diagnostic in diagnostics]})
        )
    if any(diagnostic.code in USAGE for diagnostic in diagnostics):
        sys.exit(2)
    sys.exit(
        any(
            diagnostic.severity == "error" or (strict and diagnostic.code in STRICT)
            for diagnostic in diagnostics
        )
    )


@click.command("trace", short_help="Show what every operator would do with a marker.")
@click.argument("query", metavar="[QUERY]", required=False)
@param_option
@click.argument("more", metavar="[MARKER]...", nargs=-1)
@click.option(
    "--on", "of_sources", metavar="SOURCE MARKER", nargs=2, multiple=True, help="A marker of a source."
)
@click.option(
    "--checkpoint", metavar="DIR", help="Begin with the state of a run, and its query; QUERY is left out."
)
@format_option
@allow_path_option
def trace_command(
    query: str | None,
    more: tuple[str, ...],
    of_sources: tuple[tuple[str, str], ...],
    checkpoint: str | None,
    form: str,
) -> None:
    """Show what every operator would do with accents and punctuations, one after the other, without running.

    MARKERs without --on go to the same source, without any --on to the query's only stream. With --checkpoint they
    come after all that the run has committed. Exit status 1 if the query could not continue. Starts no engine.
    """
    from cedilla.runtime.tools.inspect.trace import marker_name, trace
    from cedilla.runtime.tools.inspect.trace_texts import trace_json, trace_text

    if checkpoint is not None and query is not None:
        query, more = None, (query, *more)
    if more and len({source for source, _ in of_sources}) > 1:
        raise click.UsageError("with several sources every marker requires an --on")
    if not more and not of_sources:
        raise click.UsageError("a MARKER, please, such as '[[alter(t, y -> y * 2)]]'")
    console = Console()
    plan, commit, texts = _traced_plan(query, checkpoint, console)
    only = [of_sources[0][0]] if of_sources else [s.name for s in plan.sources if not s.table]
    if len(only) != 1:
        raise click.UsageError(f"--on SOURCE MARKER, please: the query has the streams {', '.join(only)}")
    markers = [*of_sources, *((only[0], text) for text in more)]
    for source, _ in markers:
        if source not in plan.source_of:
            names = ", ".join(plan.source_of)
            raise click.UsageError(f"the query has no source `{source}`; it has {names}")
    texts = {**texts, **{marker_name(number): text for number, (_, text) in enumerate(markers, 1)}}
    with reported(console, texts):
        if form == "json":
            console.out(json_text(trace_json(trace(plan, markers, commit))))
            return
        for number, traced in enumerate(trace(plan, markers, commit)):
            console.out(("\n" if number else "") + trace_text(traced, console.width))


def _traced_plan(
    query: str | None, checkpoint: str | None, console: Console
) -> tuple[Plan, Commit | None, Mapping[str, str]]:
    """Returns the plan of a query or of a checkpoint, the last commit of that, and the text of the query by its
    name."""
    if checkpoint is not None:
        from cedilla.runtime.epochs.checkpoint.checkpoint_folder import read_checkpoint

        with reported(console, {}):
            folder = read_checkpoint(checkpoint)
        return folder.stored.plan, folder.commit, {}
    if query is None:
        raise click.UsageError("a QUERY, please, or --checkpoint DIR")
    name, texts, compiled = compiled_query(query, console)
    return known_domains(compiled.plan, name, console), None, texts


@click.command("fmt", short_help="Format queries in one style.")
@click.argument("queries", metavar="QUERY...", nargs=-1, required=True)
@click.option(
    "--check", "only_check", is_flag=True, help="Write nothing; exit status 1 if a text would change."
)
@click.option("--diff", "shows", is_flag=True, help="Show the changes, and write nothing.")
def fmt_command(queries: tuple[str, ...], only_check: bool, shows: bool) -> None:
    """Format queries in one style, in place; `-` reads standard input and writes standard output. Starts no engine."""
    from cedilla.grammar.formatting.formatter import format_query
    from cedilla.grammar.parser import parse_query

    console = Console()
    changed = False
    for query in queries:
        texts: dict[str, str] = {}
        with reported(console, texts):
            name, text = read_query(query)
            texts[name] = text
            laid_out = format_query(parse_query(text, name, keep_names=True, check=_is_right), text)
        changed = changed or laid_out != text
        if shows and laid_out != text:
            console.out(_difference(name, text, laid_out))
        elif shows:
            continue
        elif only_check and laid_out != text:
            console.out(f"{name}: would be formatted differently")
        elif not only_check and query == "-":
            sys.stdout.write(printable(laid_out) if sys.stdout.isatty() else laid_out)
        elif not only_check and laid_out != text:
            Path(query).write_text(laid_out, encoding="utf-8")
    sys.exit(only_check and changed)


def _difference(name: str, text: str, laid_out: str) -> str:
    """Returns the changes of a layout as a patch."""
    lines = text.splitlines(), laid_out.splitlines()
    return "\n".join(unified_diff(*lines, name, f"{name} laid out", lineterm=""))


def _is_right(text: str, start: int) -> bool:
    from cedilla.compiler.compile import is_right  # a wrong text only needs it

    return is_right(text, start)


def _diagnose(query: str, engine: Engine) -> tuple[Mapping[str, str], tuple[Diagnostic, ...]]:
    """Returns the text of a query by its name, and all findings about it for an engine."""
    from cedilla.runtime.tools.inspect.check import all_diagnostics

    try:
        name, text = read_query(query)
    except DiagnosticError as error:
        return {}, error.diagnostics
    return {name: text}, all_diagnostics(text, name, params_of(click.get_current_context()), engine)


def _beside_registry(query: str, registry: str, subject: str | None) -> tuple[list[str], list[Diagnostic]]:
    """Returns which schemas of a registry a query without errors names, and findings about them."""
    from cedilla.compiler.compile import compile_query
    from cedilla.runtime.control.schemas.query_check import check_source, usual_subject
    from cedilla.runtime.control.schemas.registry_changes import versions_of

    name, text = read_query(query)
    plan = compile_query(text, name, params_of(click.get_current_context())).plan
    notes, diagnostics = list[str](), list[Diagnostic]()
    for source in plan.sources:
        if not (source.is_topic and source.format_kind.has_objects):
            continue
        own = subject or usual_subject(source)
        try:
            note, more = check_source(plan, source, own, versions_of(own, registry))
        except DiagnosticError as error:
            diagnostics += error.diagnostics
        else:
            notes.append(note)
            diagnostics += more
    return notes, diagnostics
