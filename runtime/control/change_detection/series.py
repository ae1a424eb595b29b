"""Detects jumps in a sequence of numbers that a change of unit explains.

A model of the values before (`model`) gives the loss of each later value; `window` decides whether a conversion
explains them. `tests/benchmarks/suspect` measures it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean, median
from typing import Generic, TypeVar

from attrs import define, field, frozen

from cedilla.compiler.regions import Level, Tree
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.runtime.control.change_detection.conversions import candidates
from cedilla.runtime.control.change_detection.model import Model, fitted
from cedilla.runtime.control.change_detection.window import (
    MIN_VALUES,
    SEARCHED,
    Explanation,
    Window,
    explained,
    first_changed,
    proposed,
    through,
    undone,
)

WINDOW = 128
"""The number of latest values that are compared."""
MIN_PAST = 80
"""The minimum number of values before a jump; fewer do not show how far values move without one."""
LEAST = MIN_PAST + MIN_VALUES
"""The minimum number of values of a sequence that can show a jump."""
_STRIDE = 32
_SLACK = 4
"""The number of values before a proposed place among which the place is looked for again."""
_HISTORY = 1024
"""The number of older values that the model is fitted to."""
_MANY_ZEROS = 0.1
"""Zeros are left out if at least this share of the values is zero."""
_CLEAR = 5.0
"""How many usual distances nearer to the level a value is in the units of the other side, if it is of that side."""
_POSSIBLE = 0.8
"""The share of values that have to be in the declared domain."""

Place = TypeVar("Place")
Decoded = Callable[[], Affine]
"""Returns the function with which accents decode values; called when it is needed."""


@frozen
class Jump(Generic[Place]):
    """A jump: the place of the first value after it, and the conversion that explains it.

    `confidence`: the share of the jump, from 0 to 1, that disappears when the conversion is undone. `before`,
    `after`: the middle values on both sides. `others`: conversions that explain it, too. `net`: the composition of
    all jumps so far; `undoes`: values continue as if no accent on them existed; `note`: what shows it, if not the
    middle values. `sides`: the places of the values around it, each with True if its value is like those after it:
    some may have overtaken others. `came_from`: the unit of all earlier values, if later ones are in the declared unit.
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
    note: str | None = None
    sides: tuple[tuple[Place, bool], ...] = ()
    came_from: str | None = None


@define
class Series(Generic[Place]):
    """The latest values of one sequence. After a jump, earlier values are converted to the new units.

    `is_sparse`: zeros are left out; `unit`: the declared one; `own`: the full names of the query's units; `domain`: the
    values that are declared; `net`: the composition of all jumps that no accent announces.
    """

    _places: list[Place] = field(factory=list)
    _values: list[float] = field(factory=list)
    _history: array[float] = field(factory=lambda: array("d"))
    _new: int = 0
    _start: int = 0
    _model: Model | None = None
    _fitted: int = 0
    _count: int = 0
    _zeros: int = 0
    is_sparse: bool = False
    unit: str | None = None
    own: tuple[str, ...] = ()
    domain: Tree | None = None
    net: Affine = IDENTITY

    @property
    def size(self) -> int:
        """The number of values that are kept."""
        return len(self._history) + len(self._values)

    @property
    def places(self) -> list[Place]:
        """The places of the latest values."""
        return self._places

    @property
    def values(self) -> list[float]:
        """All values that are kept."""
        return self._before(len(self._values))

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
        """Returns at most `count` of the latest values, each with its place; older ones have the first place."""
        values = self._before(len(self._values))
        places = [*self._places[:1] * len(self._history), *self._places]
        return list(zip(places, values, strict=True))[-count:] if count else []

    def add(self, position: Place, value: float, decoded: Decoded = lambda: IDENTITY) -> Jump[Place] | None:
        """Adds the next value; returns a jump that it confirms."""
        self.append(position, value)
        return self.look(decoded, is_last=False) if self.is_due else None

    def append(self, position: Place, value: float) -> None:
        """Adds the next value without a look. Zeros are left out where there are many: no factor changes them."""
        self._count += 1
        self._zeros += value == 0
        if value == 0:
            if self.is_sparse:
                return
            if self._count >= MIN_PAST and self._zeros >= _MANY_ZEROS * self._count and any(self._values):
                self._leave_zeros_out()
                return
        self._places.append(position)
        self._values.append(value)
        self._new += 1

    def _leave_zeros_out(self) -> None:
        self.is_sparse, self._model = True, None
        left = [
            (position, value) for position, value in zip(self._places, self._values, strict=True) if value
        ]
        self._places, self._values = [position for position, _ in left], [value for _, value in left]
        self._history = array("d", (value for value in self._history if value))
        self._start, self._fitted, self._new = len(self._history), 0, min(self._new, len(left))

    @property
    def is_due(self) -> bool:
        """True if enough values are new for a look."""
        return self._new >= _STRIDE and len(self._values) >= 2 * MIN_VALUES

    def look(self, decoded: Decoded = lambda: IDENTITY, *, is_last: bool = True) -> Jump[Place] | None:
        """Looks for a jump in the latest values. `is_last`: a jump that is not certain cannot wait for more values."""
        self._new = 0
        jump = self._jump(decoded, is_last) if len(self._values) >= 2 * MIN_VALUES else None
        gone = len(self._values) - WINDOW + _STRIDE
        if gone > 0:
            self._history.extend(self._values[:gone])
            del self._history[:-_HISTORY]
            del self._places[:gone], self._values[:gone]
            self._start += gone
        return jump

    def _jump(self, decoded: Decoded, is_last: bool) -> Jump[Place] | None:
        explanations = [
            explanation for explanation in self._explanations(decoded) if self._is_possible(explanation)
        ]
        if not explanations:
            return None
        best, *others = explanations
        function, split = best.conversion.function, best.split
        # More values distinguish the conversions.
        if others and not is_last and split > len(self._values) - SEARCHED + _STRIDE:
            return None
        before, after = self._values[:split], self._values[split:]
        sides = tuple(zip(self._places, self._are_after(function, split), strict=True))
        self._values = [*(through(function, value) for value in before), *after]
        self._history = array("d", (through(function, value) for value in self._history))
        self._model = None
        if best.conversion.came_from is None:
            self.net = function.after(self.net)
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
            sides=sides,
            came_from=best.conversion.came_from,
        )

    def _are_after(self, function: Affine, split: int) -> Iterator[bool]:
        """Yields, for each value of the window, True if it is after a jump: by its place, unless the level of the
        values says clearly that it has overtaken others."""
        model = self.model()
        unconverted = model.off(self._values, self._start)
        converted = model.off(undone(function, self._values), self._start)
        for number, (own, back) in enumerate(zip(unconverted, converted, strict=True)):
            nearer = (abs(own) - abs(back)) / model.width
            yield nearer > 0 if abs(nearer) > _CLEAR else number >= split

    def _explanations(self, decoded: Decoded) -> list[Explanation]:
        """Returns the conversions that explain the latest values, the best one first.

        If some save much, all values before the place give the null model.
        """
        first = first_changed(self._values)
        window = Window.of(self._values, self._start, self.model(), first)
        if window.is_usual():
            return []
        proposals = proposed(window, candidates(self.unit, decoded(), self.net, self.own))
        if not proposals:
            return []
        first = max(MIN_VALUES, max(proposals, key=lambda proposal: proposal.gain).split - _SLACK)
        before = self._before(first)
        if len(before) < MIN_PAST:
            return []
        model = fitted(before, self._start + first - len(before))
        window = Window.of(self._values, self._start, model, first, before)
        return explained(window, [proposal.conversion for proposal in proposals])

    def model(self) -> Model:
        """Returns the model of the values that no jump is looked for among; they are fitted again when many are new."""
        first = first_changed(self._values)
        if self._model is None or self._start + first - self._fitted >= min(WINDOW, self._fitted // 2):
            before = self._before(first)
            self._model, self._fitted = fitted(before, self._start + first - len(before)), self._start + first
        return self._model

    def number(self, index: int) -> int:
        """Returns the number in the whole sequence of one of the values that are kept."""
        return self._start - len(self._history) + index

    def strangeness(self) -> float:
        """Returns the mean loss of the latest values, by their levels; 0 if they are too few."""
        if len(self._values) < 2 * MIN_VALUES:
            return 0.0
        start = self._start + len(self._values) - MIN_VALUES
        return fmean(self.model().level_losses(self._values[-MIN_VALUES:], start))

    def exchange(self, other: Series[Place], after: int) -> tuple[float, float]:
        """Exchanges what is before the last `-after` values with another sequence; returns the middle values on both
        sides."""
        before, own = median(self._values[:after]), median(self._values[after:])
        mine, others = self._values, other._values
        self._values, other._values = [*others[:after], *mine[after:]], [*mine[:after], *others[after:]]
        self._history, other._history = other._history, self._history
        self._model = other._model = None
        return before, own

    def _before(self, number: int) -> list[float]:
        """Returns all values before one of the window."""
        return [*self._history, *self._values[:number]]

    def _is_possible(self, explanation: Explanation) -> bool:
        """Returns True if nearly all values after a jump, in the declared unit, are in the declared domain."""
        if not isinstance(self.domain, Level):
            return True
        conversion = explanation.conversion
        function = IDENTITY if conversion.came_from else conversion.function.after(self.net)
        values = undone(function, self._values[explanation.split :])
        return sum(bool(self.domain.at(value)) for value in values) >= _POSSIBLE * len(values)
