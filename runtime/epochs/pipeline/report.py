"""The report of an epoch, for people and for logs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from attrs import field, frozen

from cedilla.compiler import Engine
from cedilla.grammar.diagnostics import Diagnostic

if TYPE_CHECKING:
    from cedilla.compiler.explain.analysis.waiting import Waiting


MAX_WARNINGS = 10
"""Maximum number of warnings of one code that an epoch shows with their lines, for codes that may occur often."""


@frozen
class EpochReport:
    """The report of one committed epoch.

    `seconds`: from the first read to the commit; `accents`, `punctuations`: markers read in this epoch; `in_force`:
    accents in force after it, as `status` lists them; `quarantined`: code -> rejected items; `held`: delayed
    markers with reasons; `notes`: further notes for users. `written`: output -> its tuples, if they were counted;
    `files`, `files_left`: the files of the batch that were read, and those that remain; `waiting`: rows that wait
    for punctuation; `warnings`: those about the epoch's accents and values; `engine`: the engine that ran it;
    `phases`: the seconds of each part of its work; `undeclared`: source -> field that no attribute reads -> files
    that have it, of those whose first tuple was looked at.
    """

    number: int
    tuples: int
    seconds: float
    files: int = 0
    accents: int = 0
    punctuations: int = 0
    in_force: int = 0
    quarantined: Mapping[str, int] = field(factory=dict[str, int])
    held: tuple[str, ...] = field(default=(), converter=tuple)
    notes: tuple[str, ...] = field(default=(), converter=tuple)
    written: Mapping[str, int] = field(factory=dict[str, int])
    files_left: int = 0
    waiting: tuple[Waiting, ...] = field(default=(), converter=tuple)
    warnings: tuple[Diagnostic, ...] = field(default=(), converter=tuple)
    engine: Engine = "spark"
    phases: Mapping[str, float] = field(factory=dict[str, float])
    undeclared: Mapping[str, Mapping[str, int]] = field(factory=dict[str, Mapping[str, int]])
