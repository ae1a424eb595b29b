"""Models of sequences of values: a level or a period, and the length of a deviation.

The model is one of first order with heavy tails, `y = level + r (y before - level) + noise`, of values on a scale
that is between linear and logarithmic. It is fitted to values before a possible change. The loss of a value is its
negative log-likelihood, so losses on different scales compare.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import asinh, log, log1p
from statistics import fmean, median

from attrs import evolve, frozen

PERIODS = (24, 48, 96, 144, 288)
"""The numbers of values of a day that are tried; a course of this length needs `_CYCLES` days."""
_CYCLES, _SHORTEST = 3, 4
BLOCK = 16
"""The number of values that have a level."""
_FEW_BLOCKS = 8
_SCALES = (1e-3, 0.1, 1e3)
"""The point at which a scale turns from linear to logarithmic, in typical values."""
_FLOOR = 1e-3
"""Deviations below this share of the typical value count as zero."""
_SMALLEST = 0.01
"""The least magnitude, in typical values."""
MIN_MAGNITUDE = 0.1
"""The least usual move of the logarithm of a size."""
_LONGEST_LOSS = 8.0
"""The loss of one outlier; a change is in many values."""
_WINSORIZED = 3.0


@frozen
class Moves:
    """The distance of the level of a block of values from that of the block before: usual and largest."""

    usual: float
    largest: float

    def or_more(self, other: Moves) -> Moves:
        """Returns the same, with the largest move of both."""
        return evolve(self, largest=max(self.largest, other.largest))


@frozen
class Model:
    """A fitted model. `turn`: the value at which the scale turns; `course`: the levels of a period, or one level.
    `memory`, `drift`, `size`: of the noise; `loss`: the mean of the fitted values; `usual`: that of their noise;
    `spread`: their mean noise, in sizes, without the largest fifth; `typical`: the size of values;
    `is_exact`: noise is below what counts; `width`: the usual distance of values from their levels; `moves`,
    `magnitudes`: those of levels, and of the logarithms of sizes.

    `start`: the number of the first value that was fitted; a period counts from there.
    """

    start: int
    turn: float
    course: tuple[float, ...]
    memory: float
    drift: float
    size: float
    loss: float
    usual: float
    spread: float
    typical: float
    is_exact: bool
    width: float
    moves: Moves
    magnitudes: Moves

    def off(self, values: Sequence[float], number: int) -> list[float]:
        """Returns how far values are from their levels, on the scale. `number`: that of the first one."""
        scale, course, period = 0.5 / self.turn, self.course, len(self.course)
        first = number - self.start
        if period == 1:
            return [asinh(value * scale) - course[0] for value in values]
        return [asinh(value * scale) - course[(first + n) % period] for n, value in enumerate(values)]

    def after(self, off: float, before: float) -> float:
        """Returns what is unexpected about a value after another, in sizes."""
        return (off - self.memory * before - self.drift) / self.size

    def noise(self, off: Sequence[float]) -> list[float]:
        """Returns what is unexpected about all values but the first."""
        memory, drift, size = self.memory, self.drift, self.size
        return [(b - memory * a - drift) / size for a, b in pairwise(off)]

    def level_losses(self, values: Sequence[float], number: int) -> list[float]:
        """Returns the losses of the distances of values from their levels, each as if it were the only one."""
        return [bounded(loss(off / self.width)) for off in self.off(values, number)]

    def loss_of(self, value: float) -> float:
        """Returns the loss of a value besides that of its noise: the logarithm of the stretch of the scale there."""
        return 0.5 * log(value * value + 4 * self.turn * self.turn)


def loss(noise: float) -> float:
    """Returns the negative logarithm of Student's density with three degrees of freedom, but for a constant."""
    return 2 * log1p(noise * noise / 3)


def bounded(value: float) -> float:
    """Returns a loss, or that of the worst outlier."""
    return min(value, _LONGEST_LOSS)


def trimmed(noise: Sequence[float]) -> float:
    """Returns the mean size of noise without the largest fifth, which a few outliers would decide."""
    return fmean(sorted(map(abs, noise))[: max(1, len(noise) * 4 // 5)])


def fitted(values: Sequence[float], start: int = 0) -> Model:
    """Returns the model that explains values best. `start`: the number of the first one."""
    models = [_of_scale(values, share) for share in _scales(values)]
    best = min(models, key=lambda model: model.loss)
    periodic = [model for period in PERIODS if (model := with_period(values, best.turn, period)) is not None]
    return evolve(min([best, *periodic], key=lambda model: model.loss), start=start)


def _scales(values: Sequence[float]) -> Iterator[float]:
    typical = median([abs(value) for value in values if value] or [1.0])
    return (share * typical for share in _SCALES)


def _of_scale(values: Sequence[float], turn: float) -> Model:
    y = [asinh(value / (2 * turn)) for value in values]
    return _with_course(values, y, turn, (median(y),))


def with_period(values: Sequence[float], turn: float, period: int) -> Model | None:
    """Returns a model with a level for each phase of a period; `None` if the values are too few for one."""
    if period < _SHORTEST or len(values) < _CYCLES * period:
        return None
    y = [asinh(value / (2 * turn)) for value in values]
    # The number of values of each phase is small: they lose to a level unless the course is real.
    course = tuple(median(y[phase::period]) for phase in range(period))
    model = _with_course(values, y, turn, course)
    cost = 0.5 * period * log(len(values)) / len(values)
    return evolve(model, loss=model.loss + cost)


def _with_course(
    values: Sequence[float], y: Sequence[float], turn: float, course: tuple[float, ...]
) -> Model:
    off = [value - course[n % len(course)] for n, value in enumerate(y)]
    wide = _WINSORIZED * max(deviation(off), 1e-12)
    near = [max(-wide, min(value, wide)) for value in off]
    square = sum(value * value for value in near[:-1])
    memory = sum(a * b for a, b in pairwise(near)) / square if square else 0.0
    memory = max(0.0, min(memory, 1.0))
    rest = [b - memory * a for a, b in pairwise(off)]
    drift = median(rest)
    typical = median([abs(value) for value in values if value] or [1.0])
    floor = _FLOOR * typical / (typical * typical + 4 * turn * turn) ** 0.5
    size = max(deviation([value - drift for value in rest]), floor)
    total = sum(
        bounded(loss((level - drift) / size)) + log(size) + 0.5 * log(value * value + 4 * turn * turn)
        for level, value in zip(rest, values[1:], strict=True)
    )
    spread = trimmed([(level - drift) / size for level in rest])
    usual = fmean(bounded(loss((level - drift) / size)) for level in rest)
    magnitudes = block_moves(values, MIN_MAGNITUDE, lambda block: magnitude(block, typical))
    moves = block_moves(off, floor, median)
    if (
        len(off) < _FEW_BLOCKS * BLOCK
    ):  # a few blocks say less about their levels than the deviation of values
        moves = Moves(max(moves.usual, wide / 10), max(moves.largest, wide / 3))
    loss_, is_exact, width = total / len(rest), size == floor, max(wide / _WINSORIZED, floor)
    return Model(
        0,
        turn,
        course,
        memory,
        drift,
        size,
        loss_,
        usual,
        spread,
        typical,
        is_exact,
        width,
        moves,
        magnitudes,
    )


def magnitude(values: Sequence[float], typical: float) -> float:
    """Returns the logarithm of the middle size of values, in typical ones."""
    return log(max(median(map(abs, values)) / typical, _SMALLEST))


def block_moves(
    values: Sequence[float], floor: float, level: Callable[[Sequence[float]], float], length: int = BLOCK
) -> Moves:
    """Returns how far the levels of neighbouring blocks of a length differ."""
    step = max(1, length // 2)
    levels = [level(values[n : n + length]) for n in range(0, max(1, len(values) - length + 1), step)]
    moves = sorted(abs(b - a) for a, b in zip(levels, levels[2:], strict=False)) or [0.0]
    usual = max(1.4826 * moves[len(moves) // 2], floor)
    return Moves(usual, max(moves[-1], usual))


def deviation(values: Sequence[float]) -> float:
    """Returns the size of noise: the median deviation, or where most values are equal, that of nearly all."""
    sizes = sorted(map(abs, values))
    middle = sizes[len(sizes) // 2]
    rest = sizes[bisect_left(sizes, 1e-12) :]
    if len(rest) == len(sizes) or not rest:
        return 1.4826 * middle
    # Repeated values have no deviation, which says little about the others.
    return max(1.4826 * middle, sizes[int(0.9 * (len(sizes) - 1))] / 1.645)
