"""The command line (design, section 7). Commands read options and call the library."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, render, to_json
from cedilla.runtime.console import Console
from cedilla.runtime.options import Options, run_options

if TYPE_CHECKING:
    from cedilla.compiler.compile import CompiledQuery

_query = click.argument("query", metavar="QUERY")
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


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version."
)
def main() -> None:
    """Standing queries over data streams that survive a change of schema or of meaning.

    QUERY is an .rq file, or `-` for standard input. Exit status: 0 fine, 1 diagnostics or an abort, 2 usage,
    130 stopped by Ctrl-C.
    """


@main.command()
@_query
@run_options
def run(query: str, options: Options) -> None:
    """Compile a query and run it on Spark until it is stopped (Ctrl-C)."""
    console = Console()
    name, texts, compiled = _compile(query, console)
    options.check(compiled.plan)
    console.diagnostics(compiled.warnings, texts)

    from cedilla.runtime.load import load
    from cedilla.runtime.program import execute

    # The program's own text is what runs, so that `run` and `spark-submit` do the same.
    plan, functions = load(compiled.program, name)
    with _reported(console, texts):
        sys.exit(execute(plan, functions, options, console))


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
@_format
def explain(query: str, form: str) -> None:
    """Show the plan: each operator with signature, invariants and reactions to accents. Starts no Spark."""
    from cedilla.compiler.explain import explain_json, explain_text

    console = Console()
    _, texts, compiled = _compile(query, console)
    if form == "json":
        console.out(_json(explain_json(compiled.plan, compiled.warnings)))
    else:
        console.out(explain_text(compiled.plan, console.color, compiled.warnings, texts))


@main.command()
@_query
@_format
def check(query: str, form: str) -> None:
    """Show the diagnostics of a query; exit status 1 if one is an error. Starts no Spark."""
    console = Console()
    texts, found = _diagnose(query)
    if form == "json":
        console.out(_json({"version": 1, "diagnostics": [to_json(each) for each in found]}))
    else:
        console.out(render(found, texts) or f"{query}: nothing to complain about")
    sys.exit(any(each.severity == "error" for each in found))


# --- steps -----------------------------------------------------------------------------------------------


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
        return name, texts, compile_query(text, name)


def _diagnose(query: str) -> tuple[Mapping[str, str], tuple[Diagnostic, ...]]:
    """The text of a query by its name, and all there is to say of it."""
    from cedilla.compiler.compile import compile_query

    texts: dict[str, str] = {}
    try:
        name, text = _read(query)
        texts[name] = text
        return texts, compile_query(text, name).warnings
    except DiagnosticError as error:
        return texts, error.diagnostics


@contextmanager
def _reported(console: Console, texts: Mapping[str, str]) -> Iterator[None]:
    """Diagnostics that end the work are written; the exit status is 1."""
    try:
        yield
    except DiagnosticError as error:
        console.diagnostics(error.diagnostics, texts)
        sys.exit(1)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


if __name__ == "__main__":
    main()
