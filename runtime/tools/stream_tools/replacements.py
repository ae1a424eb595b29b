"""Replacement rules of accented-punctuated streams, and canonization by them (paper, section 5; theory 2.3,
2.4, 3.1, 3.3).

Items carry descriptions as regions, so that a description can be split where two overlap. Each rule takes two
adjacent items and returns their replacement, or `None` if it does not apply. Each inversion has one function
that brings a pair into canonical order by the rules. The rules are the paper's, with the corrections of
theory 2.3 and 2.4. `canonize` is faster and must give the same stream.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum

from attrs import evolve, frozen

from cedilla.compiler import regions
from cedilla.compiler.changes import Add, Alter, Change, Drop
from cedilla.compiler.regions import Tree, Value
from cedilla.compiler.regions.affine import Affine
from cedilla.runtime.connectors.records.values import applied


@frozen
class Tuple:
    """A tuple; attributes that it lacks are undefined."""

    values: Mapping[str, Value]
    number: int = 0
    """The number of the tuple in the stream."""


@frozen
class Described:
    """An accent: `[[description, primitive]]`. The description does not depend on the primitive's attribute
    (G23).

    `optional`: an Add of an attribute that is declared optional, so that tuples may have it before.
    """

    description: Tree
    primitive: Change
    optional: bool = False


@frozen
class Closing:
    """A punctuation."""

    pattern: Tree


Item = Tuple | Described | Closing
Replaced = tuple[Item, ...]


class Rank(IntEnum):
    """The extended canonical order (theory 3.3)."""

    ADD = 0
    TUPLE = 1
    PUNCTUATION = 2
    ALTER = 3
    DROP = 4


def rank(item: Item) -> Rank:
    """Returns the rank of an item in the canonical order."""
    match item:
        case Tuple():
            return Rank.TUPLE
        case Closing():
            return Rank.PUNCTUATION
        case Described(_, Add()):
            return Rank.ADD
        case Described(_, Alter()):
            return Rank.ALTER
        case Described():
            return Rank.DROP


class NotValid(Exception):
    """Two adjacent items that no valid stream contains."""


# --- rules -----------------------------------------------------------------------------------------------


def r1(first: Item, second: Item) -> Replaced | None:
    """Swaps an accent and a tuple that does not match its description."""
    match first, second:
        case (Described(d), Tuple(values)) | (Tuple(values), Described(d)) if not regions.contains(d, values):
            return second, first
        case _:
            return None


def r2(first: Item, second: Item) -> Replaced | None:
    """Swaps accents with disjoint descriptions."""
    match first, second:
        case Described(d), Described(e) if regions.intersection(d, e) is False:
            return second, first
        case _:
            return None


def r3(first: Item, second: Item) -> Replaced | None:
    """Swaps accents on different attributes, if neither is an Alter.

    Added to the paper: neither description may depend on the attribute of the other, because a use of X might
    precede its Add.
    """
    match first, second:
        case Described(d, Add() | Drop() as a), Described(e, Add() | Drop() as b):
            named = regions.attributes(d) | regions.attributes(e)
            if a.attribute != b.attribute and not named & {a.attribute, b.attribute}:
                return second, first
    return None


def r4(first: Item, second: Item) -> Replaced | None:
    """Swaps an Add and a tuple that is undefined on its attribute.

    Added to the paper: also any tuple, if the attribute is declared optional.
    """
    match first, second:
        case (Tuple(), Described(_, Add(), True)) | (Described(_, Add(), True), Tuple()):
            return second, first
        case _:
            return _commute_undefined(first, second, Add)


def r5(first: Item, second: Item) -> Replaced | None:
    """Swaps a Drop and a tuple that is undefined on its attribute."""
    return _commute_undefined(first, second, Drop)


def _commute_undefined(first: Item, second: Item, kind: type[Add] | type[Drop]) -> Replaced | None:
    match first, second:
        case (Described(_, primitive), Tuple(values)) | (Tuple(values), Described(_, primitive)):
            if isinstance(primitive, kind) and primitive.attribute not in values:
                return second, first
    return None


def r6(first: Item, second: Item) -> Replaced | None:
    """Moves a tuple before an Alter that it matches; β undoes its value."""
    match first, second:
        case Described(d, Alter(attribute, function)), Tuple(values) if regions.contains(d, values):
            if attribute not in values:
                return second, first
            undone = applied(function.inverse(), values[attribute])
            return evolve(second, values={**values, attribute: undone}), first
    return None


def r7(first: Item, second: Item) -> Replaced | None:
    """Moves an accent before an Alter of X whose description contains its own; β maps X's bounds.

    The paper prints d with its bounds changed; but d cannot name X, and it is d' that moves. Added: two
    Alters commute only if their attributes differ, and neither description depends on the other's.
    """
    match first, second:
        case Described(d, Alter() as alter), Described(e) if _implies(e, d) and _apart(first, second):
            return evolve(second, description=_moved(e, alter.attribute, alter.function.inverse())), first
    return None


def r7_back(first: Item, second: Item) -> Replaced | None:
    """Moves an accent after an Alter (R7 from right to left); α maps X's bounds."""
    match first, second:
        case Described(d), Described(e, Alter() as alter) if _implies(d, e) and _apart(second, first):
            return second, evolve(first, description=_moved(d, alter.attribute, alter.function))
    return None


def _apart(alter: Described, other: Described) -> bool:
    """Returns True if an accent, should it be an Alter too, changes nothing that another Alter mentions."""
    name = other.primitive.attribute
    changed = {alter.primitive.attribute} | regions.attributes(alter.description)
    return not isinstance(other.primitive, Alter) or name not in changed


def r8(item: Described, region: Tree) -> tuple[Described, ...]:
    """Splits an accent at a region; omits empty parts.

    The outer part includes tuples without the attributes of the region: `c θ v` and its complement together
    cover a description only if c is defined on all of it.
    """
    inside = regions.intersection(item.description, region)
    outside = regions.difference(item.description, region)
    return tuple(evolve(item, description=part) for part in (inside, outside) if part is not False)


def r8_back(items: Iterable[Described]) -> Described:
    """Joins several accents of one primitive."""
    first, *rest = items
    return evolve(first, description=regions.union(first.description, *(item.description for item in rest)))


def r9(first: Item, second: Item) -> Replaced | None:
    """Cancels a Drop and an Add of one attribute on the same tuples, in either order (offline only: G32)."""
    match first, second:
        case (Described(d, Drop(x)), Described(e, Add(y))) | (Described(d, Add(x)), Described(e, Drop(y))):
            if x == y and d == e:
                return ()
    return None


def r10(first: Item, second: Item) -> Replaced | None:
    """Cancels an Alter and its inverse on the same tuples."""
    match first, second:
        case Described(d, Alter(x, f)), Described(e, Alter(y, g)):
            if x == y and d == e and g.after(f).is_identity:
                return ()
    return None


def r11(first: Item, second: Item) -> Replaced | None:
    """Composes two Alters of one attribute on the same tuples; the result has the unit of the second."""
    match first, second:
        case Described(d, Alter(x, f)), Described(e, Alter(y, g) as last) if x == y and d == e:
            return (Described(d, evolve(last, function=g.after(f))),)
    return None


def p_add(first: Item, second: Item) -> Replaced | None:
    """Swaps a punctuation and an Add (theory 3.1)."""
    return _commute_punctuation(first, second, Add)


def p_drop(first: Item, second: Item) -> Replaced | None:
    """Swaps a punctuation and a Drop: a pattern on X does not match tuples without X (theory 3.1)."""
    return _commute_punctuation(first, second, Drop)


def _commute_punctuation(first: Item, second: Item, kind: type[Add] | type[Drop]) -> Replaced | None:
    match first, second:
        case (Closing(), Described(_, primitive)) | (Described(_, primitive), Closing()):
            if isinstance(primitive, kind):
                return second, first
    return None


def p_alter(first: Item, second: Item) -> Replaced | None:
    """Moves a punctuation after an Alter: in the overlap, α maps bounds on X (theory 3.1)."""
    match first, second:
        case Closing(p), Described(d, Alter(attribute, function)):
            return second, Closing(_moved_within(p, d, attribute, function))
        case _:
            return None


def p_alter_back(first: Item, second: Item) -> Replaced | None:
    """Moves a punctuation before an Alter (P-alter from right to left); β maps bounds on X."""
    match first, second:
        case Described(d, Alter(attribute, function)), Closing(p):
            return Closing(_moved_within(p, d, attribute, function.inverse())), first
        case _:
            return None


def p_tuple(first: Item, second: Item) -> Replaced | None:
    """Swaps a punctuation and a tuple: in a valid stream, the tuple after it does not match it."""
    match first, second:
        case (Closing(p), Tuple(values)) if regions.contains(p, values):
            raise NotValid("a tuple comes after the punctuation that closes it")
        case (Closing(), Tuple()) | (Tuple(), Closing()):
            return second, first
        case _:
            return None


def _implies(inner: Tree, outer: Tree) -> bool:
    return regions.difference(inner, outer) is False


def _moved(region: Tree, attribute: str, function: Affine) -> Tree:
    return regions.transform(region, attribute, function)  # type: ignore[arg-type]


def _moved_within(region: Tree, where: Tree, attribute: str, function: Affine) -> Tree:
    inside = _moved(regions.intersection(region, where), attribute, function)
    return regions.union(regions.difference(region, where), inside)


# --- inversions ------------------------------------------------------------------------------------------


def tuple_then_add(first: Item, second: Item) -> Replaced | None:
    """Sorts an Add before a tuple (case 1): R1 or R4."""
    return r1(first, second) or r4(first, second)


def alter_then_tuple(first: Item, second: Item) -> Replaced | None:
    """Sorts a tuple before an Alter (case 2): R1 or R6."""
    return r1(first, second) or r6(first, second)


def drop_then_tuple(first: Item, second: Item) -> Replaced | None:
    """Sorts a tuple before a Drop (case 3): R1 or R5."""
    return r1(first, second) or r5(first, second)


def drop_then_add(first: Item, second: Item) -> Replaced | None:
    """Sorts an Add before a Drop (case 4): R2; for one attribute, splits both (R8), cancels the overlap (R9),
    swaps the rest (R2).
    """
    if commuted := r2(first, second):
        return commuted
    assert isinstance(first, Described)
    assert isinstance(second, Described)
    if first.primitive.attribute != second.primitive.attribute:
        # In the overlap neither description can use the other's attribute, because it is absent (validity).
        return second, first
    drop_only = regions.difference(first.description, second.description)
    add_only = regions.difference(second.description, first.description)
    kept = (evolve(second, description=add_only), evolve(first, description=drop_only))
    return tuple(item for item in kept if item.description is not False)


def drop_then_alter(first: Item, second: Item) -> Replaced | None:
    """Sorts an Alter before a Drop (case 5): R2, always for one attribute (validity).

    Only the overlap goes through α (R8, R7). The paper also changes a disjoint description, which R2 leaves
    unchanged.
    """
    if commuted := r2(first, second):
        return commuted
    assert isinstance(first, Described)
    assert isinstance(second, Described)
    if first.primitive.attribute == second.primitive.attribute:
        return second, first  # they overlap on closed tuples at most (P-dead)
    moved: list[Described] = []
    for part in r8(first, second.description):
        replaced = r2(part, second) or r7_back(part, second)
        assert replaced is not None
        moved.append(replaced[1])  # type: ignore[arg-type]
    return second, r8_back(moved)


def alter_then_add(first: Item, second: Item) -> Replaced | None:
    """Sorts an Add before an Alter (case 6): R2, always for one attribute (validity).

    Only the overlap goes through β (R8, R7). The paper divides by the wrong side and leaves an Add after the
    Alter.
    """
    if commuted := r2(first, second):
        return commuted
    assert isinstance(first, Described)
    assert isinstance(second, Described)
    if first.primitive.attribute == second.primitive.attribute:
        return second, first  # they overlap on closed tuples at most (P-dead)
    moved: list[Described] = []
    for part in r8(second, first.description):
        replaced = r2(first, part) or r7(first, part)
        assert replaced is not None
        moved.append(replaced[0])  # type: ignore[arg-type]
    return r8_back(moved), first


INVERSIONS: Mapping[tuple[Rank, Rank], Callable[[Item, Item], Replaced | None]] = {
    (Rank.TUPLE, Rank.ADD): tuple_then_add,
    (Rank.ALTER, Rank.TUPLE): alter_then_tuple,
    (Rank.DROP, Rank.TUPLE): drop_then_tuple,
    (Rank.DROP, Rank.ADD): drop_then_add,
    (Rank.DROP, Rank.ALTER): drop_then_alter,
    (Rank.ALTER, Rank.ADD): alter_then_add,
    (Rank.PUNCTUATION, Rank.TUPLE): p_tuple,
    (Rank.PUNCTUATION, Rank.ADD): p_add,
    (Rank.ALTER, Rank.PUNCTUATION): p_alter_back,
    (Rank.DROP, Rank.PUNCTUATION): p_drop,
}
"""Pair of ranks in the wrong order -> function that sorts it: the paper's six cases and theory 3.3."""


def in_order(stream: Iterable[Item], used: Counter[str] | None = None) -> list[Item]:
    """Sorts a stream into canonical order, by replacing adjacent pairs until none is in the wrong order.

    `used` counts the inversions. Raises `NotValid`. Time grows with the square of the length.
    """
    done: list[Item] = []
    waiting = deque(stream)
    while waiting:
        item = waiting.popleft()
        if not done or rank(done[-1]) <= rank(item):
            done.append(item)
            continue
        first = done.pop()
        inversion = INVERSIONS[rank(first), rank(item)]
        replaced = inversion(first, item)
        if replaced is None:
            raise NotValid("a tuple is defined where an attribute does not exist")
        if used is not None:
            used[inversion.__name__] += 1
        waiting.extendleft(reversed(replaced))
    return done
