"""Step functions of an axis, `floor(x / 300)` or `date_trunc('hour', ts)`, and their images of sets of
values.

Many values fall into one cell, so a fact about some value holds of its cell (outer image). A cell is closed
once all its values are (inner image): theory 1.3, computed y := g(x); G25.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from math import ceil, floor
from typing import Any, ClassVar

from attrs import frozen

from cedilla.compiler import regions
from cedilla.compiler.expressions.expressions import Types, remembered_type, single
from cedilla.compiler.expressions.scalars.scalar_sql import LENGTHS
from cedilla.compiler.expressions.types import TIMESTAMP, Type
from cedilla.compiler.regions import Bound, Level, Tree, Value, ceiling
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.compiler.regions.function import Number
from cedilla.grammar.syntax import Attribute, Expression, Literal, Scalar, signed_constant

Range = tuple[int | None, int | None]


@frozen
class Extents:
    """Cell k holds the values from `start + k·step` on and before `start + k·step + length`.

    With `slack`, relative to the value, cells may also hold values outside by that much.
    """

    length: Number
    step: Number
    start: Number = 0
    slack: Number = 0

    def image(self, members: Level, cells: str, whole: bool) -> Tree:
        """Returns the cells that contain a value of a set, as a set of whole numbers of the attribute
        `cells`; ⊥ stays.

        `whole`: only whole numbers occur.

        For example, windows of 10 begin every 5. The values from 12 to 17 are in windows 1 to 3, which hold 5 to 24.

        >>> values = regions.interval("ts", (12, 0), (17, 1))
        >>> print(Extents(length=10, step=5).image(values, "wid", whole=True))
        wid in [1, 4): True, else False
        """
        ranges: list[Range] = []
        for low, high, inside in members.piece_bounds():
            if inside:
                ranges += self._without_used_up(members, low, high) if whole else [self._cells(low, high)]
        ranges += [self._cells((v, 0), (v, 1)) for v, inside in members.points.items() if inside]
        return whole_numbers(cells, ranges, members.undefined)

    def _cells(self, low: Bound | None, high: Bound | None) -> Range:
        """Returns the half-open range of cells that meet the values between two cuts."""
        first = end = None
        if low is not None:
            first = floor((self._away(low[0], -1) - self.length) / self.step) + 1
        if high is not None:
            last = self._away(high[0], 1) / self.step
            end = floor(last) + 1 if high[1] else ceil(last)
        return first, end

    def _away(self, value: Any, sign: int) -> Fraction:
        moved = Fraction(value) - self.start
        return moved + sign * self.slack * (abs(value) + abs(self.start))

    def _without_used_up(self, members: Level, low: Bound | None, high: Bound | None) -> Iterator[Range]:
        """Yields these ranges without cells whose whole numbers between the cuts are all points of their own."""
        first, end = self._cells(low, high)
        for cell in sorted(self._used_up(members, low, high)) if members.points and not self.slack else ():
            yield first, cell
            first = cell + 1
        yield first, end

    def _used_up(self, members: Level, low: Bound | None, high: Bound | None) -> Iterator[int]:
        points: Counter[int] = Counter()
        values: list[Any] = list(members.points)
        for value in values:
            is_between = (low is None or low <= (value, 0)) and (high is None or (value, 0) < high)
            if is_between and value == floor(value):
                first, end = self._cells((value, 0), (value, 1))
                assert first is not None
                assert end is not None
                points.update(range(first, end))
        for cell, count in points.items():
            begin = ceil(self.start + cell * self.step)
            end = ceil(self.start + cell * self.step + self.length)
            begin = begin if low is None else max(begin, ceiling(low))
            end = end if high is None else min(end, ceiling(high))
            if count == end - begin:
                yield cell


def whole_numbers(attribute: str, ranges: list[Range], undefined: Tree) -> Tree:
    """Returns the union of half-open ranges of whole numbers."""
    cuts: list[Bound] = []
    pieces: list[Tree] = [False]
    for first, end in sorted(ranges, key=lambda r: (r[0] is not None, r[0] or 0)):
        if first is not None and end is not None and first >= end:
            continue
        if pieces[-1] is True:  # the previous range is not bounded above
            break
        if first is None:
            pieces = [True]
        elif cuts and (first, 0) <= cuts[-1]:  # it meets the previous range
            if end is not None and (end, 0) <= cuts[-1]:
                continue
            cuts.pop()
            pieces.pop()
        else:
            cuts.append((first, 0))
            pieces.append(True)
        if end is not None:
            cuts.append((end, 0))
            pieces.append(False)
    return regions.make_level(attribute, undefined, cuts, pieces)


# --- step functions of one attribute ---------------------------------------------------------------------


@frozen
class Step:
    """`outer(floor(inner(x)))`, both affine and increasing."""

    inner: Affine
    outer: Affine = IDENTITY

    @property
    def extents(self) -> Extents:
        """The values of x for each value of the floor.

        Has slack if computing `inner` in doubles may fall below a whole number that it reaches.
        """
        length = 1 / self.inner.slope
        exact = self.inner.integers()[0] == 1
        return Extents(length, length, -self.inner.shift * length, 0 if exact else Fraction(1, 2**48))

    @property
    def is_whole(self) -> bool:
        """True if the values are whole numbers."""
        return self.outer.is_whole

    def image(self, members: Level, target: str, whole: bool) -> Tree:
        """Returns the values of the step function over a set, as a set of values of the attribute `target`."""
        return regions.transform(self.extents.image(members, target, whole), target, self.outer)


@frozen
class Filled:
    """`coalesce(x, value)`: x, and a value of its type if x is undefined."""

    value: Value
    is_whole: ClassVar = True
    """Of whole x the value is whole, too."""

    def image(self, members: Level, target: str, whole: bool) -> Tree:
        """Returns the values of the function over a set, as a set of values of the attribute `target`.

        For example, tuples without a site belong to `main`, so that `main` is among the sites of a set with ⊥:

        >>> some = regions.complement(regions.values("site", ["main", "north"]))
        >>> print(Filled("main").image(some, "site", whole=False))
        site = 'north': False, site defined: True, else False
        """
        is_filled = members.undefined
        defined = regions.intersection(regions.renamed(members, target), regions.defined(target))
        return regions.union(defined, regions.values(target, [self.value] if is_filled else []))


ManyToOne = Step | Filled
"""Functions with one value for many values of an attribute, or for one and ⊥."""

_DATE = Type("date")
_SECOND = LENGTHS["second"]
_SINCE_1970 = {"unix_seconds": _SECOND, "unix_millis": 1_000, "unix_micros": 1}
_TO_MONDAY = 3 * LENGTHS["day"]  # 1970-01-01 was a Thursday


def many_to_one(expression: Expression, types: Types) -> tuple[str, ManyToOne] | None:
    """Returns the attribute and the function of an expression with one value for many values of exactly one
    attribute."""
    return filled(expression, types) or stepped(expression, types)


def filled(expression: Expression, types: Types) -> tuple[str, Filled] | None:
    """Returns the attribute and the function of an expression that replaces what is undefined by a constant of the
    same type."""
    match expression:
        case Scalar("coalesce" | "ifnull" | "nvl", (Attribute(name), constant)) if name in types:
            pass
        case _:
            return None
    type_ = types[name]
    match constant:
        case Scalar("timestamp" | "date" as word, (Literal() as literal,)) if type_.name == word:
            type_ = Type(word)  # without a zone, which is of texts in tuples
        case _:
            literal = signed_constant(constant)
    if literal is None or remembered_type(expression, types) != types[name]:
        return None
    try:
        return name, Filled(type_.value(literal))
    except ValueError:  # a text that is no time is undefined
        return None


def stepped(expression: Expression, types: Types) -> tuple[str, Step] | None:
    """Returns the attribute and the function of an expression that is an increasing step function of exactly
    one.
    """
    match expression:
        case Scalar("date_trunc", (Literal(str(unit)), Attribute(name))) if types.get(name) == TIMESTAMP:
            length = LENGTHS.get(unit.lower())
            if length is None:  # months and years have no fixed length
                return None
            shift = _TO_MONDAY if unit.lower() == "week" else 0
            return name, Step(Affine(Fraction(1, length), Fraction(shift, length)), Affine(length, -shift))
        case Scalar("date" | "to_date", (Attribute(name),)) if types.get(name) == TIMESTAMP:
            return name, Step(Affine(Fraction(1, LENGTHS["day"]), 0))
        case Scalar("timestamp" | "to_timestamp", (Attribute(name),)) if types.get(name) == _DATE:
            return name, Step(IDENTITY, Affine(LENGTHS["day"], 0))
        case Scalar(function, (Attribute(name),)) if function in _SINCE_1970:
            if types.get(name) != TIMESTAMP:
                return None
            return name, Step(Affine(Fraction(1, _SINCE_1970[function]), 0))
        case Scalar("floor", (argument,)):
            return _floored(argument, types)
        case _:
            form = single(expression)
            if form is None or form[0] is expression or form[1].slope <= 0 or not form[1].is_whole:
                return None
            inner = stepped(form[0], types)
            return inner and (inner[0], Step(inner[1].inner, form[1].after(inner[1].outer)))


def _floored(argument: Expression, types: Types) -> tuple[str, Step] | None:
    form = single(argument)
    if form is None or form[1].slope <= 0:
        return None
    part, function = form
    if isinstance(part, Attribute):
        numeric = part.name in types and types[part.name].is_numeric
        return (part.name, Step(function)) if numeric else None
    inner = stepped(part, types)
    if inner is None:
        return None
    # ⌊(⌊u⌋ + q) / r⌋ = ⌊(u + q) / r⌋ for whole numbers q and r.
    onto = function.after(inner[1].outer)
    return (inner[0], Step(onto.after(inner[1].inner))) if onto.integers()[0] == 1 else None
