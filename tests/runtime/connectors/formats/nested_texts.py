"""Random lines of nested JSON, more or less odd."""

from __future__ import annotations

import json
from random import Random

LEAVES = [
    "1",
    "2.50",
    "-0",
    "true",
    '"x"',
    r'"\u00e4"',
    "null",
    "[1, 2.0]",
    "{}",
    '{"x": 1}',
    "NaN",
    '"NaN"',
    "+INF",
]
MOMENTS = ['"2026-01-02T03:04:05Z"', '"2026-01-02T03:04:05+02:00"', '"noon"']


def value(chance: Random, odd: float, good: list[str]) -> str:
    return chance.choice(LEAVES if chance.random() < odd else good)


def text_of(fields: list[tuple[str, str]], chance: Random, odd: float) -> str:
    some = [field for field in fields if chance.random() < 0.8]
    if some and chance.random() < odd / 2:
        some.append(chance.choice([*some, (some[0][0], "null")]))
    return f"{{{', '.join(f'{json.dumps(key)}: {text}' for key, text in some)}}}"


def line_of(chance: Random, odd: float) -> str:
    def parent(fields: list[tuple[str, str]]) -> str:
        if chance.random() < odd:
            return chance.choice(["null", "5", '"x"', "[{}]", "true", "1.50", "{}"])
        return text_of(fields, chance, odd)

    more = parent([("deep", value(chance, odd, ["true", "false"]))])
    geo = parent([("n", value(chance, odd, ["1", "1.5", "NaN"])), ("more", more), ("other", '[{"a": 1}]')])
    address = parent(
        [("city", value(chance, odd, ['"Ulm"', "7", "null", "true"])), ("geo", geo), ("zip", "[1]")]
    )
    labels = parent([("team.name", value(chance, odd, ['"a"'])), ("team", '{"name": "no"}')])
    when = chance.choice(MOMENTS if chance.random() < odd else MOMENTS[:1])
    fields = [
        ("ts", "5"),
        ("address", address),
        ("labels", labels),
        ("when", when),
        ("city", "99"),
        ("at", "{}"),
    ]
    return text_of(fields, chance, odd)
