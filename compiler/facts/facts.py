"""The facts of a stream, and the one law that moves them through operators (theory D0, D1).

`Facts` describe one stream at one instant, in canonical values. They contain the presence of each attribute,
the functions that its values went through, and the closed tuples. An operator maps the facts of its inputs to
those of its output; output markers are the difference between two instants. The rules of the papers (U2 to
U4, J1, W5, A2 to A4, the accumulators of section 6.1) are therefore one fold over *feeders*: the input cells
that can produce tuples of an output cell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from enum import IntEnum
from functools import lru_cache
from operator import eq

from attrs import field, frozen

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.regions import Operation, Tree, Universe
from cedilla.compiler.regions.affine import IDENTITY, Affine


class Presence(IntEnum):
    """Says if tuples of a cell may be defined on an attribute."""

    ABSENT = 0
    LATENT = 1
    """Declared optional, never announced: tuples may have it, and an Add is still legal (P4)."""
    PRESENT = 2


ABSENT, LATENT, PRESENT = Presence.ABSENT, Presence.LATENT, Presence.PRESENT

History = tuple[Affine, ...]
"""The cumulative functions of a cell, oldest first, from the identity; `()` means that no feeder is live."""

ORIGINAL: History = (IDENTITY,)
NO_FEEDER: History = ()

_MAX_PAIRS = 4096
"""Pairs of histories whose common one is cached: an epoch asks for most pairs of the epoch before."""


@lru_cache(_MAX_PAIRS)
def _common(a: History, b: History) -> History:
    """Returns the longest common subsequence of two histories; a function may occur twice in one.

    For example, one sensor has been altered from °C to °F and to K, another only to °F:

    >>> from fractions import Fraction
    >>> celsius, fahrenheit, kelvin = IDENTITY, Affine(Fraction(9, 5), 32), Affine(1, Fraction("273.15"))
    >>> _common((celsius, fahrenheit, kelvin), (celsius, fahrenheit)) == (celsius, fahrenheit)
    True
    >>> _common((celsius, fahrenheit, kelvin), (celsius, kelvin)) == (celsius, kelvin)
    True
    """
    shorter = min(a, b, key=len)
    if a[: len(shorter)] == b[: len(shorter)]:  # one input is only late
        return shorter
    rank = {f: n for n, f in enumerate(sorted({*a, *b}, key=lambda f: (f.slope, f.shift)))}
    longest = _longest([rank[f] for f in a], [rank[f] for f in b])
    functions = [*rank]
    return tuple(functions[number] for number in longest)


def _longest(a: Sequence[int], b: Sequence[int]) -> list[int]:
    """Returns the greatest of the longest common subsequences, so that ties do not depend on the order of inputs."""
    lengths = [[0] * (len(b) + 1)]  # of the longest one of the rests from i and j on
    for f in reversed(a):
        below, row = lengths[-1], [0] * (len(b) + 1)
        for j in range(len(b) - 1, -1, -1):
            row[j] = below[j + 1] + 1 if f == b[j] else max(below[j], row[j + 1])
        lengths.append(row)
    lengths.reverse()
    result: list[int] = []
    i = j = 0
    while left := lengths[i][j]:
        firsts: dict[int, tuple[int, int]] = {}
        for at in range(i, len(a)):
            if lengths[at][j] < left:
                break
            if a[at] not in firsts and a[at] in b[j:]:
                meets = b.index(a[at], j)
                if lengths[at + 1][meets + 1] == left - 1:
                    firsts[a[at]] = at + 1, meets + 1
        first = max(firsts)
        result.append(first)
        i, j = firsts[first]
    return result


PRESENT_IF_ANY = regions.lattice(max, neutral=ABSENT, absorbing=PRESENT)
"""Add: present as soon as one feeder is. Drop: absent when none is (D1)."""
PRESENT_IF_ALL = regions.lattice(min, neutral=PRESENT, absorbing=ABSENT)
"""A computed value is defined if every value that it reads is defined."""
COMMON_HISTORY = regions.lattice(_common, neutral=NO_FEEDER, absorbing=ORIGINAL, same=eq)
"""Alter: the functions that all live feeders have gone through (D1)."""


@frozen
class Facts:
    """One stream at one instant, in canonical values.

    `present`: attribute -> tree of `Presence`; other attributes are absent everywhere.
    `units`: attribute -> tree of `History`; other attributes were never altered. Histories of cells that are
    closed or lack the attribute have no meaning; `live_units` omits them.
    `closed`: the region of tuples that never come again (theory 1.1).
    `lacking`: attributes that are present but come from one input only of a union or left join, so that
    tuples of the other lack them.
    """

    types: Mapping[str, Type]
    universe: Universe
    present: Mapping[str, Tree]
    units: Mapping[str, Tree] = field(factory=dict[str, Tree])
    closed: Tree = False
    lacking: frozenset[str] = frozenset()

    def may_have(self, attribute: str) -> Tree:
        """Returns the region where tuples may be defined on an attribute."""
        presence = self.present.get(attribute, ABSENT)
        return regions.map_leaves(presence, lambda leaf: leaf is not ABSENT)

    def may_be_undefined(self, attribute: str) -> bool:
        """Returns True if tuples may lack an attribute when the query starts: it is optional, or `lacking`."""
        return attribute in self.lacking or self.present.get(attribute, ABSENT) is not PRESENT

    def live_presence(self, attribute: str) -> Tree:
        """Returns the presence, with closed cells counted as without the attribute (vacuity, theory 3.2)."""
        return regions.update(self.present.get(attribute, ABSENT), self.closed, lambda _: ABSENT)

    def live_units(self, attribute: str) -> Tree:
        """Returns the histories, `NO_FEEDER` in cells that are closed or without the attribute."""
        units = self.units.get(attribute, ORIGINAL)
        return regions.update(units, self.dead(attribute), lambda _: NO_FEEDER)

    def dead(self, attribute: str) -> Tree:
        """Returns the region without tuples that have an attribute: it is closed or lacks the attribute."""
        return regions.union(self.closed, regions.complement(self.may_have(attribute)))


@frozen
class StateFacts:
    """The facts that an operator's state adds to those of its inputs.

    `retained`: output attribute -> the region where state still has it, so that its Drop waits (G13).
    `closed`: the region of output tuples that never come again, as state shows. After a limit it is everything
    (theory 1.3). For other operators it is what an input has closed and state keeps nothing of (E5, J1).
    """

    retained: Mapping[str, Tree] = field(factory=dict[str, Tree])
    closed: Tree = False

    def with_retained(self, present: Mapping[str, Tree]) -> dict[str, Tree]:
        """Delays Drops: marks attributes that state still has as at least latent."""
        return {
            n: regions.update(p, self.retained.get(n, False), _at_least_latent) for n, p in present.items()
        }


def _at_least_latent(presence: Presence) -> Presence:
    return max(presence, LATENT)


NO_STATE = StateFacts()


def fold_presence(facts: Facts, presence: Tree, over: Set[str]) -> Tree:
    """Folds Add and Drop (D1): present if a live feeder is present. Without a live feeder, the last value
    stays.

    No tuple of a closed cell comes any more, but later operators may have stored some. Their attribute must
    not seem dropped (G13).
    """
    return _fold_live(presence, facts.closed, ABSENT, over, PRESENT_IF_ANY, facts.universe)


def fold_units(facts: Facts, attribute: str, over: Set[str]) -> Tree:
    """Folds Alter (D1): returns the history common to all live, present feeders; without feeders it has no
    meaning.

    For example, a projection removes s, so the output waits until the Alter has come for every s:

    >>> from cedilla.compiler.expressions.types import DOUBLE, LONG
    >>> from cedilla.compiler.regions import Domain, choose, values
    >>> twice = (IDENTITY, Affine(2, 0))
    >>> types, sensors = {"s": LONG, "t": DOUBLE}, {"s": Domain(values("s", [1, 2]))}
    >>> def of_all(*altered: int, closed: Tree = False) -> bool:
    ...     units = {"t": choose(values("s", altered), twice, ORIGINAL)}
    ...     present = {"s": PRESENT, "t": PRESENT}
    ...     return fold_units(Facts(types, sensors, present, units, closed), "t", {"s"}) == twice
    >>> of_all(1), of_all(1, 2), of_all(1, closed=values("s", [2]))
    (False, True, True)
    """
    units = facts.units.get(attribute, ORIGINAL)
    return _fold_live(units, facts.dead(attribute), NO_FEEDER, over, COMMON_HISTORY, facts.universe)


def fold_live_units(facts: Facts, attribute: str, over: Set[str]) -> Tree:
    """Folds as `fold_units`, and returns `NO_FEEDER` without feeders.

    Callers fold on, or combine it with others.
    """
    units = facts.units.get(attribute, ORIGINAL)
    named = over & regions.attributes(units)
    dead = regions.forall(facts.dead(attribute), over - named, facts.universe)
    return regions.quantify(
        regions.update(units, dead, lambda _: NO_FEEDER), named, COMMON_HISTORY, facts.universe
    )


def _fold_live(
    tree: Tree, dead: Tree, neutral: Tree, over: Set[str], operation: Operation, universe: Universe
) -> Tree:
    """Folds a tree over its live cells; dead cells count only in a fibre that is all dead.

    Only dead cells of a live fibre change the tree before it is folded. One of many points therefore stays the same
    object while windows that it does not name are closed one after the other.
    """
    named = over & regions.attributes(tree)
    if not named:
        return tree
    # The tree does not name the other attributes: along them a fibre counts unless all of it is dead.
    dead = regions.forall(dead, over - named, universe)
    partly = regions.difference(dead, regions.forall(dead, named, universe))
    return regions.quantify(regions.update(tree, partly, lambda _: neutral), named, operation, universe)


def fold_closed(facts: Facts, over: Set[str]) -> Tree:
    """Folds Punctuate (D1): closed if no feeder is live (closed fibres, theory 1.3)."""
    return regions.forall(facts.closed, over, facts.universe)


def closed_for_readers(closed: Tree, universe: Universe) -> Tree:
    """Returns a closed region as readers know it: what is closed for all listed values of an attribute is closed for
    those, too, that the list gains later (theory N1).

    >>> from cedilla.compiler.regions import Domain, interval, union, values
    >>> closed = union(values("s", [1, 2]), interval("ts", None, (60, 0)))
    >>> print(closed_for_readers(closed, {"s": Domain(values("s", [1, 2]))}))
    True
    >>> print(closed_for_readers(closed, {"s": Domain(values("s", [1, 2, 3]))}))
    s in {1, 2}: True, else (ts < 60: True, else False)
    """
    for name, domain in universe.items():
        if domain.is_list:
            closed = regions.union(closed, regions.forall(closed, {name}, universe))
    return closed


def map_history(tree: Tree, change: Callable[[Affine], Affine]) -> Tree:
    """Replaces every function of a tree of histories.

    Returns the same object if nothing changes, or if the same change was made before.
    """
    functions = dict.fromkeys(f for history in regions.leaves(tree) for f in history)
    new = {f: changed for f in functions if (changed := change(f)) != f}
    return _replaced(tree, frozenset(new.items())) if new else tree


@regions.remembered
def _replaced(tree: Tree, new: frozenset[tuple[Affine, Affine]]) -> Tree:
    changed = dict(new)
    return regions.map_leaves(tree, lambda history: tuple(changed.get(f, f) for f in history))
