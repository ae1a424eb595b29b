"""Worlds of markers over small domains, and what their outputs must have announced: theory D2, cell by cell.

Shares no code with the product: a cell is a tuple of values, and the markers of an output are read one by one, as its
readers do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from random import Random
from typing import Any

from attrs import define, field, frozen

from cedilla.grammar import syntax
from cedilla.grammar.parser import parse_accent, parse_punctuation
from tests.kit.stream import Item, function_of, matches
from tests.laws.progress_nodes import Cell, Node

Function = tuple[Fraction, Fraction]
IDENTITY: Function = (Fraction(1), Fraction(0))
FUNCTIONS = {"y -> y * 2": (2, 0), "y -> y + 1": (1, 1), "y -> y * 3": (3, 0), "y -> y * 2 + 1": (2, 1)}
"""Functions that do not all commute."""
PROMISES = {"r": "g, ts punctuated on ts", "s": "k"}
"""What each stream promises to close; by it vacant regions are found."""
_NEW = 3
"""The value of g that a growth brings."""


# --- sources ---


@define
class Feeder:
    """One cell of a source. `past`: attribute -> its functions since it is there, oldest first."""

    cell: Cell
    has: dict[str, bool]
    past: dict[str, list[Function]]
    closed: bool = False


@frozen
class Marker:
    """A marker of a source; one without a change is a punctuation."""

    source: str
    conditions: list[str]
    change: str = ""

    @property
    def text(self) -> str:
        return self.described_by(self.conditions)

    @property
    def begins(self) -> bool:
        """Returns True if what comes after it is another incarnation, or of a wider domain."""
        return self.change[:4] in ("grow", "+(y:", "-(y)")

    def described_by(self, conditions: list[str]) -> str:
        """The same change of other tuples."""
        text = ", ".join(filter(None, (*conditions, self.change)))
        return f"[[{text}]]" if self.change else f"[{text}]"


@define
class World:
    """Random markers of `r` and `s`, with the cells of both."""

    rng: Random
    declared: bool
    shape: Node
    domains: dict[str, list[Any]] = field(init=False)
    cells: dict[tuple[str, tuple[Any, ...]], Feeder] = field(init=False)
    altered: set[str] = field(factory=set[str])
    grown: set[str] = field(factory=set[str])

    def __attrs_post_init__(self) -> None:
        undefined = (
            [] if any(w in self.shape.text for w in ("window", "sort", "session", "running")) else [None]
        )
        self.domains = {
            "k": [1, 2],
            "g": [1, 2, 3, *([None] if self.is_filled else [])] if self.declared else [0, 1, 2, 3, None],
            "ts": [0, 1, 2, 3] if self.declared else [*range(-2, 6), *undefined],
            "x": [1, 9, None],
        }
        self.cells = {
            (source, values): Feeder(
                dict(zip(self.domains, values, strict=True)),
                {"x": values[3] is not None, "y": False},
                {"x": [IDENTITY], "y": [IDENTITY]},
            )
            for source in "rs"
            for values in product(*self.domains.values())
        }

    @property
    def is_filled(self) -> bool:
        """True if tuples without g have a default."""
        return "coalesce(g" in self.shape.text

    @property
    def sources(self) -> list[str]:
        """The streams that the output reads."""
        return re.findall(r"\b[rs]\b", self.shape.text)

    @property
    def text(self) -> str:
        """The query."""
        domains = (" in {1, 2}", " in [0, 4)") if self.declared else ("", "")
        g = f"g{'?' if self.is_filled else ''}: int{domains[0]}"
        attributes = f"k: int in {{1, 2}}, {g}, ts: long{domains[1]}, x: double"
        streams = "".join(
            f"stream {name}({attributes}) from json '{name}' punctuated on {promise};\n"
            for name, promise in PROMISES.items()
        )
        return f"{streams}o := {self.shape.text};\nemit o to json 'o';"

    def draw(self) -> Marker | None:
        """Returns a marker, unless it would be invalid."""
        source, rng = self.rng.choice("rs"), self.rng
        conditions = [c for choices in _CONDITIONS if (c := rng.choice(choices))]
        having = [f.has["y"] for f in self.described(source, conditions)]
        match rng.choice(["alter", "alter", "alter", "add", "drop", "close", "close x", "grow"]):
            case "alter":
                name, text = rng.choice("xxy"), rng.choice([*FUNCTIONS])
                of = self.described(source, conditions)
                if name == "x" or any(f.has["y"] for f in of if self.exists(source, f.cell)):
                    return Marker(source, conditions, f"alter({name}, {text})")
            case "add" if not any(having):
                return Marker(source, conditions, "+(y: double)")
            case "drop" if all(having):
                return Marker(source, conditions, "-(y)")
            case "close" | "close x" if self.declared and "g != 1" in conditions:
                return None  # what is closed of values to come is not announced once they come
            case "close":
                return Marker(source, conditions)
            case "close x" if not self.altered:  # in canonical values
                return Marker(source, [*conditions, "x > 5"])
            case "grow" if self.declared and source not in self.grown:
                return Marker(source, [], "grow(g, {3})")
            case _:
                pass
        return None

    def parts(self, marker: Marker) -> list[str]:
        """Returns a marker divided by k. An Alter that describes no tuple with its attribute would be invalid."""
        if marker.change.startswith("grow") or any(c.startswith("k") for c in marker.conditions):
            return [marker.text]
        halves = [[*marker.conditions, f"k = {k}"] for k in (1, 2)]
        if marker.change.startswith("alter(y"):
            halves = [
                half
                for half in halves
                if any(
                    f.has["y"]
                    for f in self.described(marker.source, half)
                    if self.exists(marker.source, f.cell)
                )
            ]
        return [marker.described_by(half) for half in halves]

    def take(self, marker: Marker) -> None:
        """Applies a marker to the cells of its source."""
        described = self.described(marker.source, marker.conditions)
        name, _, rest = marker.change.partition("(")
        match name:
            case "":
                for feeder in described:
                    feeder.closed = True
            case "grow":
                self.grow(marker.source)
            case "alter":
                attribute, text = rest[0], rest[3:-1]
                self.altered |= {attribute} & {"x"}
                slope, shift = FUNCTIONS[text]
                for feeder in described:
                    a, b = feeder.past[attribute][-1]
                    feeder.past[attribute].append((slope * a, slope * b + shift))
            case _:
                for feeder in described:
                    feeder.has["y"], feeder.past["y"] = name == "+", [IDENTITY]

    def described(self, source: str, conditions: list[str]) -> list[Feeder]:
        """The cells of a source that meet all conditions."""
        parsed = parse_punctuation(f"[{', '.join(conditions)}]").conditions
        return [
            feeder
            for (name, _), feeder in self.cells.items()
            if name == source and matches(_defined(feeder.cell), parsed)
        ]

    def exists(self, source: str, cell: Cell) -> bool:
        """Returns True if a cell of a source can have tuples: g = 3 does after a growth only."""
        return not self.declared or cell["g"] != _NEW or source in self.grown

    def is_closed(self, source: str, cell: Cell) -> bool:
        """Returns True if a source can have no more tuples of a cell."""
        return not self.exists(source, cell) or self.at(source, cell).closed

    def at(self, source: str, cell: Cell) -> Feeder:
        return self.cells[source, tuple(cell[name] for name in self.domains)]

    def grow(self, source: str) -> None:
        """Adds g = 3 to a source. What was closed for all values of g stays closed (N1)."""
        self.grown.add(source)
        for (name, (k, g, ts, x)), feeder in self.cells.items():
            if name == source and g == _NEW:
                feeder.closed |= all(self.cells[name, (k, old, ts, x)].closed for old in (1, 2))


_CONDITIONS = (
    ("", "", "k = 1", "k = 2"),
    ("", "", "g = 1", "g = 2", "g != 1"),
    ("", "", "", "ts < 2", "ts >= 2", "ts in [1, 3)", "ts < 4", "ts >= 0", "ts = 1"),
)


def _defined(cell: Cell) -> Cell:
    return {name: value for name, value in cell.items() if value is not None}


# --- readers ---


@define
class KnownCell:
    """What readers know of a cell of the output. `left`: the functions before its present one. `was`: the function and
    those before it, when the step began."""

    row: Cell
    has: dict[str, bool]
    function: dict[str, Function]
    left: dict[str, list[Function]]
    was: dict[str, tuple[Function, list[Function]]] = field(factory=dict)
    closed: bool = False

    def begin(self) -> None:
        self.was = {name: (self.function[name], list(self.left[name])) for name in self.function}

    def raw(self) -> Cell:
        """The cell's values as readers see them."""
        row = dict(self.row)
        if row.get("x") is not None:
            a, b = self.function["x"]
            row["x"] = a * row["x"] + b
        return row


@define
class Output:
    """The cells of an output, by its markers. Every cell is told apart by x, too, though no Alter of x may."""

    world: World
    cells: list[KnownCell] = field(init=False)

    def __attrs_post_init__(self) -> None:
        world, names = self.world, self.world.shape.names
        domains = {**world.domains, "w": range(-1, 3), "b": world.domains["ts"], "x": [1, 9]}
        visible = [[value for value in domains[name] if value is not None] for name in names]
        self.cells = [
            KnownCell(
                dict(zip(names, values, strict=True)),
                {"x": True, "y": False},
                {"x": IDENTITY, "y": IDENTITY},
                {"x": [], "y": []},
            )
            for values in product(*visible)
        ]

    def read(self, items: Iterable[Item]) -> None:
        """Takes what a step gives."""
        for at in self.cells:
            at.begin()
        for item in items:
            self._read(item)

    def _read(self, item: Item) -> None:
        if "$punctuation" in item:
            pattern = parse_punctuation(item["$punctuation"]).conditions
            for at in self.cells:
                at.closed |= matches(at.raw(), pattern)
        elif "$accent" in item and "grow" not in item["$accent"]:
            accent = parse_accent(item["$accent"])
            named = accent.primitive.name
            assert all(condition.attribute != named for condition in accent.description), item
            for at in [at for at in self.cells if matches(at.raw(), accent.description)]:
                match accent.primitive:
                    case syntax.AddAttribute():
                        assert at.closed or not at.has[named], (item, at)
                        at.has[named], at.function[named], at.left[named] = True, IDENTITY, []
                        at.was[named] = IDENTITY, []
                    case syntax.DropAttribute():
                        assert at.closed or at.has[named] or not any(_feeders(self.world, at)), (item, at)
                        at.has[named] = False
                    case syntax.AlterAttribute():
                        assert at.closed or at.has[named] or not any(_feeders(self.world, at)), (item, at)
                        a, b = at.function[named]
                        change = function_of(accent.primitive)[0]
                        shift = change(Fraction(0))
                        slope = change(Fraction(1)) - shift
                        at.left[named].append((a, b))
                        at.function[named] = slope * a, slope * b + shift
                    case other:
                        raise AssertionError(other)


# --- D2 ---


def check(world: World, output: Output) -> None:
    """Compares what readers know of each live cell with what D2 says of its feeders."""
    by_x: dict[tuple[Any, ...], list[KnownCell]] = {}
    for at in output.cells:
        by_x.setdefault(tuple(v for n, v in at.row.items() if n != "x"), []).append(at)
    for group in by_x.values():
        every = [list(_feeders(world, at)) for at in group]
        for at, feeders in zip(group, every, strict=True):
            if not feeders:
                continue
            live = [feeder for feeder in feeders if not feeder.closed]
            # A list of one input may still grow: what only the other one closes stays open, and what it has may come.
            is_whole = world.grown in (set(), set(world.sources))
            closed = world.shape.closed(at.row, world.domains, world.is_closed)
            assert closed.may or not at.closed, ("closed early", at)
            assert at.closed or not (is_whole and closed.must), ("closed late", at)
            is_kept = world.shape.reads_kept and len(live) < len(feeders)
            if live and not (at.closed or is_kept) and (is_whole or any(f.has["y"] for f in live)):
                _check_attribute("y", at, live)
        everything = [f for feeders in every for f in feeders]
        together = [f for f in everything if not f.closed]
        # What an operator below keeps has the functions of its closed input (docs/limits.md).
        is_kept = world.shape.reads_kept and len(together) < len(everything)
        for at, feeders in zip(group, every, strict=True):
            if not at.closed and any(not feeder.closed for feeder in feeders):
                _check_attribute("x", at, together, everything if is_kept else ())


def _feeders(world: World, at: KnownCell) -> Iterator[Feeder]:
    for source, cell in world.shape.feeders(at.row, world.domains):
        if world.exists(source, cell):
            yield world.at(source, cell)


def _check_attribute(name: str, at: KnownCell, live: list[Feeder], perhaps: Sequence[Feeder] = ()) -> None:
    """Checks what an attribute of a cell has announced. `perhaps`: feeders of which any may count, by what operators
    below keep."""
    having = [feeder for feeder in live if feeder.has[name]]
    assert at.has[name] == bool(having), ("presence", name, at)
    if having:
        allowed = _next([feeder.past[name] for feeder in having], *at.was[name])
        histories = [
            *{tuple(feeder.past[name]): feeder.past[name] for feeder in perhaps if feeder.has[name]}.values()
        ]
        for count in range(1, len(histories) + 1):
            for some in combinations(histories, count):
                allowed |= _next([*some], *at.was[name])
        allowed |= {at.was[name][0]} if perhaps else set()
        assert at.function[name] in allowed, ("units", name, at, allowed)


def _next(histories: list[list[Function]], now: Function, left: list[Function]) -> set[Function]:
    """Returns the functions that a cell may have next, which is one if its feeders order what they share alike."""
    common = set.intersection(*map(set, histories))
    latest = {history[-1] for history in histories}
    if len(latest) == 1:
        (f,) = latest
        return {f} if now in common or f not in {now, *left} else {now}
    orders = {tuple(f for f in history if f in common) for history in histories}
    if len(orders) > 1 or any(len(set(order)) < len(order) for order in orders):
        return {now, *common}
    (order,) = orders
    return {order[-1]} if now in common or order[-1] not in {now, *left} else {now}
