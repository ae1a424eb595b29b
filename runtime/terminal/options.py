"""The options of `cedilla run`, shared with generated programs (design, section 7)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import reduce, wraps
from typing import Any

import click
from attrs import evolve, field, fields, frozen

from cedilla.compiler import ENGINES, Engine
from cedilla.compiler.plan import Emit, Plan, folders
from cedilla.compiler.plan.topics import is_topic
from cedilla.grammar.syntax import SETTINGS

Texts = Mapping[str, str]


@frozen(kw_only=True)
class Options:
    """How to run a query; what is not given is as the query says.

    `sources`, `sinks`: name -> path; `settings`: those of the query; `conf`: those of Spark; `yes`: an edited query
    goes on from its checkpoint, where that has to be confirmed. `engine`: the one that runs it, by default Spark, or
    where there is no Java the embedded one; `remote`: the address of a Spark Connect server, `sc://HOST:PORT`.
    """

    once: bool = False
    checkpoint: str | None = None
    sources: Texts = field(factory=dict[str, str])
    sinks: Texts = field(factory=dict[str, str])
    files_per_epoch: int | None = None
    records_per_epoch: int | None = None
    interval: float = 1.0
    engine: Engine | None = None
    master: str | None = None
    remote: str | None = None
    settings: Texts = field(factory=dict[str, str])
    conf: Texts = field(factory=dict[str, str])
    yes: bool = False
    verbose: bool = False

    def check(self, plan: Plan) -> None:
        """Raise `click.UsageError` where a source or sink is not of the plan, or options are of two engines."""
        if self.remote is not None and self.engine not in (None, "connect"):
            raise click.UsageError("--remote is for the engine connect")
        if self.remote is None and self.engine == "connect":
            raise click.UsageError("the engine connect requires --remote sc://HOST:PORT")
        if self.master is not None and (self.remote is not None or self.engine not in (None, "spark")):
            raise click.UsageError("--master is for the engine spark")
        topics = [source.name for source in plan.sources if source.is_topic]
        _check_names("--source", self.sources, [*(name for name, *_ in folders(plan)), *topics])
        _check_names("--sink", self.sinks, [emit.name for emit in plan.emits])


def apply(plan: Plan, options: Options) -> Plan:
    """The plan with the paths and settings of the options."""
    return evolve(
        plan,
        sources=[
            evolve(
                s,
                path=(path := options.sources.get(s.name, s.path)),
                format=_format_at(path, s.format),
                markers=options.sources.get(f"{s.name}.markers", s.markers),
            )
            for s in plan.sources
        ],
        emits=[written_to(e, options.sinks.get(e.name, e.path)) for e in plan.emits],
        settings={**plan.settings, **options.settings},
    )


def written_to(emit: Emit, path: str) -> Emit:
    """An emit that writes elsewhere."""
    return evolve(emit, path=path, format=_format_at(path, emit.format))


def _format_at(path: str, format_: str) -> str:
    """The format of what a path names: where that is a folder in place of a topic, that of recorded records."""
    return _RECORDED.get(format_, format_) if not is_topic(path) else format_


_RECORDED = {"kafka": "json", "kafka_otlp": "otlp"}
"""The formats of topics, and those of files into which records were written."""


def path_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the options of `run` that change the plan, as for `run_options`."""

    @wraps(command)
    def with_options(*args: Any, **given: Any) -> Any:
        chosen = {name: given.pop(name) for name in ("sources", "sinks", "settings")}
        return command(*args, options=Options(**chosen), **given)

    return _SOURCE(_SINK(_SET(with_options)))


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the options of `run` on a click command, which gets them as one `options: Options`."""

    @wraps(command)
    def with_options(*args: Any, **given: Any) -> Any:
        chosen = {each.name: given.pop(each.name) for each in fields(Options)}
        return command(*args, options=Options(**chosen), **given)

    return reduce(lambda wrapped, option: option(wrapped), reversed(_OPTIONS), with_options)


def _check_names(option: str, given: Iterable[str], known: Iterable[str]) -> None:
    for name in given:
        if name not in known:
            raise click.UsageError(f"{option}: the query has no `{name}`; it has {', '.join(known)}")


# --- values ----------------------------------------------------------------------------------------------


def _pairs(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """`NAME=VALUE`, given any number of times."""
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


def params_of(context: click.Context) -> Texts:
    """The values of `--param`, by name."""
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


def _settings(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    pairs = _pairs(context, parameter, values)
    for name, value in pairs.items():
        if name not in SETTINGS:
            raise click.BadParameter(f"unknown setting `{name}`; known: {', '.join(SETTINGS)}")
        if value not in SETTINGS[name]:
            raise click.BadParameter(
                f"unknown value of `{name}`: `{value}`; known: {', '.join(SETTINGS[name])}"
            )
    return pairs


def _seconds(context: click.Context, parameter: click.Parameter, value: float) -> float:
    if not math.isfinite(value):
        raise click.BadParameter("a number of seconds is required")
    return value


_SOURCE = click.option(
    "--source",
    "sources",
    metavar="NAME=PATH",
    multiple=True,
    callback=_pairs,
    help="Read a source from elsewhere than the query says.",
)
_SINK = click.option(
    "--sink",
    "sinks",
    metavar="NAME=PATH",
    multiple=True,
    callback=_pairs,
    help="Write a result elsewhere than the query says; its name is that of the emitted relation.",
)
_SET = click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    callback=_settings,
    help="A setting of the query, for example late=abort.",
)
_OPTIONS = (
    click.option("--once", is_flag=True, help="Process what is there and stop."),
    click.option("--checkpoint", metavar="DIR", help="Where state and commit records are kept."),
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
        callback=_seconds,
        help="How often to look for new files.",
    ),
    click.option(
        "--engine",
        type=click.Choice(ENGINES),
        help="What runs it: Spark, a Spark Connect server (--remote), or Sail inside this process, without Java.",
    ),
    click.option("--master", metavar="URL", help="The Spark master; this machine by default."),
    click.option("--remote", metavar="sc://HOST:PORT", help="A Spark Connect server."),
    _SET,
    click.option("--conf", metavar="SPARK=VALUE", multiple=True, callback=_pairs, help="A setting of Spark."),
    click.option("--yes", is_flag=True, help="Go on with an edited query without asking (`cedilla plan`)."),
    click.option("--verbose", is_flag=True, help="Show what Spark says of itself, too."),
)
