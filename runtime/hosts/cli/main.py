"""The command line (design, section 7): the group of commands, and its own options."""

from __future__ import annotations

import click

from cedilla.runtime.hosts.cli.commands import Commands
from cedilla.runtime.hosts.cli.execution import (
    doctor_command,
    plan_command,
    run_command,
    simulate_command,
    status_command,
    verify_command,
)
from cedilla.runtime.hosts.cli.importing import import_group
from cedilla.runtime.hosts.cli.learning import (
    docs_command,
    init_command,
    lsp_command,
    rule_command,
    test_command,
)
from cedilla.runtime.hosts.cli.query import (
    check_command,
    compile_command,
    explain_command,
    fmt_command,
    trace_command,
)
from cedilla.runtime.hosts.cli.streams import (
    accent_command,
    canonize_command,
    read_command,
    suspect_command,
    validate_command,
)
from cedilla.runtime.hosts.cli.watch import replay_command, ui_command
from cedilla.runtime.hosts.terminal.console import Console


def _version(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        click.echo(f"cedilla {_installed()}")
        context.exit()


def _quiet(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        Console.is_quiet = True
        context.call_on_close(_not_quiet)


def _not_quiet() -> None:
    Console.is_quiet = False


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
    epilog="Documentation: cedilla docs; a first query in five minutes: cedilla docs start",
)
@click.option(
    "-V",
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_version,
    help="Show the version.",
)
@click.option(
    "-q",
    "--quiet",
    is_flag=True,
    expose_value=False,
    callback=_quiet,
    help="Show results, warnings and errors, and no progress.",
)
@click.pass_context
def main(context: click.Context) -> None:
    """Standing queries over data streams that survive a change of schema or of meaning.

    QUERY is an .rq file, or `-` for standard input. To try one:

    \b
        cedilla init --from DATA     writes one over your data
        cedilla check QUERY          is it right, and does its state stay bounded?
        cedilla simulate QUERY       what comes out? It needs no engine.
        cedilla run QUERY --once     the same on an engine, Spark or Sail

    Exit status: 0 fine, 1 diagnostics or an abort, 2 usage, 130 stopped by
    Ctrl-C, 143 by SIGTERM. `cedilla COMMAND --help` says more of each command.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for _command in (
    run_command,
    simulate_command,
    verify_command,
    compile_command,
    check_command,
    explain_command,
    trace_command,
    fmt_command,
    plan_command,
    read_command,
    status_command,
    ui_command,
    replay_command,
    doctor_command,
    validate_command,
    canonize_command,
    suspect_command,
    accent_command,
    init_command,
    import_group,
    test_command,
    rule_command,
    docs_command,
    lsp_command,
):
    main.add_command(_command)

if __name__ == "__main__":
    main()
