"""Random streams in which attributes end and come again, and what they mean."""

from __future__ import annotations

from random import Random

from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit.stream import Item

SCHEMA = 'site: string, k?: long in [1, 100], x: double, state?: string in {"M", "F"}, p?: double, t: double'

QUERY = f"""
stream r({SCHEMA}) from json "r";
emit r to json "all";
emit project[site, t](r) to json "few";
"""

RECODED = '[[site = "B", recode(k, {1: 10, 2: 3})]]'

WORDS = '[[site = "B", recode(state, {"M": "F", "F": "M"})]]'

HALVED = '[[site = "B", alter(x, y -> y * 2)]]'


def anew(name: str, type_: str) -> list[str]:
    return [f'[[site = "B", -({name})]]', f'[[site = "B", +({name}: {type_})]]']


MARKERS = [
    RECODED,
    "[[recode(k, {10: 1, 3: 2})]]",
    WORDS,
    HALVED,
    '[[site = "B", alter(x, y -> y / 2)]]',
    *3 * (*anew("k", "long"), *anew("x", "double"), *anew("state", "string")),
    *(
        f"[[{condition}, {change}]]"
        for condition in ("x > 10", "k in [3, 10)", "k = 10", 'state = "F"')
        for change in ("alter(t, y -> y * 2)", "alter(t, y -> y / 2)", "-(p)", "+(p: double)")
    ),
    "[[k > 5, alter(x, y -> y * 2)]]",
    "[[x > 10, recode(k, {1: 1, 2: 4})]]",
]


def valid(rng: Random, markers: int) -> list[Item]:
    """A random stream: tuples, and those of some markers that are valid at their places."""
    items: list[Item] = []
    for _ in range(markers):
        more = [*items, {"$accent": rng.choice(MARKERS)}]
        try:
            outcome(more)
        except DiagnosticError:
            continue
        items = more
        for _ in range(4):
            row: Item = {"site": rng.choice("AB"), "t": 4.0}
            optional = {"k": rng.choice([1, 2, 3, 5, 10, 50]), "x": rng.choice([4.0, 7.0, 15.0, 30.0])}
            optional |= {"state": rng.choice("MF"), "p": 1.0}
            items.append({**row, **{n: v for n, v in optional.items() if rng.random() < 0.8}})
    return items


def outcome(items: list[Item]) -> tuple[list[Item], ...]:
    """The items that are not set aside, those of the output with all attributes, the canonical tuples, and the items
    of the output with few attributes."""
    it = Reference(compile_query(QUERY).plan)
    output: list[Item] = []
    canonical: list[Item] = []
    few: list[Item] = []
    for item in items:
        for out in it.step([("r", item)]):
            output += out["r"].items()
            canonical += map(dict, out["r"].canonical)
            few += out["project"].items()
    wrong = [id(item) for _, _, item in it.rejected]
    return [item for item in items if id(item) not in wrong], output, canonical, few
