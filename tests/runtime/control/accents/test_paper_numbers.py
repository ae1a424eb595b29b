"""Numbers that people write give the results of paper, on an engine and without: units, Alters, windows, fixed
units."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.records.json_objects import parse_line
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit.paper import CONVERSIONS, JUMPS, Readings, as_rows, paper_number
from tests.kit.query import Query
from tests.kit.stream import Item, is_tuple
from tests.kit.tiers import rest

pytestmark = pytest.mark.either_engine


@pytest.mark.parametrize("cut", [rest("one epoch"), rest("file by file"), "restarted"])
def test_results_jump_where_the_numbers_on_paper_do(spark: SparkSession, tmp_path: Path, cut: str) -> None:
    readings = Readings(Random(cut), 200)
    run = Query(spark, tmp_path, JUMPS)
    parts = [readings.items[at : at + 70] for at in range(0, len(readings.items), 70)]
    if cut == "restarted":
        for batch, part in enumerate(parts):
            run.write("r", part)
            run.go_on(run.executor(), batch)
    else:
        for part in parts:
            run.write("r", part)
        run.process(1 if cut == "file by file" else None)
    assert run.quarantine("r") == []
    for name, rows in readings.expected().items():
        (folder,) = [e.name for e in compile_query(JUMPS).plan.emits if e.path.endswith(f"/{name}")]
        assert as_rows(filter(is_tuple, run.output(folder))) == rows, (cut, name)


MANY = """
stream r(k: int, x: double) from json "in/r" punctuated on k;
emit project[k, floor(x * 10) as tenths, if(x >= 1.005, 1, 0) as high](r) to json "out/tests";
"""


def test_many_functions_in_force_give_what_few_do(spark: SparkSession, tmp_path: Path) -> None:
    """A function for each of 400 keys: engines look them up in a table."""
    rng = Random(5)
    items: list[Item] = []
    for key in range(400):
        function = CONVERSIONS[key % len(CONVERSIONS)]
        items.append({"$accent": f"[[k = {key}, alter(x, y -> {function.text('y')})]]"})
    for _ in range(2000):
        key = rng.randrange(400)
        function = CONVERSIONS[key % len(CONVERSIONS)]
        edge = function(Fraction(rng.choice([0, 1005, 100, -290]), 1000))
        items.append({"k": key, "x": float(edge) if rng.random() < 0.5 else paper_number(rng)})
    items.append({"$punctuation": "[]"})
    reference = Reference(compile_query(MANY).plan)
    expected: list[Item] = []
    for outputs in reference.step([("r", item) for item in items]):
        expected += filter(is_tuple, outputs[reference.plan.emits[0].name].items())
    run = Query(spark, tmp_path, MANY)
    run.write("r", items)
    run.process()
    assert as_rows(filter(is_tuple, run.output(reference.plan.emits[0].name))) == as_rows(expected)


CLOSED = """
stream r(k: int, s: int in {1, 2}, e: double unit Wh) from json "in/r" punctuated on e;
emit project[k](r) to json "out/r";
"""
CLOSING: list[Item] = [
    {"$accent": "[[s = 1, unit(e, kWh)]]"},
    {"$punctuation": "[s = 1, e < 1.005]"},
    {"$punctuation": "[s = 1, e > 1.64]"},
    {"$punctuation": "[e = 0.57 kWh]"},
    {"k": 1, "s": 1, "e": 1.005},
    {"k": 2, "s": 1, "e": 1.64},
    {"k": 3, "s": 2, "e": 570.0},
    {"k": 4, "s": 1, "e": 1.004},
    {"$punctuation": "[]"},
]


def test_punctuations_end_where_they_are_written(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, CLOSED)
    run.write("r", CLOSING[:5])
    run.write("r", CLOSING[5:])
    run.process(1)
    (emit,) = compile_query(CLOSED).plan.emits
    assert [row["k"] for row in run.output(emit.name) if is_tuple(row)] == [1, 2]
    reference = Reference(compile_query(CLOSED).plan)
    taken = [
        dict(row)
        for item in CLOSING
        for out in reference.step([("r", item)])
        for row in out[emit.name].tuples
    ]
    assert taken == [{"k": 1}, {"k": 2}]
    assert [code for _, code, _ in reference.rejected] == ["RQ305", "RQ305"]


def fixed(spark: SparkSession, root: Path, query: str, items: list[str]) -> tuple[Any, Any]:
    """Returns the output for its one value, or the code of its refusal: on an engine, and without."""
    run = Query(spark, root, query)
    run.write("r", items)
    plan = compile_query(query).plan
    (emit,) = plan.emits
    results: list[Any] = []

    def by_engine() -> Any:
        run.process()
        return next(row["x"] for row in run.output(emit.name) if is_tuple(row))

    def without() -> Any:
        outputs = Reference(plan).step([("r", parse_line(item)) for item in items])
        return outputs[-1][emit.name].tuples[0]["x"]

    for way in (by_engine, without):
        try:
            results.append(way())
        except DiagnosticError as error:
            results.append(error.diagnostics[0].code)
    return results[0], results[1]


@pytest.mark.parametrize(
    ("kind", "unit", "value", "expected"),
    [
        ("long unit ns", "ns", "1700000099999999999", "RQ310"),
        ("long unit byte", "byte", "9007199254740993", "RQ310"),
        ("long unit byte", "byte", "9007199254740991", 9007199254740991.0),
        ("long unit us", "ns", "1700000000123456", "RQ310"),
        ("long unit ms", "s", "1700000000123", 1700000000.123),
        ("decimal(20, 4) unit m", "m", "900719925474.0993", "RQ310"),
        ("decimal(20, 4) unit m", "m", "900719925474.0991", 900719925474.0991),
        ("decimal(38, 18) unit kWh", "Wh", "1.005", 1005.0),
        ("decimal(20, 4) unit m", "km", "-0.29", -0.00029),
        ("int unit s", "minute", "90", 1.5),
        ("double unit kWh", "Wh", "1.005", 1005.0),
        ("double unit degF", "degC", "33.8", 1.0),
    ],
)
def test_an_output_in_a_fixed_unit_is_exact_or_refused(
    spark: SparkSession, tmp_path: Path, kind: str, unit: str, value: str, expected: Any
) -> None:
    query = f'stream r(k: int, x: {kind}) from json "in/r"; emit r to json "out" with x in {unit};'
    items = [f'{{"k": 1, "x": {value}}}', json.dumps({"$punctuation": "[]"})]
    assert fixed(spark, tmp_path, query, items) == (expected, expected)
