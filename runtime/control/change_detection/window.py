"""Decides between a conversion at a place and none, from the values around the place.

A conversion is proposed where undoing it saves much loss (the likelihood-ratio test for a change point). It explains
the place if values then continue as before it, and do not without it. The variability of the series itself is the
null model: windows of the same length before the place, between which nothing changes, show how far levels and noise
move (the placebo tests of regression discontinuity, Imbens and Lemieux 2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, pi
from statistics import median
from typing import NamedTuple

from attrs import frozen

from cedilla.compiler.regions.affine import Affine
from cedilla.runtime.control.change_detection.conversions import Conversion
from cedilla.runtime.control.change_detection.model import (
    BLOCK,
    MIN_MAGNITUDE,
    Model,
    Moves,
    block_moves,
    bounded,
    loss,
    magnitude,
    trimmed,
)

MIN_VALUES = 16
"""The minimum number of values on either side."""
SEARCHED = 80
"""The number of latest values among which a jump is looked for."""
_MIN_GAIN = 18.0
"""The loss in nats that a conversion has to save."""
_MIN_CONFIDENCE, _RARE = 0.5, 0.08
"""The share of the unexpected loss that it has to save; how much more of it for each nat of its penalty."""
_FIRST = 5.0
"""The most noise of the first value, converted back."""
_UNLIKE, _SPREAD = 3.5, 0.7
"""The most that the noise after a place differs: in its errors; in the logarithm of its size."""
_MEDIAN_ERROR = 1.25
"""The error of the middle of normal values, times the root of their number."""
_EXTREME = 2.0
"""The largest of a few errors, in usual ones."""
_MAX_MISFIT = 7.5
"""The most that these lose together, with the penalty of the conversion."""
_MIN_MOVE, _MAX_LEFT = 1.3, 1.5
"""The level moves by this many times the largest move before, or more; converted back, by that many times at most."""
_FEW, _FEW_FACTOR = 128, 1.5
"""With fewer values before, moves may be larger by this factor."""
_CALM = 0.4
"""Noise of this share of the usual one is a surprise, too."""
_FAR = 3.0
"""The middle noise of the latest values that excludes a conversion."""
_RATIO = log(2)
"""The middle size of a logarithm of a ratio of levels that no conversion explains."""
_NEIGHBOURS = 4
"""The number of windows of a length that show how far they move."""
_MIN_ODDS = log(10)
"""The logarithm of the odds that a conversion needs against such a ratio."""
_CHANGED = 0.75
"""The share of values that a conversion has to change."""
_ALIKE = 4.0
"""Conversions that save nearly as much are named, too."""


class Proposal(NamedTuple):
    """The place in the window where a conversion of all later values saves most loss; `left`: the
    remaining loss."""

    conversion: Conversion
    split: int
    gain: float
    left: float


class Explanation(NamedTuple):
    """A conversion from a place in the window on. `misfit`: how far the values after it, converted back, are from
    going on as before, and the penalty of the conversion. `gain`: the loss that it saves, without its penalty.
    """

    conversion: Conversion
    split: int
    misfit: float
    confidence: float
    gain: float

    @property
    def is_likely(self) -> bool:
        """True if little is left unexplained; of a rare conversion less."""
        confidence = _MIN_CONFIDENCE + _RARE * self.conversion.penalty
        return self.confidence >= confidence and self.misfit <= _MAX_MISFIT


def through(function: Affine, value: float) -> float:
    """Returns the value of a function, as a float."""
    return value if function.is_identity else float(function.slope) * value + float(function.shift)


def undone(function: Affine, values: Sequence[float]) -> list[float]:
    """Returns the values before a function."""
    undo = function.inverse()
    slope, shift = float(undo.slope), float(undo.shift)
    return [slope * value + shift for value in values]


@frozen
class Window:
    """The latest values; those from `first` on may be after a change.

    `start`: the number of the first value in the sequence; `off`: how far each value is from its level; `own`: the
    noise of those from `first` on, unconverted. `before`: all values before `first`, those before the window included;
    `past`: how far these are.
    """

    values: Sequence[float]
    first: int
    start: int
    model: Model
    off: Sequence[float]
    own: Sequence[float]
    past: Sequence[float] = ()
    before: Sequence[float] = ()

    @classmethod
    def of(
        cls, values: Sequence[float], start: int, model: Model, first: int, before: Sequence[float] = ()
    ) -> Window:
        """Computes the noise of the values that may be changed. `before`: all values before `first`."""
        off = model.off(values, start)
        past = model.off(before, start + first - len(before))
        return cls(values, first, start, model, off, model.noise(off[first - 1 :]), past, before)

    def is_usual(self) -> bool:
        """Returns True if the latest values continue as before: no surprise, no other noise, no other magnitude."""
        latest = self.values[-MIN_VALUES:]
        far = abs(magnitude(latest, self.model.typical)) > self.model.magnitudes.largest
        calm = trimmed(self.own[-MIN_VALUES:]) <= _CALM * self.model.spread
        return self.surprise() < _MIN_GAIN and not far and not calm

    def surprise(self) -> float:
        """Returns how much more the noise loses than expected, from the place on where this is most."""
        most, total = 0.0, 0.0
        for noise in reversed(self.own):
            own = loss(noise)
            most = max(most, total + own - self.model.usual)
            total += bounded(own) - self.model.usual
        return most

    def is_likely(self, conversion: Conversion) -> bool:
        """Returns False if the latest values are far off, converted back."""
        latest = len(self.values) - MIN_VALUES
        back = undone(conversion.function, self.values[latest - 1 :])
        noise = self.model.noise(self.model.off(back, self.start + latest - 1))
        return abs(median(noise)) <= _FAR

    def proposal(self, conversion: Conversion) -> Proposal | None:
        """Returns the place at which a conversion saves most loss."""
        model, first = self.model, self.first
        back = undone(conversion.function, self.values)
        off = model.off(back, self.start)
        noise = model.noise(off[first - 1 :])
        stretch = log(abs(float(conversion.function.slope)))
        best, split, saved, excess, left = 0.0, 0, 0.0, 0.0, 0.0
        for number in range(len(back) - 1, first - 1, -1):
            own, converted = loss(self.own[number - first]), bounded(loss(noise[number - first]))
            rest = self._rest(self.values[number], back[number], stretch)
            if number <= len(back) - MIN_VALUES:
                here = model.after(off[number], self.off[number - 1])
                gain = saved + own + rest - loss(here)
                if gain > best and abs(here) <= _FIRST:
                    best, split, left = gain, number, excess
            saved += bounded(own) + rest - converted
            excess += converted - model.usual
        if best < _MIN_GAIN / 2 or not self._tells(conversion, split):
            return None
        return Proposal(conversion, split, best, max(0.0, left))

    def explanation(self, proposal: Proposal) -> Explanation | None:
        """Returns the explanation if values continue at the place, converted back, and do not unconverted."""
        conversion, split, gain, left = proposal
        back = undone(conversion.function, self.values)
        off = self.model.off(back, self.start)
        moves = self._loss_of_moves(split, back, off)
        unlike = self._unlike(split, self.model.noise(off[split : split + self._length(split)]))
        if moves is None or unlike is None or gain + moves[0] - moves[1] - conversion.penalty < _MIN_GAIN:
            return None
        is_ratio = conversion.function.rises and not conversion.undoes
        if is_ratio and self._odds(split, back) < _MIN_ODDS:
            return None
        misfit = loss(self.model.after(off[split], self.off[split - 1])) + moves[1] + unlike
        penalty = conversion.penalty
        return Explanation(conversion, split, misfit + penalty, gain / (gain + left), gain - penalty)

    def _rest(self, value: float, back: float, stretch: float) -> float:
        """Returns the loss that a conversion of a value saves besides that of noise.

        A value that converts to itself, mostly 0, says nothing about a factor; neither does noise that is too small.
        """
        if value == back or self.model.is_exact:
            return 0.0
        return self.model.loss_of(value) - self.model.loss_of(back) - stretch

    def _loss_of_moves(
        self, split: int, back: Sequence[float], off: Sequence[float]
    ) -> tuple[float, float] | None:
        """Returns the losses of a move of levels, unconverted and converted.

        `None` if levels often move as far, or still do after the conversion.
        """
        few = 1.0 if self.start + split >= _FEW else _FEW_FACTOR
        for length in (self._length(split), BLOCK):
            moves = self._moves(split, back, off, length)
            if any(abs(left) > _MAX_LEFT * usual.largest * few for usual, _, left in moves):
                return None
            if not any(abs(move) > _MIN_MOVE * usual.largest * few for usual, move, _ in moves):
                return None
        whole = sum(loss(move / usual.usual) for usual, move, _ in moves)
        return whole, sum(loss(left / usual.usual) for usual, _, left in moves)

    def _moves(
        self, split: int, back: Sequence[float], off: Sequence[float], length: int
    ) -> list[tuple[Moves, float, float]]:
        """Returns how far levels and magnitudes move: usually, and over a place, unconverted and converted."""
        before, after = slice(max(0, split - length), split), slice(split, split + length)
        level, size = median(self.off[before]), self._magnitude(self.values[before])
        levels, magnitudes = self._usual(length)
        return [
            (levels, median(self.off[after]) - level, median(off[after]) - level),
            (
                magnitudes,
                self._magnitude(self.values[after]) - size,
                self._magnitude(back[after]) - size,
            ),
        ]

    def _magnitude(self, values: Sequence[float]) -> float:
        return magnitude(values, self.model.typical)

    def _length(self, split: int) -> int:
        """Returns the length of the windows to compare: all values after a place, or as many as the past shows."""
        return min(len(self.values) - split, max(BLOCK, len(self.before) // _NEIGHBOURS))

    def _usual(self, length: int) -> tuple[Moves, Moves]:
        """Returns the moves of levels and magnitudes between neighbouring windows of a length before the place."""
        levels, magnitudes = self.model.moves, self.model.magnitudes
        if length <= BLOCK:
            return levels, magnitudes
        return (
            block_moves(self.past, levels.usual, median, length).or_more(levels),
            block_moves(self.before, MIN_MAGNITUDE, self._magnitude, length).or_more(magnitudes),
        )

    def _odds(self, split: int, back: Sequence[float]) -> float:
        """Returns the logarithm of the odds for the conversion, against a ratio of sizes that just happens.

        After a conversion, sizes are as before but for their usual moves. Other ratios have a density with heavy
        tails: much doubles, and little becomes a thousand times as large.
        """
        moves, ratio, left = self._moves(split, back, self.off, self._length(split))[1]
        happens = -log(pi * _RATIO * (1 + (ratio / _RATIO) ** 2))
        converted = -log(moves.usual * (2 * pi) ** 0.5) - 0.5 * (left / moves.usual) ** 2
        return converted - happens

    def _unlike(self, split: int, noise: Sequence[float]) -> float | None:
        """Returns the misfit of the noise after a split, in its level and its spread; `None` if it is another noise.

        Its errors are those of independent noise, or what windows of the same length show before the split.
        """
        length = len(noise)
        past = self.model.noise([*self.past, *self.off[self.first : split]])
        ends = range(len(past), length - 1, -max(1, length // 2))
        parts = [past[end - length : end] for end in ends] or [past]
        levels, spreads = zip(*(self._differs(part) for part in parts), strict=True)
        level, spread = self._differs(noise)
        # A slow course continues: the noise just before has the same level.
        change = abs(median(noise) - median(parts[0])) * (length / 2) ** 0.5 / _MEDIAN_ERROR
        level = min(level, change) / max(1.0, max(levels) / _EXTREME)
        if spread > max(_SPREAD * length**0.5, *spreads):
            return None
        spread /= max(1.0, max(spreads) / _EXTREME)
        return None if max(level, spread) > _UNLIKE else loss(level) + loss(spread)

    def _differs(self, noise: Sequence[float]) -> tuple[float, float]:
        """Returns the middle of noise and the logarithm of its size, in their errors if it is independent."""
        root, middle = len(noise) ** 0.5, median(noise)
        size = trimmed([value - middle for value in noise])
        spread = log(max(size, 1e-3) / max(self.model.spread, 1e-3))
        return abs(middle) * root / _MEDIAN_ERROR, abs(spread) * root

    def _tells(self, conversion: Conversion, split: int) -> bool:
        """Returns True if the values next to a split can show the conversion, unlike zeros, and may have its unit."""
        before, after = self.values[max(0, split - BLOCK) : split], self.values[split : split + BLOCK]
        function, (low, high) = conversion.function, conversion.between
        values = [*before, *after]
        changed = sum(through(function, value) != value for value in values)
        begins_again = self.values[split] == 0
        possible = all(low <= value <= high for value in before)
        if begins_again or not possible or changed < _CHANGED * len(values):
            return False
        if function.rises:
            return True
        # A sign: a sequence that crosses 0 by itself does so slowly, or often.
        signs = [value > 0 for value in values]
        jumps = abs(self.own[split - self.first]) > _FIRST
        return jumps and max(sum(signs), len(signs) - sum(signs)) <= len(signs) / 2 + 1


def first_changed(values: Sequence[object]) -> int:
    """Returns the number of the first value of a window that may be after a change."""
    return max(MIN_VALUES, len(values) - SEARCHED)


def proposed(window: Window, conversions: Sequence[Conversion]) -> list[Proposal]:
    """Returns the conversions that save loss, each with its place."""
    likely = [conversion for conversion in conversions if window.is_likely(conversion)]
    return [proposal for conversion in likely if (proposal := window.proposal(conversion)) is not None]


def explained(window: Window, conversions: Sequence[Conversion]) -> list[Explanation]:
    """Returns the conversions that explain the largest jump of a window, the best one first."""
    explanations = [
        explanation
        for proposal in proposed(window, conversions)
        if (explanation := window.explanation(proposal)) is not None and explanation.is_likely
    ]
    explanations.sort(key=lambda explanation: -explanation.gain)
    return [explanation for explanation in explanations if explanation.gain >= explanations[0].gain - _ALIKE]
