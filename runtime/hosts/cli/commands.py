"""The group of commands: what `cedilla` alone shows, a command that does not exist, and Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from itertools import pairwise
from typing import Any, ClassVar

import click

from cedilla.runtime.hosts.cli.garbage import without_collections
from cedilla.runtime.hosts.terminal.streams import open_closed_streams

STOPPED = 130
"""The exit status after Ctrl-C, as a shell has it: 128 and the signal's number."""


_ELSEWHERE = {
    **dict.fromkeys(("start", "execute", "exec", "submit", "launch", "go"), "run"),
    **dict.fromkeys(("lint", "verify-query", "parse"), "check"),
    **dict.fromkeys(("format", "pretty"), "fmt"),
    **dict.fromkeys(("show", "describe", "plan-query", "graph"), "explain"),
    **dict.fromkeys(("build", "generate", "codegen"), "compile"),
    **dict.fromkeys(("cat", "print", "output", "tail"), "read"),
    **dict.fromkeys(("state", "info", "ps"), "status"),
    **dict.fromkeys(("web", "page", "dashboard", "serve", "monitor", "metrics"), "ui"),
    **dict.fromkeys(("retry", "requeue", "resend"), "replay"),
    **dict.fromkeys(("man", "doc", "documentation", "manual", "pages"), "docs"),
    "help": "--help",
    "version": "--version",
}
"""Maps names in other programs to commands."""


_OPTIONS_ELSEWHERE = {
    **dict.fromkeys(("output", "out", "to"), "sink"),
    **dict.fromkeys(("input", "in", "from"), "source"),
    **dict.fromkeys(("state", "checkpoint-dir", "checkpoint-location"), "checkpoint"),
    **dict.fromkeys(("arg", "var", "parameter", "params"), "param"),
    **dict.fromkeys(("setting", "option"), "set"),
    "config": "conf",
}
"""Maps names in other programs to options."""


_BRIEF = ("check", "compile", "explain", "fmt", "trace")
"""Commands that end once they have read a query, and leave little garbage."""


class LazyCommands(MutableMapping[str, click.Command]):
    """Commands by name, given as `module:variable`. Each is imported when it is used first, because all of them
    together take longer than most do."""

    def __init__(self, places: dict[str, str]) -> None:
        self._commands: dict[str, str | click.Command] = {**places}

    def __getitem__(self, name: str) -> click.Command:
        command = self._commands[name]
        if isinstance(command, str):
            module, _, variable = command.partition(":")
            with without_collections():
                command = self._commands[name] = getattr(import_module(module), variable)
            if name in Commands.pages:
                command.epilog = f"Documentation: cedilla docs {Commands.pages[name]}"
        return command

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._commands[name] = command

    def __delitem__(self, name: str) -> None:
        del self._commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._commands)

    def __len__(self) -> int:
        return len(self._commands)


class Commands(click.Group):
    """Commands in groups by what they are for, each with the page of the documentation that describes it."""

    groups: ClassVar[dict[str, tuple[str, ...]]] = {
        "Run a query": ("run", "simulate", "verify", "compile", "replay"),
        "Understand and change one": ("check", "explain", "trace", "fmt", "plan"),
        "Look at what is there": ("ui", "read", "status", "doctor", "validate", "canonize", "suspect"),
        "Write a stream": ("accent",),
        "Write a query": ("init", "import", "test", "rule", "docs", "lsp"),
    }
    pages: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("run", "compile", "status"), "running"),
        "read": "sources-and-outputs",
        **dict.fromkeys(("check", "explain", "trace", "simulate", "verify", "fmt", "plan"), "tools"),
        "accent": "produce",
        "import": "markers",
        **dict.fromkeys(("ui", "replay"), "live-page"),
        **dict.fromkeys(("validate", "canonize", "suspect"), "stream-tools"),
        "doctor": "reliability",
        "lsp": "editors",
        **dict.fromkeys(("init", "test", "rule", "docs"), "tools"),
    }

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        named = {name for names in self.groups.values() for name in names}
        rest = tuple(name for name in self.list_commands(ctx) if name not in named)
        for title, names in {**self.groups, "Others": rest}.items():
            commands = [(name, command) for name in names if (command := self.get_command(ctx, name))]
            if commands:
                limit = formatter.width - 6 - max(len(name) for name, _ in commands)
                with formatter.section(title):
                    formatter.write_dl(
                        [(name, listed.get_short_help_str(limit)) for name, listed in commands]
                    )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Returns the command of a name. Refuses an unknown name with the nearest known one."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            from cedilla.grammar.diagnostics.suggestions import suggest

            near = _ELSEWHERE.get(name.lower()) or suggest(name, self.list_commands(ctx))
            if near is not None:
                hint = f"did you mean `{near}`?"
            elif name.endswith(".rq"):
                hint = f"to run it: {ctx.command_path} run {name}"
            else:
                hint = f"`{ctx.command_path}` alone lists them"
            raise click.UsageError(f"unknown command `{name}`; {hint}", ctx)
        matched_name, command, rest = super().resolve_command(ctx, args)
        if matched_name in _BRIEF:
            ctx.with_resource(without_collections())
        if command is not None:
            _check_values(command, rest)
        return matched_name, command, rest

    def main(self, *args: Any, **settings: Any) -> Any:
        open_closed_streams()
        return super().main(*args, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; Ctrl-C ends it without a trace."""
        try:
            return super().invoke(ctx)
        except click.NoSuchOption as error:
            near = _nearest_option(error)
            hint = "" if near is None else f" Did you mean '{near}'?"
            raise click.UsageError(f"No such option '{error.option_name}'.{hint}", error.ctx) from None
        except KeyboardInterrupt:
            click.echo("stopped", err=True)
            ctx.exit(STOPPED)
        except (OSError, MemoryError) as problem:
            if isinstance(problem, BrokenPipeError):  # the reader of the output has gone
                raise
            from cedilla.runtime.connectors.storage.system_errors import no_memory, refused
            from cedilla.runtime.hosts.terminal.console import Console

            error_of_system = refused(problem) if isinstance(problem, OSError) else no_memory(str(problem))
            ctx.exit(Console().failed(error_of_system, {}))


def _options(command: click.Command) -> dict[str, click.Option]:
    return {
        name: option for option in command.params if isinstance(option, click.Option) for name in option.opts
    }


def _check_values(command: click.Command, args: list[str]) -> None:
    """Raises `BadOptionUsage` if an option takes the place of another one's value: `--checkpoint --once`."""
    options = _options(command)
    for name, value in pairwise(args):
        if name == "--":
            return
        if name not in options or options[name].is_flag or options[name].count:
            continue
        if value in options and not isinstance(options[name].flag_value, str):  # one that may have no value
            raise click.BadOptionUsage(
                name, f"Option '{name}' requires an argument, found the option '{value}'."
            )


def _nearest_option(error: click.NoSuchOption) -> str | None:
    """Returns the likely option."""
    if error.ctx is None:
        return None
    from cedilla.grammar.diagnostics.suggestions import suggest

    options = {name.lstrip("-"): name for name in _options(error.ctx.command)}
    typed = error.option_name.lstrip("-").replace("_", "-")
    near = _OPTIONS_ELSEWHERE.get(typed) or suggest(typed, options, most=2)
    return options.get(near or "")
