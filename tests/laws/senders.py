"""A sender of tuples that changes units, names and codes at once, and knows what each tuple means."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import log10
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

from attrs import define, field, frozen

from cedilla.compiler.expressions.types import decimal_notation
from cedilla.compiler.expressions.units.units import conversion
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime.connectors.records.lines import Line
from cedilla.runtime.connectors.records.nested import THOUSANDS
from cedilla.runtime.tools.stream_tools.schema import declared_schema
from cedilla.runtime.tools.stream_tools.validate import validate
from tests.kit.stream import Item, nested

SCHEMA = (
    'site: string in {"A", "B"}, u: string in {"degF", "degC"}, k?: long, x: double unit m, h: double unit degF, '
    "n: int, t: double unit from u in {degF, degC}, p?: double unit hPa, q?: double unit hPa, "
    'c: decimal(18, 2), d: double decimal "," or ".", at: timestamp zone "Europe/Berlin", '
    'g?: double unit mW, e: double from "box.e" or "e2", tags?: list of string'
)
UNITS = {"x": "m", "t": "degF", "h": "degF", "p": "hPa", "q": "hPa", "g": "mW"}
VALUES: dict[str, list[Any]] = {
    "site": ["A", "B"],
    "u": ["degF", "degC"],
    "t": [14, 50, 212],
    "x": [1, 4, 12, 6000],
    "h": [5, 23, 50, 104, 302],
    "k": [1, 2, 3, 10],
    "n": [1, 10],
    "p": [1, 1000],
    "q": [7, 800],
    "c": [Decimal("0.29"), Decimal("19.99"), Decimal("90071992547409.93")],
    "d": [0.5, 1234.5625, -7.25],
    "at": ["2024-01-15T23:30:00.000000Z", "2024-07-01T10:00:00.000001Z"],
    "g": [1, 50, 2000],
    "e": [2.5, 8.0],
    "tags": [["a", "b", "a"], ["b"], []],
}
OPTIONAL = {"k", "p", "q", "g", "tags"}


def meets(name: str, test: Callable[[Any], bool]) -> Callable[[Item, Item], bool]:
    """Returns a test of the written value of an attribute; an undefined one meets no condition."""
    return lambda raw, _: name in raw and test(raw[name])


def measures(name: str, test: Callable[[Any], bool]) -> Callable[[Item, Item], bool]:
    """The same of the canonical value, as constants with units are of quantities."""
    return lambda raw, canonical: name in raw and test(canonical[name])


CONDITIONS: list[tuple[str, Callable[[Item, Item], bool]]] = [
    ('site = "B"', meets("site", lambda v: v == "B")),
    ("x > 10 m", measures("x", lambda v: v > 10)),
    ("x > 10", meets("x", lambda v: v > 10)),
    ("h > 30 degC", measures("h", lambda v: v > 86)),
    ("h > 80", meets("h", lambda v: v > 80)),
    ("k = 1", meets("k", lambda v: v == 1)),
    ("k in {1, 10}", meets("k", lambda v: v in (1, 10))),
    ("k in [3, 20)", meets("k", lambda v: 3 <= v < 20)),
    ('u = "degC"', meets("u", lambda v: v == "degC")),
    ('u = "F"', meets("u", lambda v: v == "F")),
    ("p > 500", meets("p", lambda v: v > 500)),
    ("q > 560", meets("q", lambda v: v > 560)),
    ("c > 19.98", meets("c", lambda v: v > Fraction("19.98"))),
    ("d < 0", meets("d", lambda v: v < 0)),
    ("g > 20", meets("g", lambda v: v > 20)),
    ("g > 1 W", measures("g", lambda v: v > 1000)),
    ("e > 5", meets("e", lambda v: v > 5)),
    ('at > "2024-06-01T00:00:00Z"', measures("at", lambda v: v > "2024-06-01")),
]


@frozen
class Change:
    """The change of an accent: its text, its attribute and its kind. `by`: a function, a unit, codes, a name, hours,
    the changes of several attributes, or the number of an accent that is taken back."""

    text: str
    attribute: str
    kind: str
    by: Any = None


def alters(name: str, text: str, function: Callable[[Fraction], Fraction]) -> Change:
    return Change(f"alter({name}, y -> {text})", name, "alter", function)


def bent(name: str, text: str, function: Callable[[Fraction], Fraction | None]) -> Change:
    """Returns the change by a function, for values that it takes."""
    return Change(f"alter({name}, {text})", name, "alter", function)


def by_points(*points: tuple[int, int]) -> Callable[[Fraction], Fraction | None]:
    """The function that is linear between points."""

    def of(x: Fraction) -> Fraction | None:
        ends = ((a, b) for a, b in pairwise(points) if a[0] <= x <= b[0])
        (x0, y0), (x1, y1) = next(ends, ((0, 0), (0, 0)))
        return None if x0 == x1 else y0 + (x - x0) * Fraction(y1 - y0, x1 - x0)

    return of


def wraps(name: str, size: int, low: int, to: int = 0) -> Change:
    """Returns the change of numbers in [low, low + size) that wrap around into [to, to + size)."""

    def of(y: Fraction) -> Fraction | None:
        return to + (y - to) % size if low <= y < low + size else None

    return Change(f"wrap({name}, {size} from {low} to {to})", name, "alter", of)


def recodes(name: str, codes: dict[Any, Any]) -> Change:
    pairs = ", ".join(f"{json.dumps(a)}: {json.dumps(b)}" for a, b in codes.items())
    return Change(f"recode({name}, {{{pairs}}})", name, "recode", codes)


def several(text: str, *changes: Change) -> Change:
    """Returns the change of several attributes by one accent."""
    return Change(text, changes[0].attribute, "several", changes)


def level(shift: int) -> Callable[[Fraction], Fraction]:
    """Decibels of a power."""
    return lambda y: Fraction(repr(round(10 * log10(y) + shift, 12)))


ZONES = ("America/New_York", "Asia/Kolkata", "UTC")
SIGNS = (("d", ","), ("d", "."), ("d", ",."), ("c", ","), ("h", ","), ("h", "."))
PATHS = (("box.h.v", "h"), ("k.v", "k"), ("box.d", "d"))

CHANGES = [
    *(Change(f"unit(h, {unit})", "h", "unit", unit) for unit in ("degC", "degF", "K")),
    *(Change(f"unit(x, {unit})", "x", "unit", unit) for unit in ("km", "m")),
    *(Change(f"unit(p, {unit})", "p", "unit", unit) for unit in ("kPa", "hPa")),
    alters("h", "y * 2 + 1", lambda y: y * 2 + 1),
    alters("x", "y * 2", lambda y: y * 2),
    alters("x", "y / 2", lambda y: y / 2),
    alters("x", "y / 1000, unit km", lambda y: y / 1000),
    alters("h", "(y - 32) * 5 / 9, unit degC", lambda y: (y - 32) * 5 / 9),
    alters("p", "y * 3", lambda y: y * 3),
    alters("t", "y + 1", lambda y: y + 1),
    *[alters("n", "y * 3", lambda y: y * 3)] * 4,
    alters("c", "y * 100", lambda y: y * 100),
    alters("c", "y / 1000", lambda y: y / 1000),
    alters("d", "y / 2", lambda y: y / 2),
    bent("q", "by points {(0, 0), (100, 500), (10000, 600)}", by_points((0, 0), (100, 500), (10000, 600))),
    bent("q", "by points {(0, 900), (1000, 0)}", by_points((0, 900), (1000, 0))),
    bent("q", "y -> 1000 / y", lambda y: 1000 / y if y > 0 else None),
    bent("d", "y -> 1 - y", lambda y: 1 - y),
    *(Change(f"unit(g, {unit})", "g", "level", level(shift)) for unit, shift in (("dBm", 0), ("dBW", -30))),
    *(Change(f"unit(g, {unit})", "g", "unit", unit) for unit in ("W", "mW")),
    bent("g", "y -> 10 * log10(y)", lambda y: level(0)(y) if y > 0 else None),
    alters("g", "y * 2", lambda y: y * 2),
    alters("e", "y * 4", lambda y: y * 4),
    bent("e", "y -> 3 - y", lambda y: 3 - y),
    wraps("e", 6, -3),
    wraps("e", 6, 0, -3),
    wraps("q", 700, 200),
    *(Change(f"alter(at, y -> y {sign} 1 hour)", "at", "shift", int(f"{sign}1")) for sign in "+-"),
    several(
        "alter({x, e}, y -> y * 2)",
        alters("x", "y * 2", lambda y: y * 2),
        alters("e", "y * 2", lambda y: y * 2),
    ),
    several("-(k, x)", *(Change("", name, "drop") for name in "kx")),
    *(Change(f'zone(at, "{zone}")', "at", "zone", zone) for zone in ZONES),
    *(
        Change(f"decimal({name}, {' or '.join(map(json.dumps, signs))})", name, "sign", signs)
        for name, signs in SIGNS
    ),
    recodes("k", {1: 10, 2: 3}),
    recodes("k", {10: 1, 3: 2}),
    *(
        Change(f"recode(k, {{{a}: {b}}}, else same)", "k", "recode some", (a, b))
        for a, b in ((1, 10), (10, 1), (2, 7), (7, 2))
    ),
    recodes("u", {"degF": "F", "degC": "C"}),
    recodes("u", {"F": "degF", "C": "degC"}),
    *(
        Change(f"rename({to}, {name})", name, "rename", to)
        for to, name in (("hh", "h"), ("h", "h"), ("kk", "k"), ("xx", "x"), ("dd", "d"))
    ),
    *(Change(f'rename("{to}", {name})', name, "rename", to) for to, name in PATHS),
    *(
        Change(f"missing({name}, {{{', '.join(map(str, values))}}})", name, "missing", values)
        for name, values in (("k", (-1, 3)), ("k", ()), ("p", (-999.5, 9999)), ("p", (1000,)), ("g", (0, -1)))
    ),
    *[Change("swap(p, q)", "p", "swap", "q")] * 3,
    *(Change(f"-({name})", name, "drop") for name in "khxp"),
    *(
        Change(f"+({name}: {type_})", name, "add")
        for name, type_ in (("k", "long"), *((n, "double") for n in "hxp"))
    ),
    *(
        Change(f"+({name}: double unit {unit})", name, "add", unit)
        for name, unit in (("h", "K"), ("x", "km"), ("p", "kPa"))
    ),
]


@cache
def converted(name: str, unit: str) -> Any:
    return conversion(UNITS[name], unit)


@define
class Sender:
    """The accents so far, and their effect on tuples; and closed regions, each with the number of accents before it."""

    texts: list[str] = field(factory=list[str])
    closed: list[tuple[int, list[Callable[[Item, Item], bool]]]] = field(factory=list[Any])
    accents: list[tuple[list[Callable[[Item, Item], bool]], Change]] = field(factory=list[Any])

    def accent(self, rng: Random) -> str | None:
        """A random accent, if it can be here."""
        change = rng.choice(CHANGES)
        is_of_all = change.kind in ("zone", "sign")
        conditions = rng.sample(CONDITIONS, 0 if is_of_all else rng.choice([0, 1, 1, 2]))
        text = f"[[{', '.join([*(condition for condition, _ in conditions), change.text])}]]"
        if not is_valid([*self.texts, text]):
            return None
        self.texts.append(text)
        changes = change.by if change.kind == "several" else [change]
        self.accents += [([test for _, test in conditions], single) for single in changes]
        return text

    def undoable(self, number: int, text: str) -> dict[int, str]:
        """The last accent by its number, if it can be taken back."""
        kinds = [change.kind for _, change in self.accents[number:]]
        return {number: text} if kinds in (["alter"], ["unit"], ["level"], ["rename"]) else {}

    def take_back(self, number: int, text: str) -> None:
        """Takes an accent back; `text`: what says so to others."""
        change = self.accents[number][1]
        self.texts.append(text)
        self.accents.append(([], Change("", change.attribute, "without", number)))

    def punctuation(self, rng: Random) -> str:
        """A random punctuation, of few tuples."""
        conditions = rng.sample(CONDITIONS, 2)
        self.closed.append((len(self.accents), [test for _, test in conditions]))
        return f"[{', '.join(text for text, _ in conditions)}]"

    def is_closed(self, canonical: Item) -> bool | None:
        """Returns True if a tuple, in its written form of then, never comes; `None` if it had no code then."""
        result = False
        for accents, tests in self.closed:
            if (raw := self.raw(canonical, accents)) is None:
                return None
            result |= all(test(raw[0], canonical) for test in tests)
        return result

    def written(self, canonical: Item) -> tuple[Item, Item] | None:
        """A tuple as it is sent, and as it is canonical: of attributes that are there. `None` if it has no code, or if
        it cannot be told what is there."""
        for _ in range(6):
            if (raw_row := self.raw(canonical, len(self.accents))) is None:
                return None
            raw, names, gone, sentinels = raw_row
            if (first := next(filter(canonical.__contains__, gone), None)) is None:
                raw |= {
                    n: values[len(self.texts) % len(values)]
                    for n, values in sentinels.items()
                    if n not in raw
                }
                plain = {n: json_value(n, v, self.signs.get(n, ""), len(self.texts)) for n, v in raw.items()}
                return nested(at_paths(plain, names, len(self.texts))), canonical
            # Accents are about the tuple as it comes, so about one without this attribute from the start.
            canonical = {n: v for n, v in canonical.items() if n != first}
        return None

    @property
    def signs(self) -> dict[str, str]:
        """The decimal signs that texts of numbers may have."""
        return {
            "d": ",.",
            **{change.attribute: change.by for _, change in self.accents if change.kind == "sign"},
        }

    def raw(
        self, canonical: Item, accents: int
    ) -> tuple[Item, dict[str, str], list[str], dict[str, tuple[float, ...]]] | None:
        """Returns a tuple in its written form after a number of accents, by the names of attributes; its names; the
        dropped attributes, in the order of their Drops; and the values that mean undefined."""
        raw = {**canonical, "t": converted("t", canonical["u"])(Fraction(canonical["t"]))}
        names: dict[str, str] = {}
        gone: list[str] = []
        zone, hours = "Europe/Berlin", 0
        sentinels: dict[str, tuple[float, ...]] = {}
        first, done = {**raw}, defaultdict[str, list[tuple[int, Change]]](list)
        for number, (tests, change) in enumerate(self.accents[:accents]):
            name = change.attribute
            if not all(test(raw, canonical) for test in tests):
                continue
            match change.kind:
                case "swap":
                    raw, sentinels = (in_places(row, name, change.by) for row in (raw, sentinels))
                case "missing":
                    sentinels[name] = change.by
                case "drop":
                    gone.append(name)
                case "rename":
                    names[name] = change.by
                    done[f"name of {name}"].append((number, change))
                case "add":
                    gone = [attribute for attribute in gone if attribute != name]
                    names.pop(name, None)
                    sentinels.pop(name, None)
                    done.pop(name, None)
                    done.pop(f"name of {name}", None)
                    if name in raw:
                        value, unit = canonical[name], change.by
                        raw[name] = value if unit is None else converted(name, unit)(Fraction(value))
                        first[name] = raw[name]
                case "without":
                    for of in (name, f"name of {name}"):
                        done[of] = [(index, kept) for index, kept in done[of] if index != change.by]
                    names[name] = next((kept.by for _, kept in reversed(done[f"name of {name}"])), name)
                    value = first.get(name)
                    for _, kept in done[name]:
                        value = None if value is None else changed(kept, value, canonical[name])
                    if name in raw:
                        raw[name] = value
                case _ if name not in raw or change.kind == "sign":
                    pass
                case "zone":
                    zone = change.by
                case "shift":
                    hours += change.by
                case _:
                    if (value := changed(change, raw[name], canonical[name])) is None:
                        return None
                    raw[name] = value
                    done[name].append((number, change))
        sentinels = {name: values for name, values in sentinels.items() if values}
        if any(raw.get(name) in values for name, values in sentinels.items()):
            return None  # such a value cannot be written
        local = datetime.fromisoformat(canonical["at"]) + timedelta(hours=hours)
        raw["at"] = local.astimezone(ZoneInfo(zone)).replace(tzinfo=None).isoformat()
        return raw, names, gone, sentinels


def changed(change: Change, value: Any, canonical: Any) -> Any:
    """A value as it is written after a change. `None` if it has no code."""
    match change.kind:
        case "alter":
            return change.by(Fraction(value))
        case "level":
            return change.by(Fraction(canonical))
        case "unit":
            return converted(change.attribute, change.by)(Fraction(canonical))
        case "recode some":
            before, after = change.by
            return None if value == after else after if value == before else value
        case _:
            return change.by.get(value)


def at_paths(raw: Item, names: dict[str, str], number: int) -> Item:
    """A tuple by the paths of its attributes; `number`: which of its paths `e` has, or both, and whether a list of one
    is its element."""
    paths = [["box.e"], ["e2"], ["box.e", "e2"]][number % 3]
    row = {names.get(n, n): v for n, v in raw.items() if n != "e"} | dict.fromkeys(paths, raw["e"])
    tags: list[str] = row.get("tags") or []
    return row | ({"tags": tags[0]} if len(tags) == 1 and number % 2 else {})


def json_value(name: str, value: Any, signs: str, number: int) -> Any:
    """A value as a line has it: as a number, or as a text with one of some signs, by `number`."""
    if isinstance(value, str | int | list):
        return value
    is_exact = name == "c"
    text = (decimal_notation(Fraction(value)) or "") if is_exact else repr(float(value))
    is_unclear = "e" in text or (len(signs) > 1 and re.search(THOUSANDS, text) is not None)
    if not signs or is_unclear or number % 3 == 0:
        return Decimal(text) if is_exact else float(value)
    return text.replace(".", signs[number % len(signs)])


def in_places(row: dict[str, Any], one: str, other: str) -> dict[str, Any]:
    """The same with two keys that have changed places."""
    names = {one: other, other: one}
    return {names.get(name, name): value for name, value in row.items()}


def is_valid(accents: list[str]) -> bool:
    """Returns True if a stream may have these accents, and none drops an attribute that others describe tuples by."""
    diagnostics: list[Diagnostic] = []
    lines = [Line(json.dumps({"$accent": text}), str(number)) for number, text in enumerate(accents)]
    validate(lines, declared_schema(SCHEMA), diagnostics.append)
    return not any(diagnostic.severity == "error" or diagnostic.code == "RQ229" for diagnostic in diagnostics)


def tuples(rng: Random, sender: Sender) -> Iterator[tuple[Item, Item, bool]]:
    """Tuples as they are sent, as they are canonical, and whether they are closed."""
    for _ in range(4):
        canonical = {n: rng.choice(of) for n, of in VALUES.items() if n not in OPTIONAL or rng.random() < 0.8}
        if (sent_row := sender.written(canonical)) is not None:
            sent, canonical = sent_row
            if (is_closed := sender.is_closed(canonical)) is not None:
                yield sent, canonical, is_closed
