"""Finds two sequences that change places: from some tuple on, each has the values of the other.

Each value is judged by how far it is from the level of its own sequence and of the other one; the sum of what an
exchange saves gives the place (a likelihood-ratio test). Windows of the same length before the place are the null
model, as in `window`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import accumulate, combinations
from statistics import fmean
from typing import TypeVar

from attrs import frozen

from cedilla.compiler.regions.affine import IDENTITY
from cedilla.runtime.control.change_detection.model import Model, fitted
from cedilla.runtime.control.change_detection.series import MIN_PAST, Jump, Series
from cedilla.runtime.control.change_detection.window import MIN_VALUES, first_changed

_MIN_GAIN = 12.0
"""The loss in nats that an exchange saves for each of the two."""
_MIN_MEAN = 0.25
"""... and for each value after it."""
_NEIGHBOURS = 4
"""The windows before a place have at most this part of the past."""
_MAX_WORSE = 1.5
"""The loss after an exchange, compared with that of the worst window before it."""
_MIN_STRANGE = 0.5
"""The mean loss of the latest values of a sequence that may have changed places."""

Place = TypeVar("Place")


@frozen
class _Pair:
    """Two sequences by tuples. `own`, `crossed`: the losses of values in their own places, and exchanged."""

    own: tuple[list[float], list[float]]
    crossed: tuple[list[float], list[float]]

    @classmethod
    def of(
        cls, values: tuple[Sequence[float], Sequence[float]], models: tuple[Model, Model], number: int
    ) -> _Pair:
        """Computes the losses. `number`: that of the first value."""
        one, other = models
        first, second = values
        return cls(
            (one.level_losses(first, number), other.level_losses(second, number)),
            (one.level_losses(second, number), other.level_losses(first, number)),
        )

    @property
    def saved(self) -> list[list[float]]:
        """The loss that an exchange saves in each tuple, by sequence."""
        return [
            [a - b for a, b in zip(*both, strict=True)] for both in zip(self.own, self.crossed, strict=True)
        ]

    def split(self) -> int | None:
        """Returns the place after which an exchange saves most; `None` if one of both does not gain enough."""
        sides = self.saved
        sums = list(accumulate(reversed([a + b for a, b in zip(*sides, strict=True)])))[MIN_VALUES - 1 :]
        if not sums:
            return None
        split = len(sides[0]) - MIN_VALUES - max(range(len(sums)), key=sums.__getitem__)
        gains = [sum(side[split:]) for side in sides]
        enough = max(_MIN_GAIN, _MIN_MEAN * (len(sides[0]) - split))
        return split if min(gains) >= enough else None

    def is_explained(self, split: int) -> bool:
        """Returns True if an exchange saves more than in any window before, and leaves no more than the worst one."""
        length = max(MIN_VALUES, min(len(self.own[0]) - split, split // _NEIGHBOURS))
        both = [a + b for a, b in zip(*self.saved, strict=True)]
        if max(_means(both[:split], length)) > _MIN_MEAN * fmean(both[split:]):
            return False
        return all(
            fmean(crossed[split : split + length]) <= _MAX_WORSE * max(_means(own[:split], length))
            for own, crossed in zip(self.own, self.crossed, strict=True)
        )


def find_swap(
    series: Mapping[str, Series[Place]], alike: Mapping[str, Hashable]
) -> tuple[str, str, Jump[Place]] | None:
    """Returns two sequences that have changed places, with the jump of the first; exchanges what is before it.

    `alike`: attribute -> what two have in common if they can be exchanged.
    """
    strange = sorted(name for name in alike if series[name].strangeness() >= _MIN_STRANGE)
    for one, other in combinations(strange, 2):
        if alike[one] == alike[other] and (jump := _swap(series[one], series[other], other)) is not None:
            return one, other, jump
    return None


def _swap(one: Series[Place], other: Series[Place], name: str) -> Jump[Place] | None:
    if one.places != other.places or one.size != other.size or one.net != other.net:
        return None
    values = one.values, other.values
    searched = len(one.values) - len(one.places) + first_changed(one.places)
    split = _Pair.of(
        (values[0][searched:], values[1][searched:]), (one.model(), other.model()), one.number(searched)
    ).split()
    if split is None or searched + split < MIN_PAST:
        return None
    before = searched + split
    pair = _Pair.of(values, (fitted(values[0][:before]), fitted(values[1][:before])), 0)
    split = pair.split()
    if split is None or split < max(MIN_PAST, searched) or not pair.is_explained(split):
        return None
    gain, left = (
        sum(sum(side[split:]) for side in pair.saved),
        sum(sum(side[split:]) for side in pair.crossed),
    )
    end = split - len(values[0])
    start, middles = one.places[end], one.exchange(other, end)
    return Jump(start, f"a swap with `{name}`", IDENTITY, gain / (gain + left), *middles)


def _means(values: Sequence[float], length: int) -> list[float]:
    """Returns the means of windows of a length, each half a window after the one before."""
    step = max(1, length // 2)
    return [fmean(values[n : n + length]) for n in range(0, max(1, len(values) - length + 1), step)]
