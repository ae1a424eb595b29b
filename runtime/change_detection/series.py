"""Detects jumps in a sequence of numbers that a change of unit explains.

A window of the latest values is split where both parts vary least about their means (the change-point test of
least squares), and near there at the longest step. The split is a jump if undoing a known conversion after it
makes the values continue. They must continue in level, in spread and from one to the next, and must not do so
unconverted. Ratios are compared if all values are positive, differences always. The thresholds were set on
the weather of `make demo`, with and without its accents.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from heapq import nlargest
from itertools import accumulate, pairwise
from math import log
from statistics import fmean, median
from typing import Generic, TypeVar

from attrs import define, field, frozen

from cedilla.compiler.regions.affine import Affine

WINDOW = 128
"""The number of latest values that are compared."""
MIN_VALUES = 16
"""The minimum number of values on either side."""
_STRIDE = 32
_MAX_SHIFT = 6
"""The maximum distance of the longest step from the split of the test."""

_HISTORY = 1024
"""The number of older values that measure steps; `_NEARLY_ALL` of their steps are no longer than a normal
one.
"""
_NEARLY_ALL = 0.995

_STEP = 2.0
"""A jump is this many times as long as nearly all steps before it, and this many deviations away in level."""
_FAR = 4.0
"""A step of this length counts during a slow trend, too: then only values near it have to continue in level."""
_SCALE, _OTHER_SCALE = 2.0, 3.0
"""Alternatively the size of steps changes, as the logarithm of a ratio: with a long step, and without."""
_GOES_ON, _LEVEL, _SPREAD = 1.0, 2.0, 0.6
"""With the conversion undone, the step, the level and the size of steps deviate at most by these."""
_MIN_CONFIDENCE = 0.85
"""The share of the jump that the conversion has to explain."""
_FLOOR = 1e-3
"""Steps and deviations below this share of the middle value count as zero."""

Place = TypeVar("Place")


def _conversions() -> Iterator[tuple[str, Affine]]:
    """Yields conversions with their names, and their inverses."""
    for power in (3, 2, 6, 1, 4, 5):
        yield f"x {10**power:,}", Affine(Fraction(10**power), Fraction(0))
        yield f"/ {10**power:,}", Affine(Fraction(1, 10**power), Fraction(0))
    fahrenheit, kelvin = Affine(Fraction(9, 5), Fraction(32)), Affine(Fraction(1), Fraction("273.15"))
    yield "°C to °F", fahrenheit
    yield "°F to °C", fahrenheit.inverse()
    yield "°C to K", kelvin
    yield "K to °C", kelvin.inverse()
    yield "°F to K", kelvin.after(fahrenheit.inverse())
    yield "K to °F", fahrenheit.after(kelvin.inverse())
    for first, second, factor in (
        ("m/s", "km/h", "3.6"),
        ("mph", "km/h", "1.609344"),
        ("knots", "km/h", "1.852"),
        ("m/s", "mph", "2.2369362920544"),
        ("inches", "mm", "25.4"),
        ("feet", "m", "0.3048"),
        ("lb", "kg", "0.45359237"),
        ("US gallons", "litres", "3.785411784"),
        ("inHg", "hPa", "33.8638866667"),
        ("psi", "kPa", "6.894757293168"),
        ("minutes", "seconds", "60"),
        ("hours", "seconds", "3600"),
        ("kWh", "MJ", "3.6"),
        ("HP", "kW", "0.745699872"),
    ):
        forth = Affine(Fraction(factor), Fraction(0))
        yield f"{first} to {second}", forth
        yield f"{second} to {first}", forth.inverse()


CONVERSIONS = tuple(_conversions())


@frozen
class Jump(Generic[Place]):
    """A jump: the place of the first value after it, and the conversion that explains it.

    `confidence`: the share of the jump, from 0 to 1, that disappears when the conversion is undone. `before`,
    `after`: the middle values on both sides. `others`: conversions that explain it, too.
    """

    place: Place
    name: str
    function: Affine
    confidence: float
    before: float
    after: float
    others: tuple[str, ...] = ()


@define
class Series(Generic[Place]):
    """The latest values of one sequence. After a jump, earlier values are converted to the new units."""

    _places: list[Place] = field(factory=list)
    _values: list[float] = field(factory=list)
    _history: array[float] = field(factory=lambda: array("d"))
    _new: int = 0

    @property
    def size(self) -> int:
        """The number of values that are kept."""
        return len(self._history) + len(self._values)

    @property
    def unseen(self) -> int:
        """The number of values since the last look."""
        return self._new

    @classmethod
    def resumed(cls, latest: Sequence[tuple[Place, float]], unseen: int) -> Series[Place]:
        """Restores a sequence from its latest values; `unseen` of them were not yet examined."""
        return cls([position for position, _ in latest], [value for _, value in latest], array("d"), unseen)

    def latest(self, count: int) -> list[tuple[Place, float]]:
        """Returns at most `count` of the latest values, each with its place."""
        return list(zip(self._places, self._values, strict=True))[-count:] if count else []

    def add(self, place: Place, value: float) -> Jump[Place] | None:
        """Adds the next value; returns a jump that it confirms."""
        self._places.append(place)
        self._values.append(value)
        self._new += 1
        if self._new < _STRIDE or len(self._values) < 2 * MIN_VALUES:
            return None
        return self.look()

    def look(self) -> Jump[Place] | None:
        """Looks for a jump in the latest values; also used at the end of the sequence."""
        self._new = 0
        jump = self._jump() if len(self._values) >= 2 * MIN_VALUES else None
        gone = len(self._values) - WINDOW + _STRIDE
        if gone > 0:
            self._history.extend(self._values[:gone])
            del self._history[:-_HISTORY]
            del self._places[:gone], self._values[:gone]
        return jump

    def _jump(self) -> Jump[Place] | None:
        split = _split(self._values)
        if split is None:
            return None
        before, after = self._values[:split], self._values[split:]
        explanation = explained(before, after, self._history)
        if explanation is None:
            return None
        name, function, confidence, others = explanation
        self._values = [*(_through(function, value) for value in before), *after]
        self._history = array("d", (_through(function, value) for value in self._history))
        return Jump(self._places[split], name, function, confidence, median(before), median(after), others)


def _through(function: Affine, value: float) -> float:
    return value if function.is_identity else float(function.slope) * value + float(function.shift)


def _split(values: Sequence[float]) -> int | None:
    """Returns the position at which a sequence differs most, at the longest step near it."""
    low, high = min(values), max(values)
    if low == high:
        return None
    count = len(values)
    sums = list(accumulate((value - low) / (high - low) for value in values))
    whole = sums[-1]

    def between(place: int) -> float:
        """Returns the part of the sum of squares that the means of both parts explain."""
        return sums[place - 1] ** 2 / place + (whole - sums[place - 1]) ** 2 / (count - place)

    index = max(range(MIN_VALUES, count - MIN_VALUES + 1), key=between)
    near = range(max(MIN_VALUES, index - _MAX_SHIFT), min(count - MIN_VALUES, index + _MAX_SHIFT) + 1)
    return max(near, key=lambda n: abs(values[n] - values[n - 1]))


def explained(
    before: Sequence[float], after: Sequence[float], steps: Sequence[float]
) -> tuple[str, Affine, float, tuple[str, ...]] | None:
    """Returns the conversion from the values before a jump to those after it, its share, and other
    candidates.

    `steps`: earlier values of the sequence, whose steps measure the jump.
    """
    linear = _Scale.of(before, steps, _as_it_is)
    fits = [fit for fit in linear.explanations(after) if fit.confidence >= _MIN_CONFIDENCE]
    if min(*before, *after, *steps) > 0:
        fits += [
            fit
            for fit in _Scale.of(before, steps, log).explanations(after)
            if fit.confidence >= _MIN_CONFIDENCE
        ]
    if not fits:
        return None
    # Of several, prefer the one that continues best in values, not only in ratios.
    best = min(fits, key=lambda fit: linear.misfit(_undone(fit.function, after)).total)
    others = dict.fromkeys(fit.name for fit in fits if fit.function != best.function)
    return best.name, best.function, best.confidence, tuple(others)


def _as_it_is(value: float) -> float:
    return value


def _undone(function: Affine, values: Sequence[float]) -> list[float]:
    undo = function.inverse()
    return [_through(undo, value) for value in values]


@frozen
class _Explanation:
    name: str
    function: Affine
    confidence: float


@frozen
class _Misfit:
    """The deviation of values after a jump: by the first step, in nearly the longest steps before; by level,
    in deviations; by spread, as the logarithm of a ratio.
    """

    step: float
    level: float
    spread: float

    @property
    def total(self) -> float:
        return self.step + self.level + 2 * self.spread


@frozen(slots=False)
class _Scale:
    """The values before a jump, plain or as logarithms. `steps`: older values."""

    view: Callable[[float], float]
    before: Sequence[float]
    steps: Sequence[float]

    @classmethod
    def of(cls, before: Sequence[float], steps: Sequence[float], view: Callable[[float], float]) -> _Scale:
        return cls(view, [view(value) for value in before], steps)

    @cached_property
    def least(self) -> float:
        """The size that counts as zero."""
        return max(_FLOOR * median(map(abs, self.before)), 1e-300)

    @cached_property
    def long(self) -> float:
        """Nearly the longest of all steps."""
        values = [*map(self.view, self.steps), *self.before]
        longest = len(values) - 1 - int(_NEARLY_ALL * (len(values) - 2))
        return max(nlargest(longest, (abs(b - a) for a, b in pairwise(values)))[-1], self.least)

    def explanations(self, after: Sequence[float]) -> Iterator[_Explanation]:
        """Yields the conversions that make values continue, if they do not continue unconverted."""
        values = [self.view(value) for value in after]
        varies = self.middle[1] > 0 and _deviation(values) > 0
        level, spread = self._level(values, near=False), self._spread(values) if varies else 0.0
        # Most values continue, which this detects without the lengths of all steps.
        if level < _STEP and spread < _SCALE:
            return
        plain = self.misfit(after, near=False)
        if plain.step < _STEP and spread < _OTHER_SCALE:
            return
        for name, function in CONVERSIONS:
            back = _undone(function, after)
            # Ratios cannot show shifts.
            if self.view is log and (function.shift or min(back) <= 0):
                continue
            if self._step([self.view(value) for value in back[:2]]) > _GOES_ON:
                continue
            fit = self.misfit(back, near=plain.step >= _FAR)
            if fit.level <= _LEVEL and fit.spread <= _SPREAD:
                yield _Explanation(name, function, 1 - fit.total / plain.total)

    def misfit(self, values: Sequence[float], *, near: bool = True) -> _Misfit:
        """Measures the deviation after a jump.

        `near`: by level, values next to the jump may decide instead of all.
        """
        back = [self.view(value) for value in values]
        return _Misfit(self._step(back), self._level(back, near=near), self._spread(back))

    def _step(self, back: Sequence[float]) -> float:
        first, last = back[0], self.before[-1]
        # The shortest of three, so that one outlier is not a jump.
        return min(abs(first - last), abs(back[1] - last), abs(first - self.before[-2])) / self.long

    def _level(self, back: Sequence[float], *, near: bool) -> float:
        middle, own = self.middle
        off = abs(median(back) - middle)
        if near:
            # A slow trend moves the level of all values, not that of those near the jump.
            off = min(off, abs(median(back[:MIN_VALUES]) - self.near))
        return off / max(own, _deviation(back), self.least)

    def _spread(self, back: Sequence[float]) -> float:
        return abs(log(max(_mean_step(back), self.least) / self.mean_step))

    @cached_property
    def middle(self) -> tuple[float, float]:
        """The median and the deviation."""
        return median(self.before), _deviation(self.before)

    @cached_property
    def near(self) -> float:
        """The median of the last values."""
        return median(self.before[-MIN_VALUES:])

    @cached_property
    def mean_step(self) -> float:
        """The mean of the steps of the window."""
        return max(_mean_step(self.before), self.least)


def _deviation(values: Sequence[float]) -> float:
    """Returns the median absolute deviation, as a standard deviation."""
    middle = median(values)
    return 1.4826 * median(abs(value - middle) for value in values)


def _mean_step(values: Sequence[float]) -> float:
    """Returns the mean step without the longest fifth, which a few outliers would decide."""
    steps = sorted(abs(b - a) for a, b in pairwise(values))
    return fmean(steps[: max(1, len(steps) * 4 // 5)])
