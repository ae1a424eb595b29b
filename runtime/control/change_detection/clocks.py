"""Finds clocks that are set: from some tuple on, times are off by an hour or by the offset of a zone.

One step between tuples is longer or shorter by this offset, and all others are usual. Missing tuples look alike. The
odds against them come from their number, from the values, which continue if no tuple is missing, and from other
clocks of the same tuples.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf, log
from statistics import median
from typing import Generic, NamedTuple, TypeVar

from attrs import define, field, frozen

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.regions import Value
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.runtime.control.change_detection.model import (
    Model,
    bounded,
    deviation,
    fitted,
    loss,
    with_period,
)
from cedilla.runtime.control.change_detection.series import MIN_PAST, Jump
from cedilla.runtime.control.change_detection.window import MIN_VALUES

_HOUR = 3600.0
_OFFSETS = sorted({*(n * 0.5 for n in range(1, 29)), 5.75, 8.75, 12.75})
"""Differences of zones and clocks, in hours."""
_ODD = log(4)
"""The penalty of offsets other than an hour, in nats."""
_STRIDE = 32
_KEPT = 1024
"""The number of latest tuples that are kept; half of this number may be added to them."""
_LATE = 400
"""The number of tuples after a step that may show what it is."""
_LOOSE = 0.05
"""A step may be off by this share of the usual one."""
_MANY_WIDTHS = 4
"""The largest deviation of a usual step, in widths."""
_MISSING = 1 / 5
"""The odds of a clock that is set against tuples that are missing."""
_SPREAD = 7.0
"""The number of missing tuples has a density of 1 / (this * number): all orders of magnitude are equally likely."""
_BACK = 200.0
"""The odds of a clock that is set back against tuples that are late or come twice, in an ordered sequence."""
_OTHER_CLOCK = 5.0
"""The evidence of another clock of the tuples, in nats."""
_DAY = 86_400.0
_MIN_COURSE = 0.2
"""The evidence in each earlier value that a course of the day must have, in nats."""
_DEPENDENT = 6.0
"""Neighbouring values depend on each other: this many have the evidence of one."""
_MOST = 4.0
"""The most evidence of one attribute, in nats."""
_MIN_ODDS = log(20)
_TICKS = (1, 10**3, 10**6, 10**9)
"""Units of numeric times, in ticks of a second."""
_YEARS = (5e8, 5e9)
"""Seconds since 1970 that are taken for a time."""

Place = TypeVar("Place")


def ticks_of(type_: Type, value: Value) -> int | None:
    """Returns the ticks of a second of a time, a timestamp or a whole number since 1970; `None` for other values."""
    if type_.name == "timestamp":
        return 10**6
    if type_.name not in ("int", "long"):
        return None
    seconds = float(value)
    return next((ticks for ticks in _TICKS if _YEARS[0] <= seconds / ticks < _YEARS[1]), None)


class _Steps(NamedTuple):
    """The times of one clock, in seconds, and what is usual about their steps: their length, and how far from it."""

    times: list[float]
    steps: list[float]
    usual: float
    width: float

    @classmethod
    def of(cls, times: list[float]) -> _Steps:
        steps = [b - a for a, b in pairwise(times)]
        usual = median(steps)
        far = sorted(abs(step - usual) for step in steps)
        return cls(times, steps, usual, max(1.0, _LOOSE * usual, far[int(0.9 * len(far))]))

    def at(self, index: int) -> float:
        """Returns how much longer than usual the step to a tuple is."""
        return self.steps[index - 1] - self.usual

    def is_usual(self, index: int) -> bool:
        return abs(self.at(index)) <= _MANY_WIDTHS * self.width

    @property
    def resolution(self) -> float:
        """The smallest gap that shows a missing tuple."""
        return max(self.usual, 2 * self.width)


@frozen
class _Setting:
    """A step that may be a clock that is set: the first tuple after it, and the seconds, forward or back."""

    index: int
    seconds: float


@define
class Clocks(Generic[Place]):
    """The latest tuples of a group: places, times by clock (attribute -> seconds), values by attribute."""

    ticks: Mapping[str, int]
    _places: list[Place] = field(factory=list)
    _times: list[Mapping[str, float]] = field(factory=list)
    _values: list[Mapping[str, float]] = field(factory=list)
    _new: int = 0

    def add(self, position: Place, values: Mapping[str, float]) -> bool:
        """Adds a tuple; returns True if enough are new for a look."""
        self._places.append(position)
        self._times.append(
            {name: values[name] / ticks for name, ticks in self.ticks.items() if name in values}
        )
        self._values.append({name: value for name, value in values.items() if name not in self.ticks})
        self._new += 1
        return self._new >= _STRIDE

    def look(self) -> Iterator[tuple[str, Jump[Place]]]:
        """Yields the clocks that are set, with the jump; times before it are set then, too."""
        self._new = 0
        for kept in (self._places, self._times, self._values):
            if len(kept) > _KEPT * 3 // 2:
                del kept[:-_KEPT]
        if len(self._times) < MIN_PAST + MIN_VALUES:
            return
        for name in self.ticks:
            while (setting := self._setting(name)) is not None:
                yield name, self._jump(name, setting)

    def _jump(self, name: str, setting: _Setting) -> Jump[Place]:
        steps, at = self._steps(name), setting.index
        assert steps is not None
        self._times[:at] = [{**times, name: times[name] + setting.seconds} for times in self._times[:at]]
        function = Affine(IDENTITY.slope, int(setting.seconds * self.ticks[name]))
        length = f"{abs(setting.seconds) / _HOUR:g} hour{'s' if abs(setting.seconds) > _HOUR else ''}"
        text = f"a clock that is set {'forward' if setting.seconds > 0 else 'back'} by {length}"
        step = steps.steps[at - 1]
        note = f"about {steps.usual:,.6g} s from one to the next before it and after it, {step:,.6g} s here"
        return Jump(self._places[at], text, function, 1.0, steps.usual, step, note=note)

    def _steps(self, name: str) -> _Steps | None:
        """Returns the steps of a clock; `None` if it is not in all tuples, or does not run."""
        times = [row[name] for row in self._times if name in row]
        steps = _Steps.of(times) if len(times) == len(self._times) else None
        return None if steps is None or steps.usual <= 0 else steps

    def _setting(self, name: str) -> _Setting | None:
        """Returns the place at which the odds of a clock that is set are high enough, the first one."""
        if (steps := self._steps(name)) is None:
            return None
        unusual = [n for n in range(1, len(steps.times)) if not steps.is_usual(n)]
        for number, index in enumerate(unusual):
            end = unusual[number + 1] if number + 1 < len(unusual) else len(steps.times)
            end = min(end, index + _LATE)
            if index < MIN_PAST or end - index < MIN_VALUES or len(steps.times) - index > _LATE:
                continue
            if (seconds := _offset(steps, index)) is None:
                continue
            odds = self._odds(steps, index, seconds, number)
            if odds + 2 * _MOST < _MIN_ODDS:
                continue
            odds += self._of_other_clocks(name, index) + self._of_values(steps, index, end, seconds)
            if odds >= _MIN_ODDS:
                return _Setting(index, seconds)
        return None

    def _odds(self, steps: _Steps, index: int, seconds: float, unusual: int) -> float:
        """Returns the logarithm of the odds, by the number of values that would be missing and those before."""
        odd = 0.0 if abs(seconds) == _HOUR else _ODD
        if seconds > 0:
            return log(_MISSING * _SPREAD * seconds / steps.resolution / (1 + 2 * unusual)) - odd
        return log(_BACK / (1 + _BACK * unusual)) - odd - self._of_repeats(steps, index)

    def _of_repeats(self, steps: _Steps, index: int) -> float:
        """Returns the evidence for repeated tuples: times after a step back have their earlier values again."""
        before = dict(zip(steps.times[:index], self._values[:index], strict=True))
        after = list(zip(steps.times[index:], self._values[index:], strict=True))
        pairs = [(before[time], values) for time, values in after if time in before]
        if not pairs or sum(a == b for a, b in pairs) <= len(pairs) / 2:
            return 0.0
        is_constant = all(values == pairs[0][1] for _, values in pairs) and len(pairs) > 1
        return log(_BACK) if is_constant else inf

    def _of_other_clocks(self, name: str, index: int) -> float:
        """Returns the evidence of other clocks: one without the step shows that no tuple is missing."""
        others = [
            steps for other in self.ticks if other != name and (steps := self._steps(other)) is not None
        ]
        if not others:
            return 0.0
        return _OTHER_CLOCK if any(steps.is_usual(index) for steps in others) else -_OTHER_CLOCK

    def _of_values(self, steps: _Steps, index: int, end: int, seconds: float) -> float:
        """Returns the evidence of the values: their step, and their course of the day, continue or skip tuples."""
        missing = round(seconds / steps.usual)
        if steps.width > steps.usual / _MANY_WIDTHS or not missing:
            return 0.0
        names = [name for name in self._values[index] if all(name in row for row in self._values[:end])]
        evidence = 0.0
        for name in names:
            values = [row[name] for row in self._values[:end]]
            evidence += _bounded(_of_step(values, index, missing)) if missing > 0 else 0.0
            evidence += _bounded(_of_course(values, index, missing, round(_DAY / steps.usual)))
        return max(-2 * _MOST, min(evidence, 2 * _MOST))


def _bounded(evidence: float) -> float:
    return max(-_MOST, min(evidence, _MOST))


def _offset(steps: _Steps, index: int) -> float | None:
    """Returns the offset of a zone that a step is longer or shorter by, in seconds."""
    longer = steps.at(index)
    hours = abs(longer) / _HOUR
    near = bisect_left(_OFFSETS, hours)
    nearest = min(_OFFSETS[max(0, near - 1) : near + 1], key=lambda offset: abs(offset - hours)) * _HOUR
    if abs(abs(longer) - nearest) > steps.width or nearest < steps.resolution - steps.width:
        return None
    return nearest if longer > 0 else -nearest


def _of_step(values: Sequence[float], index: int, missing: int) -> float:
    """Returns how much less likely a step of values is as one over missing ones. `index`: the value after the step."""
    one, several = pairwise(values[:index]), zip(values[:index], values[missing + 1 : index], strict=False)
    step = values[index] - values[index - 1]
    single, far = (_loss_among(step, [b - a for a, b in steps]) for steps in (one, several))
    return 0.0 if single is None or far is None else far - single


def _loss_among(value: float, others: Sequence[float]) -> float | None:
    """Returns the loss of a value among others; `None` if they are few, or if most are equal: values that hardly ever
    change show no missing tuple."""
    middle = median(others) if others else 0.0
    if len(others) < MIN_VALUES or 2 * sum(other == middle for other in others) >= len(others):
        return None
    size = max(deviation([other - middle for other in others]), 1e-9)
    return loss((value - middle) / size) + log(size)


def _of_course(values: Sequence[float], index: int, missing: int, period: int) -> float:
    """Returns the evidence of the course of a day: it continues, or skips the missing values."""
    if all(a <= b for a, b in pairwise(values[:index])):
        values, index = [b - a for a, b in pairwise(values)], index - 1
    if len(values) - index < period / 2:
        return 0.0
    before = values[:index]
    model = with_period(before, fitted(before).turn, period)
    if model is None or _saved(model, before, 1, missing) < _MIN_COURSE * len(before):
        return 0.0
    return _saved(model, values, index, missing) / _DEPENDENT


def _saved(model: Model, values: Sequence[float], index: int, missing: int) -> float:
    """Returns how much more values from one on lose if they are later by the missing ones."""
    going_on = model.noise(model.off(values[index:], index))
    later = model.noise(model.off(values[index:], index + missing))
    return sum(bounded(loss(a)) - bounded(loss(b)) for a, b in zip(later, going_on, strict=True))
