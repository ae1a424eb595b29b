"""What an epoch did, for people and for logs."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen


@frozen
class EpochReport:
    """One committed epoch.

    `seconds`: from the first read to the commit; `accents`, `punctuations`: markers read in this epoch;
    `in_force`: altered regions after it; `quarantined`: code -> rejected items; `held`: what waits, and why;
    `notes`: what else a user should know.
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
