"""Values at the edges of their types: no value ends a query, and Spark and the reference give the same for each."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.runtime import simulate
from cedilla.runtime.options import Options
from cedilla.runtime.reference import Reference
from tests.pipeline import Run
from tests.stream import Item, is_tuple

Streams = Mapping[str, Sequence[Item]]
ENDS = (-(2**63), 2**63 - 1)
END: Item = {"$punctuation": "[]"}


def simulated(query: str, streams: Streams) -> dict[str, list[Item]]:
    """The tuples of each output, as `simulate` writes them."""
    plan = compile_query(query).plan
    reference = Reference(plan)
    items = [(source, item) for source, given in streams.items() for item in given]
    outputs = [output for item in items for output in reference.step([item])]
    assert reference.rejected == []
    return {
        emit.name: [json.loads(json.dumps(row)) for output in outputs for row in output[emit.name].tuples]
        for emit in plan.emits
    }


def engine(spark: SparkSession, root: Path, query: str, streams: Streams) -> dict[str, list[Item]]:
    """The same as Spark writes them, the input cut after each marker into files and epochs."""
    run = Run(spark, root, query)
    for source, items in streams.items():
        ends = [0, *(number for number, item in enumerate(items, 1) if not is_tuple(item)), len(items)]
        for start, end in pairwise(ends):
            run.write(source, items[start:end])
    executor = run.process(files_per_epoch=1)
    assert [line for source in streams for line in run.quarantine(source)] == []
    return {emit.name: [*filter(is_tuple, run.output(emit.name))] for emit in executor.plan.emits}


def shown(value: Any) -> Any:
    """A value that equals its like; the last digits of a double depend on the order in which it was computed."""
    if isinstance(value, list):
        return tuple(map(shown, value))
    return f"{value + 0.0:.12g}" if isinstance(value, float) and math.isfinite(value) else repr(value)


def bag(rows: Sequence[Item]) -> Counter[frozenset[tuple[str, Any]]]:
    return Counter(frozenset((name, shown(value)) for name, value in row.items()) for row in rows)


def compare(spark: SparkSession, root: Path, query: str, streams: Streams) -> dict[str, list[Item]]:
    """The reference's outputs, which are those of Spark."""
    expected, found = simulated(query, streams), engine(spark, root, query, streams)
    for name, rows in expected.items():
        missing, extra = bag(rows) - bag(found[name]), bag(found[name]) - bag(rows)
        assert (missing, extra) == (Counter(), Counter()), name
    return expected


MINUTE = 60_000_000_000
TIMES = (1700000039999999999, 1700000040000000000, 2**53 + 1, -(2**53) - 1, -3, -1, 0, 7, *ENDS)


def test_whole_numbers_are_divided_as_whole_numbers(spark: SparkSession, tmp_path: Path) -> None:
    """Beyond 2^53 a double has no odd numbers: nanoseconds would fall into the window after theirs, which is still open
    when theirs is closed."""
    query = f"""
    stream r(ts: long, d: int) from json "in" punctuated on ts;
    tumbling := window[{MINUTE} on ts as w](r);
    counted := aggregate[count() as n by w](tumbling);
    sliding := window[25 every 10 on ts as w](r);
    single := window[3 every 1 on ts as w](r);
    halves := window[2.5 on ts as w](r);
    sessions := session[{MINUTE} on ts as w](r);
    rounded := project[ts, d, floor(ts / {MINUTE}) as a, ceil(ts / {MINUTE}) as b, floor((ts * 3 - 1) / 7) as c,
                       ceil((1 - ts * 3) / 7) as e, ceil(ts * 0.1 + 2) as f, floor(ts / d) as g, ceil(ts / d) as h](r);
    emit tumbling to json "a"; emit counted to json "b"; emit sliding to json "c"; emit single to json "d";
    emit halves to json "e"; emit sessions to json "f"; emit rounded to json "g";
    """
    items: list[Item] = [
        {"ts": ts, "d": d} for ts, d in zip(TIMES, (7, -1, 3, -3, 2, 0, 1, -7, -1, 5), strict=True)
    ]
    closing: Item = {"$punctuation": "[ts < 1700000040000000000]"}
    outputs = compare(spark, tmp_path, query, {"r": [*items, closing, END]})
    minutes = {row["ts"]: row["w"] for row in outputs["tumbling"]}
    assert minutes[1700000039999999999] == 28333333
    assert all(minutes[ts] == ts // MINUTE for ts in TIMES)
    assert {row["w"]: row["n"] for row in outputs["counted"]} == Counter(ts // MINUTE for ts in TIMES)
    assert {row["ts"]: row["a"] for row in outputs["rounded"]} == {ts: ts // MINUTE for ts in TIMES}


def simulate_text(folder: Path, query: str, *lines: str) -> list[str]:
    """The lines of tuples that `simulate` writes for the lines of source `r`."""
    (folder / "in").mkdir()
    (folder / "in" / "1.jsonl").write_text("".join(f"{line}\n" for line in lines))
    options = Options(sources={"r": str(folder / "in")}, sinks={"out": str(folder / "out")})
    simulate(query, options)
    files = sorted((folder / "out").glob("epoch=*/1-tuples*"))
    return [line for file in files for line in file.read_text().splitlines()]


def test_decimals_have_all_their_digits_in_the_reference(tmp_path: Path) -> None:
    query = """
    stream r(s: int, m: decimal(38,10), t: decimal(5,2)) from json "in" punctuated on s;
    out := aggregate[sum(m) as m, max(m) as most, sum(t) as t by s](r);
    emit out to json "out";
    """
    digits = "1234567890123456789012345678.0123456789"
    found = simulate_text(
        tmp_path,
        query,
        f'{{"s": 1, "m": {digits}, "t": 1.005}}',
        '{"s": 1, "m": 0.0000000001, "t": 999.994}',
        '{"$punctuation": "[s = 1]"}',
    )
    total = digits[:-4] + "6790"
    assert found == [f'{{"s": 1, "m": {total}, "most": {digits}, "t": 1001.00}}']


def test_a_decimal_that_was_altered_is_summed(tmp_path: Path) -> None:
    query = """
    stream r(s: int, t: decimal(5,2)) from json "in" punctuated on s;
    out := aggregate[sum(t) as t, avg(t) as mean, median(t) as middle, product(t) as p, var(t) as v by s](r);
    emit out to json "out";
    """
    found = simulate_text(
        tmp_path,
        query,
        '{"s": 1, "t": 1.25}',
        '{"$accent": "[[alter(t, y -> y * 3)]]"}',
        '{"s": 1, "t": 5.25}',
        '{"$punctuation": "[s = 1]"}',
    )
    assert found == ['{"s": 1, "t": 9.0, "mean": 4.5, "middle": 4.5, "p": 2.1875, "v": 1.125}']
