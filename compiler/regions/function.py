"""Functions of accents: each maps the values of one attribute one to one (theory N3, N7, N11)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Mapping
from fractions import Fraction
from math import isfinite
from typing import Any, ClassVar, Self, cast

from attrs import fields
from immutables import Map

from cedilla.compiler.regions.levels import Bound, Level, Tree, Value, make_level

Number = int | Fraction
Domain = tuple[Bound | None, Bound | None]
"""The first and the last cut of the values that a function takes; `None` is unbounded."""


class Function(ABC):
    """A one-to-one function of the values of one attribute. It takes the values of its domain only.

    `name`: what checkpoints call it. `is_identity`: it changes no value.
    """

    __slots__ = ()

    name: ClassVar[str]

    @property
    def is_identity(self) -> bool:
        return False

    @abstractmethod
    def takes(self, value: Any) -> bool:
        """Returns True if a value is in the domain. A double means its shortest decimal."""

    @abstractmethod
    def of(self, value: Value) -> Value | None:
        """Returns the image of a value, `None` if it has none."""

    @abstractmethod
    def inverse(self) -> Function:
        """Returns the function that undoes it."""

    @abstractmethod
    def image(self, node: Level, outside: Tree | None) -> Tree:
        """Returns the image of a level of its attribute. `outside`: as in `regions.transform`."""

    def dump(self) -> list[Any]:
        """Returns its name and its parameters as JSON values, for `composition.load_function`."""
        parameters = [_json(getattr(self, f.name)) for f in fields(cast("Any", type(self))) if f.init]
        while parameters and parameters[-1] is None:
            parameters.pop()
        return [self.name, *parameters]

    @classmethod
    def load(cls, *parameters: Any) -> Self:
        """Returns the function with parameters that `dump` made."""
        return cls(*parameters)


def _json(value: Any) -> Any:
    match value:
        case Fraction():
            return str(value)
        case tuple():
            return [_json(part) for part in cast("tuple[Any, ...]", value)]
        case Function():
            return value.dump()
        case _:
            return value


class NumberFunction(Function):
    """A function of numbers, or of timestamps, which are microseconds since 1970."""

    __slots__ = ()

    @property
    def coefficients(self) -> tuple[float, ...] | None:
        """Returns those of an affine function, for tables of points; `None` for others."""
        return None

    @abstractmethod
    def __call__(self, value: Number) -> Number:
        """Returns the exact image of a value in the domain."""

    @abstractmethod
    def of_double(self, value: float) -> float:
        """Returns the image of a double, by the steps that engines take."""

    @abstractmethod
    def sql(self, column: str) -> str:
        """Returns SQL that takes the same steps; null outside of the domain."""

    @abstractmethod
    def text(self, parameter: str) -> str:
        """Returns its body as accents write it, for example `(y * 5 - 160) / 9`."""

    @abstractmethod
    def inverse(self) -> NumberFunction: ...

    def takes(self, value: Any) -> bool:
        """Returns True if a number is in the domain; infinities and NaN are in none."""
        if isinstance(value, float):
            return isfinite(value) and self.takes_exact(Fraction(repr(value)))
        return self.takes_exact(value)

    @abstractmethod
    def takes_exact(self, value: Number) -> bool:
        """Returns True if an exact number is in the domain."""

    def of(self, value: Value) -> Value | None:
        return self(cast("Number", value)) if self.takes(value) else None


class Monotone(NumberFunction):
    """A function that keeps the order of all values, or turns it round."""

    __slots__ = ()

    @property
    @abstractmethod
    def rises(self) -> bool:
        """Returns True if it keeps the order."""

    @property
    def domain(self) -> Domain:
        """Returns the values that it takes."""
        return None, None

    @abstractmethod
    def inverse(self) -> Monotone: ...

    def takes_exact(self, value: Number) -> bool:
        low, high = self.domain
        above = low is None or (value > low[0] if low[1] else value >= low[0])
        return above and (high is None or (value <= high[0] if high[1] else value < high[0]))

    def image(self, node: Level, outside: Tree | None) -> Tree:
        low, high = self.domain
        first = 0 if low is None else bisect_right(node.cuts, low)
        inner = [cut for cut in node.cuts[first:] if high is None or cut < high]
        pieces = list(node.pieces[first : first + len(inner) + 1])
        cuts = [self.image_of_cut(cut) for cut in inner]
        if not self.rises:
            cuts.reverse()
            pieces.reverse()
        low, high = self.inverse().domain
        if low is not None:
            cuts.insert(0, low)
            pieces.insert(0, pieces[0] if outside is None else outside)
        if high is not None:
            cuts.append(high)
            pieces.append(pieces[-1] if outside is None else outside)
        numbers = cast("Mapping[Number, Tree]", node.points)
        points = {self(value): child for value, child in numbers.items() if self.takes(value)}
        return make_level(node.attribute, node.undefined, cuts, pieces, Map(points))

    def image_of_cut(self, cut: Bound) -> Bound:
        """Returns the cut in the image; a falling function changes the sides."""
        value, side = cut
        return self(value), side if self.rises else 1 - side
