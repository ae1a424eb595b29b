"""A query over decimals whose results are exact, and its results by fractions."""

from __future__ import annotations

from fractions import Fraction
from math import floor
from typing import Any

from tests.kit.stream import Item

QUERY = """
stream r(k: long, d: decimal(10, 2), n: long) from json "r" punctuated on k;
p := project[k, long(d * 100) as cents, d % 0.01 as rest, n * 0.1 as tenth, d * n as product,
             case when d * 3 = 0.87 then d * 2 else n end as chosen, d / 100 as hundredth](r);
emit p to json "p";
emit select[d * 100 = 29 or n * 0.1 in {0.3, 0.7}](r) to json "chosen";
windows := window[0.1 on tenth as w](p);
emit aggregate[count() as count, sum(product) as total, min(product) as least by w](windows) to json "windows";
emit aggregate[count() as count by tenth](p) to json "keys";
emit project[k, tenth](p) semi join project[k as j, d](r) on tenth = d to json "met";
emit distinct(project[d * 10 - n as difference](r)) to json "different";
"""
OUTPUTS = ("p", "chosen", "windows", "keys", "met", "different")
VALUES = [
    ("0.29", 3),
    ("0.57", 7),
    ("2.30", 23),
    ("0.30", 6),
    ("-1.10", -11),
    ("0.70", 3),
    ("4.35", 7),
    ("0.60", -3),
]


def expected_rows() -> dict[str, list[dict[str, Any]]]:
    """Returns the rows of each output."""
    rows = [(k, Fraction(d), n) for k, (d, n) in enumerate(VALUES)]
    windows = {floor(Fraction(n, 10) / Fraction(1, 10)) for _, _, n in rows}

    def products(w: int) -> list[Fraction]:
        return [d * n for _, d, n in rows if n == w]

    return {
        "p": [
            {
                "k": k,
                "cents": d * 100,
                "rest": 0,
                "tenth": Fraction(n, 10),
                "product": d * n,
                "chosen": d * 2 if d * 3 == Fraction("0.87") else n,
                "hundredth": Fraction(repr(float(d / 100))),
            }
            for k, d, n in rows
        ],
        "chosen": [{"k": k, "d": d, "n": n} for k, d, n in rows if d * 100 == 29 or n in (3, 7)],
        "windows": [
            {"w": w, "count": len(products(w)), "total": sum(products(w)), "least": min(products(w))}
            for w in windows
        ],
        "keys": [{"tenth": Fraction(w, 10), "count": len(products(w))} for w in windows],
        "met": [
            {"k": k, "tenth": Fraction(n, 10)} for k, _, n in rows if any(d * 10 == n for _, d, _ in rows)
        ],
        "different": [{"difference": difference} for difference in {d * 10 - n for _, d, n in rows}],
    }


def exact_bag(rows: list[Item]) -> list[list[tuple[str, Any]]]:
    """Returns the rows in an order, their numbers as fractions."""
    return sorted(
        sorted(
            (name, value if isinstance(value, str) else Fraction(str(value))) for name, value in row.items()
        )
        for row in rows
    )


def decimal_items() -> list[Item]:
    """Returns the stream: its tuples, and the end."""
    rows: list[Item] = [{"k": k, "d": float(d), "n": n} for k, (d, n) in enumerate(VALUES)]
    return [*rows, {"$punctuation": "[]"}]
