"""Decimals under Alters (theory N12): kept to the last digit beyond 2^53, and beyond 64 bits; or refused (RQ334)."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.compiler.expressions.types import Type, decimal_notation
from cedilla.compiler.expressions.units.altered_decimals import (
    decoded_sql,
    encoded_sql,
    holds,
    raw_type,
)
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.engines.spark.frames import of_table
from cedilla.runtime.tools.reading.reading import read
from cedilla.runtime.tools.stream_tools.canonize import canonize
from cedilla.runtime.tools.stream_tools.schema import declared_schema
from cedilla.runtime.tools.stream_tools.validate import validate
from tests.kit.lines import as_lines
from tests.kit.query import Query
from tests.kit.stream import Item, is_tuple, read_output
from tests.kit.tiers import tiered

END: Item = {"$punctuation": "[]"}
ODD = 2**53 + 1


# --- streams ---

NANO = (
    "stream r(k: int, n: decimal(19, 9)) from json 'r' punctuated on k; emit r to json 'o' in original units;"
)
SECONDS: list[Item] = [
    {"k": 1, "n": 1735689600},
    {"k": 1, "n": 0.1},
    {"$accent": "[[k = 1, alter(n, y -> y * 1000000000)]]"},
    {"k": 1, "n": 1735689601000000001},  # beyond 2^53, and no double has its last digit
    {"k": 1, "n": -1735689601000000001},
    {"k": 2, "n": 9999999999.999999999},  # 10^10 as a double
    {"k": 2, "n": 1735689601.5},
    {"k": 2, "n": 99999999999},  # more digits before the point than declared
    {"k": 1, "n": 9999999999999999999},
    {"k": 1, "n": 0.5},  # half a nanosecond
    {"$accent": "[[k = 1, alter(n, y -> y / 1000)]]"},
    {"k": 1, "n": 1735689601000000.001},
    {"$punctuation": "[k = 1, n < 1735689601000000.001]"},
    {"k": 1, "n": 1735689601000000.000},
    END,
]
TEXTS: Mapping[int, str] = {
    5: '{"k": 2, "n": 9999999999.999999999}',
    8: '{"k": 1, "n": 9999999999999999999}',
    11: '{"k": 1, "n": 1735689601000000.001}',
}
"""Lines with more digits than a double of Python keeps."""
LINES: list[Item | str] = [TEXTS.get(i, item) for i, item in enumerate(SECONDS)]
KEPT = [
    *(("1", "1735689600"), ("1", "0.1"), ("1", "1735689601.000000001"), ("1", "-1735689601.000000001")),
    *(("2", "9999999999.999999999"), ("2", "1735689601.5"), ("1", "9999999999.999999999")),
    ("1", "1735689601.000000001"),
]
EXPECTED = sorted((Fraction(k), Fraction(n)) for k, n in KEPT)
ASIDE = [("RQ334", 7), ("RQ334", 9), ("RQ305", 13)]


def fractions_of(items: Sequence[Item]) -> list[tuple[Fraction, Fraction]]:
    return sorted((Fraction(row["k"]), Fraction(row["n"])) for row in items if is_tuple(row))


@pytest.mark.parametrize("size", [1, 2, 4, 100])
def test_a_decimal_keeps_its_digits_however_the_input_is_cut(size: int) -> None:
    items = [json.loads(line, parse_float=Decimal) if isinstance(line, str) else line for line in LINES]
    reference = Reference(compile_query(NANO).plan)
    steps = [items[i : i + size] for i in range(0, len(items), size)]
    rows = [
        dict(row)
        for step in steps
        for outputs in reference.step([("r", item) for item in step])
        for row in outputs["r"].tuples
    ]
    assert fractions_of(rows) == EXPECTED
    assert [(code, items.index(item)) for _, code, item in reference.rejected] == ASIDE


def test_validate_and_canonize_say_the_same() -> None:
    lines = as_lines(LINES)
    diagnostics: list[Any] = []
    validate(lines, declared_schema("k: int, n: decimal(19, 9)"), diagnostics.append)
    assert [(diagnostic.code, diagnostic.notes[-1].split(": ")[0]) for diagnostic in diagnostics] == [
        (code, f"s:{position + 1}") for code, position in ASIDE
    ]
    places = {position for _, position in ASIDE}
    kept = io.StringIO()
    canonize(
        [line for i, line in enumerate(lines) if i not in places],
        declared_schema("k: int, n: decimal(19, 9)"),
        kept,
    )
    rows = [json.loads(line, parse_float=Decimal) for line in kept.getvalue().splitlines() if '"k": ' in line]
    assert fractions_of(rows) == EXPECTED


CENTS: list[Item] = [
    {"k": 1, "n": 90071992547409.93},
    {"$accent": "[[k = 1, alter(n, y -> y * 100)]]"},
    {"k": 1, "n": 9007199254740993},
    {"k": 2, "n": 90071992547409.93},
    {"k": 1, "n": 9007199254740993.5},
    {"$accent": "[[k = 2, alter(n, y -> y * 100)]]"},
    {"k": 2, "n": 9007199254740993},
    END,
]
CENT_TEXTS = {0: "90071992547409.93", 3: "90071992547409.93", 4: "9007199254740993.5"}
IN_CENTS: list[Item | str] = [
    f'{{"k": {item["k"]}, "n": {CENT_TEXTS[i]}}}' if i in CENT_TEXTS else item for i, item in enumerate(CENTS)
]
KEEPING = {
    "join": "a := r join (project[k as j, n](r)) on n = n; o := aggregate[count() as n](a);",
    "sum": "o := aggregate[sum(n) as n](r);",
    "distinct": "d := distinct(project[n](r)); o := aggregate[count() as n](d);",
    "window": "w := window[1 on n as w](r); o := aggregate[count() as n by w](w);",
    "select": "s := select[n = 90071992547409.93](r); o := aggregate[count() as n](s);",
}
KEPT_BY = {"join": 16, "sum": Fraction("360287970189639.72"), "distinct": 1, "window": 4, "select": 4}


@pytest.mark.parametrize("case", KEEPING)
def test_values_of_two_units_are_equal_in_state(tmp_path: Path, case: str) -> None:
    head = "stream r(k: int, n: decimal(18, 2)) from json 'r' punctuated on k punctuated on n;"
    query = Query.without_engine(tmp_path, f"{head} {KEEPING[case]} emit o to json 'o' in original units;")
    query.write("r", IN_CENTS)
    query.simulate()
    (row,) = filter(is_tuple, read_output(query.simulated.folder / "o", Decimal))
    assert Fraction(row["n"]) == KEPT_BY[case]
    assert query.simulated.codes == ["RQ334"]


def test_a_function_with_a_quotient_makes_doubles_as_before() -> None:
    """A third of a whole number has no last digit, so it is taken as a double, and is refused beyond 2^53."""
    query = "stream r(k: int, n: decimal(19, 0)) from json 'r'; emit r to json 'o' in original units;"
    reference = Reference(compile_query(query).plan)
    items: list[Item] = [{"$accent": "[[alter(n, y -> y * 3)]]"}, {"k": 1, "n": 1}, {"k": 1, "n": 3 * ODD}]
    rows = [row for item in items for outputs in reference.step([("r", item)]) for row in outputs["r"].tuples]
    assert rows == [{"k": 1, "n": 1 / 3}]
    assert [code for _, code, _ in reference.rejected] == ["RQ310"]


def test_exact_functions_then_another_one_make_doubles() -> None:
    query = "stream r(k: int, n: decimal(19, 1)) from json 'r'; emit r to json 'o' in original units;"
    reference = Reference(compile_query(query).plan)
    items: list[Item] = [
        *({"$accent": "[[alter(n, y -> y * 10)]]"}, {"k": 1, "n": 25}),
        *({"$accent": "[[alter(n, y -> y / 3)]]"}, {"k": 2, "n": 25.5}, {"k": 3, "n": ODD}),
    ]
    rows = [row for item in items for outputs in reference.step([("r", item)]) for row in outputs["r"].tuples]
    assert [(row["k"], float(row["n"])) for row in rows] == [(1, 2.5), (2, 7.65)]
    assert [code for _, code, _ in reference.rejected] == ["RQ310"]


def test_what_an_output_announces_is_read_with_all_digits(tmp_path: Path) -> None:
    text = "stream r(n: decimal(19, 9)) from json 'r'; emit r to json 'o';"
    query = Query.without_engine(tmp_path, text)
    query.write(
        "r",
        ['{"n": 1.000000001}', {"$accent": "[[alter(n, y -> y * 1000000000)]]"}, {"n": 1735689601000000001}],
    )
    query.simulate()
    folder = str(query.simulated.folder / "r")
    by_units = {
        units: [Fraction(str(row["n"])) for row in read(folder, units, schema="n: decimal(19, 9)").rows()]
        for units in ("canonical", "latest")
    }
    canonical = [Fraction("1.000000001"), Fraction("1735689601.000000001")]
    assert by_units == {"canonical": canonical, "latest": [value * 10**9 for value in canonical]}


# --- whole numbers ---

EPOCH = "stream r(k: int, ts: long unit s) from json 'r' punctuated on k punctuated on ts;"
LONGS: list[Item | str] = [
    {"k": 1, "ts": 1735689600},
    {"k": 2, "ts": 2**63 - 1},
    {"$accent": "[[k = 1, unit(ts, ns)]]"},
    {"k": 1, "ts": 1735689601000000001},
    {"k": 1, "ts": -1735689601000000001},
    {"k": 1, "ts": 2**63 - 1},
    '{"k": 1, "ts": 0.5}',  # half a nanosecond
    {"k": 2, "ts": 1735689601},
    {"k": 2, "ts": -(2**63)},
    {"$accent": "[[k = 2, unit(ts, us)]]"},
    {"k": 2, "ts": 9007199254740993},
    {"$punctuation": "[k = 1, ts < 1735689601000000001]"},
    {"k": 1, "ts": 1735689601000000000},
    {"k": 1, "ts": 1735689601000000001},
    {"$accent": "[[k = 1, unit(ts, s)]]"},
    {"k": 1, "ts": 1735689601},
    {"k": 1, "ts": 1735689602},
    END,
]
IN_SECONDS = [
    *((1, "1735689600"), (2, str(2**63 - 1)), (1, "1735689601.000000001"), (1, "9223372036.854775807")),
    *((1, "-1735689601.000000001"), (2, "1735689601"), (2, str(-(2**63))), (2, "9007199254.740993")),
    *((1, "1735689601.000000001"), (1, "1735689602")),
]
LATE = [("RQ334", 6), ("RQ305", 12), ("RQ305", 15)]
IN_SECONDS_SORTED = sorted((Fraction(k), Fraction(n)) for k, n in IN_SECONDS)
GREATEST = [(1, Fraction("9223372036.854775807")), (2, Fraction(2**63 - 1))]


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_long_of_seconds_that_become_nanoseconds_keeps_its_digits(size: int) -> None:
    items = [json.loads(line, parse_float=Decimal) if isinstance(line, str) else line for line in LONGS]
    reference = Reference(compile_query(f"{EPOCH} emit r to json 'o' in original units;").plan)
    steps = [items[i : i + size] for i in range(0, len(items), size)]
    rows = [
        {"k": row["k"], "n": row["ts"]}
        for step in steps
        for outputs in reference.step([("r", item) for item in step])
        for row in outputs["r"].tuples
    ]
    assert fractions_of(rows) == IN_SECONDS_SORTED
    assert [(code, items.index(item)) for _, code, item in reference.rejected] == LATE


@pytest.mark.either_engine
@pytest.mark.parametrize("per_epoch", tiered([None, 1]))
def test_an_engine_keeps_nanoseconds_of_longs(
    spark: SparkSession, tmp_path: Path, per_epoch: int | None
) -> None:
    """It keeps those of their greatest values, too, and of outputs in announced units."""
    text = f"{EPOCH} o := aggregate[max(ts) as ts by k](r); emit r to json 'p' in original units;"
    run = Query(spark, tmp_path, f"{text} emit o to json 'o'; emit r to json 'q';")
    for part in (LONGS[:5], LONGS[5:10], LONGS[10:]):
        run.write("r", part)
    run.process(per_epoch)
    assert [line["code"] for line in run.quarantine("r")] == [code for code, _ in LATE]
    run.simulate()
    for folder, names in ((tmp_path / "out", ("r", "o", "r_2")), (run.simulated.folder, ("r", "o", "r_2"))):
        rows = {
            name: read(str(folder / name), "canonical", schema="k: int, ts: long unit s").rows()
            for name in names
        }
        seconds = {
            name: sorted((Fraction(row["k"]), Fraction(str(row["ts"]))) for row in of)
            for name, of in rows.items()
        }
        assert seconds == {"r": IN_SECONDS_SORTED, "o": GREATEST, "r_2": IN_SECONDS_SORTED}


def test_validate_and_canonize_keep_nanoseconds_of_longs() -> None:
    lines, diagnostics, schema = as_lines(LONGS), list[Any](), declared_schema("k: int, ts: long unit s")
    validate(lines, schema, diagnostics.append)
    assert [(diagnostic.code, diagnostic.notes[-1].split(": ")[0]) for diagnostic in diagnostics] == [
        (code, f"s:{position + 1}") for code, position in LATE
    ]
    places, kept = {position for _, position in LATE}, io.StringIO()
    canonize([line for i, line in enumerate(lines) if i not in places], schema, kept)
    rows = [json.loads(line, parse_float=Decimal) for line in kept.getvalue().splitlines() if '"k": ' in line]
    assert fractions_of([{"k": row["k"], "n": row["ts"]} for row in rows]) == IN_SECONDS_SORTED


WAITING: list[Item] = [
    {"k": 1, "m": 1, "ts": 1735689600},
    {"$accent": "[[k = 1, unit(ts, ns)]]"},
    {"k": 1, "m": 1, "ts": 1735689601000000001},
    {"k": 2, "m": 1, "ts": 1735689599},
    {"$punctuation": "[m = 1]"},
    {"k": 1, "m": 2, "ts": 1735689661000000002},
    {"k": 2, "m": 2, "ts": 1735689660},
    {"$punctuation": "[m = 2]"},
    {"$accent": "[[k = 2, unit(ts, ns)]]"},
    {"k": 2, "m": 3, "ts": 1735689721000000003},
    {"$punctuation": "[m = 3]"},
    END,
]
LATEST = [(1, "1735689601.000000001"), (2, "1735689661.000000002"), (3, "1735689721.000000003")]


@pytest.mark.either_engine
@pytest.mark.parametrize("per_epoch", tiered([None, 1]))
def test_readers_know_fractions_of_longs_before_their_unit_is_announced(
    spark: SparkSession, tmp_path: Path, per_epoch: int | None
) -> None:
    """The Alter of one member waits for the other one; rows before it have nanoseconds in seconds."""
    text = "stream r(k: int in {1, 2}, m: int, ts: long unit s) from json 'r' punctuated on m;"
    run = Query(spark, tmp_path, f"{text} o := aggregate[max(ts) as ts by m](r); emit o to json 'o';")
    for part in (WAITING[:3], WAITING[3:6], WAITING[6:]):
        run.write("r", part)
    run.process(per_epoch)
    run.simulate()
    declared, expected = "m: int, ts: long unit s", [(m, Fraction(ts)) for m, ts in LATEST]
    for folder in (tmp_path / "out" / "o", run.simulated.folder / "o"):
        rows = read(str(folder), "canonical", schema=declared).rows()
        assert sorted((row["m"], Fraction(str(row["ts"]))) for row in rows) == expected
        diagnostics: list[Any] = []
        texts = [line for path in sorted(folder.rglob("*.jsonl")) for line in path.read_text().splitlines()]
        validate(as_lines(texts), declared_schema(declared), diagnostics.append)
        assert diagnostics == []


# --- engines ---


@pytest.mark.either_engine
@pytest.mark.parametrize("per_epoch", tiered([None, 1]))
def test_an_engine_keeps_the_digits_that_the_reference_keeps(
    spark: SparkSession, tmp_path: Path, per_epoch: int | None
) -> None:
    run = Query(spark, tmp_path, NANO)
    for part in (LINES[:4], LINES[4:10], LINES[10:]):
        run.write("r", part)
    run.process(per_epoch)
    assert fractions_of(read_output(tmp_path / "out" / "r", Decimal)) == EXPECTED
    assert [line["code"] for line in run.quarantine("r")] == [code for code, _ in ASIDE]


@pytest.mark.either_engine
def test_an_announced_unit_keeps_the_digits_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    head = "stream r(k: int in {1, 2}, n: decimal(18, 2)) from json 'r' punctuated on k;"
    run = Query(
        spark, tmp_path, f"{head} o := aggregate[sum(n) as n, collect(n) as all by k](r); emit o to json 'o';"
    )
    for batch, part in enumerate((IN_CENTS[:3], IN_CENTS[3:6], IN_CENTS[6:])):
        run.write("r", part)
        run.go_on(run.executor(), batch)
    rows = filter(is_tuple, read_output(tmp_path / "out" / "o", Decimal))
    assert {(row["k"], Fraction(row["n"]), *map(Fraction, row["all"])) for row in rows} == {
        (k, 2 * ODD, ODD, ODD) for k in (1, 2)
    }  # in cents


TYPES = [(28, 9), (19, 9), (19, 0), (10, 2), (25, 3), (31, 0), (4, 4)]
FUNCTIONS = [
    *("1000000000", "1000", "100", "0.01", "0.000001", "8", "0.125", "1.25", "2.5"),
    *("1", "0.001", "0.000000001", "1000000"),
]
SHIFTS = ["0", "273.15", "-0.5", "1000000"]


def values_of(rng: Random, type_: Type) -> list[Fraction]:
    """Values of a decimal: the ends, those at which doubles and longs end, and random ones."""
    precision, scale = type_.parameters
    last, step = 10**precision - 1, Fraction(1, 10**scale)
    chosen = [
        0,
        1,
        -1,
        last,
        -last,
        2**53 + 1,
        2**63 - 1,
        -(2**63),
        *(rng.randint(-last, last) for _ in range(4)),
    ]
    return [value * step for value in chosen if abs(value) <= last]


def random_cases(seed: int) -> list[tuple[Type, Type, Affine]]:
    rng, cases = Random(seed), list[tuple[Type, Type, Affine]]()
    while len(cases) < 40:
        type_ = Type("decimal", rng.choice(TYPES))
        function = Affine(Fraction(rng.choice(FUNCTIONS)), Fraction(rng.choice(SHIFTS)))
        other = Affine(Fraction(rng.choice(FUNCTIONS)), Fraction(0))
        if (raw := raw_type(type_, {IDENTITY, function, other})) is not None:
            cases.append((type_, raw, function))
    return cases


@pytest.mark.either_engine
@pytest.mark.parametrize("seed", tiered(range(4)))
def test_the_sql_of_exact_functions_equals_fractions_on_every_engine(spark: SparkSession, seed: int) -> None:
    """A raw value beside that of a canonical one has none, unless fractions say so."""
    rng, columns, texts, results = (
        Random(seed),
        dict[str, pa.Array](),
        list[str](),
        list[list[Fraction | None]](),
    )
    for number, (type_, raw, function) in enumerate(random_cases(seed)):
        values = values_of(rng, type_)
        step = Fraction(1, 10 ** raw.parameters[1])
        images = [Fraction(function(value)) for value in values]
        assert all(holds(raw, image) for image in images)
        raws = [r for image in images for r in (image, image + step, image - step) if holds(raw, r)]
        back = [Fraction(function.inverse()(r)) for r in raws]
        for name, kind, cells, text, result in (
            (f"c{number}", type_, values, encoded_sql(f"c{number}", type_, function, raw), images),
            (
                f"r{number}",
                raw,
                raws,
                decoded_sql(f"r{number}", raw, function.inverse(), type_),
                [value if holds(type_, value) else None for value in back],
            ),
        ):
            columns[name] = pa.array(
                [None if value is None else Decimal(decimal_notation(value) or "") for value in cells]
                + [None] * (40 - len(cells)),
                pa.decimal128(*kind.parameters),
            )
            texts.append(f"{text} AS {name}")
            results.append([*result, *[None] * (40 - len(cells))])
    rows = of_table(spark, pa.table(columns)).selectExpr(*texts).toArrow().to_pylist()
    for name, result in zip(columns, results, strict=True):
        actual = [None if row[name] is None else Fraction(row[name]) for row in rows]
        assert actual == result, (name, texts[list(columns).index(name)])


def test_types_without_room_are_not_exact() -> None:
    whole, nano = Type("decimal", (38, 0)), Affine(10**9, 0)
    assert raw_type(whole, [nano]) is None
    assert raw_type(Type("long"), [nano]) is None
    assert raw_type(Type("decimal", (19, 0)), [Affine(60, 0)]) is None
    assert raw_type(Type("decimal", (19, 0)), [nano]) == Type("decimal", (28, 0))


@pytest.mark.either_engine
def test_a_long_sum_that_is_open_becomes_a_double(spark: SparkSession, tmp_path: Path) -> None:
    """Decimals of more than 28 digits are summed in two parts, which an Alter of an open group makes one double."""
    text = "stream r(k: int, d: decimal(38, 2)) from json 'in/r'; emit aggregate[sum(d) as s by k](r) to json 'o';"
    items: list[Item] = [
        {"k": 1, "d": 1.25},
        {"k": 2, "d": -12},
        {"$accent": "[[alter(d, y -> y * 100)]]"},
        {"k": 1, "d": 225},
    ]
    run = Query(spark, tmp_path, text)
    run.write("r", items[:2])
    run.go_on(run.executor(), 0)
    run.write("r", [*items[2:], END])
    run.go_on(run.executor(), 1)
    assert run.rows("aggregate") == [{"k": 1, "s": 3.5}, {"k": 2, "s": -12.0}]
    assert run.simulate().rows("aggregate") == run.rows("aggregate")
