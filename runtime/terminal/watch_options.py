"""The options of `cedilla run` and of generated programs that say how a run is watched."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce, wraps
from typing import Any

import click
from attrs import fields, frozen

from cedilla.runtime.terminal.hooks import EVENTS
from cedilla.runtime.terminal.run_console import RunConsole


@frozen
class Watching:
    """How a run is watched. `log`: text or json; `hooks`: pairs of event and command."""

    log: str = "text"
    hooks: tuple[tuple[str, str], ...] = ()

    def console(self, query: str) -> RunConsole:
        """Returns the console of a run. `query`: the name of its file."""
        return RunConsole(self.log, self.hooks, {"query": query})


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
)


def watch_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a click command with these options, passed as one `watching: Watching`."""

    @wraps(command)
    def with_options(*args: Any, **given: Any) -> Any:
        chosen = {each.name: given.pop(each.name) for each in fields(Watching)}
        return command(*args, watching=Watching(**chosen), **given)

    return reduce(lambda wrapped, option: option(wrapped), reversed(_OPTIONS), with_options)
