"""An example of each kind of accent and of each function, of which a new one is demanded."""

from __future__ import annotations

from fractions import Fraction

from attrs import field, frozen

from cedilla.compiler.changes import ALL
from cedilla.compiler.regions import composition
from cedilla.compiler.regions.affine import Affine
from cedilla.compiler.regions.bent import ByPoints, Reciprocal
from cedilla.compiler.regions.composition import Bent, Chain
from cedilla.compiler.regions.logarithms import Logarithm, Power
from cedilla.compiler.regions.wrapped import Wrapped
from tests.kit.stream import Item

STREAM = """
stream r(s: int in {1, 2}, k: string, j?: string, n: int in {1, 2}, at: timestamp, x: double unit W,
  y: double unit W, h?: double, z?: double)
  from json "r";
emit r to json "out";
"""
WHERE = "[[s = 1, "
NEVER = "[[s = 3, "
ROW: Item = {
    "s": 1,
    "k": "a",
    "n": 1,
    "at": "2026-01-01T00:00:00.000000Z",
    "x": 6.0,
    "y": 3.0,
    "h": 4.0,
    "z": 1.0,
}


@frozen
class Example:
    """An accent of some tuples, or of all of them.

    `text`: of its change. `stays`: a part of the note about a bad one. `back`: the change that undoes it,
    `None` if nothing does. `bad`: a whole accent that is wrong; otherwise one that describes no possible tuple.
    `raw`, `canonical`: what a tuple after it has in place of `ROW`; `None` for an attribute that it lacks.
    """

    text: str
    stays: str
    back: str | None
    raw: Item
    canonical: Item = field(factory=dict[str, object])
    bad: str = ""

    @property
    def accent(self) -> str:
        return f"{'[[' if self.bad else WHERE}{self.text}]]"

    @property
    def wrong(self) -> str:
        return self.bad or f"{NEVER}{self.text}]]"

    @property
    def written(self) -> Item:
        """A tuple after the accent."""
        return _without_none({**ROW, **self.raw})

    @property
    def meant(self) -> Item:
        """Its canonical values."""
        return _without_none({**ROW, **self.canonical})


def _without_none(row: Item) -> Item:
    return {name: value for name, value in row.items() if value is not None}


EXAMPLES = {
    "Add": Example("+(new: double)", "is not added", "-(new)", {"new": 2.0}, {"new": 2.0}),
    "Drop": Example("-(z)", "is not dropped", None, {"z": None}, {"z": None}),
    "Alter": Example("alter(x, y -> y * 2)", "stays in W", "alter(x, y -> y / 2)", {"x": 12.0}),
    "ToUnit": Example("unit(x, kW)", "stays in W", "unit(x, W)", {"x": 0.006}),
    "ToLevel": Example("unit(x, dBm)", "stays in W", "unit(x, W)", {"x": 30.0}, {"x": 1.0}),
    "Rename": Example(
        "rename(xx, x)", "comes by the name that it had", "rename(x, x)", {"x": None, "xx": 6.0}
    ),
    "Recode": Example(
        'recode(k, {"a": "b", "b": "c"})',
        "keeps the codes that it had",
        'recode(k, {"b": "a", "c": "b"})',
        {"k": "b"},
    ),
    "SourceAlter": Example("alter(h, y -> 8 / y)", "stays in the unit", "alter(h, y -> 8 / y)", {"h": 2.0}),
    "Missing": Example(
        "missing(h, {-9, 0})", "keeps the missing values that it had", None, {"h": -9.0}, {"h": None}
    ),
    "Swap": Example("swap(x, y)", "keep the places that they had", "swap(x, y)", {"x": 3.0, "y": 6.0}),
    "Wrap": Example("wrap(x, 100)", "stays in W", "wrap(x, 100 from 0 to -50)", {"x": 99.5}, {"x": -0.5}),
    "Grow": Example("grow(n, {3})", "does not grow", None, {"n": 3}, {"n": 3}, "[[s = 1, grow(n, {3})]]"),
    "ToZone": Example(
        'zone(at, "Europe/Berlin")',
        "stay in the zone",
        'zone(at, "UTC")',
        {"at": "2026-01-01T01:00:00"},
        bad='[[zone(at, "Nowhere")]]',
    ),
    "ToSign": Example(
        'decimal(h, ",")', "keep the decimal sign", 'decimal(h, ".")', {"h": "4,0"}, bad='[[decimal(k, ",")]]'
    ),
    # Functions of the accents above
    "Reciprocal": Example("alter(h, y -> 3 / y)", "stays in the unit", "alter(h, y -> 3 / y)", {"h": 0.75}),
    "ByPoints": Example(
        "alter(h, by points {(0, 0), (5, 100)})",
        "stays in the unit",
        "alter(h, by points {(0, 0), (100, 5)})",
        {"h": 80.0},
    ),
    "Logarithm": Example(
        "alter(h, y -> 10 * log10(y))",
        "stays in the unit",
        "alter(h, y -> pow(10, y / 10))",
        {"h": 20.0},
        {"h": 100.0},
    ),
    "Shift": Example(
        "alter(at, y -> y + 1 hour)",
        "stays in the unit",
        "alter(at, y -> y - 1 hour)",
        {"at": "2026-01-01T01:00:00Z"},
    ),
    "Chain": Example("alter(h, y -> -y)", "stays in the unit", "alter(h, y -> y * -1)", {"h": -4.0}),
}
CHANGES = [kind.__name__ for kind in ALL]
_BY_OTHERS = {"Affine": "Alter", "ValueMapping": "Recode", "Power": "Logarithm", "Wrapped": "Wrap"}
"""Functions in the example of another name. A source undoes a logarithm by a power, and refuses powers (RQ340)."""
KINDS = [*CHANGES, *(_BY_OTHERS.get(kind.__name__, kind.__name__) for kind in composition.FUNCTIONS)]
"""The kinds of accents and of functions, each by the name of its example."""
FUNCTIONS: list[Bent] = [
    Chain((Affine(-2, 3),)),
    Reciprocal(Fraction("235.215")),
    ByPoints(((0, 0), (2, 5), (10, 100))),
    ByPoints(((-3, 7), (1, 0), (4, -20))),
    Logarithm(-1, 1),
    Power(10, 3),
    Wrapped(10, -5, 0),
    Wrapped(Fraction(7, 2), 3, Fraction(-1, 2)),
    Wrapped(4, 4, 0),
]
"""Functions of which images of regions, and steps in doubles, are compared with those of single values."""
