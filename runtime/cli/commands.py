"""The group of commands: what `cedilla` alone shows, a command that does not exist, and Ctrl-C."""

from __future__ import annotations

from typing import Any, ClassVar

import click

from cedilla.grammar.suggestions import closest

STOPPED = 130
"""The exit status after Ctrl-C, as a shell has it: 128 and the signal's number."""


_ELSEWHERE = {
    **dict.fromkeys(("start", "execute", "exec", "submit", "launch", "go"), "run"),
    **dict.fromkeys(("lint", "verify-query", "test", "parse"), "check"),
    **dict.fromkeys(("format", "pretty"), "fmt"),
    **dict.fromkeys(("show", "describe", "plan-query", "graph"), "explain"),
    **dict.fromkeys(("build", "generate", "codegen"), "compile"),
    **dict.fromkeys(("cat", "print", "output", "tail"), "read"),
    **dict.fromkeys(("state", "info", "ps"), "status"),
    "help": "--help",
    "version": "--version",
}
"""Maps names in other programs to commands."""


class Commands(click.Group):
    """Commands in groups by what they are for, each with the page of the documentation that describes it."""

    groups: ClassVar[dict[str, tuple[str, ...]]] = {
        "Run a query": ("run", "simulate", "verify", "compile"),
        "Understand and change one": ("check", "explain", "trace", "fmt", "plan"),
        "Look at what is there": ("read", "status", "doctor", "validate", "canonize", "suspect"),
        "Write a stream": ("accent",),
    }
    pages: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("run", "compile", "status"), "docs/running.md"),
        "read": "docs/sources-and-outputs.md",
        **dict.fromkeys(("check", "explain", "trace", "simulate", "verify", "fmt", "plan"), "docs/tools.md"),
        "accent": "docs/produce.md",
        **dict.fromkeys(("validate", "canonize", "suspect"), "docs/stream-tools.md"),
        "doctor": "docs/reliability.md",
    }

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """A command ends its help with the page that says more."""
        name = name or cmd.name or ""
        if name in self.pages and cmd.epilog is None:
            cmd.epilog = f"Documentation: {self.pages[name]}"
        super().add_command(cmd, name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands by group."""
        named = {name for names in self.groups.values() for name in names}
        rest = tuple(name for name in self.list_commands(ctx) if name not in named)
        for title, names in {**self.groups, "Others": rest}.items():
            known = [(name, command) for name in names if (command := self.get_command(ctx, name))]
            if known:
                limit = formatter.width - 6 - max(len(name) for name, _ in known)
                with formatter.section(title):
                    formatter.write_dl([(name, each.get_short_help_str(limit)) for name, each in known])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Returns the command of a name. Refuses an unknown name with the nearest known one."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            near = _ELSEWHERE.get(name.lower()) or closest(name, self.list_commands(ctx))
            if near is not None:
                hint = f"did you mean `{near}`?"
            elif name.endswith(".rq"):
                hint = f"to run it: {ctx.command_path} run {name}"
            else:
                hint = f"`{ctx.command_path}` alone lists them"
            raise click.UsageError(f"there is no command `{name}`; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; Ctrl-C ends it without a trace."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("stopped", err=True)
            ctx.exit(STOPPED)
