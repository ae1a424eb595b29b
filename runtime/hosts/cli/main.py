"""The command line (design, section 7): the group of commands, and its own options."""

from __future__ import annotations

import click

from cedilla.runtime.hosts.cli.commands import Commands, LazyCommands

_HOMES = {
    "execution": ("run", "simulate", "verify", "status", "doctor", "plan"),
    "importing": ("import",),
    "learning": ("init", "test", "rule", "docs", "lsp"),
    "query": ("compile", "check", "explain", "trace", "fmt"),
    "streams": ("read", "validate", "canonize", "suspect", "accent"),
    "watch": ("ui", "replay"),
}
"""The module of each command, where `_command` follows its name."""


def _version(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        click.echo(f"cedilla {_installed()}")
        context.exit()


def _quiet(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        from cedilla.runtime.hosts.terminal.console import Console

        def end() -> None:
            Console.is_quiet = False

        Console.is_quiet = True
        context.call_on_close(end)


def _installed() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("cedilla")
    except PackageNotFoundError:
        return "(not installed)"


@click.group(
    cls=Commands,
    commands=LazyCommands(
        {
            name: f"cedilla.runtime.hosts.cli.{module}:{name}_command"
            for module, names in _HOMES.items()
            for name in names
        }
    ),
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


if __name__ == "__main__":
    main()
