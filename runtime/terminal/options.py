"""The options of `cedilla run`, shared with generated programs (design, section 7)."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, reduce, wraps
from typing import Any

import click
from attrs import evolve, field, fields, frozen

from cedilla.compiler import ENGINES, Engine
from cedilla.compiler.plan import Plan, at_paths, folders
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.grammar.diagnostics.suggestions import did_you_mean, suggest
from cedilla.grammar.syntax.settings import SETTINGS, SIZES, grouping_fault, size_fault, word_and_names
from cedilla.runtime.terminal.permissions import allowed_folders, check_permitted, folder_of

Texts = Mapping[str, str]
Paths = Mapping[str, str | os.PathLike[str]]
Command = Callable[..., Any]


def _path(path: str | os.PathLike[str] | None) -> str | None:
    return None if path is None else os.fspath(path)


def _paths(named: Paths) -> dict[str, str]:
    return {name: os.fspath(path) for name, path in named.items()}


def _several(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> tuple[str, ...]:
    """Names or paths; a single one need not be in a list."""
    several = [paths] if isinstance(paths, str | os.PathLike) else paths
    return tuple(os.fspath(path) for path in several)


@frozen(kw_only=True)
class Options:
    """Options for running a query; the query decides about options that are not given.

    `sources`, `sinks`: name -> path, which may be a `pathlib.Path`. `settings`: those of the query; `conf`: those of
    Spark. `yes`: confirms that an edited query continues from its checkpoint. `engine`: Spark by default, or the
    embedded engine if there is no Java. `remote`: the address of a Spark Connect server, `sc://HOST:PORT`.
    `allow_modules`: modules, or packages, that user operators may load. `allow_paths`: folders in which the query may
    read and write, in addition to its own and the working directory.
    """

    once: bool = False
    checkpoint: str | None = field(default=None, converter=_path)
    sources: Texts = field(factory=dict[str, str], converter=_paths)
    sinks: Texts = field(factory=dict[str, str], converter=_paths)
    files_per_epoch: int | None = None
    records_per_epoch: int | None = None
    interval: float = 1.0
    engine: Engine | None = None
    master: str | None = None
    remote: str | None = None
    settings: Texts = field(factory=dict[str, str])
    conf: Texts = field(factory=dict[str, str])
    allow_modules: tuple[str, ...] = field(default=(), converter=_several)
    allow_paths: tuple[str, ...] = field(default=(), converter=_several)
    yes: bool = False
    verbose: bool = False

    def of_query(self, query: str, plan: Plan) -> Options:
        """Returns options that also allow the query's own folder, with sinks by the names of emits. `query`: its file,
        if it has one. Raises `DiagnosticError` RQ477 if two sinks are one."""
        allowed = (*self.allow_paths, *folder_of(query))
        return evolve(self, allow_paths=allowed, sinks=_by_emit(plan, self.sinks))

    def check(self, plan: Plan) -> None:
        """Raises `DiagnosticError` RQ477 if an option does not exist in the plan, has an invalid value, or belongs to
        another engine."""
        topics = [source.name for source in plan.sources if source.is_topic]
        check_names("--source", self.sources, [*(name for name, *_ in folders(plan)), *topics])
        check_names("--sink", self.sinks, _sink_names(plan))
        for name, value in self.settings.items():
            if name not in SETTINGS:
                raise wrong(f"--set: unknown setting `{name}`", did_you_mean(name, SETTINGS, "settings"))
            if name in SIZES:
                if (fault := size_fault(name, value)) is not None:
                    raise wrong(f"--set: {fault[0]}", fault[1])
            elif (word := word_and_names(value)[0]) not in SETTINGS[name]:
                raise wrong(
                    f"--set: unknown value of `{name}`: `{value}`",
                    did_you_mean(word, SETTINGS[name], "values"),
                )
            elif (fault := grouping_fault(name, value)) is not None:
                raise wrong(f"--set: {fault[0]}", fault[1])
            elif (group := plan.unknown_group(value)) is not None:
                guess = did_you_mean(group, plan.stream_attributes, "attributes")
                raise wrong(f"--set: unknown attribute `{group}`", guess)
        for option, number in (
            ("--files-per-epoch", self.files_per_epoch),
            ("--records-per-epoch", self.records_per_epoch),
        ):
            if number is not None and number < 1:
                raise wrong(f"{option}: {number} is less than 1", "a whole number from 1 on, or none")
        if not (math.isfinite(self.interval) and self.interval >= 0):
            raise wrong(f"--interval: {self.interval} is not a number of seconds", "0, or more")
        self._check_engine()

    def _check_engine(self) -> None:
        if self.engine is not None and self.engine not in ENGINES:
            raise wrong(
                f"--engine: there is no engine `{self.engine}`", did_you_mean(self.engine, ENGINES, "engines")
            )
        if self.remote is not None and self.engine not in (None, "connect"):
            raise wrong("--remote is for the engine connect", "leave one of the two out")
        if self.remote is None and self.engine == "connect":
            raise wrong("the engine connect requires --remote sc://HOST:PORT", "the address of a server")
        if self.master is not None and (self.remote is not None or self.engine not in (None, "spark")):
            raise wrong("--master is for the engine spark", "leave one of the two out")


def apply(plan: Plan, options: Options) -> Plan:
    """Returns the plan with the paths and settings of the options. Raises `DiagnosticError`: RQ477 as `Options.check`
    does, and as `check_permitted` does."""
    options.check(plan)
    applied = at_paths(plan, options.sources, options.sinks, options.settings)
    check_permitted(applied, options.allow_paths, options.sources, options.sinks)
    return evolve(applied, allowed=allowed_folders(options.allow_paths))


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


def _sink_names(plan: Plan) -> dict[str, str]:
    """Maps names of sinks to emits: their own names, and those of folders or topics that only one emit writes to."""
    folders = [(emit.path.rstrip("/").rpartition("/")[2], emit.name) for emit in plan.emits]
    counts = Counter(folder for folder, _ in folders)
    names = {emit.name: emit.name for emit in plan.emits}
    return {**{folder: name for folder, name in folders if counts[folder] == 1}, **names}


def _by_emit(plan: Plan, sinks: Texts) -> Texts:
    """Returns sinks by the names of emits; unknown names stay."""
    emits, paths = _sink_names(plan), dict[str, str]()
    for name, path in sinks.items():
        if (emit := emits.get(name, name)) in paths:
            raise wrong(f"--sink: `{emit}` is given twice", f"`{name}` is the folder of `{emit}`")
        paths[emit] = path
    return paths


def check_names(option: str, names: Iterable[str], valid: Iterable[str]) -> None:
    """Raises `DiagnosticError` RQ477 for a name that is not valid. `option`: for the message."""
    valid = list(valid)
    for name in names:
        if name not in valid:
            message = f"{option}: the query has no `{name}`; it has {', '.join(valid)}"
            guess = suggest(name, valid)
            raise wrong(message, f"did you mean `{guess}`?" if guess else "a name of the query")


def wrong(message: str, hint: str) -> DiagnosticError:
    """Returns RQ477."""
    return failure("RQ477", message, hint=hint)


# --- values ----------------------------------------------------------------------------------------------


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
        default=1.0,
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
    click.option(
        "--allow-module",
        "allow_modules",
        metavar="NAME",
        multiple=True,
        help="Let a user's operator load a Python module, or one of a package.",
    ),
    _ALLOW_PATH,
    click.option("--conf", metavar="SPARK=VALUE", multiple=True, callback=_pairs, help="A setting of Spark."),
    click.option(
        "--yes", is_flag=True, help="Continue with an edited query without asking (`cedilla plan`)."
    ),
    click.option("--verbose", is_flag=True, help="Also show the messages of Spark."),
)
