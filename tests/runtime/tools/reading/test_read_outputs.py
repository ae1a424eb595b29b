"""`cedilla.read`: an output without accents, in each unit and each form, against the decoder."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla import Options, compile_query, read, run, simulate
from cedilla.grammar import DiagnosticError
from cedilla.runtime.tools.reading.reading import InUnits
from tests.kit.command import cedilla
from tests.kit.compare import plain
from tests.kit.lines import write_lines
from tests.kit.sensor_streams import random_stream, wild_stream
from tests.kit.stream import Decoder, Item, decode
from tests.kit.tiers import tiered

PUMPS = """
stream pumps(ts: long, at: timestamp, pump: int in {1, 2}, litres: double) from json "ROOT/pumps" punctuated on ts;
minutes := window[60 on ts as minute](pumps);
flow := aggregate[avg by minute, at except ts, pump](minutes);
emit flow to json "ROOT/json/flow";
emit flow to parquet "ROOT/parquet/flow";
emit flow to xml "ROOT/xml/flow";
emit aggregate[collect(litres) as all by minute](minutes) to json "ROOT/lists";
"""
INPUT: list[list[Item]] = [
    [
        {"ts": 0, "at": "2013-01-01T00:00:00Z", "pump": 1, "litres": 100.0},
        {"ts": 0, "at": "2013-01-01T00:00:00Z", "pump": 2, "litres": 140.0},
        {"$accent": "[[pump = 1, alter(litres, y -> y / 1000)]]"},
        {"$punctuation": "[ts < 60]"},
    ],
    [
        {"$accent": "[[pump = 2, alter(litres, y -> y / 1000)]]"},
        {"$accent": "[[pump = 1, +(celsius: int)]]"},
        {"ts": 60, "at": "2013-01-01T00:01:00.25Z", "pump": 1, "litres": 0.2, "celsius": 41},
        {"ts": 60, "at": "2013-01-01T00:01:00.25Z", "pump": 2, "litres": 0.2},
        {"$punctuation": "[ts < 120]"},
    ],
    [
        {"ts": 120, "at": "2013-01-01T00:02:00Z", "pump": 1, "litres": 0.3},
        {"$punctuation": "[]"},
    ],
]
FIRST = datetime(2013, 1, 1, tzinfo=UTC)
CANONICAL: list[Item] = [
    {"minute": 0, "litres": 120.0},
    {"minute": 1, "litres": 200.0, "celsius": 41.0},
    {"minute": 2, "litres": 300.0},
]
LATEST: list[Item] = [{**row, "litres": row["litres"] / 1000} for row in CANONICAL]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for number, items in enumerate(INPUT, 1):
        write_lines(tmp_path / "pumps" / f"{number}.jsonl", items)
        os.utime(tmp_path / "pumps" / f"{number}.jsonl", (number, number))
    # By its whole path, for the JVM has a working directory of its own.
    Path("pumps.rq").write_text(PUMPS.replace("ROOT", str(tmp_path)))
    return tmp_path


def simulate_pumps() -> None:
    lines = Path("pumps.rq").read_text().splitlines()
    compiled = compile_query(
        "\n".join(line for line in lines if " to parquet " not in line and " to xml " not in line)
    )
    simulate(compiled, Options(sinks={emit.name: emit.path for emit in compiled.plan.emits}))


def without_at(rows: Iterable[Item]) -> list[Item]:
    return [{n: value for n, value in row.items() if n != "at" and value is not None} for row in rows]


# --- rows ------------------------------------------------------------------------------------------------


def test_rows_are_in_one_unit(folder: Path) -> None:
    simulate_pumps()
    assert without_at(read("json/flow").rows()) == CANONICAL
    assert without_at(read("json/flow", "original").rows()) == CANONICAL
    assert without_at(read("json/flow", "latest").rows()) == LATEST
    assert [row["all"] for row in read("lists", "latest").rows()] == [[0.1, 0.14], [0.2, 0.2], [0.3]]


@pytest.mark.parametrize("make", [random_stream, wild_stream])
@pytest.mark.parametrize("seed", range(12))
def test_rows_of_any_stream_are_what_the_decoder_gives(tmp_path: Path, seed: int, make: Any) -> None:
    stream = make(random.Random(seed), 150)
    write_lines(tmp_path / "epoch=000000000000" / "1.jsonl", stream[:60])
    write_lines(tmp_path / "epoch=000000000001" / "1.jsonl", stream[60:])
    decoder = Decoder()
    exact = [{n: Fraction(str(v)) if isinstance(v, float) else v for n, v in item.items()} for item in stream]
    canonical = [row for item in exact if (row := decoder.feed(item)) is not None]
    assert list(read(tmp_path).rows()) == plain(canonical)
    if make is wild_stream:  # the other adds again what it has dropped, but has not altered
        latest = plain(decoder.raw_at(row, len(decoder.accents)) for row in canonical)
        assert list(read(tmp_path, "latest").rows()) == latest


def test_an_attribute_that_came_back_has_no_unit_in_common_with_what_it_was(tmp_path: Path) -> None:
    write_lines(
        tmp_path / "out" / "epoch=000000000000" / "1.jsonl",
        [
            {"$accent": "[[+(p: double)]]"},
            {"p": 1.0},
            {"$accent": "[[alter(p, y -> y * 10)]]"},
            {"p": 20.0},
            {"$accent": "[[-(p)]]"},
            {"$accent": "[[+(p: double)]]"},
            {"p": 3.0},
        ],
    )
    assert [row["p"] for row in read(tmp_path / "out").rows()] == [1.0, 2.0, 3.0]
    both: list[InUnits] = ["original", "latest"]
    for units in both:
        with pytest.raises(DiagnosticError) as caught:
            list(read(tmp_path / "out", units).rows())
        assert caught.value.diagnostics[0].code == "RQ422"


def test_what_is_not_committed_and_what_no_double_can_say(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_lines(out / "_staging" / "run=000000" / "epoch=000000000001" / "1.jsonl", [{"x": 1}])
    (out / "epoch=000000000000").mkdir()
    text = '{"x": 0.1234567890123456789012345678, "n": 9007199254740993, "l": "a"}'
    (out / "epoch=000000000000" / "1.jsonl").write_text(
        f'{text}\n{{"$accent": "[[l = \\"b\\", alter(x, y -> y * 2)]]"}}\n{text}\n'
    )
    result = cedilla("read", str(out), "--units", "latest")
    assert result.output.splitlines() == [text, text]


def test_a_moment_is_compared_as_one_whatever_its_text(tmp_path: Path) -> None:
    write_lines(
        tmp_path / "e" / "1.jsonl",
        [
            {"at": "2013-01-01T00:00:00.5Z", "x": 1.0},
            {"$accent": '[[at > "2013-01-01T00:00:00Z", alter(x, y -> y * 2)]]'},
            {"at": "2013-01-01T00:00:00.5Z", "x": 2.0},
            {"at": "2013-01-01T00:00:00.000Z", "x": 3.0},
        ],
    )
    assert [row["x"] for row in read(tmp_path / "e").rows()] == [1.0, 1.0, 3.0]


def test_wrong_input_is_told_with_its_place(tmp_path: Path) -> None:
    def code(folder: Path, **options: Any) -> str:
        with pytest.raises(DiagnosticError) as caught:
            list(read(folder, **options).rows())
        return caught.value.diagnostics[0].code

    write_lines(tmp_path / "text" / "1.jsonl", [{"$accent": "[[alter(x, y -> y * 2)]]"}, {"x": "much"}])
    write_lines(tmp_path / "marker" / "1.jsonl", [{"$accent": "[[alter(x, y -> -y)]]"}])
    (tmp_path / "spoilt").mkdir()
    (tmp_path / "spoilt" / "1.jsonl").write_text("[1]\n")
    (tmp_path / "xml").mkdir()
    (tmp_path / "xml" / "1.xml").write_text("<r><x>1</x></r>\n")
    assert code(tmp_path / "nothing") == "RQ421"
    assert code(tmp_path / "text") == code(tmp_path / "spoilt") == code(tmp_path / "xml") == "RQ423"
    assert code(tmp_path / "marker") == "RQ460"
    assert list(read(tmp_path / "xml", schema="x: int").rows()) == [{"x": 1}]
    two = 'stream r(x: int) from json "r"; emit r to json "a"; emit distinct(r) to json "b";'
    assert code(tmp_path / "text", query=two) == "RQ421"
    result = cedilla("read", str(tmp_path / "marker"))
    assert (result.exit_code, f"{tmp_path}/marker/1.jsonl:1" in result.output) == (1, True)


# --- DataFrames ------------------------------------------------------------------------------------------


def test_pandas_and_arrow_have_the_types(folder: Path) -> None:
    simulate_pumps()
    frame = read("json/flow", "latest").pandas()
    assert frame["litres"].tolist() == [row["litres"] for row in LATEST]
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == {
        "minute": "int64",
        "at": "datetime64[us, UTC]",
        "litres": "float64",
        "celsius": "float64",
    }
    assert next(iter(frame["at"])) == FIRST
    table = read("json/flow", query="pumps.rq").arrow()
    assert table.to_pylist()[1]["at"] == FIRST.replace(minute=1, microsecond=250_000)
    assert {f.name: str(f.type) for f in table.schema} == {
        "minute": "int64",
        "at": "timestamp[us, tz=UTC]",
        "litres": "double",
        "celsius": "double",
    }
    assert [row["celsius"] for row in table.to_pylist()] == [None, 41.0, None]


def test_a_drop_before_the_first_tuple_shows_no_type(tmp_path: Path) -> None:
    """A union drops what one of its inputs lacks, for regions that no tuple reaches."""
    later = {"$accent": '[[at < "2020-06-01T00:00:00Z", s = "a", alter(v, y -> y * 2)]]'}
    row = {"ts": 2, "at": "2020-01-01T00:00:00.000000Z", "s": "a", "v": 2.0}
    drops = [{"$accent": f"[[ts < 0, -({name})]]"} for name in ("at", "s")]
    folder = output_of(tmp_path / "out", [drops, [row, later], [row]])
    assert [row["v"] for row in read(folder).rows()] == [2.0, 1.0]
    assert str(read(folder).arrow().schema.field("at").type) == "timestamp[us, tz=UTC]"


def test_types_that_nobody_tells_are_seen_from_all_values(tmp_path: Path) -> None:
    rows: list[Item] = [
        {"n": 1, "d": "2013-01-01", "b": True, "x": 1, "mixed": "2013-01-01", "nan": "NaN", "l": [1, 2.5]},
        {"d": "2013-01-02", "x": 1.5, "mixed": "soon", "nan": 1.0, "l": []},
    ]
    write_lines(tmp_path / "1.jsonl", rows)
    table = read(tmp_path).arrow()
    assert {f.name: str(f.type) for f in table.schema} == {
        "n": "int64",
        "d": "date32[day]",
        "b": "bool",
        "x": "double",
        "mixed": "string",
        "nan": "double",
        "l": "list<item: double>",
    }
    frame = read(tmp_path).pandas()
    assert (str(frame["n"].dtype), str(frame["b"].dtype)) == ("Int64", "boolean")


@pytest.mark.either_engine
def test_spark_and_every_format_give_the_same(folder: Path, spark: SparkSession) -> None:
    run("pumps.rq", Options(once=True, checkpoint=f"{folder}/checkpoint", files_per_epoch=1), spark=spark)
    both: list[tuple[InUnits, list[Item]]] = [("canonical", CANONICAL), ("latest", LATEST)]
    for units, expected in both:
        for kind in ("json", "parquet", "xml"):
            reading = read(folder / kind / "flow", units, query="pumps.rq")
            here = {row["minute"]: row for row in reading.arrow().to_pylist()}
            assert without_at(here[n] for n in sorted(here)) == expected, kind
            of_spark = {row["minute"]: row.asDict() for row in reading.spark(spark).collect()}
            assert {n: row | {"at": row["at"].astimezone(UTC)} for n, row in of_spark.items()} == here, kind
    untold = read(folder / "json/flow", "latest").spark(spark)
    assert {f.name: f.dataType.simpleString() for f in untold.schema.fields} == {
        "at": "timestamp",
        "celsius": "double",
        "litres": "double",
        "minute": "bigint",
    }
    lists = {row["minute"]: row["all"] for row in read(folder / "lists", "latest").spark(spark).collect()}
    assert {n: sorted(values) for n, values in lists.items()} == {0: [0.1, 0.14], 1: [0.2, 0.2], 2: [0.3]}


@pytest.mark.either_engine
@pytest.mark.parametrize("seed", tiered(range(2)))
def test_spark_reads_any_stream_as_the_decoder_does(tmp_path: Path, spark: SparkSession, seed: int) -> None:
    stream = wild_stream(random.Random(seed), 120)
    write_lines(tmp_path / "epoch=000000000000" / "1.jsonl", stream[:60])
    write_lines(tmp_path / "epoch=000000000001" / "1.jsonl", stream[60:])
    both: list[InUnits] = ["canonical", "latest"]
    for units in both:
        reading = read(tmp_path, units)
        actual = [row.asDict() for row in reading.spark(spark).collect()]
        assert _sorted(actual) == _sorted(reading.rows()), units


def _sorted(rows: Iterable[Item]) -> list[Any]:
    in_order = sorted(plain(rows), key=lambda row: sorted((n, round(v, 6)) for n, v in row.items()))
    return [{n: pytest.approx(v, abs=1e-9) for n, v in row.items()} for row in in_order]


# --- the command -----------------------------------------------------------------------------------------


def test_the_command_prints_lines_and_tables(folder: Path) -> None:
    simulate_pumps()
    lines = cedilla("read", "json/flow", "--units", "latest").output.splitlines()
    assert without_at(map(json.loads, lines)) == LATEST
    table = cedilla("read", "json/flow", "--format", "table").output
    assert table == (
        "minute  at                           litres  celsius\n"
        "     0  2013-01-01T00:00:00.000000Z   120.0\n"
        "     1  2013-01-01T00:01:00.250000Z   200.0     41.0\n"
        "     2  2013-01-01T00:02:00.000000Z   300.0\n"
    )


def test_follow_goes_on_with_new_epochs(tmp_path: Path) -> None:
    write_lines(
        tmp_path / "epoch=000000000000" / "1.jsonl", [{"x": 1.0}, {"$accent": "[[alter(x, y -> y * 2)]]"}]
    )
    rows = read(tmp_path, "latest").follow(0)
    assert list(islice(rows, 2)) == [{"x": 1.0}, None]
    write_lines(tmp_path / "epoch=000000000001" / "1.jsonl", [{"x": 6.0}])
    assert list(islice(rows, 2)) == [{"x": 6.0}, None]
    canonical = read(tmp_path).follow(0)
    assert list(islice(canonical, 3)) == [{"x": 1.0}, {"x": 3.0}, None]


def test_the_command_waits_for_the_first_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = 0

    def pause(seconds: float) -> None:
        nonlocal pauses
        pauses += 1
        if pauses == 3:
            raise KeyboardInterrupt
        write_lines(tmp_path / "out/epoch=000000000000/1.jsonl", [{"x": 1}])

    monkeypatch.setattr(time, "sleep", pause)
    result = cedilla("read", str(tmp_path / "out"), "--follow")
    assert (result.exit_code, result.stdout) == (130, '{"x": 1}\n')
    assert f"waiting for {tmp_path}/out" in result.stderr


# --- arrays ---

ALTERED_FIRST: list[list[Item]] = [
    [{"$accent": "[[k = 1, alter(c, y -> y * 100)]]"}, {"$accent": "[[k = 1, alter(best, y -> y * 100)]]"}],
    [{"k": 1, "c": [200.0, 50.0], "best": []}, {"k": 2, "c": [2.0], "best": ["NaN", 3.0]}],
    [{"$accent": "[[alter(c, y -> y / 10)]]"}],
    [{"k": 2, "c": [0.5]}, {"k": 1, "c": ["NaN", 10.0]}],
]
UNALTERED: list[Item] = [
    {"k": 1, "c": [2.0, 0.5], "best": []},
    {"k": 2, "c": [2.0], "best": ["NaN", 3.0]},
    {"k": 2, "c": [5.0]},
    {"k": 1, "c": ["NaN", 1.0]},
]


def output_of(folder: Path, epochs: list[list[Item]]) -> Path:
    for number, items in enumerate(epochs):
        epoch = folder / f"epoch={number:012d}"
        epoch.mkdir(parents=True)
        write_lines(epoch / "1.jsonl", items)
    return folder


@pytest.mark.parametrize("schema", [None, "k: long, c: array<double>, best?: array<decimal(9, 2)>"])
def test_arrays_may_be_altered_before_the_first_tuple_has_them(tmp_path: Path, schema: str | None) -> None:
    folder = output_of(tmp_path / "out", ALTERED_FIRST)
    assert list(read(folder, schema=schema).rows()) == UNALTERED
    assert [row.get("c") for row in read(folder, "latest", schema=schema).rows()] == [
        [20.0, 5.0],
        [0.2],
        [0.5],
        ["NaN", 10.0],
    ]
    expected = [str([*map(float, row["c"])]) for row in UNALTERED]
    assert [*map(str, read(folder, schema=schema).pandas()["c"])] == expected
    assert [*map(str, read(folder, schema=schema).arrow().column("c").to_pylist())] == expected
    done = cedilla("read", str(folder))
    assert [json.loads(line) for line in done.stdout.splitlines()] == UNALTERED


@pytest.mark.either_engine
def test_spark_reads_arrays_that_were_altered_first(spark: SparkSession, tmp_path: Path) -> None:
    folder = output_of(
        tmp_path / "out", [[r for r in items if "NaN" not in str(r)] for items in ALTERED_FIRST]
    )
    rows = read(folder).spark(spark).collect()
    assert sorted((row["k"], row["c"]) for row in rows) == [(1, [2.0, 0.5]), (2, [5.0])]


NESTED: list[list[Item]] = [
    [{"k": 1, "a": []}, {"$accent": "[[k = 2, alter(a, y -> y * 100)]]"}],
    [{"k": 2, "a": [[200.0, "NaN"], []]}, {"k": 1, "a": [[3.0]]}, {"$accent": "[[alter(a, y -> y / 10)]]"}],
    [{"k": 2, "a": [[20.0], [-5.0, 10.0]]}],
]
OF_NESTED = [[], [[2.0, "NaN"], []], [[3.0]], [[2.0], [-0.5, 1.0]]]


@pytest.mark.parametrize("schema", [None, "k: long, a: array<array<double>>"])
def test_arrays_of_arrays_are_read_element_by_element(tmp_path: Path, schema: str | None) -> None:
    """Engines wrote them, and `read` refused them after an Alter (RQ423)."""
    folder = output_of(tmp_path / "out", NESTED)
    assert [row["a"] for row in read(folder, schema=schema).rows()] == OF_NESTED
    latest = [[], [[20.0, "NaN"], []], [[0.3]], [[20.0], [-5.0, 10.0]]]
    assert [row["a"] for row in read(folder, "latest", schema=schema).rows()] == latest
    arrow = read(folder, schema=schema).arrow().column("a").to_pylist()
    assert str(arrow) == str(OF_NESTED).replace("'NaN'", "nan")
    assert [row["a"] for row in decode(item for epoch in NESTED for item in epoch)] == OF_NESTED


@pytest.mark.either_engine
def test_spark_reads_arrays_of_arrays(spark: SparkSession, tmp_path: Path) -> None:
    folder = output_of(tmp_path / "out", NESTED)
    rows = read(folder, schema="k: long, a: array<array<double>>").spark(spark).collect()
    assert sorted(str(row["a"]) for row in rows) == sorted(
        str(value).replace("'NaN'", "nan") for value in OF_NESTED
    )


def test_a_schema_whose_array_has_no_such_element_is_refused(tmp_path: Path) -> None:
    folder = output_of(tmp_path / "out", ALTERED_FIRST)
    with pytest.raises(DiagnosticError, match="RQ005"):
        read(folder, schema="k: long, c: array<real>")


@pytest.mark.parametrize("text", ["90071992547409.93", "0.123456789012345678", "-1234567890123.456"])
def test_a_decimal_is_read_with_the_digits_that_it_is_written_with(tmp_path: Path, text: str) -> None:
    write_lines(tmp_path / "epoch=000000000000" / "1-tuples-0.jsonl", [f'{{"p": {text}}}'])
    (row,) = read(str(tmp_path)).rows()
    assert str(row["p"]) == text
