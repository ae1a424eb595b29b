"""The options of a run: of `cedilla run`, of generated programs and of Python users (design, section 7)."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping

from attrs import evolve, field, frozen

from cedilla.compiler import ENGINES, Engine
from cedilla.compiler.plan import Plan, at_paths, folders
from cedilla.compiler.plan.record_fields import unknown_schema_fault
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.grammar.diagnostics.suggestions import did_you_mean, suggest
from cedilla.grammar.syntax.settings import (
    COMPOSED,
    SETTINGS,
    grouping_fault,
    value_fault,
    word_and_names,
)
from cedilla.runtime.epochs.options.permissions import allowed_folders, check_permitted, folder_of

Texts = Mapping[str, str]
Paths = Mapping[str, str | os.PathLike[str]]


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
    Spark. `yes`: confirms that an edited query continues from its checkpoint. `approve`: asks at the terminal
    about edits, and about kinds of changes that `set changes` does not take. `engine`: Spark by default, or the
    embedded engine without Java. `remote`: the address of a Spark Connect server, `sc://HOST:PORT`.
    `allow_modules`: modules, or packages, that user operators may load. `allow_paths`: folders where the query may
    read and write, in addition to its own and the working directory.
    """

    once: bool = False
    checkpoint: str | None = field(default=None, converter=_path)
    sources: Texts = field(factory=dict[str, str], converter=_paths)
    sinks: Texts = field(factory=dict[str, str], converter=_paths)
    files_per_epoch: int | None = None
    records_per_epoch: int | None = None
    interval: float = 0.1
    engine: Engine | None = None
    master: str | None = None
    remote: str | None = None
    settings: Texts = field(factory=dict[str, str])
    conf: Texts = field(factory=dict[str, str])
    allow_modules: tuple[str, ...] = field(default=(), converter=_several)
    allow_paths: tuple[str, ...] = field(default=(), converter=_several)
    yes: bool = False
    approve: bool = False
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
            if name in COMPOSED:
                if (fault := value_fault(name, value)) is not None:
                    raise wrong(f"--set: {fault[0]}", fault[1])
            elif (word := word_and_names(value)[0]) not in SETTINGS[name]:
                raise wrong(
                    f"--set: unknown value of `{name}`: `{value}`",
                    did_you_mean(word, SETTINGS[name], "values"),
                )
            elif (fault := grouping_fault(name, value)) is not None:
                raise wrong(f"--set: {fault[0]}", fault[1])
            if (unknown := plan.unknown_name(value)) is not None:
                guess = did_you_mean(unknown, plan.stream_attributes, "attributes")
                raise wrong(f"--set: unknown attribute `{unknown}`", guess)
            if name == "unknown_schema" and (fault := unknown_schema_fault(plan.sources, value)) is not None:
                raise wrong(f"--set: {fault[0]}", fault[1])
        for option, number in (
            ("--files-per-epoch", self.files_per_epoch),
            ("--records-per-epoch", self.records_per_epoch),
        ):
            if number is not None and number < 1:
                raise wrong(f"{option}: {number} is less than 1", "a whole number from 1 on, or none")
        if not (math.isfinite(self.interval) and self.interval >= 0):
            raise wrong(f"--interval: {self.interval} is not a number of seconds", "0, or more")
        if self.approve and self.yes:
            raise wrong("--approve: --yes confirms what it would ask", "one of the two")
        self._check_engine()

    def _check_engine(self) -> None:
        if self.engine is not None and self.engine not in ENGINES:
            raise wrong(
                f"--engine: unknown engine `{self.engine}`", did_you_mean(self.engine, ENGINES, "engines")
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
