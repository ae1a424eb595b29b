"""Whole numbers in two units meet: in the unit of the left input, exact to the last digit or refused (theory N12).

The oracle computes with fractions, so floors, comparisons and keys are compared exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime import simulate
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.epochs.options.options import Options
from tests.kit.query import Query
from tests.kit.stream import Item, decode, is_tuple, read_output
from tests.kit.tiers import tiered
from tests.kit.two_units import END, RELATIONS, STREAMS, Ends, check, query, simulated

SECOND = 1_700_000_000
PAIRS: list[tuple[Ends, list[int], list[int]]] = [
    (("long unit s", "long unit ms"), [5, 70, SECOND], [5000, 5001, 70_000, 69_999, SECOND * 1000]),
    (("long unit s", "long unit ns"), [5, SECOND, 2], [SECOND * 10**9, SECOND * 10**9 + 1, 5_000_000_001]),
    (("long unit ms", "long unit s"), [5000, 5001, 70_000], [5, 70, SECOND]),
    (("int unit s", "long unit us"), [5, 119, 120], [119_999_999, 120_000_000, 5_000_000, 2**62 + 1]),
    (("long unit hour", "long unit minute"), [1, 2, 60], [60, 61, 119, 3600, 3599]),
    (("decimal(10, 1) unit s", "long unit ms"), [5, 70], [5000, 5100, 70_000]),
    (("double unit s", "long unit ms"), [5, 70], [5000, 5100, 70_000]),
    (("long unit s", "double unit ms"), [5, 70], [5000, 5100, 70_000]),
    (("long unit kelvin", "long unit degC"), [300, 0], [0, 27, -273]),
    (("long unit degC", "long unit degF"), [0, 100], [32, 33, 212, 213]),
]


def case_id(ends: Any) -> str:
    return "-".join(ends).replace("long unit ", "") if isinstance(ends, tuple) else ""


@pytest.mark.parametrize(("ends", "left", "right"), PAIRS, ids=case_id)
@pytest.mark.parametrize("size", [1, 100])
def test_two_units_meet_in_that_of_the_left(ends: Ends, left: list[int], right: list[int], size: int) -> None:
    check(ends, left, right, simulated(ends, left, right, size))


@pytest.mark.either_engine
@pytest.mark.parametrize(
    ("ends", "left", "right"),
    tiered(PAIRS, 2, 6),
    ids=case_id,
)
def test_two_units_meet_in_that_of_the_left_on_an_engine(
    spark: SparkSession, tmp_path: Path, ends: Ends, left: list[int], right: list[int]
) -> None:
    """In one epoch, and file by file with a restart in the middle."""
    text, names = query(ends)
    for number, per_epoch in enumerate((None, 1)):
        run = Query(spark, tmp_path / str(number), text)
        for name, values in (("a", left), ("b", right)):
            for k, x in enumerate(values[:2]):
                run.write(name, [{"ts": x, "k": k}])
        executor = run.executor(per_epoch)
        if per_epoch:
            run.go_on(executor, 0)
            executor = run.executor(per_epoch)
        for name, values in (("a", left), ("b", right)):
            run.write(name, [*({"ts": x, "k": k + 2} for k, x in enumerate(values[2:])), END])
        run.go_on(executor, 1 if per_epoch else 0)
        emits = [emit.name for emit in executor.plan.emits]
        outputs = {
            name: read_output(run.root / "out" / emit, Decimal)
            for name, emit in zip(names, emits, strict=True)
        }
        check(ends, left, right, outputs)


THREE = """
stream a(ts: long unit s, k: int) from json "a" punctuated on ts;
stream b(ts: long unit ms, k: int) from json "b" punctuated on ts;
stream c(ts: long unit us, k: int) from json "c" punctuated on ts;
emit (a union b) union c to json "three";
emit aggregate[count() as n by w](window[10 on ts as w]((a union b) union c)) to json "windows";
emit c semi join (a union b) on ts to json "met";
"""
STREAMS_OF_THREE: dict[str, list[Item]] = {
    "a": [{"ts": 5, "k": 1}, {"ts": 9, "k": 2}, END],
    "b": [
        {"ts": 9999, "k": 3},
        {"$accent": "[[k = 4, unit(ts, s)]]"},
        {"ts": 5.25, "k": 4},
        {"ts": 5000, "k": 5},
        END,
    ],
    "c": [{"ts": 5_000_000, "k": 6}, {"ts": 9_999_999, "k": 7}, {"ts": 5_250_000, "k": 8}, END],
}
OF_THREE = {
    "three": [(5, 1), (9, 2), ("9.999", 3), ("5.25", 4), (5, 5), (5, 6), ("9.999999", 7), ("5.25", 8)],
    "windows": [(0, 8)],
    "met": [(5_000_000, 6), (5_250_000, 8)],
}


def check_three(outputs: Mapping[str, Sequence[Item]]) -> None:
    for name, wanted in OF_THREE.items():
        canonical = [{n: exactly(v) for n, v in row.items()} for row in decode(outputs[name])]
        names = ("w", "n") if name == "windows" else ("ts", "k")
        assert sorted(tuple(row[n] for n in names) for row in canonical) == sorted(
            tuple(map(Fraction, row)) for row in wanted
        ), name


def exactly(value: Any) -> Fraction:
    """A number as it is written; what was a double stands for its shortest decimal."""
    is_binary = isinstance(value, Fraction) and value.denominator > 10**9
    return Fraction(str(float(value) if is_binary else value))


@pytest.mark.parametrize("size", [1, 100])
def test_three_units_and_an_accent_meet(size: int) -> None:
    reference = Reference(compile_query(THREE).plan)
    items = [(name, item) for name, rows in STREAMS_OF_THREE.items() for item in rows]
    steps = [items[start : start + size] for start in range(0, len(items), size)]
    outputs = [output for step in steps for output in reference.step(step)]
    emits = [emit.name for emit in reference.plan.emits]
    check_three({n: [i for o in outputs for i in o[e].items()] for n, e in zip(OF_THREE, emits, strict=True)})


@pytest.mark.rest
@pytest.mark.either_engine
def test_three_units_and_an_accent_meet_on_an_engine(spark: SparkSession, tmp_path: Path) -> None:
    for size in (5, 2):
        run = Query(spark, tmp_path / str(size), THREE)
        for name, items in STREAMS_OF_THREE.items():
            for start in range(0, len(items), size):
                run.write(name, items[start : start + size])
        emits = [emit.name for emit in run.process(1).plan.emits]
        check_three(
            {n: read_output(run.root / "out" / e, Decimal) for n, e in zip(OF_THREE, emits, strict=True)}
        )


READ = 'stream u(ts: {}, k: int) from json "u" punctuated on ts; emit select[ts > 1.5](u) to json "late";'


@pytest.mark.parametrize("type_", ["decimal(22, 3) unit s", "double unit s"])
def test_a_second_query_reads_the_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, type_: str) -> None:
    monkeypatch.chdir(tmp_path)
    run = Query.without_engine(tmp_path, "")
    run.write("a", [{"ts": 1, "k": 1}, END])
    run.write("b", [{"ts": 1500, "k": 2}, {"ts": 1501, "k": 3}, {"$punctuation": "[ts < 2500]"}, END])
    first = STREAMS.format("long unit s", "long unit ms") + 'emit u to json "u";'
    simulate(first, Options(sources={n: f"in/{n}" for n in "ab"}, sinks={"u": "u"}))
    simulate(READ.format(type_), Options(sources={"u": "u"}, sinks={"select": "late"}))
    assert [(exactly(i["ts"]), i["k"]) for i in read_output(tmp_path / "late", Decimal) if is_tuple(i)] == [
        (Fraction("1.501"), 3)
    ]


BEYOND = [
    (("long unit s", "long unit hour"), 2**63 // 3600 + 1, "u"),
    (("long unit hour", "long unit minute"), 2**53, "u"),
    (("long unit minute", "long unit hour"), -(2**63 // 60) - 1, "both"),
    (("double unit s", "long unit ms"), 2**53, "u"),
]


@pytest.mark.parametrize(("ends", "value", "name"), BEYOND, ids=case_id)
def test_a_value_that_is_too_large_for_the_other_unit_ends_the_query(
    ends: Ends, value: int, name: str
) -> None:
    text = STREAMS.format(*ends) + f'emit {RELATIONS[name]} to json "o";'
    reference = Reference(compile_query(text).plan)
    with pytest.raises(DiagnosticError, match="RQ310"):
        reference.step([("b", {"ts": value, "k": 1})])
    assert reference.step([("b", {"ts": value - (1 if value > 0 else -1), "k": 1})])


@pytest.mark.either_engine
@pytest.mark.parametrize(("ends", "value", "name"), tiered(BEYOND, 2), ids=case_id)
def test_a_value_that_is_too_large_ends_the_query_on_an_engine(
    spark: SparkSession, tmp_path: Path, ends: Ends, value: int, name: str
) -> None:
    run = Query(spark, tmp_path, STREAMS.format(*ends) + f'emit {RELATIONS[name]} to json "o";')
    run.write("b", [{"ts": value, "k": 1}])
    with pytest.raises(DiagnosticError, match="RQ310"):
        run.process()


@pytest.mark.parametrize(
    ("relation", "name"),
    [("a union b", "ts"), ("a intersect b", "ts"), ("a join rename[k as j](b) on ts", "ts")],
)
def test_a_number_without_a_unit_beside_one_in_a_unit_is_warned_of(relation: str, name: str) -> None:
    for ends in (("long unit s", "long"), ("long", "long unit s")):
        text = STREAMS.format(*ends).replace("u := a union b;", "") + f'emit {relation} to json "o";'
        (warning,) = compile_query(text).warnings
        assert warning.code == "RQ162"
        assert f"`{name}` on the {'left' if ends[0] == 'long' else 'right'}" in warning.message


def test_two_names_in_two_units_are_one_value_in_the_first_unit() -> None:
    text = (
        "stream r(k: int, latency_ms?: double unit ms, latency_s?: double unit s) from json 'r';"
        "o := project[k, coalesce(latency_ms, latency_s) as x, latency_ms = latency_s as same](r); emit o to json 'o';"
    )
    items: list[Item] = [
        *({"k": 1, "latency_ms": 1500.0}, {"k": 2, "latency_s": 1.5}),
        *(
            {"k": 3, "latency_ms": 1500.0, "latency_s": 1.5},
            {"k": 4, "latency_ms": 1500.0, "latency_s": 1500.0},
        ),
    ]
    reference = Reference(compile_query(text).plan)
    rows = [row for outputs in reference.step([("r", item) for item in items]) for row in outputs["o"].tuples]
    assert [row["x"] for row in rows] == [1500.0] * 4
    assert [row.get("same") for row in rows] == [None, None, True, False]
