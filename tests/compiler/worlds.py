"""Small worlds for laws about facts: every cell of a stream, its history, and its facts by brute force."""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from attrs import frozen
from hypothesis import strategies as st

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import LONG
from cedilla.compiler.facts.facts import ABSENT, LATENT, ORIGINAL, PRESENT, Facts, History, Presence
from cedilla.compiler.regions import UNDEFINED
from cedilla.compiler.regions.affine import IDENTITY, Affine
from tests.kit.strategies import (
    Axis,
    Paint,
    Row,
    axes,
    members,
    paints,
    rows,
    universe,
    values,
)

FUNCTIONS_IN_ORDER = (IDENTITY, Affine(2, 0), Affine(2, 1), Affine(Fraction(5, 9), -3))


PRESENCES = st.sampled_from([ABSENT, LATENT, PRESENT])


HISTORIES = st.sets(st.sampled_from(FUNCTIONS_IN_ORDER[1:])).map(
    lambda chosen: tuple(f for f in FUNCTIONS_IN_ORDER if f is IDENTITY or f in chosen)
)


KINDS = ("finite", "range", "whole")


INTEGERS = members((0, 1, 2, 3), half_open=True)


@frozen
class World:
    """Facts, and the same in plain Python."""

    axes: dict[str, Axis]
    present: dict[str, Paint]
    units: dict[str, Paint]
    closed: Paint

    @property
    def facts(self) -> Facts:
        return Facts(
            dict.fromkeys(self.axes, LONG),
            universe(self.axes),
            {name: paint.tree() for name, paint in self.present.items()},
            {name: paint.tree() for name, paint in self.units.items()},
            self.closed.tree(),
        )

    def fibre(self, fixed: Row, over: Iterable[str]) -> list[Row]:
        """The possible tuples that agree with `fixed` outside `over`."""
        over = list(over)
        kept = {n: v for n, v in fixed.items() if n not in over}
        return [{**kept, **free} for free in rows({n: self.axes[n].values for n in over})]

    def live(self, cells: Iterable[Row]) -> list[Row]:
        return [cell for cell in cells if not self.closed.meaning(cell)]

    def presence(self, name: str, cell: Row) -> Presence:
        return self.present[name].meaning(cell) if name in self.present else ABSENT

    def history(self, name: str, cell: Row) -> History:
        return self.units[name].meaning(cell) if name in self.units else ORIGINAL


Feeders = Sequence[tuple[World, Row]]


def presence(feeders: Feeders, name: str) -> Presence:
    """Add and Drop of D1: present iff some live feeder is; as it was last where none is live."""
    counted = [(w, c) for w, c in feeders if w.live([c])] or feeders
    return max((w.presence(name, c) for w, c in counted), default=ABSENT)


def history(feeders: Feeders, name: str) -> History:
    """Alter of D1: the functions common to the histories of all live, present feeders."""
    histories = [w.history(name, c) for w, c in feeders if w.live([c]) and w.presence(name, c) is not ABSENT]
    return tuple(f for f in FUNCTIONS_IN_ORDER if all(f in h for h in histories)) if histories else ()


def closed(feeders: Feeders) -> bool:
    """Punctuate of D1: closed iff no feeder is live."""
    return not any(w.live([c]) for w, c in feeders)


def worlds(
    keys: Sequence[str],
    evolving: Sequence[str] = ("X",),
    *,
    kinds: Sequence[str] = KINDS,
    constants: Sequence[int] = (0, 1, 2, 3),
    present: bool = False,
) -> st.SearchStrategy[World]:
    """Keys are always present; evolving attributes come, go and change where the keys say."""
    sets = members(constants, half_open=True)
    by_keys = dict.fromkeys(keys, sets)
    here = paints(by_keys, PRESENCES) if not present else st.just(Paint(PRESENT, ()))
    key_present = {k: st.just(Paint(PRESENT, ())) for k in keys}
    key_units = {k: paints({n: sets for n in keys if n != k}, HISTORIES, layers=2) for k in keys}
    return st.builds(
        World,
        axes([*keys, *evolving], kinds),
        st.fixed_dictionaries({**key_present, **dict.fromkeys(evolving, here)}),
        st.fixed_dictionaries(
            {}, optional={**key_units, **{x: paints(by_keys, HISTORIES) for x in evolving}}
        ),
        paints({**by_keys, **dict.fromkeys(evolving, sets)}),
    )


def check_fold(
    world: World,
    out: Facts,
    over: Sequence[str],
    outputs: dict[str, tuple[str, Callable[[Any], Any]]],
    units: dict[str, Callable[[Affine], Affine]],
) -> None:
    """`outputs`: output attribute -> the input attribute that it comes from, and how values move."""
    kept = [n for n in world.axes if n not in over]
    axis = {source: (name, move) for name, (source, move) in reversed(outputs.items())}
    for cell in rows(values(world.axes, *kept)):
        feeders = [(world, c) for c in world.fibre(cell, over)]
        image = {axis[n][0]: axis[n][1](v) for n, v in cell.items()}
        for name, (source, _) in outputs.items():
            assert regions.contains(out.present[name], image) == presence(feeders, source), (name, cell)
            expected = tuple(units[name](f) for f in history(feeders, source))
            if name in out.units:
                assert regions.contains(out.live_units(name), image) == expected, (name, cell)
            else:
                assert set(expected) <= {IDENTITY}, (name, cell)
        assert regions.contains(out.closed, image) == closed(feeders), cell
        for name, domain in out.universe.items():
            assert regions.contains(domain.members, image), name


def same(value: Any) -> Any:
    return value


def excludes(world: World, other: World, name: str, value: object) -> bool:
    """Returns True if a value of an attribute of two inputs is possible in the other one only."""
    if value is UNDEFINED or name not in world.axes or name not in other.axes:
        return False
    theirs, mine = (regions.contains(w.facts.universe[name].members, {name: value}) for w in (other, world))
    return theirs and not mine
