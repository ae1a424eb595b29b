"""The collected kinds of change, each put into series at random places: what a detector should find."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from fractions import Fraction

from attrs import frozen

from cedilla.compiler.regions.affine import IDENTITY, Affine
from tests.benchmarks.suspect.series import (
    EVENT,
    EVENTS,
    KINDS,
    LENGTH,
    PAIR_EVENTS,
    TIME_EVENTS,
    Kind,
    Values,
)

SWAP, HOUR = "swap", "an hour"


def scale(factor: int | str | Fraction) -> Affine:
    return Affine(Fraction(factor), Fraction(0))


_FAHRENHEIT = Affine(Fraction(9, 5), Fraction(32))
CHANGES: Mapping[str, Affine] = {
    "x 10": scale(10),
    "x 60": scale(60),
    "x 100": scale(100),
    "x 1000": scale(1000),
    "x 1024": scale(1024),
    "x 3.6": scale("3.6"),
    "1.8x + 32": _FAHRENHEIT,
    "sign": scale(-1),
}
_ALL = ("x 10", "x 100", "x 1000")
_OF_KINDS: Mapping[str, tuple[str, ...]] = {
    "degF": ("x 10", "x 100", "1.8x + 32"),
    "degC": ("x 10", "x 100", "1.8x + 32"),
    "percent": ("x 10", "x 100"),
    "hPa": _ALL,
    "mph": ("x 10", "x 100"),
    "kW": (*_ALL, "x 60", "sign", SWAP),
    "kWh": (*_ALL, "x 60", "x 3.6"),
    "ms": (*_ALL, "x 60"),
    "MiB": ("x 1024",),
    "cm": (*_ALL, "sign"),
    "": (*_ALL, "x 60"),
}
"""Unit -> the changes of series in it, which also occur the other way round."""
_ONLY_NET = "net power"
"""The series whose sign may change; others have one."""


@frozen
class Trial:
    """One series. `at`: the first value that is another one after the change, `None` if nothing changes. `function`:
    what happens to the values; `other`: the series that is swapped with it; `declared`: whether the stream names the
    unit."""

    kind: Kind
    change: str
    times: list[int]
    values: Values
    at: int | None
    function: Affine = IDENTITY
    other: Values | None = None
    declared: bool = False


def trials(seed: int, repeats: int) -> Iterator[Trial]:
    """Yields every change of every kind of series, and every event that is none."""
    rng = random.Random(seed)
    for kind in KINDS:
        for repeat in range(repeats):
            declared = bool(kind.unit) and repeat % 2 == 1
            for change in (*_OF_KINDS[kind.unit], HOUR):
                if change == "sign" and kind.name not in (_ONLY_NET, "tank level"):
                    continue
                yield _changed(kind, change, rng, declared)
            for event in EVENTS:
                yield _unchanged(kind, event, rng, declared)
    # Later additions have numbers of their own, so that the series above stay the same.
    rng = random.Random(f"times and pairs {seed}")
    for kind in KINDS:
        for _ in range(repeats):
            for event in TIME_EVENTS:
                yield _with_times(kind, event, rng)
            for event in PAIR_EVENTS:
                yield _pair(kind, event, rng)


def _with_times(kind: Kind, event: str, rng: random.Random) -> Trial:
    tuples = list(zip(_times(kind), kind.make(rng), strict=True))
    times, values = zip(*TIME_EVENTS[event](tuples, _place(rng), rng), strict=True)
    return Trial(kind, event, list(times), list(values), None)


def _pair(kind: Kind, event: str, rng: random.Random) -> Trial:
    """Returns a series beside a smaller one of its kind, to which the same may happen."""
    at, both = _place(rng), rng.random() < 0.5
    values, other = kind.make(rng), [value * rng.uniform(0.1, 0.3) for value in kind.make(rng)]
    values, other = EVENTS[event](values, at, rng), EVENTS[event](other, at, rng) if both else other
    return Trial(kind, f"of two: {event}", _times(kind), values, None, other=other)


def _times(kind: Kind) -> list[int]:
    return [1_700_000_000 + round(3600 * kind.hours * n) for n in range(LENGTH)]


def _place(rng: random.Random) -> int:
    return rng.randrange(*(int(LENGTH * share) for share in EVENT))


def _unchanged(kind: Kind, event: str, rng: random.Random, declared: bool) -> Trial:
    values = EVENTS[event](kind.make(rng), _place(rng), rng)
    return Trial(kind, event, _times(kind), values, None, declared=declared)


def _changed(kind: Kind, change: str, rng: random.Random, declared: bool) -> Trial:
    values, times, at, other = kind.make(rng), _times(kind), _place(rng), None
    if change == HOUR:
        back = rng.random() < 0.5
        times = [time - (3600 if back else -3600) if n >= at else time for n, time in enumerate(times)]
        function = Affine(Fraction(1), Fraction(-3600 if back else 3600))
        return Trial(kind, change, times, values, at, function, declared=declared)
    if change == SWAP:
        other = [value * rng.uniform(0.1, 0.3) for value in kind.make(rng)]
        at = next(n for n in range(at, LENGTH) if values[n] != other[n])
        values, other = [*values[:at], *other[at:]], [*other[:at], *values[at:]]
        return Trial(kind, change, times, values, at, IDENTITY, other, declared)
    function = CHANGES[change]
    if change != "sign" and rng.random() < 0.5:
        function = function.inverse()
    slope, shift = float(function.slope), float(function.shift)
    changed = [slope * value + shift if n >= at else value for n, value in enumerate(values)]
    at = next(n for n in range(at, LENGTH) if changed[n] != values[n])
    return Trial(kind, change, times, changed, at, function, declared=declared)
