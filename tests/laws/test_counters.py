"""A counter that tells since when it counts is read without a guess: its increases are what was counted (N14)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from random import Random

import pytest

from cedilla.compiler import compile_query
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit.stream import Item
from tests.kit.tiers import tiered

QUERY = """
stream r(ts: long, k: int, kind: string, begin?: long, x?: long) from json "in" punctuated on ts;
each := running[increase(x, kind since begin) as n per k on ts](r);
sums := aggregate[increase(x, kind since begin) as n by k, w](window[7 on ts as w](r));
emit each to json "each";
emit sums to json "sums";
"""


def counted(rng: Random, length: int) -> list[Item]:
    """The points of processes that count and are restarted, each with the increase since the point before in `$truth`.

    A restarted one has often counted more than before when it is seen again. Points of `delta` come in between.
    """
    begins, totals, shown = {1: 0, 2: 0}, {1: 0, 2: 0}, dict[int, tuple[int, int]]()
    items: list[Item] = []
    for ts in range(1, length + 1):
        k = rng.choice([1, 2])
        if rng.random() < 0.2:
            begins[k], totals[k] = ts, 0
        totals[k] += rng.choice([0, 1, rng.randint(2, 50)])
        point: Item = {"ts": ts, "k": k}
        if (chance := rng.random()) < 0.1:
            more = rng.randint(0, 9)
            items.append({**point, "kind": "delta", "begin": ts, "x": more, "$truth": more})
        elif chance < 0.2:
            items.append({**point, "kind": "cumulative", "begin": begins[k]})
        else:
            before = shown.get(k)
            same = before is not None and before[0] == begins[k]
            grown = None if before is None else totals[k] - before[1] if same else totals[k]
            shown[k] = begins[k], totals[k]
            items.append({**point, "kind": "cumulative", "begin": begins[k], "x": totals[k], "$truth": grown})
    return items


def outputs(items: Sequence[Item], cuts: Sequence[int]) -> dict[str, list[Item]]:
    """What the reference gives for the items, in epochs that end at the cuts."""
    reference, out = Reference(compile_query(QUERY).plan), defaultdict[str, list[Item]](list)
    lines: list[Item] = [{n: v for n, v in item.items() if n != "$truth"} for item in items]
    for begin, end in zip([0, *cuts], [*cuts, len(lines)], strict=True):
        until = {"$punctuation": "[]" if end == len(lines) else f"[ts < {end}]"}
        for step in reference.step([("r", item) for item in (*lines[begin:end], until)]):
            for name, output in step.items():
                out[name] += output.canonical
    return out


@pytest.mark.parametrize("seed", tiered(range(12), 2))
def test_increases_since_a_start_are_what_was_counted(seed: int) -> None:
    rng = Random(seed)
    items = counted(rng, 24)
    out = outputs(items, sorted(rng.sample(range(1, 24), rng.randint(0, 3))))
    truth = {item["ts"]: item.get("$truth") for item in items}
    assert {row["ts"]: row.get("n") for row in out["each"]} == truth
    sums = defaultdict[tuple[int, int], int](int)
    for item in items:
        sums[item["k"], item["ts"] // 7] += item.get("$truth") or 0
    assert {(row["k"], row["w"]): row.get("n", 0) for row in out["sums"]} == dict(sums)
