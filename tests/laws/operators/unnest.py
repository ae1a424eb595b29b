"""Lists for the laws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from tests.laws.edges import LIST, result_of

CERTAIN = ("unnest[best as x](aggregate[largest(x, 2) as best by k](r))", False)
SAFE = "unnest[best as x](aggregate[largest(v, 2) as best by k, ts](c))"

Row = dict[str, Any]


def text(
    rng: Random, input: str, types: Mapping[str, str], values: Sequence[str], on: str, per: str, number: int
) -> str:
    """A random relation, of a list of the input, or of one that an aggregate makes."""
    lists = [n for n in types if n.split("_")[0] == LIST and types[n] == "array"]
    if lists and rng.random() < 0.8:
        return f"unnest[{rng.choice(lists)} as e{number}]({input})"
    name, by = rng.choice(list(types)), rng.choice(list(types))
    whole, element = (result_of(name, f"{letter}{number}") for letter in "le")
    return f"unnest[{whole} as {element}](aggregate[largest({name}, 2) as {whole} by {by}]({input}))"


def meaning(operator: Any, rows: Sequence[Row]) -> list[Row]:
    """Each row once for each element of its list."""
    return [{**row, operator.alias: element} for row in rows for element in row.get(operator.on) or ()]
