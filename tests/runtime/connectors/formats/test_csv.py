"""CSV as a source: the engine, the reference and the stream tools read the same (theory G34)."""

from __future__ import annotations

import bz2
import gzip
import json
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import cast

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.runtime.engines.spark import costs
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.epochs.pipeline.load import load
from cedilla.runtime.tools.inspect.verify import verify
from cedilla.runtime.tools.stream_tools.places import stream_lines
from cedilla.runtime.tools.stream_tools.schema import declared_schema
from cedilla.runtime.tools.stream_tools.validate import validate
from tests.kit.command import cedilla
from tests.kit.errors import error_of, place_of
from tests.kit.lines import write_files
from tests.kit.query import Query
from tests.kit.stream import is_tuple, packed_zstd
from tests.kit.tiers import tiered
from tests.runtime.connectors.formats.csv_texts import ODD, text_of
from tests.runtime.connectors.formats.text_rows import TYPES

QUERY = """
stream r(ts: long, pump: int in {1, 2}, t: double, city?: string) from csv "r" markers "ops";
emit r to json "out";
"""
SWITCH = b'{"$accent": "[[pump = 2, ts >= 3, alter(t, y -> (y - 32) * 5/9)]]"}\n'
FIRST = b'ts,pump,t,city,colour\n0,1,77.5,"New\nYork",red\n1,2,80,,blue\n2,1,abc,x,\n\n'
FIRST += b'3,2,25,"Paris, ""TX""",\n4,1,25\n5,3,1,,\n6,2,"25",,\n'
SECOND = b"\xef\xbb\xbft,ts,pump\r\n5.5,7,1\r\n-5,8,2\r\n,9,1\r\n"
FILES = {"1.csv": FIRST, "2.csv.gz": gzip.compress(SECOND), "3.csv.zst": packed_zstd(b"ts,pump,t\n10,1,1")}
FILES |= {"4.csv.bz2": bz2.compress(b'"ts","pump","t","city"\n"11","1","1",""\n12,1,1,\n')}
REJECTED = [
    ("RQ301", "1.csv:5", '`t` must be a double, found "abc"', "2,1,abc,x,"),
    ("RQ301", "1.csv:8", "the record has 3 fields, the first line of its file 5", "4,1,25"),
    ("RQ303", "1.csv:9", "`pump` has a value outside of its domain", "5,3,1,,"),
    ("RQ302", "2.csv.gz:4", "`t` is required, but missing", ",9,1"),
]


def given(spark: SparkSession | None, root: Path, files: Mapping[str, bytes], query: str = QUERY) -> Query:
    """A query on some files of records, and no markers."""
    write_files(root / "in" / "r", files)
    (root / "in" / "r.markers").mkdir(exist_ok=True)
    return Query(cast("SparkSession", spark), root, query)


def csv_query(spark: SparkSession | None, root: Path) -> Query:
    """The stream of the tests."""
    write_files(root / "in" / "r.markers", {"1.jsonl": SWITCH})
    return given(spark, root, FILES)


@pytest.mark.either_engine
@pytest.mark.parametrize("few", [1 << 20, 0])
def test_run_reads_what_simulate_reads(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """Quotes, line ends in them, columns in another order, a byte order mark, packed files; by the driver, by tasks."""
    monkeypatch.setattr(costs, "PARSED_BY_DRIVER", few)
    monkeypatch.setattr(costs, "SEARCHED_BY_DRIVER", few)
    run = csv_query(spark, tmp_path)
    run.run()
    tuples = run.simulate().rows("r")
    assert run.simulated.rejections == run.rejections()
    assert [(r.code, r.place, r.reason, r.raw) for r in run.rejections()] == REJECTED
    assert run.rows("r") == tuples
    cities = {item.get("ts"): item.get("city") for item in tuples if "ts" in item}
    assert cities[0] == "New\nYork"
    assert cities[3] == 'Paris, "TX"'
    assert (cities[11], cities[12]) == ("", None)


def test_validate_says_the_same(tmp_path: Path) -> None:
    csv_query(None, tmp_path)
    diagnostics: list[Diagnostic] = []
    schema = declared_schema("ts: long, pump: int in {1, 2}, t: double, city?: string, colour?: string")
    verdict = validate(
        stream_lines(str(tmp_path / "in" / "r"), str(tmp_path / "in" / "r.markers")),
        schema,
        diagnostics.append,
    )
    actual = sorted(
        (d.code, d.notes[-1].rpartition("/")[2].partition(": ")[0], d.message.partition(": 3, and")[0])
        for d in diagnostics
    )
    assert actual == sorted(rejection[:3] for rejection in REJECTED)
    assert (verdict.tuples, verdict.accents) == (11, 1)


@pytest.mark.either_engine
@pytest.mark.parametrize("seed", tiered(range(8), 1))
def test_odd_records_come_to_the_same(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """Values, reasons, places and texts, of every type."""
    chance = Random(seed)
    declared = ", ".join(f"{name}?: {type_}" for name, type_ in TYPES.items())
    query = f'stream r({declared}) from csv "r" markers "ops"; emit r to json "out";'
    run = given(spark, tmp_path, {f"{n}.csv": text_of(chance) for n in range(12)}, query)
    run.run()
    tuples = run.simulate().rows("r")
    assert run.rejections() == run.simulated.rejections != []
    assert run.rows("r") == tuples
    assert len(tuples) > 50


@pytest.mark.either_engine
def test_a_column_that_nothing_declares_is_drift(spark: SparkSession, tmp_path: Path) -> None:
    """The first value of a column decides its type, so a zip code that begins with a letter makes all of them texts."""
    query = 'stream r(ts: long) from csv "r" markers "ops"; emit r to json "out"; set drift = infer;'
    header = b"ts,zip,x,nothing,ok,\n"
    run = given(spark, tmp_path, {"1.csv": header + b"1,A-1,1.50,,true,9\n2,00501,2,,,9\n"}, query)
    run.run()
    actual = [item for item in run.output("r") if "ts" in item]
    assert sorted(actual, key=lambda item: item["ts"]) == [
        {"ts": 1, "zip": "A-1", "x": 1.5, "ok": True},
        {"ts": 2, "zip": "00501", "x": 2.0},
    ]


def test_verify_compares_both(spark: SparkSession, tmp_path: Path) -> None:
    sources = csv_query(None, tmp_path).options().sources
    plan, flow = load(compile_query(QUERY))
    (verdict,) = verify(plan, flow, Options(sources=sources))
    assert verdict.holds


STOPS = {
    b'ts,pump,t\n1,1,1\n$accent,"[[-(t)]]",\n': ("RQ212", "1.csv:3: $accent"),
    b'ts,pump,t\n1,1,1\n{"$punctuation": "[ts < 5]"}\n': ("RQ212", "1.csv:3: {"),
    b"ts,pump,t\n1,1,1\n{'$punctuation': '[ts < 5]'}\n": ("RQ212", "1.csv:3: {"),
    b"ts,pump,t\n1,1,1\n- $accent: [[-(t)]]\n": ("RQ212", "1.csv:3: -"),
    b"ts,pump,t,$accent\n1,1,1,\n": ("RQ212", "1.csv:1: ts"),
    b"\nts,pump,ts\n1,1,1\n": ("RQ426", "1.csv:2: ts,pump,ts"),
    b'ts,"pump\n1,1\n': ("RQ426", '1.csv:1: ts,"pump'),
}


@pytest.mark.parametrize("text", STOPS)
def test_what_is_no_place_for_markers_ends_the_query(tmp_path: Path, text: bytes) -> None:
    code, marked = STOPS[text]
    error = error_of(given(None, tmp_path, {"1.csv": text}).simulate)
    assert error.code == code
    assert place_of(error).startswith(marked)
    complaints: list[Diagnostic] = []
    try:
        validate(
            stream_lines(str(tmp_path / "in" / "r")),
            declared_schema("ts: long, pump: int, t: double"),
            complaints.append,
        )
    except DiagnosticError as error:
        complaints += error.diagnostics
    assert [d.code for d in complaints] == [code]


@pytest.mark.rest
def test_run_ends_there_with_the_same_words(spark: SparkSession, tmp_path: Path) -> None:
    for number, text in enumerate(STOPS):
        run = given(spark, tmp_path / str(number), {"1.csv": text})
        expected, by_run = error_of(run.simulate), error_of(run.run)
        assert (by_run.code, by_run.message, place_of(by_run)) == (
            expected.code,
            expected.message,
            place_of(expected),
        )


OPTIONAL = QUERY.replace(
    "ts: long, pump: int in {1, 2}, t: double", "ts?: long, pump?: int in {1, 2}, t?: double"
)
UNKNOWN: dict[bytes, str] = {
    b"a;b\n1;1\n": "no attribute of `r` is a column of it",
    b"ts:pump:t\n1:1:1\n": "no attribute of `r` is a column of it",
    b"1,2,20.5\n2,1,21\n": "its first line looks like a record",
    b"TS,Pump,T\n1,1,1\n": "no attribute of `r` is a column of it",
    b"a,b\n": "no attribute of `r` is a column of it",
}


@pytest.mark.parametrize("query", [QUERY, OPTIONAL], ids=["required", "optional"])
@pytest.mark.parametrize("text", UNKNOWN)
def test_a_file_without_a_known_column_ends_the_query(tmp_path: Path, query: str, text: bytes) -> None:
    """Empty tuples would be counted where all attributes are optional, and each line set aside elsewhere."""
    error = error_of(given(None, tmp_path, {"1.csv": text}, query).simulate)
    assert error.code == "RQ426"
    assert UNKNOWN[text] in error.message
    assert place_of(error).startswith("1.csv:1: ")


@pytest.mark.either_engine
def test_run_ends_at_a_file_without_a_known_column_too(spark: SparkSession, tmp_path: Path) -> None:
    """All before it is committed, in one epoch as file by file; a restart ends there again."""
    for number, text in enumerate(UNKNOWN):
        files = {"0.csv": b"city\nYork\n", "1.csv": text}
        run = given(spark, tmp_path / str(number), files, OPTIONAL)
        expected = error_of(run.simulate)
        for _ in range(2):
            by_run = error_of(partial(run.run, files_per_epoch=1 if number % 2 else None))
            assert (by_run.code, by_run.message, place_of(by_run)) == (
                expected.code,
                expected.message,
                place_of(expected),
            )
        assert [item for item in run.output("r") if "city" in item] == [{"city": "York"}]


ARCHIVE = """
stream r(ts: long, province?: string from "Province/State", n?: long from "No. of cases, new", t?: double)
  from csv "r" markers "ops" none {"NA", "..", "-"};
emit r to json "out";
"""
ARCHIVES = {
    "1.csv": b'\xef\xbb\xbf"ts";"Province/State";"No. of cases, new";"t"\r\n1;"Hubei; a";5;..\r\n2;"NA";"NA";1.5\r\n',
    "2.csv": b'No. of cases, new\tts\tProvince/State\tprovince\n-\t3\tx"y\tother\n\t4\t"-"\t\n\t\t\t\n',
    "3.csv": b'ts|t\n5|1,5\n6|-\n7|"1.5"\n',
    "4.csv": b'ts,t,"Province/State"\n8,1,"say ""NA"""\n9,1,""\n10,N/A,NA \n',
}


@pytest.mark.either_engine
@pytest.mark.parametrize("few", [1 << 20, 0])
def test_files_of_archives_are_read(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """Names of columns, separators that differ from file to file, and words for undefined values."""
    monkeypatch.setattr(costs, "PARSED_BY_DRIVER", few)
    run = given(spark, tmp_path, ARCHIVES, ARCHIVE)
    for _ in range(2):  # once more after a restart: nothing is read again
        run.run(files_per_epoch=1 if few else None)
    tuples = run.simulate().rows("r")
    assert run.rows("r") == tuples
    assert sorted(tuples, key=lambda row: row["ts"]) == [
        {"ts": 1, "province": "Hubei; a", "n": 5},
        {"ts": 2, "t": 1.5},
        {"ts": 3, "province": 'x"y'},
        {"ts": 4},
        {"ts": 6},
        {"ts": 7, "t": 1.5},
        {"ts": 8, "t": 1.0, "province": 'say "NA"'},
        {"ts": 9, "t": 1.0, "province": ""},
    ]
    assert run.rejections() == run.simulated.rejections
    assert [(rejection.code, rejection.place) for rejection in run.rejections()] == [
        ("RQ302", "2.csv:4"),
        ("RQ301", "3.csv:2"),
        ("RQ301", "4.csv:4"),
    ]


def test_validate_reads_columns_by_their_names(tmp_path: Path) -> None:
    write_files(tmp_path / "r", ARCHIVES)
    (tmp_path / "q.rq").write_text(ARCHIVE)
    result = cedilla("validate", str(tmp_path / "r"), "--query", str(tmp_path / "q.rq"))
    assert "(11 lines, 9 tuples" in result.output
    assert result.output.count("error[RQ30") == 3


def test_a_column_that_is_read_under_another_name_is_no_drift(tmp_path: Path) -> None:
    query = ARCHIVE + "set drift = quarantine;"
    files = {"1.csv": b"ts;Province/State;province\n1;a;b\n", "2.csv": b"ts,x\n2,y\n"}
    run = given(None, tmp_path, files, query)
    assert run.simulate().rows("r") == [{"ts": 1, "province": "a"}]
    assert run.simulated.codes == ["RQ306"]
    run.run(engine="sail")
    assert (run.rows("r"), run.rejections()) == (run.simulated.rows("r"), run.simulated.rejections)


@pytest.mark.parametrize(
    ("markers", "setting"),
    [
        (b'{"$accent": "[[rename(x, t)]]"}\n', ""),
        (b'{"$accent": "[[+(x: double)]]"}\n', ""),
        (b'{"$punctuation": "[ts < 0]"}\n', "set drift = infer;"),
    ],
)
def test_columns_that_accents_bring_are_known(
    spark: SparkSession, tmp_path: Path, markers: bytes, setting: str
) -> None:
    write_files(tmp_path / "in" / "r.markers", {"1.jsonl": markers})
    run = given(spark, tmp_path, {"1.csv": b"x,y\n1.5,a\n"}, setting + OPTIONAL)
    run.simulate()
    run.run()
    (row,) = filter(is_tuple, run.output("r"))
    assert 1.5 in row.values()


def test_an_output_in_csv_is_refused() -> None:
    with pytest.raises(DiagnosticError) as error:
        compile_query(QUERY.replace("to json", "to csv"))
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == "RQ113"
    assert "cannot have the format `csv`" in diagnostic.message


@pytest.mark.rest
def test_light_commands_start_no_spark(tmp_path: Path) -> None:
    write_files(tmp_path / "r", FILES)
    write_files(tmp_path / "ops", {"1.jsonl": SWITCH})
    (tmp_path / "q.rq").write_text(QUERY)
    program = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from cedilla.runtime.hosts.cli.main import main\n"
        "for words in (['check', 'q.rq'], ['explain', 'q.rq', '--full'], ['simulate', 'q.rq', '--sink', 'r=out'],\n"
        "              ['validate', 'r', '--query', 'q.rq', '--markers', 'ops'], ['suspect', 'r', '--query', 'q.rq'],\n"
        "              ['trace', 'q.rq', '--on', 'r', '[[-(city)]]']):\n"
        "    result = CliRunner().invoke(main, words)\n"
        "    assert result.exit_code in (0, 1) and 'Traceback' not in result.output, (words, result.output)\n"
        "    assert result.exception is None or isinstance(result.exception, SystemExit), (words, result.exception)\n"
        "assert 'pyspark' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)


def test_canonize_writes_json_lines(tmp_path: Path) -> None:
    write_files(tmp_path / "r", {"1.csv": b"ts,pump,t,zip\n3,2,77,007\n1,1,NaN,\n"})
    write_files(tmp_path / "ops", {"1.jsonl": SWITCH})
    words = ["canonize", str(tmp_path / "r"), "--markers", str(tmp_path / "ops")]
    words += ["--schema", "ts: long, pump: int in {1, 2}, t: double, zip?: string"]
    lines = [json.loads(line) for line in cedilla(*words).stdout.splitlines()]
    assert lines[:2] == [{"ts": 3, "pump": 2, "t": 170.6, "zip": "007"}, {"ts": 1, "pump": 1, "t": "NaN"}]


def test_without_a_schema_columns_tell_their_types(tmp_path: Path) -> None:
    write_files(tmp_path / "in" / "r", {"1.csv": b"ts,ok,city\n1,true,x\n2,,\n"})
    assert validate(
        stream_lines(str(tmp_path / "in" / "r")), declared_schema("ts: long, ok?: boolean, city?: string")
    ).valid
    result = cedilla("validate", str(tmp_path / "in" / "r"))
    assert "valid (2 lines, 2 tuples" in result.output


def test_every_type_has_odd_texts() -> None:
    assert ODD.keys() == TYPES.keys()
