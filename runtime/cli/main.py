"""The command line (design, section 7). Commands read options and call the library."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, render, to_json
from cedilla.runtime.cli.commands import Commands
from cedilla.runtime.terminal.console import Console
from cedilla.runtime.terminal.options import (
    Options,
    apply,
    param_option,
    params_of,
    path_options,
    run_options,
)
from cedilla.runtime.terminal.places import check_inputs, check_places

if TYPE_CHECKING:
    from cedilla.compiler.compile import CompiledQuery
    from cedilla.runtime.reading.reading import InUnits
    from cedilla.runtime.streams.schema import Schema

_USAGE = ("RQ135", "RQ136")
"""Errors of the command line, not of the query."""

_STRICT = ("RQ106", "RQ125", "RQ126", "RQ130")
"""Warnings that `check --strict` fails on."""


def _query(command: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the query that a command is about, and the values that its constants take."""
    return click.argument("query", metavar="QUERY")(param_option(command))


_format = click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
_output = click.option(
    "-o", "output", metavar="FILE.py", type=click.File("w", encoding="utf-8", lazy=True), default="-"
)


def _version(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        click.echo(f"cedilla {_installed()}")
        context.exit()


def _installed() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("cedilla")
    except PackageNotFoundError:
        return "(not installed)"


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Documentation: docs/README.md; a first query in five minutes: README.md",
)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version."
)
@click.pass_context
def main(context: click.Context) -> None:
    """Standing queries over data streams that survive a change of schema or of meaning.

    QUERY is an .rq file, or `-` for standard input. To try one without Spark:

    \b
        cedilla check QUERY          is it right, and does its state stay bounded?
        cedilla simulate QUERY       what comes out?
        cedilla run QUERY --once     the same on Spark

    Exit status: 0 fine, 1 diagnostics or an abort, 2 usage, 130 stopped by
    Ctrl-C. `cedilla COMMAND --help` says more of each command.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@main.command()
@_query
@run_options
def run(query: str, options: Options) -> None:
    """Compile a query and run it on Spark until it is stopped (Ctrl-C)."""
    from cedilla.compiler.analysis.safety import warnings as unbounded

    console = Console()
    name, texts, compiled = _compile(query, console)
    options.check(compiled.plan)
    console.diagnostics((*compiled.warnings, *unbounded(compiled.plan)), texts)
    with _reported(console, texts):
        check_places(apply(compiled.plan, options), options.checkpoint)

    from cedilla.runtime.pipeline.load import load
    from cedilla.runtime.pipeline.program import execute

    # The program's own text is what runs, so that `run` and `spark-submit` do the same.
    plan, flow = load(compiled.program, name)
    with _reported(console, texts):
        sys.exit(execute(plan, flow, options, console))


@main.command("compile")
@_query
@_output
def compile_command(query: str, output: TextIO) -> None:
    """Write the PySpark program of a query; `spark-submit` of it does what `run` does."""
    console = Console()
    _, texts, compiled = _compile(query, console)
    console.diagnostics(compiled.warnings, texts)
    output.write(compiled.program)


@main.command()
@_query
@click.option("--format", "form", type=click.Choice(["text", "json", "dot", "mermaid"]), default="text")
@click.option("--full", is_flag=True, help="With signatures, invariants, and the rule of each reaction.")
@click.option(
    "--evolution", is_flag=True, help="For every accent a source may send: where it goes, waits, aborts."
)
@click.option(
    "--trace", "trace", is_flag=True, help="For every relation: its line, its inputs, what is known of it."
)
@click.option("--spark", is_flag=True, help="The DataFrame code of every output.")
def explain(query: str, form: str, **views: bool) -> None:
    """Show the plan in words: what each operator keeps and until when, and what it does with accents.

    Or one of the other views. Lines fit the terminal, else 100 columns or COLUMNS. Starts no Spark.
    """
    from cedilla.compiler.explain.views import show

    chosen = [name for name, given in views.items() if given]
    if len(chosen) > 1:
        raise click.UsageError(f"one of --{' and --'.join(chosen)}, please")
    if chosen and form in ("dot", "mermaid"):
        raise click.UsageError(f"--format {form} is for the plan, without --{chosen[0]}")
    console = Console()
    _, texts, compiled = _compile(query, console)
    console.out(show(compiled, *chosen, form=form, color=console.color, texts=texts, width=console.width))


@main.command()
@_query
@_format
@click.option("--strict", is_flag=True, help="Exit status 1 also for warnings of what is likely wrong.")
def check(query: str, form: str, strict: bool) -> None:
    """Show the diagnostics of a query, those of its state too; exit status 1 if one is an error. Starts no Spark."""
    console = Console()
    texts, found = _diagnose(query)
    if form == "json":
        console.out(_json({"version": 1, "diagnostics": [to_json(each) for each in found]}))
    else:
        console.out(render(found, texts) or f"{query}: nothing to complain about")
    if any(each.code in _USAGE for each in found):
        sys.exit(2)
    sys.exit(any(each.severity == "error" or (strict and each.code in _STRICT) for each in found))


@main.command("trace")
@_query
@click.argument("more", metavar="[MARKER]...", nargs=-1)
@click.option("--on", "given", metavar="SOURCE MARKER", nargs=2, multiple=True, help="A marker of a source.")
@_format
def trace_command(query: str, more: tuple[str, ...], given: tuple[tuple[str, str], ...], form: str) -> None:
    """Show what every operator would do with accents and punctuations, one after the other, without running.

    MARKERs without --on go to the same source, without any --on to the query's only stream. Exit status 1 where
    the query could not go on. Starts no Spark.
    """
    from cedilla.runtime.inspect.trace import marker_name, trace, trace_json, trace_text

    if more and len({source for source, _ in given}) > 1:
        raise click.UsageError("with several sources every marker requires an --on")
    if not more and not given:
        raise click.UsageError("a MARKER, please, such as '[[alter(t, y -> y * 2)]]'")
    console = Console()
    _, texts, compiled = _compile(query, console)
    only = [given[0][0]] if given else [s.name for s in compiled.plan.sources if not s.table]
    if len(only) != 1:
        raise click.UsageError(f"--on SOURCE MARKER, please: the query has the streams {', '.join(only)}")
    markers = [*given, *((only[0], text) for text in more)]
    for source, _ in markers:
        if source not in compiled.plan.source_of:
            known = ", ".join(compiled.plan.source_of)
            raise click.UsageError(f"the query has no source `{source}`; it has {known}")
    texts = {**texts, **{marker_name(number): text for number, (_, text) in enumerate(markers, 1)}}
    with _reported(console, texts):
        if form == "json":
            console.out(_json(trace_json(trace(compiled.plan, markers))))
            return
        for number, traced in enumerate(trace(compiled.plan, markers)):
            console.out(("\n" if number else "") + trace_text(traced))


@main.command("fmt")
@click.argument("queries", metavar="QUERY...", nargs=-1, required=True)
@click.option(
    "--check", "only_check", is_flag=True, help="Write nothing; exit status 1 if a text would change."
)
def fmt_command(queries: tuple[str, ...], only_check: bool) -> None:
    """Lay out queries in one style, in place; `-` goes from standard input to standard output. Starts no Spark."""
    from cedilla.grammar.formatter import format_query
    from cedilla.grammar.parser import parse_query

    console = Console()
    changed = False
    for query in queries:
        texts: dict[str, str] = {}
        with _reported(console, texts):
            name, text = _read(query)
            texts[name] = text
            laid_out = format_query(parse_query(text, name, keep_names=True), text)
        changed = changed or laid_out != text
        if only_check and laid_out != text:
            console.out(f"{name}: would be laid out differently")
        elif not only_check and query == "-":
            sys.stdout.write(laid_out)
        elif not only_check and laid_out != text:
            Path(query).write_text(laid_out, encoding="utf-8")
    sys.exit(only_check and changed)


@main.command("simulate")
@_query
@run_options
def simulate_command(query: str, options: Options) -> None:
    """Run a query without Spark: the reference, for small streams.

    Results are printed, each line with the name of its output where there are several; `--sink NAME=PATH` writes one
    into a folder. `--source NAME=-` reads standard input.
    """
    from cedilla.compiler.analysis.safety import warnings as unbounded
    from cedilla.runtime.reference.simulation import Input, simulate

    console = Console()
    _, texts, compiled = _compile(query, console)
    options.check(compiled.plan)
    console.diagnostics((*compiled.warnings, *unbounded(compiled.plan)), texts)

    def rejected(line: Input, code: str) -> None:
        console.note(f"{line.line.place}: rejected ({code}): {line.line.text}")

    with _reported(console, texts):
        simulate(compiled, options, rejected, lambda warning: console.diagnostics([warning], {}))


@main.command("verify")
@_query
@run_options
def verify_command(query: str, options: Options) -> None:
    """Run a query on Spark and by the reference, and compare (Figure 3 of the paper). Exit status 1: they differ."""
    from cedilla.runtime.inspect.verify import verify
    from cedilla.runtime.pipeline.load import load

    console = Console()
    name, texts, compiled = _compile(query, console)
    options.check(compiled.plan)
    with _reported(console, texts):
        check_inputs(apply(compiled.plan, options))
    plan, flow = load(compiled.program, name)
    with _reported(console, texts):
        verdicts = verify(plan, flow, options)
    for verdict in verdicts:
        console.out(verdict.text())
    sys.exit(not all(verdict.holds for verdict in verdicts))


_schema = click.option(
    "--schema",
    metavar="ATTRIBUTES",
    help='The attributes, as a stream declares them: "ts: long, p?: double".',
)
_markers = click.option(
    "--markers", metavar="FOLDER", help="A folder of markers beside that of the tuples, as in a query."
)
_query_of = click.option("--query", metavar="QUERY", help="Take the attributes from a source of this query.")
_source_of = click.option(
    "--source", metavar="NAME", help="Which source of the query; its only one otherwise."
)


@main.command("validate")
@click.argument("stream", metavar="STREAM")
@_markers
@_schema
@_query_of
@_source_of
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=0),
    default=100,
    show_default=True,
    help="Show N findings.",
)
@_format
def validate_command(
    stream: str,
    markers: str | None,
    schema: str | None,
    query: str | None,
    source: str | None,
    limit: int,
    form: str,
) -> None:
    """Say whether a stream is valid: its markers, and its tuples by them. Exit status 1 if not. Starts no Spark.

    STREAM is a file in JSON Lines, a folder of them, or `-`.
    """
    from cedilla.runtime.streams.validate import (
        stream_lines,
        validate,
        verdict_json,
        verdict_text,
        with_schema,
    )

    console = Console()
    with _reported(console, {}):
        lines = stream_lines(stream, markers)
    known, lines = with_schema(lines, _schema_of(schema, query, source, console))
    shown: list[Diagnostic] = []

    def show(found: Diagnostic) -> None:
        if len(shown) < limit:
            shown.append(found)
            if form == "text":
                console.out(render([found], {}) + "\n")

    verdict = validate(lines, known, show)
    console.out(
        _json(verdict_json(verdict, shown)) if form == "json" else verdict_text(verdict, stream, len(shown))
    )
    sys.exit(not verdict.valid)


@main.command("suspect")
@click.argument("stream", metavar="STREAM")
@_markers
@_schema
@_query_of
@_source_of
@click.option(
    "--by", metavar="NAME", multiple=True, help="An attribute that tells groups apart; may be repeated."
)
@_format
def suspect_command(
    stream: str,
    markers: str | None,
    schema: str | None,
    query: str | None,
    source: str | None,
    by: tuple[str, ...],
    form: str,
) -> None:
    """Look for changes of unit that no accent announces, and propose the accents. Exit status 1 if there are any.

    STREAM is a file in JSON Lines, a folder of them, or `-`. Starts no Spark.
    It requires `pip install 'cedilla[suspect]'`.
    """
    from cedilla.runtime.streams.suspect import Suspects, described_by, diagnostic, suspect_json, time_axis
    from cedilla.runtime.streams.validate import stream_lines, with_schema

    console = Console()
    with _reported(console, {}):
        lines = stream_lines(stream, markers)
    known, lines = with_schema(lines, _schema_of(schema, query, source, console))
    if unknown := set(by) - {a.name for a in known.source.attributes}:
        raise click.UsageError(f"--by: the stream has no {', '.join(sorted(unknown))}")
    suspects = Suspects(known, by or described_by(known), time_axis(known))
    found: list[dict[str, object]] = []
    with _reported(console, {}):
        for each in suspects.of(lines):
            found.append(suspect_json(each))
            if form == "text":
                console.out(render([diagnostic(each)], {}) + "\n")
    if form == "json":
        console.out(_json({"version": 1, "tuples": suspects.tuples, "suspects": found}))
    else:
        console.out(suspects.text(stream, len(found)))
    sys.exit(bool(found))


@main.command("canonize")
@click.argument("stream", metavar="STREAM")
@_markers
@_schema
@_query_of
@_source_of
@click.option("--rules", is_flag=True, help="Replace pair by pair, in memory, and count the cases used.")
def canonize_command(
    stream: str, markers: str | None, schema: str | None, query: str | None, source: str | None, rules: bool
) -> None:
    """Write a valid stream in canonical order, and in the units of its start. Starts no Spark.

    STREAM is a file in JSON Lines, a folder of them, or `-`.
    """
    from collections import Counter

    from cedilla.runtime.streams.canonize import canonize
    from cedilla.runtime.streams.validate import stream_lines, with_schema

    console = Console()
    used: Counter[str] | None = Counter() if rules else None
    with _reported(console, {}):
        lines = stream_lines(stream, markers)
        known, lines = with_schema(lines, _schema_of(schema, query, source, console))
        console.diagnostics(canonize(lines, known, sys.stdout, used), {})
    for name, count in sorted((used or {}).items()):
        console.note(f"{name.replace('_', ' ')}: {count:,}")


@main.command("read")
@click.argument("folder", metavar="FOLDER")
@click.option(
    "--units",
    type=click.Choice(["canonical", "original", "latest"]),
    default="canonical",
    show_default=True,
    help="Every accent undone; the same, but nothing where it has no one meaning; or as it would be written now.",
)
@click.option("--follow", is_flag=True, help="Wait for new epochs, until Ctrl-C.")
@click.option("--format", "form", type=click.Choice(["jsonl", "table"]), default="jsonl", show_default=True)
@_schema
@click.option("--query", metavar="QUERY", help="Take the types from the query that writes the output.")
def read_command(
    folder: str, units: InUnits, follow: bool, form: str, schema: str | None, query: str | None
) -> None:
    """Print the tuples of an output, each attribute in one unit, for whoever knows no accents. Starts no Spark.

    FOLDER is in JSON Lines, XML (with --query or --schema) or Parquet (with pyarrow).
    """
    from cedilla.runtime.reading.reading import read
    from cedilla.runtime.terminal.rowtext import json_line, tables

    console = Console()
    texts: dict[str, str] = {} if schema is None else {"<schema>": schema}
    with _reported(console, texts):
        reading = read(
            folder, units, query=None if query is None else _compile(query, console)[2], schema=schema
        )
        rows = reading.follow() if follow else reading.rows()
        try:
            for text in (
                tables(rows) if form == "table" else (json_line(row) for row in rows if row is not None)
            ):
                console.out(text)
        except KeyboardInterrupt:
            sys.exit(130)


@main.command("status")
@click.argument("checkpoint", metavar="CHECKPOINT")
@_format
def status_command(checkpoint: str, form: str) -> None:
    """Show where a query stands: accents in force, what waits, what is closed, state. Starts no Spark."""
    from cedilla.runtime.inspect.status import read_status, status_json, status_text

    console = Console()
    with _reported(console, {}):
        status = read_status(checkpoint)
    console.out(_json(status_json(status)) if form == "json" else status_text(status))


@main.command("plan")
@_query
@click.argument("checkpoint", metavar="CHECKPOINT")
@path_options
@_format
def plan_command(query: str, checkpoint: str, options: Options, form: str) -> None:
    """Show what an edited query does to a checkpoint, change by change. Starts no Spark.

    Exit status 0: `run` goes on. 1: it asks first (--yes), or a new checkpoint is needed.
    """
    from cedilla.runtime.checkpoint.checkpoint_folder import changes_of
    from cedilla.runtime.checkpoint.plan_changes import changes_json, changes_text

    console = Console()
    _, texts, compiled = _compile(query, console)
    options.check(compiled.plan)
    with _reported(console, texts):
        changes = changes_of(checkpoint, apply(compiled.plan, options))
    console.out(_json(changes_json(changes)) if form == "json" else changes_text(changes))
    sys.exit(not changes.goes_on_at_once)


# --- steps -----------------------------------------------------------------------------------------------


def _schema_of(schema: str | None, query: str | None, source: str | None, console: Console) -> Schema | None:
    """The schema that the options of a stream tool give, `None` where it is to be inferred."""
    from cedilla.runtime.streams.schema import Schema, declared_schema

    if schema is not None and query is not None:
        raise click.UsageError("one of --schema and --query, please")
    if query is None:
        if source is not None:
            raise click.UsageError("--source requires --query")
        if schema is None:
            return None
        with _reported(console, {"<schema>": schema}):
            return declared_schema(schema)
    _, _, compiled = _compile(query, console)
    known = compiled.plan.source_of
    if source is None and len(known) == 1:
        (source,) = known
    if source not in known:
        raise click.UsageError(f"--source NAME requires one of {', '.join(known)}")
    return Schema(known[source], True)


def _read(query: str) -> tuple[str, str]:
    """The name and the text of a query. Raises `DiagnosticError` RQ400 where it cannot be read."""
    name = "<stdin>" if query == "-" else query
    try:
        data = sys.stdin.buffer.read() if query == "-" else Path(query).read_bytes()
        return name, data.decode("utf-8-sig")
    except OSError as error:
        reason, hint = (error.strerror or str(error)).lower(), None
    except UnicodeDecodeError as error:
        reason, hint = f"byte {error.start} is not UTF-8", "a query is a text in UTF-8"
    raise DiagnosticError([Diagnostic("RQ400", "error", f"{name} cannot be read: {reason}", help=hint)])


def _compile(query: str, console: Console) -> tuple[str, Mapping[str, str], CompiledQuery]:
    """The name of a query, its text by that name, and what it is compiled to; exits with its diagnostics."""
    from cedilla.compiler.compile import compile_query

    texts: dict[str, str] = {}
    with _reported(console, texts):
        name, text = _read(query)
        texts[name] = text
        return name, texts, compile_query(text, name, params_of(click.get_current_context()))


def _diagnose(query: str) -> tuple[Mapping[str, str], tuple[Diagnostic, ...]]:
    """The text of a query by its name, and all there is to say of it."""
    from cedilla.compiler.analysis.safety import findings
    from cedilla.compiler.compile import compile_query

    texts: dict[str, str] = {}
    try:
        name, text = _read(query)
        texts[name] = text
        compiled = compile_query(text, name, params_of(click.get_current_context()))
        return texts, (*compiled.warnings, *findings(compiled.plan))
    except DiagnosticError as error:
        return texts, error.diagnostics


@contextmanager
def _reported(console: Console, texts: Mapping[str, str]) -> Iterator[None]:
    """Diagnostics that end the work are written; the exit status is 1, 2 where an option is wrong."""
    try:
        yield
    except DiagnosticError as error:
        console.diagnostics(error.diagnostics, texts)
        sys.exit(2 if all(each.code in _USAGE for each in error.diagnostics) else 1)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


if __name__ == "__main__":
    main()
