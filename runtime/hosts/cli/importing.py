"""The commands below `cedilla import`: changes that others publish, as accents that a query states."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cedilla.grammar.diagnostics.printable import counted
from cedilla.runtime.hosts.cli.inputs import compiled_query, reported
from cedilla.runtime.hosts.terminal.command_options import Command, param_option
from cedilla.runtime.hosts.terminal.console import Console

if TYPE_CHECKING:
    from cedilla.compiler.plan import Plan
    from cedilla.runtime.control.schemas.changes import Changes


@click.group("import", short_help="Write accents of changes that others publish.")
def import_command() -> None:
    """Write accents of changes that others publish, one a line, for a person to review: `accent NAME from file`."""


def import_options(command: Command) -> Command:
    """Decorator: the options that all importers have."""
    for option in (
        param_option,
        click.option("--source", metavar="NAME", help="Which source of the query; its only one otherwise."),
        click.option(
            "--query", metavar="QUERY", help="Leave out what this query does not read, and take its names."
        ),
        click.option(
            "-o", "--output", metavar="FILE", help="Write the accents here; to standard output otherwise."
        ),
    ):
        command = option(command)
    return command


def source_of(
    query: str | None, source: str | None, format_: str, console: Console
) -> tuple[Plan | None, str]:
    """Returns the plan of a query and its source in a format of topics or files; no plan without a query."""
    if query is None:
        if source is not None:
            raise click.UsageError("--source requires --query")
        return None, ""
    plan = compiled_query(query, console)[2].plan
    fitting = [s.name for s in plan.sources if s.format_kind.in_files == format_]
    if source is None and len(fitting) == 1:
        (source,) = fitting
    if source not in fitting:
        names = f"one of {', '.join(fitting)}" if fitting else f"a query with a stream of {format_}"
        raise click.UsageError(f"--source NAME requires {names}")
    return plan, source


def show(changes: Changes, output: str | None, texts: Mapping[str, str], console: Console) -> None:
    """Writes changes to a file or to standard output, and what a person has to decide to standard error."""
    if output is None:
        console.data(changes.text().removesuffix("\n"))
    else:
        Path(output).write_text(changes.text(), encoding="utf-8")
    warnings = changes.warnings()
    console.diagnostics(warnings, texts)
    decide = f", {len(warnings):,} to decide" if warnings else ""
    console.note(f"{counted(changes.stated, 'accent')}{f' in {output}' if output else ''}{decide}")


@import_command.command(
    "otel-schema",
    short_help="Import a telemetry schema of OpenTelemetry.",
    epilog="Documentation: cedilla docs otlp",
)
@click.argument("file", metavar="FILE")
@import_options
@click.option(
    "--names",
    metavar="VERSION",
    help="The version whose names the query has; the newest of the file otherwise.",
)
def otel_schema_command(
    file: str, output: str | None, query: str | None, source: str | None, names: str | None
) -> None:
    """Import a telemetry schema of OpenTelemetry: new names of metrics and attributes, by version.

    FILE is a schema in YAML, format 1.0 or 1.1, such as https://opentelemetry.io/schemas/1.44.0 serves. If it leaves
    something open, such as a unit that changed with a name, there is a warning, and a remark in the output.
    """
    from cedilla.runtime.tools.importing.telemetry import import_schema
    from cedilla.runtime.tools.importing.telemetry_files import read_file, read_schema

    console = Console()
    plan, of = source_of(query, source, "otlp", console)
    texts: dict[str, str] = {}
    with reported(console, texts):
        texts[file] = read_file(file)
        changes = import_schema(read_schema(texts[file], file), file, names, plan, of)
    show(changes, output, texts, console)


@import_command.command(
    "registry",
    short_help="Import the versions of a subject of a registry of schemas.",
    epilog="Documentation: docs/kafka.md",
)
@click.argument("subject", metavar="SUBJECT")
@click.option("--registry", metavar="URL", help="The registry; that of the query's stream otherwise.")
@import_options
@click.option(
    "--names", metavar="NUMBER", type=int, help="The version whose names the query has; the first otherwise."
)
def registry_command(
    subject: str,
    registry: str | None,
    output: str | None,
    query: str | None,
    source: str | None,
    names: int | None,
) -> None:
    """Import the versions of a subject of a registry, such as `readings-value`: changes by the ids of schemas.

    Aliases of Avro and numbers of Protobuf show renames; new fields are Adds, gone ones Drops, and a property `unit` or
    `ucumUnit` is a unit. A change that
    schemas do not state in full, such as a rename without an alias, is a warning, and a remark in the output.
    """
    from cedilla.runtime.control.schemas.registry_changes import import_subject, versions_of

    console = Console()
    plan, of = source_of(query, source, "json", console)
    address = registry or (None if plan is None else plan.source_of[of].registry)
    if address is None:
        raise click.UsageError("--registry URL is required, or a --query whose stream has one")
    with reported(console, {}):
        changes = import_subject(subject, versions_of(subject, address), address, names, plan, of)
    show(changes, output, {}, console)
