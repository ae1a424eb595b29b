"""A stream whose lines are taken apart means the same as one with a line for each tuple.

A random stream of flat tuples and accents is folded: neighbours become one line with a list, an object or a JSON text.
"""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.kit.compare import rounded
from tests.kit.query import Query
from tests.kit.seeds import soak_seeds
from tests.kit.stream import Item, decode, is_tuple
from tests.kit.tiers import soak, tiered

_FORMS = {
    "element": ("items.{}", 'each "items"'),
    "entry": ("items.value.{}", 'each entry "items"'),
    "text": ("load.items.{}", 'parsed "load" each "load.items"'),
}


def query_of(form: str | None) -> str:
    path, clause = ("{}", "") if form is None else _FORMS[form]
    t, k, x = (f'"{path.format(name)}"' for name in ("t", "k", "x"))
    return f"""
    stream r(ts: long from {t}, k: int from {k} in {{1, 2, 3}}, x?: double from {x} unit degC)
      from json "in/r" {clause} punctuated on ts;
    hot := select[x > 5](r);
    means := aggregate[avg(x) as mean, count() as n by k, w](window[10 on ts as w](r));
    emit hot to json "out/hot";
    emit means to json "out/means";
    """


def stream(rng: Random) -> list[Item]:
    """Returns flat tuples, accents and punctuations; some tuples are bad."""
    items: list[Item] = [{"$accent": "[[+(x: double unit degC)]]"}]
    units = dict.fromkeys(range(1, 4), "degC")
    for ts in range(rng.randint(5, 40)):
        key = rng.choice([1, 2, 3])
        row: Item = {"t": ts, "k": key, "x": rng.choice([0, 1.5, 7, 20.25, 1e2])}
        if rng.random() < 0.1:
            row[rng.choice(["k", "x", "t"])] = rng.choice(["?", 9, None, True])
        items.append(row)
        if rng.random() < 0.1:
            unit = "degF" if units[key] == "degC" else "degC"
            units[key] = unit
            items.append({"$accent": f"[[k = {key}, unit(x, {unit})]]"})
        if rng.random() < 0.1:
            items.append({"$punctuation": f"[ts <= {ts}]"})
    return [*items, {"$punctuation": "[]"}]


def folded(rng: Random, items: list[Item], form: str) -> list[Item]:
    """Returns the stream with neighbouring tuples in one line."""
    lines: list[Item] = []
    group: list[Any] = []

    def end() -> None:
        if not group:
            return
        lines.append(_line(form, group))
        group.clear()
        if rng.random() < 0.1:
            lines.append(_line(form, []))

    for item in items:
        if not is_tuple(item):
            end()
            lines.append(item)
            continue
        group.append(item)
        if rng.random() < 0.4:
            end()
    return lines


def _line(form: str, group: list[Any]) -> Item:
    match form:
        case "element":
            return {"id": 1, "items": [*group], "more": [{"t": 1}]}
        case "entry":
            return {"items": {f"d{n}": item for n, item in enumerate(group)}, "id": 1.50}
        case _:
            return {"load": json.dumps({"items": group, "t": 5}, indent=1), "items": [7]}


def check(spark: SparkSession | None, root: Path, seed: int, form: str) -> None:
    rng = Random(seed)
    items = stream(rng)
    flat = Query.without_engine(root / "flat", query_of(None))
    flat.write("r", items)
    expected = flat.simulate()
    one = Query.without_engine(root / form, query_of(form))
    if spark is not None:
        one = Query(spark, root / form, query_of(form))
    one.write_parts("r", folded(rng, items, form), rng.randint(1, 4))
    if spark is not None:
        one.process(rng.choice([1, None]))
        for emit in ("hot", "means"):
            rows, wanted = (rounded(decode(run.output(emit))) for run in (one, expected))
            assert rows == wanted, (seed, emit)
        codes = sorted(rejection.code for rejection in one.rejections())
    else:
        simulated = one.simulate()
        for emit in ("hot", "means"):
            assert decode(simulated.output(emit)) == decode(expected.output(emit)), (seed, emit)
        codes = sorted(simulated.codes)
    assert codes == sorted(expected.codes), seed


@pytest.mark.parametrize("form", _FORMS)
@pytest.mark.parametrize("seed", [*tiered(range(12), 4), *map(soak, soak_seeds(40))])
def test_lines_that_are_taken_apart_mean_their_tuples(tmp_path: Path, seed: int, form: str) -> None:
    check(None, tmp_path, seed, form)


@pytest.mark.either_engine
@pytest.mark.parametrize(("seed", "form"), tiered([(n, form) for form in _FORMS for n in range(2)], 2))
def test_an_engine_takes_lines_apart(spark: SparkSession, tmp_path: Path, seed: int, form: str) -> None:
    check(spark, tmp_path, 1000 + seed, form)
