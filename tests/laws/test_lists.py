"""A list of numbers means the same as its elements: `unnest` of a list gives what `each` takes from the same lines.

Accents of the list are accents of the elements.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from tests.kit.compare import rounded
from tests.kit.query import Query
from tests.kit.seeds import soak_seeds
from tests.kit.stream import Item, decode, is_tuple
from tests.kit.tiers import soak, tiered

_UNITS = ("degC", "degF")


def query_of(*, apart: bool) -> str:
    if apart:
        declared, clause, of = 'x?: double from "xs" unit degC', 'each "xs"', "select[k > 0](r)"
    else:
        declared, clause, of = "xs?: list of double unit degC", "", "project[ts, k, x](unnest[xs as x](r))"
    return f"""
    stream r(ts: long, k: int in {{1, 2, 3}}, {declared}) from json "in/r" {clause} punctuated on ts;
    flat := {of};
    means := aggregate[avg(x) as mean, count() as n, max(x) as most by k, w](window[10 on ts as w](flat));
    emit flat to json "out/flat";
    emit means to json "out/means";
    """


def stream(rng: Random) -> list[Item]:
    items: list[Item] = []
    values = [0, 1.5, 7, 20.25, 1e2]
    is_second = dict.fromkeys(range(1, 4), False)
    for ts in range(rng.randint(5, 30)):
        key = rng.choice([1, 2, 3])
        items.append({"ts": ts, "k": key, "xs": [rng.choice(values) for _ in range(rng.choice([0, 1, 3]))]})
        if rng.random() < 0.15:
            is_second[key] = not is_second[key]
            items.append({"$accent": f"[[k = {key}, unit(xs, {_UNITS[is_second[key]]})]]"})
        if rng.random() < 0.1:
            items.append({"$punctuation": f"[ts <= {ts}]"})
    return [*items, {"$punctuation": "[]"}]


def of_elements(items: list[Item]) -> list[Item]:
    """Returns the stream with the accents of elements."""
    return [
        item if is_tuple(item) or "$accent" not in item else {"$accent": item["$accent"].replace("xs", "x")}
        for item in items
    ]


def check(spark: SparkSession | None, root: Path, seed: int) -> None:
    rng = Random(seed)
    items = stream(rng)
    apart = Query.without_engine(root / "apart", query_of(apart=True))
    apart.write("r", of_elements(items))
    expected = apart.simulate()
    text = query_of(apart=False)
    one = Query.without_engine(root / "list", text) if spark is None else Query(spark, root / "list", text)
    one.write_parts("r", items, rng.randint(1, 4))
    if spark is not None:
        one.process(rng.choice([1, None]))
    output = one.simulate().output if spark is None else one.output
    for emit in ("flat", "means"):
        assert rounded(decode(output(emit))) == rounded(decode(expected.output(emit))), (seed, emit)
    assert not expected.codes
    assert (one.simulated.codes if spark is None else one.rejections()) == []


@pytest.mark.parametrize("seed", [*tiered(range(12), 4), *map(soak, soak_seeds(40))])
def test_a_list_means_its_elements(tmp_path: Path, seed: int) -> None:
    check(None, tmp_path, seed)


@pytest.mark.either_engine
@pytest.mark.parametrize("seed", tiered(range(4), 2))
def test_an_engine_reads_lists_as_their_elements(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    check(spark, tmp_path, 1000 + seed)
