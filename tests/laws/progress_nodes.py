"""Operators of the law of progress: which cells of sources feed a cell, and what closes it (theory D1, D2, J1).

Nothing is kept in their state, because the worlds of the law have no tuples.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import product
from operator import and_
from typing import Any

from attrs import frozen

Cell = dict[str, Any]
Domains = Mapping[str, Sequence[Any]]
IsClosed = Callable[[str, Cell], bool]
"""True if a source has closed a cell, or can have no tuples of it."""


@frozen
class Node(ABC):
    """A relation. `text`: its text in a query; `names`: the attributes that its cells tell apart."""

    text: str
    names: tuple[str, ...]

    @abstractmethod
    def feeders(self, cell: Cell, domains: Domains) -> Iterator[tuple[str, Cell]]:
        """Yields the cells of sources that can produce tuples of a cell."""

    @property
    def reads_kept(self) -> bool:
        """True if an operator below keeps tuples of what its input has closed."""
        keeps = any(word in self.text for word in (" join ", " minus ", " intersect ", "sort[", "running["))
        return keeps and not isinstance(self, Compared | Sorted)

    def closed(self, cell: Cell, domains: Domains, is_closed: IsClosed) -> Closed:
        """Returns what of a cell is closed."""
        return all_of(Closed.exactly(is_closed(*feeder)) for feeder in self.feeders(cell, domains))


@frozen
class Closed:
    """Whether a cell must be closed, and whether it may be: certain answers also close what no promise finds."""

    must: bool
    may: bool

    @classmethod
    def exactly(cls, closed: bool) -> Closed:
        return cls(closed, closed)

    def __or__(self, other: Closed) -> Closed:
        return Closed(self.must or other.must, self.may or other.may)

    def __and__(self, other: Closed) -> Closed:
        return Closed(self.must and other.must, self.may and other.may)


OPEN = Closed.exactly(False)


def all_of(parts: Iterable[Closed]) -> Closed:
    """Returns what is closed if all parts are."""
    return reduce(and_, parts, Closed.exactly(True))


def with_every(node: Node, cell: Cell, names: Iterable[str], domains: Domains) -> Iterator[Cell]:
    """Yields the cells of a relation that differ from one in some attributes at most."""
    free = [name for name in node.names if name in set(names)]
    for values in product(*(domains[name] for name in free)):
        yield {**cell, **dict(zip(free, values, strict=True))}


def vacant(node: Node, cell: Cell, domains: Domains, is_closed: IsClosed) -> Closed:
    """Returns whether a relation closes all tuples of a cell's time and place, as `r` and `s` promise (`PROMISES`)."""
    others = set(node.names) - {"ts", "g"}
    cells = with_every(node, cell, others, domains)
    return all_of(node.closed(at, domains, is_closed) for at in cells)


@frozen
class Stream(Node):
    def feeders(self, cell: Cell, domains: Domains) -> Iterator[tuple[str, Cell]]:
        yield self.text, cell


@frozen
class Selected(Node):
    child: Node
    name: str
    values: tuple[Any, ...]

    def feeders(self, cell: Cell, domains: Domains) -> Iterator[tuple[str, Cell]]:
        if cell[self.name] in self.values:
            yield from self.child.feeders(cell, domains)

    def closed(self, cell: Cell, domains: Domains, is_closed: IsClosed) -> Closed:
        inside = cell[self.name] in self.values
        return self.child.closed(cell, domains, is_closed) if inside else Closed.exactly(True)


@frozen
class ManyToOne(Node):
    """An operator with one input, of which several cells feed a cell of the output."""

    child: Node

    def feeders(self, cell: Cell, domains: Domains) -> Iterator[tuple[str, Cell]]:
        for inner in self._inner(cell, domains):
            yield from self.child.feeders(inner, domains)

    def closed(self, cell: Cell, domains: Domains, is_closed: IsClosed) -> Closed:
        return all_of(self.child.closed(inner, domains, is_closed) for inner in self._inner(cell, domains))

    @abstractmethod
    def _inner(self, cell: Cell, domains: Domains) -> Iterator[Cell]:
        """Yields these cells of the input."""


@frozen
class Folded(ManyToOne):
    """A projection or an aggregate: all values of what it leaves out feed a cell."""

    def _inner(self, cell: Cell, domains: Domains) -> Iterator[Cell]:
        return with_every(self.child, cell, set(self.child.names) - set(self.names), domains)


@frozen
class Filled(ManyToOne):
    """A projection that gives an attribute a default: cells of the default are also fed by those without a value."""

    name: str
    default: Any

    def _inner(self, cell: Cell, domains: Domains) -> Iterator[Cell]:
        yield cell
        if cell[self.name] == self.default:
            yield from ({**cell, self.name: None} for value in domains[self.name] if value is None)


@frozen
class Windows(ManyToOne):
    length: int
    step: int

    def _inner(self, cell: Cell, domains: Domains) -> Iterator[Cell]:
        begin = cell["w"] * self.step
        rest = {name: value for name, value in cell.items() if name != "w"}
        for ts in domains["ts"]:
            if ts is not None and begin <= ts < begin + self.length:
                yield {**rest, "ts": ts}


@frozen
class United(Node):
    sides: tuple[Node, Node]

    def feeders(self, cell: Cell, domains: Domains) -> Iterator[tuple[str, Cell]]:
        for side in self.sides:
            yield from side.feeders(cell, domains)

    def closed(self, cell: Cell, domains: Domains, is_closed: IsClosed) -> Closed:
        return all_of(side.closed(cell, domains, is_closed) for side in self.sides)


@frozen
class Compared(Node):
    """An operator that keeps left tuples until the right has their key, which are all names of `right`."""

    left: Node
    right: Node
    operator: str

    def feeders(self, cell: Cell, domains: Domains) -> Iterator[tuple[str, Cell]]:
        yield from self.left.feeders(cell, domains)
        if self.operator == "intersect":
            yield from self.right.feeders(cell, domains)

    def closed(self, cell: Cell, domains: Domains, is_closed: IsClosed) -> Closed:
        left = self.left.closed(cell, domains, is_closed)
        right = self.right.closed({name: cell[name] for name in self.right.names}, domains, is_closed)
        alone = vacant(self.left, cell, domains, is_closed)  # J1: nothing is kept of it
        either = self.operator in ("join", "semi join", "intersect")
        return Closed((left & right).must or alone.must, left.may or (either and right.may))


@frozen
class Sorted(Node):
    """A sort or a running function: a tuple waits for all that come before it. `per`: the keys that wait alone.
    `ties`: it waits for those of its own time, too."""

    child: Node
    per: tuple[str, ...] = ()
    ties: bool = True

    def feeders(self, cell: Cell, domains: Domains) -> Iterator[tuple[str, Cell]]:
        return self.child.feeders(cell, domains)

    def closed(self, cell: Cell, domains: Domains, is_closed: IsClosed) -> Closed:
        mine = self.child.closed(cell, domains, is_closed)
        others = set(self.names) - {"ts", *self.per}
        lowest = domains["ts"][0]  # without a domain it stands for all times before it, too
        before = all_of(
            self.child.closed(at, domains, is_closed)
            for ts in domains["ts"]
            if ts < cell["ts"] + self.ties or ts == lowest < 0
            for at in with_every(self.child, {**cell, "ts": ts}, others, domains)
        )
        # Of several streams with different promises, a sort finds what is closed by its order only.
        is_one = isinstance(self.child, Stream) and not self.per
        alone = vacant(self.child, cell, domains, is_closed) if is_one else OPEN
        return Closed((mine & before).must or alone.must, mine.may)


@frozen
class Sessions(Node):
    """Sessions of a key without their times: tuples of a time feed each session that begins then or before (G29)."""

    child: Node

    def feeders(self, cell: Cell, domains: Domains) -> Iterator[tuple[str, Cell]]:
        rest = {name: value for name, value in cell.items() if name != "b"}
        for ts in domains["ts"]:
            if ts >= cell["b"]:
                yield from self.child.feeders({**rest, "ts": ts}, domains)

    def closed(self, cell: Cell, domains: Domains, is_closed: IsClosed) -> Closed:
        rest = {name: value for name, value in cell.items() if name != "b"}
        times = {ts: {**rest, "ts": ts} for ts in domains["ts"]}
        others = set(self.child.names) - {"ts"}  # only times are promised
        begins = all_of(
            self.child.closed(at, domains, is_closed)
            for at in with_every(self.child, times[cell["b"]], others, domains)
        )
        after = (at for ts, at in times.items() if ts >= cell["b"])
        alone = all_of(self.child.closed(at, domains, is_closed) for at in after)
        mine = self.child.closed(times[cell["b"]], domains, is_closed)
        return Closed(begins.must, mine.may or alone.may)


R, S = (Stream(name, ("k", "g", "ts", "x")) for name in "rs")


def hot(child: Node) -> Node:
    return Selected(f"select[x > 5]({child.text})", child.names, child, "x", (9,))


def first(child: Node) -> Node:
    return Selected(f"select[g = 1]({child.text})", child.names, child, "g", (1,))


def project(names: str, child: Node) -> Node:
    return Folded(f"project[{names}, y]({child.text})", tuple(names.split(", ")), child)


def filled(name: str, default: int, child: Node) -> Node:
    items = ", ".join(f"coalesce({n}, {default}) as {n}" if n == name else n for n in (*child.names, "y"))
    return Filled(f"project[{items}]({child.text})", child.names, child, name, default)


def most(names: str, child: Node) -> Node:
    by = tuple(names.split(", "))
    others = ", ".join(sorted({*child.names, *(["ts"] if "window" in child.text else [])} - {*by, "x"}))
    return Folded(f"aggregate[max by {names} except {others}]({child.text})", by, child)


def window(child: Node, step: int = 2) -> Node:
    every = "" if step == 2 else f" every {step}"
    names = tuple("w" if name == "ts" else name for name in child.names)
    return Windows(f"window[2{every} on ts as w]({child.text})", names, child, 2, step)


def windows(child: Node, step: int = 2) -> Node:
    """Windows without the times in them, by which their markers may tell tuples apart, too."""
    return project("k, g, w, x", window(child, step))


def union(left: Node, right: Node) -> Node:
    return United(f"({left.text} union {right.text})", left.names, (left, right))


def joined(operator: str, left: Node, right: Node) -> Node:
    key = Folded(f"project[k]({right.text})", ("k",), right)
    return Compared(f"({left.text} {operator} {key.text} on k)", left.names, left, key, operator)


def whole(operator: str, left: Node, right: Node) -> Node:
    return Compared(f"({left.text} {operator} {right.text})", left.names, left, right, operator)


def sort(child: Node) -> Node:
    ties = not isinstance(child, Stream)  # else they are in order of arrival
    return Sorted(f"sort[ts]({child.text})", child.names, child, ties=ties)


def running(child: Node, frame: str = "") -> Node:
    return Sorted(f"running[count() as n per k on ts{frame}]({child.text})", child.names, child, ("k",))


def session(child: Node) -> Node:
    text = f"project[k, g, b, x, y](session[2 on ts per k as b]({child.text}))"
    return Sessions(text, ("k", "g", "b", "x"), child)


SHAPES = (
    R,
    hot(R),
    first(R),
    project("k, ts, x", R),
    project("g, x", R),
    windows(R),
    windows(R, 1),
    most("k, ts", R),
    most("g", R),
    union(R, S),
    union(hot(R), S),
    union(hot(R), hot(S)),
    windows(hot(R)),
    most("k, w", window(R)),
    most("w", window(R, 1)),
    project("k, x", union(R, S)),
    project("k, w, x", window(R)),
    union(project("k, ts, x", first(R)), project("k, ts, x", S)),
    windows(union(R, hot(S))),
    most("g", union(hot(R), S)),
    most("g, w", window(union(first(R), S))),
    union(project("k, w, x", window(R)), project("k, w, x", window(hot(S)))),
    joined("join", R, S),
    joined("left join", R, S),
    joined("semi join", R, S),
    joined("anti join", R, S),
    whole("minus", R, S),
    whole("intersect", R, S),
    sort(R),
    session(R),
    running(R),
    running(R, " over last 2"),
    windows(joined("join", hot(R), S)),
    union(joined("anti join", R, S), hot(S)),
    most("k, ts", whole("intersect", R, hot(S))),
    project("k, x", whole("minus", first(R), S)),
    sort(union(R, S)),
    session(union(hot(R), S)),
    filled("g", 1, R),
    filled("g", 1, union(R, S)),
    most("g", filled("g", 2, R)),
    union(filled("g", 1, R), S),
)
