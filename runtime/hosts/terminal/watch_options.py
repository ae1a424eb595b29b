"""The options of `cedilla run` and of generated programs that say how a run is watched."""

from __future__ import annotations

import click
from attrs import frozen

from cedilla.runtime.hosts.terminal.addresses import PAGE_PORT, Address
from cedilla.runtime.hosts.terminal.command_options import Command, as_one
from cedilla.runtime.hosts.terminal.hooks import EVENTS
from cedilla.runtime.hosts.terminal.run_console import RunConsole


@frozen
class Watching:
    """The ways to watch a run. `log`: text or json; `hooks`: pairs of event and command; `ui`, `metrics`: the addresses
    of the page and of metrics."""

    log: str = "text"
    hooks: tuple[tuple[str, str], ...] = ()
    ui: Address | None = None
    metrics: Address | None = None

    def console(self, query: str) -> RunConsole:
        """Returns the console of a run. `query`: the name of its file."""
        return RunConsole(self.log, self.hooks, {"query": query})


def address_of(context: click.Context, parameter: click.Parameter, value: str | None) -> Address | None:
    """Parses `[HOST:]PORT`."""
    try:
        return None if value is None else Address.parse(value)
    except ValueError as problem:
        name = max(parameter.opts, key=len)
        raise click.BadParameter(f"{problem}; a query comes before {name}, or {name}={PAGE_PORT}") from None


metrics_option = click.option(
    "--metrics",
    metavar="[HOST:]PORT",
    callback=address_of,
    help="Serve metrics for Prometheus at this address.",
)
_OPTIONS = (
    click.option(
        "--log",
        type=click.Choice(["text", "json"]),
        default="text",
        help="Messages as text, or as one JSON object a line with time, level and code.",
    ),
    click.option(
        "--on",
        "hooks",
        metavar="EVENT COMMAND",
        nargs=2,
        type=(click.Choice(EVENTS), str),
        multiple=True,
        help="Run a command at each warning, or at a stop by an error, with the message as JSON on standard input.",
    ),
    click.option(
        "--ui",
        metavar="[[HOST:]PORT]",
        is_flag=False,
        flag_value=str(PAGE_PORT),
        callback=address_of,
        help=f"Serve a live page of the run, by default at port {PAGE_PORT} of this machine.",
    ),
    metrics_option,
)


def watch_options(command: Command) -> Command:
    """Decorates a click command with these options, passed as one `watching: Watching`."""
    return as_one("watching", Watching, _OPTIONS)(command)
