"""An output announces no Alter that undoes one it has announced (theory D1).

The latest function that all tuples of an output share may become an earlier one: an Add brings tuples that no Alter
has changed yet. What the output has announced stays. In these streams all Alters double, so outputs only multiply.
"""

from __future__ import annotations

import re
from random import Random

import pytest

from tests.kit.seeds import soak_seeds
from tests.kit.stream import Item
from tests.kit.tiers import tiered
from tests.laws.unit_worlds import CELLS, DESCRIPTIONS, matches, ran

SCHEMA = "n: long, s: int in {1, 2, 3}, q: int in {1, 2}, t: double, p?: double"
QUERY = f"""
stream r({SCHEMA}) from json "r";
emit r to json "all";
emit project[n, s, t, p](r) to json "without a part";
emit project[n, t * 7 as t, p * 3 as p](r) to json "computed";
emit aggregate[avg(t) as t, max(p) as p by s](r) to json "groups";
emit aggregate[sum(p) as p by q](r) to json "sums";
emit project[n, q, t, p](select[s = 1](r)) union project[n, q, t, p](select[s = 2](r)) to json "both";
"""
FACTOR = re.compile(r"alter\(\w+, y -> y \* (\d+)\)")


def doubled(rng: Random, count: int = 40) -> list[Item]:
    """A random stream whose Alters double, with Adds and Drops of `p`."""
    items: list[Item] = []
    having = set[tuple[int, int]]()
    for number in range(count):
        s, q = rng.choice(CELLS)
        description = rng.choice(DESCRIPTIONS)
        change = rng.choice(["alter(t, y -> y * 2)", "alter(p, y -> y * 2)", "+(p: double)", "-(p)"])
        described = {cell for cell in CELLS if matches(description, *cell)}
        if number % 3 < 2:
            row: Item = {"n": number, "s": s, "q": q, "t": 1.0}
            items.append(row | ({"p": 2.0} if (s, q) in having else {}))
        elif change == "alter(t, y -> y * 2)" or (change == "alter(p, y -> y * 2)" and described & having):
            items.append(_accent(description, change))
        elif change == "+(p: double)" and not described & having:
            having |= described
            items.append(_accent(description, change))
        elif change == "-(p)" and described <= having:
            having -= described
            items.append(_accent(description, change))
        else:
            items.append({"$punctuation": f"[{rng.choice(['', 's = 3, ', 'q = 1, '])}n < {number}]"})
    return items


def _accent(description: str, change: str) -> Item:
    return {"$accent": f"[[{description}{', ' if description else ''}{change}]]"}


def check_never_backwards(seed: int) -> int:
    """The number of Alters in the outputs."""
    items = doubled(Random(seed))
    reference, outputs = ran(QUERY, items, 1 + seed % 3)
    assert not reference.rejected, items
    texts = [
        item["$accent"] for lines in outputs.values() for item in lines if "alter(" in item.get("$accent", "")
    ]
    for text in texts:
        factor = FACTOR.search(text)
        assert factor is not None, (text, items)
        assert int(factor[1]) > 1, (text, items)
    return len(texts)


@pytest.mark.parametrize("seeds", tiered([range(5), range(5, 40)]), ids=str)
def test_an_output_never_undoes_what_it_has_announced(seeds: range) -> None:
    assert sum(map(check_never_backwards, seeds)) > len(seeds)


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(2000))
def test_an_output_never_undoes_in_many_cases(seed: int) -> None:
    check_never_backwards(seed)
