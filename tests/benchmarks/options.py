"""What of the suites is to be run."""

from __future__ import annotations

from attrs import frozen


@frozen(kw_only=True)
class Wanted:
    """`rows`, `epochs`: instead of a suite's own sizes; `short`: the form for `make bench`; `flink`: with Flink."""

    short: bool
    cores: int
    rows: tuple[int, ...] = ()
    epochs: int | None = None
    formats: tuple[str, ...] = ("json",)
    flink: bool = True
