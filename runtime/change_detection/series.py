"""Detects jumps in a sequence of numbers that a change of unit explains.

A model of the values before (`model`) gives the loss of each later value. A conversion explains a jump at a place if
undoing it from there on saves much loss (the likelihood-ratio test for a change point). The values then continue: in
level, in spread, and from the last value before to the first one after. `tests/benchmarks/suspect` measures it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from math import log
from statistics import median
from typing import Generic, NamedTuple, TypeVar

from attrs import define, field, frozen

from cedilla.compiler.regions import Level, Tree
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.runtime.change_detection.conversions import Conversion, candidates
from cedilla.runtime.change_detection.model import BLOCK, Model, bounded, fitted, loss, magnitude, trimmed

WINDOW = 128
"""The number of latest values that are compared."""
MIN_VALUES = 16
"""The minimum number of values on either side."""
_STRIDE = 32
_SEARCHED = 80
"""The number of latest values among which a jump is looked for."""
_HISTORY = 1024
"""The number of older values that the model is fitted to."""

_MIN_GAIN = 18.0
"""The loss in nats that a conversion has to save."""
_MIN_CONFIDENCE = 0.55
"""The share of the unexpected loss that it has to save."""
_POSSIBLE = 0.8
"""The share of values that have to be in the declared domain."""
_FIRST, _LEVEL, _DRIFT, _SPREAD = 5.0, 4.0, 0.3, 0.7
"""With the conversion undone: the noise of the first value; the middle noise, in its standard errors, and what a slow
course adds to it; the logarithm of the ratio of the sizes of noise."""
_USUAL_SPREAD = 0.35
_MAX_MISFIT = 7.0
"""The most that these lose together, with the penalty of the conversion."""
_MIN_MOVE, _MAX_LEFT = 1.3, 1.5
"""The level moves by this many times the largest move before, or more; converted back, by that many times at most."""
_FEW, _FEW_FACTOR = 128, 1.5
"""With fewer values before, moves may be larger by this factor."""
_CALM = 0.4
"""Noise of this share of the usual one is a surprise, too."""
_FAR = 3.0
"""The middle noise of the latest values that excludes a conversion."""
_CHANGED = 0.75
"""The share of values that a conversion has to change."""
_ALIKE = 4.0
"""Conversions that save nearly as much are named, too."""

Place = TypeVar("Place")
Decoded = Callable[[], Affine]
"""Returns the function with which accents decode values; called when it is needed."""


@frozen
class Jump(Generic[Place]):
    """A jump: the place of the first value after it, and the conversion that explains it.

    `confidence`: the share of the jump, from 0 to 1, that disappears when the conversion is undone. `before`,
    `after`: the middle values on both sides. `others`: conversions that explain it, too. `net`: the composition of
    all jumps so far; `undoes`: values continue as if no accent on them existed.
    """

    place: Place
    name: str
    function: Affine
    confidence: float
    before: float
    after: float
    others: tuple[str, ...] = ()
    net: Affine = IDENTITY
    undoes: bool = False


class Explanation(NamedTuple):
    """A conversion from a place in the window on. `misfit`: how far the values after it, converted back, are from
    going on as before, and the penalty of the conversion.
    """

    conversion: Conversion
    split: int
    misfit: float
    confidence: float


@define
class Series(Generic[Place]):
    """The latest values of one sequence. After a jump, earlier values are converted to the new units.

    `unit`: the declared one; `domain`: the values that are declared; `net`: the composition of all jumps.
    """

    _places: list[Place] = field(factory=list)
    _values: list[float] = field(factory=list)
    _history: array[float] = field(factory=lambda: array("d"))
    _new: int = 0
    _start: int = 0
    _model: Model | None = None
    _fitted: int = 0
    unit: str | None = None
    domain: Tree | None = None
    net: Affine = IDENTITY

    @property
    def size(self) -> int:
        """The number of values that are kept."""
        return len(self._history) + len(self._values)

    @property
    def last(self) -> Place:
        """The place of the latest value."""
        return self._places[-1]

    @property
    def unseen(self) -> int:
        """The number of values since the last look."""
        return self._new

    def resume(self, latest: Sequence[tuple[Place, float]], unseen: int) -> None:
        """Continues with the latest values of another one; `unseen` of them were not yet examined."""
        self._places = [position for position, _ in latest]
        self._values = [value for _, value in latest]
        self._new = unseen

    def latest(self, count: int) -> list[tuple[Place, float]]:
        """Returns at most `count` of the latest values, each with its place."""
        return list(zip(self._places, self._values, strict=True))[-count:] if count else []

    def add(self, place: Place, value: float, decoded: Decoded = lambda: IDENTITY) -> Jump[Place] | None:
        """Adds the next value; returns a jump that it confirms."""
        self._places.append(place)
        self._values.append(value)
        self._new += 1
        if self._new < _STRIDE or len(self._values) < 2 * MIN_VALUES:
            return None
        return self.look(decoded)

    def look(self, decoded: Decoded = lambda: IDENTITY) -> Jump[Place] | None:
        """Looks for a jump in the latest values; also used at the end of the sequence."""
        self._new = 0
        jump = self._jump(decoded) if len(self._values) >= 2 * MIN_VALUES else None
        gone = len(self._values) - WINDOW + _STRIDE
        if gone > 0:
            self._history.extend(self._values[:gone])
            del self._history[:-_HISTORY]
            del self._places[:gone], self._values[:gone]
            self._start += gone
        return jump

    def _jump(self, decoded: Decoded) -> Jump[Place] | None:
        first = self._start + first_changed(self._values)
        if self._model is None or first - self._fitted >= min(WINDOW, self._fitted // 2):
            values = [*self._history, *self._values[: first - self._start]]
            self._model, self._fitted = fitted(values, first - len(values)), first
        window = Window.of(self._values, self._start, self._model)
        explanations = explained(window, candidates(self.unit, decoded(), self.net))
        explanations = [explanation for explanation in explanations if self._is_possible(explanation)]
        if not explanations:
            return None
        best, *others = explanations
        function, split = best.conversion.function, best.split
        before, after = self._values[:split], self._values[split:]
        self._values = [*(_through(function, value) for value in before), *after]
        self._history = array("d", (_through(function, value) for value in self._history))
        self.net, self._model = function.after(self.net), None
        names = tuple(explanation.conversion.name for explanation in others)
        return Jump(
            self._places[split],
            best.conversion.name,
            function,
            best.confidence,
            median(before),
            median(after),
            names,
            self.net,
            best.conversion.undoes,
        )

    def _is_possible(self, explanation: Explanation) -> bool:
        """Returns True if nearly all values after a jump, converted back, are in the declared domain."""
        if not isinstance(self.domain, Level):
            return True
        function = explanation.conversion.function.after(self.net)
        values = _undone(function, self._values[explanation.split :])
        return sum(bool(self.domain.at(value)) for value in values) >= _POSSIBLE * len(values)


def _through(function: Affine, value: float) -> float:
    return value if function.is_identity else float(function.slope) * value + float(function.shift)


def _undone(function: Affine, values: Sequence[float]) -> list[float]:
    undo = function.inverse()
    slope, shift = float(undo.slope), float(undo.shift)
    return [slope * value + shift for value in values]


@frozen
class Window:
    """The latest values; those from `first` on may be after a change.

    `start`: the number of the first value in the sequence; `off`: how far each value is from its level; `own`: the
    noise of those from `first` on, unconverted.
    """

    values: Sequence[float]
    first: int
    start: int
    model: Model
    off: Sequence[float]
    own: Sequence[float]

    @classmethod
    def of(cls, values: Sequence[float], start: int, model: Model) -> Window:
        """Computes the noise of the values that may be changed."""
        first, off = first_changed(values), model.off(values, start)
        return cls(values, first, start, model, off, model.noise(off[first - 1 :]))

    def is_usual(self) -> bool:
        """Returns True if the latest values continue as before: no surprise, no other noise, no other magnitude."""
        latest = self.values[-MIN_VALUES:]
        far = abs(magnitude(latest, self.model.typical)) > self.model.magnitudes.largest
        return not far and trimmed(self.own[-MIN_VALUES:]) > _CALM * self.model.spread

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
        back = _undone(conversion.function, self.values[latest - 1 :])
        noise = self.model.noise(self.model.off(back, self.start + latest - 1))
        return abs(median(noise)) <= _FAR

    def explanation(self, conversion: Conversion) -> Explanation | None:
        """Returns the place at which a conversion saves most loss, if values continue there."""
        model, first = self.model, self.first
        back = _undone(conversion.function, self.values)
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
        moves = self._loss_of_moves(split, back, off)
        unlike = self._unlike(noise[split + 1 - first :])
        if moves is None or unlike is None or best + moves[0] - moves[1] - conversion.penalty < _MIN_GAIN:
            return None
        misfit = loss(model.after(off[split], self.off[split - 1])) + moves[1] + unlike
        return Explanation(conversion, split, misfit + conversion.penalty, best / (best + max(0.0, left)))

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
        model, before, after = self.model, slice(max(0, split - BLOCK), split), slice(split, split + BLOCK)
        level, size = median(self.off[before]), magnitude(self.values[before], model.typical)
        moves = (
            (model.moves, median(self.off[after]) - level, median(off[after]) - level),
            (
                model.magnitudes,
                magnitude(self.values[after], model.typical) - size,
                magnitude(back[after], model.typical) - size,
            ),
        )
        few = 1.0 if self.start + split >= _FEW else _FEW_FACTOR
        if any(abs(left) > _MAX_LEFT * usual.largest * few for usual, _, left in moves):
            return None
        if not any(abs(move) > _MIN_MOVE * usual.largest * few for usual, move, _ in moves):
            return None
        whole = sum(loss(move / usual.usual) for usual, move, _ in moves)
        return whole, sum(loss(left / usual.usual) for usual, _, left in moves)

    def _unlike(self, noise: Sequence[float]) -> float | None:
        """Returns the misfit of the noise after a split, in its level and its spread; `None` if it is another noise."""
        spread = abs(log(max(trimmed(noise), 1e-3) / max(self.model.spread, 1e-3)))
        level = max(0.0, abs(median(noise)) - _DRIFT) * len(noise) ** 0.5
        if spread > _SPREAD or level > _LEVEL:
            return None
        return loss(level) + 0.5 * (spread / _USUAL_SPREAD) ** 2

    def _tells(self, conversion: Conversion, split: int) -> bool:
        """Returns True if the values next to a split can show the conversion, unlike zeros, and may have its unit."""
        before, after = self.values[max(0, split - BLOCK) : split], self.values[split : split + BLOCK]
        function, (low, high) = conversion.function, conversion.between
        values = [*before, *after]
        changed = sum(_through(function, value) != value for value in values)
        if changed < _CHANGED * len(values) or not all(low <= value <= high for value in before):
            return False
        if function.rises:
            return True
        # A sign: a sequence that crosses 0 by itself does so slowly, or often.
        signs = [value > 0 for value in values]
        jumps = abs(self.own[split - self.first]) > _FIRST
        return jumps and max(sum(signs), len(signs) - sum(signs)) <= len(signs) / 2 + 1


def first_changed(values: Sequence[float]) -> int:
    """Returns the number of the first value of a window that may be after a change."""
    return max(MIN_VALUES, len(values) - _SEARCHED)


def explained(window: Window, conversions: Sequence[Conversion]) -> list[Explanation]:
    """Returns the conversions that explain the largest jump of a window, the best one first."""
    if window.surprise() < _MIN_GAIN and window.is_usual():
        return []
    likely = [explanation for explanation in conversions if window.is_likely(explanation)]
    explanations = [
        explanation for conversion in likely if (explanation := window.explanation(conversion)) is not None
    ]
    explanations = [
        explanation
        for explanation in explanations
        if explanation.confidence >= _MIN_CONFIDENCE and explanation.misfit <= _MAX_MISFIT
    ]
    explanations.sort(key=lambda each: each.misfit)
    return [
        explanation for explanation in explanations if explanation.misfit <= explanations[0].misfit + _ALIKE
    ]
