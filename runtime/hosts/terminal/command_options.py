"""Options of the command line: those of `cedilla run`, shared with generated programs (design, section 7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce, wraps
from typing import Any

import click
from attrs import fields

from cedilla.compiler import ENGINES
from cedilla.runtime.epochs.options.options import Options, Texts

Command = Callable[..., Any]


def as_one(
    parameter: str,
    kind: type,
    options: Sequence[Callable[[Command], Command]],
    names: Sequence[str] | None = None,
) -> Callable[[Command], Command]:
    """Returns a decorator that gives a click command some options, passed as one `parameter` of an attrs class.
    `names`: of its attributes that they are; all by default."""
    names = [own.name for own in fields(kind)] if names is None else names

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_options(*args: Any, **values: Any) -> Any:
            chosen = {name: values.pop(name) for name in names}
            return command(*args, **{parameter: kind(**chosen)}, **values)

        return reduce(lambda wrapped, option: option(wrapped), reversed(options), with_options)

    return decorate


def path_options(command: Command) -> Command:
    """Decorates a command with the options of `run` that change the plan, like `run_options`."""
    options = (_SOURCE, _SINK, _ALLOW_PATH, _SET)
    return as_one("options", Options, options, ("sources", "sinks", "allow_paths", "settings"))(command)


def run_options(command: Command) -> Command:
    """Decorates a click command with the options of `run`, passed as one `options: Options`."""
    return as_one("options", Options, _OPTIONS)(command)


def _pairs(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Parses `NAME=VALUE` options, which may be repeated."""
    pairs: dict[str, str] = {}
    for value in values:
        name, equal, rest = value.partition("=")
        if not (name and equal and rest):
            raise click.BadParameter(f"`{value}` is not of the form {parameter.metavar}")
        if name in pairs:
            raise click.BadParameter(f"`{name}` is given twice")
        pairs[name] = rest
    return pairs


_PARAMS = "cedilla.params"
_ALLOWED = "cedilla.allowed"


def params_of(context: click.Context) -> Texts:
    """Returns the values of `--param`, by name."""
    return context.meta.get(_PARAMS, {})


def _params(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> None:
    context.meta[_PARAMS] = _pairs(context, parameter, values)


param_option = click.option(
    "--param",
    metavar="NAME=VALUE",
    multiple=True,
    expose_value=False,
    callback=_params,
    help="Another value for a constant of the query, `let NAME = ...;`.",
)
"""For commands that compile a query: see `params_of`."""


def allowed_of(context: click.Context) -> tuple[str, ...]:
    """The folders of `--allow-path`, of commands that read no more than tables."""
    return context.meta.get(_ALLOWED, ())


def _allowed(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> None:
    context.meta[_ALLOWED] = values


_allow_path = partial(
    click.option,
    "--allow-path",
    "allow_paths",
    metavar="DIR",
    multiple=True,
    help="Let the query read and write in a folder that is neither its own nor the working directory.",
)
_ALLOW_PATH = _allow_path()
allow_path_option = _allow_path(expose_value=False, callback=_allowed)
"""For commands that read the tables of a query: see `allowed_of`."""
allow_module_option = click.option(
    "--allow-module",
    "allow_modules",
    metavar="NAME",
    multiple=True,
    help="Let a user's operator load a Python module, or one of a package.",
)
_SOURCE = click.option(
    "--source",
    "sources",
    metavar="NAME=PATH",
    multiple=True,
    callback=_pairs,
    help="Read a source from another path than in the query.",
)
_SINK = click.option(
    "--sink",
    "sinks",
    metavar="NAME=PATH",
    multiple=True,
    callback=_pairs,
    help="Write a result to another path than in the query; its name is that of the emitted relation, or its folder.",
)
_SET = click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    callback=_pairs,
    help="A setting of the query, for example late=abort.",
)
_OPTIONS = (
    click.option("--once", is_flag=True, help="Process the existing input and stop."),
    click.option("--checkpoint", metavar="DIR", help="Folder of state and commit records."),
    _SOURCE,
    _SINK,
    click.option(
        "--files-per-epoch",
        metavar="N",
        type=click.IntRange(min=1),
        help="Cut the input into epochs of N files of each source.",
    ),
    click.option(
        "--records-per-epoch",
        metavar="N",
        type=click.IntRange(min=1),
        help="At most N records of each topic in an epoch.",
    ),
    click.option(
        "--interval",
        metavar="SECONDS",
        type=click.FloatRange(min=0),
        default=Options().interval,
        show_default=True,
        help="How often to look for new files.",
    ),
    click.option(
        "--engine",
        type=click.Choice(ENGINES),
        help="The engine: Spark, a Spark Connect server (--remote), or Sail inside this process, without Java.",
    ),
    click.option("--master", metavar="URL", help="The Spark master; this machine by default."),
    click.option("--remote", metavar="sc://HOST:PORT", help="A Spark Connect server."),
    _SET,
    allow_module_option,
    _ALLOW_PATH,
    click.option("--conf", metavar="SPARK=VALUE", multiple=True, callback=_pairs, help="A setting of Spark."),
    click.option(
        "--yes", is_flag=True, help="Continue with an edited query without asking (`cedilla plan`)."
    ),
    click.option(
        "--approve",
        is_flag=True,
        help="Ask at the terminal before an edited query continues, and before a kind of change that `set changes` "
        "does not take.",
    ),
    click.option("--verbose", is_flag=True, help="Also show the messages of Spark."),
)
