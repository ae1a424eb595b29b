"""What an epoch did, for people and for logs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from attrs import field, frozen

from cedilla.compiler import Engine
from cedilla.grammar.diagnostics import Diagnostic

if TYPE_CHECKING:
    from cedilla.compiler.analysis.waiting import Waiting


MOST_WARNINGS = 10
"""So many warnings of one code that each member of a fleet may bring are shown of an epoch, with their lines."""


@frozen
class EpochReport:
    """One committed epoch.

    `seconds`: from the first read to the commit; `apart`: from the commit before it, if that came later;
    `accents`, `punctuations`: markers read in this epoch; `in_force`: accents in force after it, as `status` lists
    them; `quarantined`: code -> rejected items; `held`: what waits, and why; `notes`: what else a user should know.
    `written`: output -> its tuples, where they were counted; `files`, `files_left`: those of the batch that were
    read, and that are to be; `waiting`: rows that wait for punctuation;
    `warnings`: what is doubtful about the epoch's accents and values; `engine`: what ran it.
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
    apart: float | None = None
    written: Mapping[str, int] = field(factory=dict[str, int])
    files_left: int = 0
    waiting: tuple[Waiting, ...] = field(default=(), converter=tuple)
    warnings: tuple[Diagnostic, ...] = field(default=(), converter=tuple)
    engine: Engine = "spark"
