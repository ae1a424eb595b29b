"""Every function and operator over the product of edge values: both engines give what the reference gives."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.compiler.expressions.engines import Engine
from cedilla.compiler.expressions.expressions import type_of
from cedilla.compiler.expressions.scalars.scalar_functions import FUNCTIONS
from cedilla.compiler.expressions.types import Type
from cedilla.grammar.parser import parse_expression
from cedilla.runtime.connectors.records.json_objects import json_text
from cedilla.runtime.engines.plain.evaluate import evaluate
from cedilla.runtime.engines.plain.reference import Reference
from tests.docs.functions import EXAMPLES
from tests.kit import ROOT, sweep
from tests.kit.query import Query
from tests.kit.stream import Item, is_tuple
from tests.kit.tiers import rest, soak

SAMPLES = [("sail", 3, 12), soak("sail", 25, 60), rest("spark", 3, 20)]


def test_every_kind_of_argument_has_edge_values() -> None:
    """A new function is swept by itself; a new kind of argument, once it is in one of the two tables."""
    kinds = {kind for function in FUNCTIONS.values() for kind in function.takes}
    assert kinds <= sweep.TAKEN.keys() | sweep.WRITTEN.keys()
    swept = {call.form.name for call in sweep.calls(most=1)}
    assert {function.name for function in FUNCTIONS.values()} <= swept


def test_the_manual_names_what_is_not_exact() -> None:
    text = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    named = text.partition("The last digits of ")[2].partition(" depend on")[0]
    assert set(re.findall(r"`(\w+)`", named)) == sweep.INEXACT


@pytest.mark.rest
@pytest.mark.parametrize(("engine", "most", "rows"), SAMPLES)
def test_a_sample_of_calls_and_values(
    request: pytest.FixtureRequest, engine: Engine, most: int, rows: int
) -> None:
    session = request.getfixturevalue(engine)
    wrong = [*sweep.differences(session, engine, sweep.calls(most=most), rows)]
    assert wrong == [], "\n".join(wrong)


@pytest.mark.soak
@pytest.mark.parametrize("engine", ["sail", "spark"])
def test_all_calls_of_all_values(request: pytest.FixtureRequest, engine: Engine) -> None:
    session = request.getfixturevalue(engine)
    wrong = [*sweep.differences(session, engine, sweep.calls())]
    assert wrong == [], "\n".join(wrong[:200])


# --- what the sweep has found ---

FOUND: list[tuple[str, dict[str, tuple[str, Any]], Any]] = [
    ("log(b, x)", {"b": ("double", 0.0), "x": ("double", 2.0)}, None),
    ("log(0, x)", {"x": ("long", 2)}, None),
    ("log(1, x)", {"x": ("double", math.nan)}, None),
    ("hypot(x, x)", {"x": ("double", 3e200)}, 4.242640687119285e200),
    ("hypot(x, x)", {"x": ("double", 1e-200)}, 1.414213562373095e-200),
    ("hypot(n, 1)", {"n": ("int", -(2**31))}, 2147483648.0),
    ("hypot(n, n)", {"n": ("long", -(2**63))}, 2.0**63 * math.sqrt(2)),
    ("log1p(x)", {"x": ("double", 5e-324)}, 5e-324),
    ("log(10, x)", {"x": ("int", 1000)}, 3.0),
    ("ceil(log2(n))", {"n": ("long", 2**31)}, 31),
    ("log(x, 0.5)", {"x": ("double", math.inf)}, 0.0),
    ("log(x, 1)", {"x": ("double", 0.5)}, 0.0),
    ("floor(0.0 / n)", {"n": ("int", -1)}, 0),
    ("ceil(7.0 / n)", {"n": ("long", -2)}, -3),
    ("sign(x)", {"x": ("double", -0.0)}, 0.0),
    ("atan2(y, 0)", {"y": ("double", -0.0)}, 0.0),
    ("atan2(0, x)", {"x": ("double", -0.0)}, 0.0),
    ("long(x)", {"x": ("double", 2.0**63)}, None),
    ("long(x)", {"x": ("double", -(2.0**63))}, -(2**63)),
    ("cbrt(x)", {"x": ("double", 64.0)}, 4.0),
    ("affine(d, 1000, -160, 1)", {"d": ("decimal(8, 2)", Decimal("1.50"))}, 1340),
    ("pow(x, 3)", {"x": ("double", 10.0)}, 1000.0),
    ("pow(1, x)", {"x": ("double", math.nan)}, 1.0),
    ("pow(x, x)", {"x": ("double", 1.0)}, 1.0),
    ("pow(-1, x)", {"x": ("double", -math.inf)}, 1.0),
    ("pow(2, x)", {"x": ("double", -math.inf)}, 0.0),
    ("round(x, 1)", {"x": ("double", 2.0**52 - 0.5)}, 2.0**52 - 0.5),
    ("round(x, 15)", {"x": ("double", 2.0**51 - 0.25)}, 2.0**51 - 0.25),
    ("round(x, 1)", {"x": ("double", -0.04)}, 0.0),
    ("bround(x)", {"x": ("double", -0.5)}, 0.0),
    ("rint(x)", {"x": ("double", -0.4)}, 0.0),
    ("pmod(n, -9223372036854775807)", {"n": ("int", -1)}, -1),
    ("pmod(n, 0.0)", {"n": ("int", -1)}, None),
    ("pmod(x, 2)", {"x": ("double", -4.0)}, 0.0),
    ("greatest(x, 0)", {"x": ("double", -0.0)}, 0.0),
    ("least(0, x)", {"x": ("double", -0.0)}, 0.0),
    ("-x", {"x": ("double", 0.0)}, 0.0),
    ("x in {0, 1, 2, 3, 4}", {"x": ("double", -0.0)}, True),
    ("x not in {1, 2, 3, 4, 0}", {"x": ("double", -0.0)}, False),
    ("left(s, n)", {"s": ("string", "ab"), "n": ("long", -(2**31) - 1)}, None),
    ("right(s, n)", {"s": ("string", "ab"), "n": ("long", -(2**31) - 1)}, None),
    ("repeat(s, n)", {"s": ("string", "ab"), "n": ("long", -(2**40))}, None),
    ("lpad(s, n)", {"s": ("string", "ab"), "n": ("double", -3e9)}, None),
    ("char(n)", {"n": ("long", -(2**31) - 1)}, None),
    ("int(n) < 0", {"n": ("long", -(2**31) - 1)}, None),
    ("int(n) in [,5)", {"n": ("long", -(2**31) - 1)}, None),
    ("date_sub(d, 1)", {"d": ("date", date.min)}, None),
    ("year(date_sub(d, 1))", {"d": ("date", date.min)}, None),
    ("last_day(date_add(d, 1))", {"d": ("date", date.max)}, None),
    ("add_months(d, n)", {"d": ("date", date.max), "n": ("int", 1)}, None),
    ("add_months(d, n)", {"d": ("timestamp", datetime.min.replace(tzinfo=UTC)), "n": ("double", -1.0)}, None),
    ("date_from_unix_date(n)", {"n": ("long", 2_932_897)}, None),
    ("date_from_unix_date(n)", {"n": ("int", 2_932_896)}, date.max),
    ("timestamp_seconds(n)", {"n": ("long", 253_402_300_800)}, None),
    ("timestamp_micros(n)", {"n": ("long", 2**53 + 1)}, datetime(2255, 6, 5, 23, 47, 34, 740993, tzinfo=UTC)),
    ("timestamp_seconds(x)", {"x": ("double", 253_402_300_799.5)}, datetime(9999, 12, 31, 23, 59, 59, 500_000, UTC)),
    ("double(s)", {"s": ("string", "3\u0663")}, None),
    ("double(s)", {"s": ("string", "\uff13")}, None),
]  # fmt: skip


@pytest.mark.either_engine
def test_what_a_sweep_has_found(spark: SparkSession) -> None:
    wrong: list[str] = []
    for text, values, expected in FOUND:
        types = {name: type_ for name, (type_, _) in values.items()}
        call = sweep.Call(sweep.Form(text, text, ()), text, types)
        row = {name: value for name, (_, value) in values.items()}
        wrong += sweep.compared(
            sweep.frame_of(spark, types, [(*row.values(),)]), types, [(*row.values(),)], [call]
        )
        expression = parse_expression(text)
        type_ = type_of(expression, {name: Type.parse(text_) for name, text_ in types.items()})
        value = evaluate(expression, row)
        if not sweep.agree(text, type_, sweep.plain(type_, value), expected):
            wrong.append(f"{text}: {value!r} in the reference, which should be {expected!r}")
    assert wrong == [], "\n".join(wrong)


@pytest.mark.either_engine
def test_the_examples_of_the_page_have_the_results_of_the_reference(spark: SparkSession) -> None:
    columns = {"buckets": "array<long>", "bounds": "array<double>"}
    rows = [([1, 2, 1], [10.0, 20.0])]
    examples = [sweep.Call(sweep.Form(name, call, ()), call, {}) for name, call in EXAMPLES.items()]
    assert [*sweep.compared(sweep.frame_of(spark, columns, rows), columns, rows, examples)] == []


@pytest.mark.either_engine
def test_a_moment_beyond_the_years_has_no_text(spark: SparkSession, tmp_path: Path) -> None:
    """Also in a row with an Infinity: Sail writes such an epoch in another way."""
    query = """
    stream r(ts: long, d: date, x: double, n: long) from json "in" punctuated on ts;
    out := project[ts, date_sub(d, 40) as s, date_add(d, 40) as a, add_months(d, -14) as m, add_months(d, 14) as p,
      year(date_sub(d, 40)) as y, date_from_unix_date(unix_date(d) + 4000000) as u, last_day(date_add(d, 40)) as l,
      timestamp_seconds(n) as t, exp(x * 1000) as k](r);
    emit out to json "out";
    """
    items: list[Item] = [
        {"ts": 1, "d": "0001-01-15", "x": 0.0, "n": -62_135_596_801},
        {"ts": 2, "d": "9999-12-20", "x": 0.0, "n": 253_402_300_799},
        {"$punctuation": "[ts < 3]"},
        {"ts": 3, "d": "0001-01-15", "x": 1.5, "n": 253_402_300_800},
        {"ts": 4, "d": "2020-02-29", "x": 1.5, "n": 0},
        {"$punctuation": "[]"},
    ]
    wanted: list[Item] = [
        {"ts": 1, "a": "0001-02-24", "p": "0002-03-15", "l": "0001-02-28", "k": 1.0},
        {
            "ts": 2,
            "s": "9999-11-10",
            "m": "9998-10-20",
            "y": 9999,
            "t": "9999-12-31T23:59:59.000000Z",
            "k": 1.0,
        },
        {"ts": 3, "a": "0001-02-24", "p": "0002-03-15", "l": "0001-02-28", "k": "Infinity"},
        {
            "ts": 4,
            "s": "2020-01-20",
            "a": "2020-04-09",
            "m": "2018-12-29",
            "p": "2021-04-29",
            "y": 2020,
            "l": "2020-04-30",
            "t": "1970-01-01T00:00:00.000000Z",
            "k": "Infinity",
        },
    ]
    for files in (1, 2, 6):
        run = Query(spark, tmp_path / str(files), query)
        for start in range(0, 6, 6 // files):
            run.write("r", items[start : start + 6 // files])
        executor = run.executor(1)  # a process of its own for the first file, another one for the rest
        executor.process(0, {"r": run.files(executor)["r"][:1]})
        executor = run.executor(1)
        executor.process(1, {"r": run.files(executor)["r"][1:]})
        assert sorted(filter(is_tuple, run.output("out")), key=lambda row: row["ts"]) == wanted
    reference = Reference(compile_query(query).plan)
    steps = [output for item in items for output in reference.step([("r", item)])]
    assert [json.loads(json_text(row)) for step in steps for row in step["out"].tuples] == wanted
