"""Numbers as people write them, and the conversions between real units: what results that jump are tried on."""

from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from random import Random
from typing import Any

from hypothesis import strategies as st

from cedilla.compiler.regions.affine import Affine

_FACTORS = (
    *("1000", "3600", "60", "1e6", "1024", "1e-3", "1e9"),
    *("0.45359237", "0.3048", "1.609344", "1852", "4.184", "0.01", "0.277777777777777777777"),
)
_SCALES = (
    Affine(Fraction(5, 9), Fraction(-160, 9)),
    Affine(Fraction(9, 5), 32),
    Affine(1, Fraction("273.15")),
    Affine(Fraction(5, 9), Fraction("459.67") * 5 / 9),
)
CONVERSIONS = (
    *_SCALES,
    *(Affine(Fraction(factor), 0) for factor in _FACTORS),
    *(Affine(1 / Fraction(factor), 0) for factor in _FACTORS[:10]),
)
"""degF to degC and back, degC and degF to kelvin; kWh, hours, MiB, pounds, feet, miles, knots, calories and others."""


def paper_numbers() -> st.SearchStrategy[Decimal]:
    """Numbers of up to seven digits and six places."""
    return st.builds(
        lambda digits, places: Decimal(digits).scaleb(-places),
        st.integers(-(10**7) + 1, 10**7 - 1),
        st.integers(0, 6),
    )


def paper_number(rng: Random, most: int = 1000) -> float:
    """A number up to one, mostly of two or three places, as JSON has it."""
    places = rng.choice([0, 1, 2, 2, 3, 3, 4])
    return float(Decimal(rng.randint(-most * 10**places, most * 10**places)).scaleb(-places))


# --- a stream whose tuples come in several units, and what is meant ------------------------------------------------

JUMPS = """
stream r(k: long, u: string, s: int in {1, 2, 3}, e: double unit from u in {Wh, kWh, J}, t: double unit degC,
         d?: double unit m, n: long unit s) from json "in/r" punctuated on k;
tests := project[k, floor(e / 5) as fives, floor(t) as degrees, floor(t * 10 + 1) as tenths, ceil(d) as metres,
                 floor(n / 60) as minutes, if(e >= 1.005 kWh, 1, 0) as high, if(e = 290 Wh, 1, 0) as same,
                 if(t >= 33.8 degF, 1, 0) as warm, if(t in (0 degC, 50 degF], 1, 0) as mild,
                 if(e % 5 = 0, 1, 0) as even,
                 if(d < 3 ft, 1, 0) as short, if(d = 1 foot, 1, 0) as foot](r);
emit tests to json "out/tests";
emit aggregate[count() as n by w](window[5 on e as w](r)) to json "out/fives";
emit aggregate[count() as n by w](window[0.1 on t as w](r)) to json "out/tenths";
emit aggregate[count() as n by w](window[0.5 every 0.1 on t as w](r)) to json "out/sliding";
emit project[g, n](extend[floor(t * 1000) as g](aggregate[count() as n by t](r))) to json "out/equal";
"""
_ENERGY = {"Wh": Fraction(1), "kWh": Fraction(1000), "J": Fraction(1, 3600)}
_OF_T = {
    "unit(t, degF)": (Affine(Fraction(9, 5), 32), False),
    "unit(t, degC)": (Affine(1, 0), False),
    "unit(t, kelvin)": (Affine(1, Fraction("273.15")), False),
    "alter(t, y -> y * 1000)": (Affine(1000, 0), True),
    "alter(t, y -> (y - 32) * 5/9)": (Affine(Fraction(5, 9), Fraction(-160, 9)), True),
}
_OF_D = {
    "foot": Fraction("0.3048"),
    "inch": Fraction("0.0254"),
    "cm": Fraction("0.01"),
    "mile": Fraction("1609.344"),
}


class Readings:
    """A random stream over `JUMPS`, in parts, and its tuples in canonical values, as exact numbers."""

    def __init__(self, rng: Random, count: int = 60) -> None:
        self.items: list[dict[str, Any]] = []
        self.meant: list[dict[str, Fraction | None]] = []
        self._rng = rng
        self._t: dict[int, Affine] = dict.fromkeys((1, 2, 3), Affine(1, 0))
        self._d: dict[int, Fraction] = {}
        self._n = Fraction(1)
        for number in range(count):
            chance = rng.random()
            if chance < 0.12:
                self._accent()
            elif number == count // 2 and rng.random() < 0.5:
                self._n = Fraction(1000)
                self.items.append({"$accent": "[[unit(n, ms)]]"})
            else:
                self._tuple(number)
        self.items.append({"$punctuation": "[]"})

    def _accent(self) -> None:
        cell = self._rng.choice([1, 2, 3])
        if cell not in self._d and self._rng.random() < 0.5:
            unit = self._rng.choice(list(_OF_D))
            self._d[cell] = _OF_D[unit]
            self.items.append({"$accent": f"[[s = {cell}, +(d: double unit {unit})]]"})
            return
        text = self._rng.choice(list(_OF_T))
        function, is_alter = _OF_T[text]
        self._t[cell] = function.after(self._t[cell]) if is_alter else function
        if abs(self._t[cell].slope) > 10**4 or self._t[cell].slope < Fraction(1, 10):
            self._t[cell], text = Affine(1, 0), "unit(t, degC)"
        self.items.append({"$accent": f"[[s = {cell}, {text}]]"})

    def _tuple(self, number: int) -> None:
        rng = self._rng
        cell, unit = rng.choice([1, 2, 3]), rng.choice(list(_ENERGY))
        e = self._written(rng.choice([5, 290, 1005, 0]), Affine(1 / _ENERGY[unit], 0))
        t = self._written(rng.choice([0, 1, 10, Fraction("0.1"), Fraction("33.8")]), self._t[cell])
        n = rng.choice([0, 59, 60, 119, 120, rng.randint(0, 500)]) * int(self._n)
        row = {"k": number, "u": unit, "s": cell, "e": e, "t": t, "n": n / 1 if self._n != 1 else n}
        exact = {
            "k": Fraction(number),
            "e": Fraction(repr(e)) * _ENERGY[unit],
            "t": Fraction(self._t[cell].inverse()(Fraction(repr(t)))),
            "n": Fraction(n) / self._n,
            "d": None,
        }
        if cell in self._d:
            row["d"] = d = self._written(
                rng.choice([Fraction("0.3048"), Fraction("0.9144"), 2]), Affine(1 / self._d[cell], 0)
            )
            exact["d"] = Fraction(repr(d)) * self._d[cell]
        self.items.append(row)
        self.meant.append(exact)

    def _written(self, edge: int | Fraction, function: Affine) -> float:
        """Returns a value at an edge or next to it, in another unit, or any other one that people write."""
        if self._rng.random() < 0.6:
            near = Fraction(edge) * self._rng.choice([1, 1, 2, 3]) + Fraction(
                self._rng.choice([0, 0, 0, 1, -1]), 1000
            )
            number = Fraction(function(near))
            if (number * 10**6).denominator == 1:
                return float(number)
        return paper_number(self._rng)

    def expected(self) -> dict[str, list[tuple[tuple[str, int], ...]]]:
        """Returns the rows of each output of `JUMPS`, in any order."""
        tests = [_tests(row) for row in self.meant]
        temperatures = [row["t"] for row in self.meant if row["t"] is not None]
        equal = Counter(temperatures)
        counts = {
            "fives": Counter(test["fives"] for test in tests),
            "tenths": Counter(floor(t * 10) for t in temperatures),
            "sliding": Counter(w for t in temperatures for w in _sliding(t)),
        }
        rows: dict[str, list[dict[str, Any]]] = {
            name: [{"w": w, "n": n} for w, n in counted.items()] for name, counted in counts.items()
        }
        rows["equal"] = [{"g": floor(t * 1000), "n": n} for t, n in equal.items()]
        return {name: as_rows(table) for name, table in {**rows, "tests": tests}.items()}


def as_rows(rows: Iterable[Mapping[str, Any]]) -> list[tuple[tuple[str, int], ...]]:
    """Rows without what is undefined, as values that can be compared and sorted."""
    return sorted(tuple(sorted((n, v) for n, v in row.items() if v is not None)) for row in rows)


def _tests(row: Mapping[str, Fraction | None]) -> dict[str, int | None]:
    k, e, t, n, d = (row[name] for name in ("k", "e", "t", "n", "d"))
    assert k is not None
    assert e is not None
    assert t is not None
    assert n is not None
    return {
        "k": int(k),
        "fives": floor(e / 5),
        "degrees": floor(t),
        "tenths": floor(t * 10 + 1),
        "metres": None if d is None else ceil(d),
        "minutes": floor(n / 60),
        "high": int(e >= 1005),
        "same": int(e == 290),
        "warm": int(t >= 1),
        "mild": int(0 < t <= 10),
        "even": int(e % 5 == 0),
        "short": int(d is not None and d < Fraction("0.9144")),
        "foot": int(d == Fraction("0.3048")),
    }


def _sliding(value: Fraction) -> range:
    step, length = Fraction(1, 10), Fraction(1, 2)
    return range(floor((value - length) / step) + 1, floor(value / step) + 1)
