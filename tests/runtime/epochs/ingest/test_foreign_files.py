"""Files of foreign programs: whatever their bytes are, they give rows, rejected lines or a code, and no exception."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from cedilla.runtime.connectors.formats.parquet.delta_log import DeltaLog
from cedilla.runtime.connectors.formats.parquet.table_log import TableFields
from cedilla.runtime.connectors.records.record_files import one_line, record_of
from cedilla.runtime.connectors.storage.files import Files, epoch_name
from cedilla.runtime.epochs.checkpoint.inventory import quarantined
from cedilla.runtime.epochs.checkpoint.set_aside import UNREADABLE
from cedilla.runtime.tools.inspect.quarantine_counts import QuarantineCounts, counts_of
from tests.kit.command import cedilla
from tests.kit.errors import error_of, errors_of
from tests.kit.foreign_files import COLUMNS, SCHEMA, SUFFIXES, TEXTS, WRITERS, damaged, query_over, text_array
from tests.kit.query import Query
from tests.kit.seeds import soak_seeds
from tests.kit.stream import is_tuple
from tests.kit.tiers import rest, soak, tiered

OF_PARQUET = query_over("parquet")
OF_SELECTION = """
stream r(n: long, v: string, w: string) from parquet "r";
p := select[v = "a" and w > "b"](r);
emit p to json "o";
"""


def table_of(**columns: object) -> pa.Table:
    return pa.table({"n": pa.array([1, 2, 3]), **columns})


# --- texts that are not UTF-8 ---


@pytest.mark.either_engine
@pytest.mark.parametrize("name", tiered(TEXTS))
def test_a_text_that_is_not_utf8_is_set_aside_with_its_bytes(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    """And its neighbours in the file, before it and after it are kept."""
    run = Query(spark, tmp_path, OF_PARQUET)
    run.write_table("r", table_of(v=["a", "b", "c"]), 1)
    run.write_table("r", table_of(v=TEXTS[name]), 2)
    run.write_table("r", table_of(v=["a", "b", "c"]), 3)
    executor = run.process(files_per_epoch=1)
    rows = sorted((r.place, r.code, r.reason) for r in run.rejections())
    assert rows == [
        ("2.parquet:0", "RQ301", "`v` has bytes that are not UTF-8, FF FE"),
        ("2.parquet:2", "RQ301", "`v` has bytes that are not UTF-8, 61 C3"),
    ]
    assert all("\ufffd" in row.raw for row in run.rejections())
    assert sorted(row["n"] for row in run.output("r")) == [1, 1, 2, 2, 2, 3, 3]
    assert executor.last.read == {"r": 7}


@pytest.mark.either_engine
def test_a_text_that_is_not_utf8_is_set_aside_under_a_condition_on_texts(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The scan of Spark has the condition before the test; rows that it leaves out may be left untested."""
    run = Query(spark, tmp_path, OF_SELECTION)
    run.write_table("r", table_of(v=["a", "a", "b"], w=["c", "d", "a"]), 1)
    run.write_table("r", table_of(v=["a", "b", "a"], w=TEXTS["plain"]), 2)
    run.process(files_per_epoch=1)
    assert sorted(row["n"] for row in run.output("p") if is_tuple(row)) == [1, 2]
    assert {"2.parquet:0", "2.parquet:2"} == {row.place for row in run.rejections()}


@pytest.mark.either_engine
def test_a_marker_that_is_not_utf8_ends_the_query_at_its_row(spark: SparkSession, tmp_path: Path) -> None:
    """With a replacement character in it, it would describe other tuples."""
    run = Query(spark, tmp_path, OF_PARQUET)
    marker = text_array([b"[[v = '\xff', alter(x, y -> y * 2)]]"])
    columns = {"n": pa.array([1, None]), "$accent": pa.concat_arrays([pa.nulls(1, pa.string()), marker])}
    run.write_table("r", pa.table(columns), 1)
    error = error_of(run.process)
    assert (error.code, error.message[:48]) == ("RQ212", "the marker has bytes that are not UTF-8, 5B 5B 7")
    assert [row["n"] for row in run.output("r") if is_tuple(row)] == [1]


OF_TABLE = """
table names(n: long, v: string) from parquet "names";
stream r(n: long, v: string in names.v) from json "r";
emit r to json "o";
"""


@pytest.mark.either_engine
def test_a_text_that_is_not_utf8_in_the_table_of_a_domain_is_a_code(
    spark: SparkSession, tmp_path: Path
) -> None:
    run = Query(spark, tmp_path, OF_TABLE)
    run.write_table("names", table_of(v=TEXTS["plain"]), 1)
    run.write("r", [{"n": 1, "v": "ok"}])
    error = error_of(run.run)
    assert (error.code, "names/1.parquet: `v` has bytes that are not UTF-8" in error.message) == (
        "RQ321",
        True,
    )


# --- columns ---


@pytest.mark.either_engine
@pytest.mark.parametrize(
    ("names", "column"),
    tiered([(["n", "v", "v"], "v"), (["n", "v", "y", "y"], "y"), (["n", "$accent", "$accent"], "$accent")]),
)
def test_two_columns_of_one_name_end_the_query_at_their_file(
    spark: SparkSession, tmp_path: Path, names: list[str], column: str
) -> None:
    """With all before it committed; a file without them in its place continues."""
    run = Query(spark, tmp_path, OF_PARQUET)
    run.write_table("r", table_of(), 1)
    path = run.write_table("r", pa.Table.from_arrays([pa.nulls(1, pa.string())] * len(names), names), 2)
    for _ in range(2):
        error = error_of(run.process)
        assert error.code == "RQ319"
        assert (
            f"{path.name} cannot be read as Parquet: two of its columns have the name `{column}`"
            in error.message
        )
        assert [row["n"] for row in run.output("r")] == [1, 2, 3]
    run.write_table("r", table_of(), 2)
    run.process()
    assert len(run.output("r")) == 6


@pytest.mark.either_engine
def test_two_fields_of_one_name_inside_of_a_column_are_told(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, OF_PARQUET)
    inner = pa.StructArray.from_arrays([pa.array([1, 2, 3])] * 2, ["a", "a"])
    run.write_table("r", table_of(v=pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), inner)), 1)
    error = error_of(run.process)
    assert (error.code, error.message.rpartition(" ")[2]) == ("RQ319", "`v.a`")


TYPES = {
    "time32": ("time32[ms]", ["00:00:00.001", "00:00:00.002", "00:00:00.003"]),
    "time64": ("time64[us]", ["00:00:00.000001", "00:00:00.000002", "00:00:00.000003"]),
    "decimal256": ("decimal256(76, 3)", ["1.000", "2.000", None]),
    "identity": ("extension<arrow.uuid>", ["YWFhYWFhYWFhYWFhYWFhYQ=="] * 3),
}
"""A type by its name, and its values as the quarantine has them."""


@pytest.mark.either_engine
@pytest.mark.parametrize("name", tiered(TYPES))
def test_a_type_that_no_engine_reads_is_told_with_its_column(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    """And the quarantine has its values: `raw` was without them."""
    run = Query(spark, tmp_path, OF_PARQUET)
    run.write_table("r", table_of(x=COLUMNS[name]), 1)
    run.process()
    type_, values = TYPES[name]
    rows = sorted(run.rejections(), key=lambda row: row.line)
    assert {row.text for row in rows} == {
        f"RQ301 `x` must be a double, found a value of a column of type {type_}"
    }
    shown = [{"n": n} | ({} if value is None else {"x": value}) for n, value in enumerate(values, start=1)]
    assert [json.loads(row.raw) for row in rows] == shown


@pytest.mark.either_engine
def test_a_moment_that_python_does_not_have_is_a_text(spark: SparkSession, tmp_path: Path) -> None:
    """The values of strings are counted, in Python."""
    run = Query(spark, tmp_path, OF_PARQUET)
    run.write_table("r", table_of(v=pa.array([1, 2**45, 2**60], pa.int64()).cast(pa.timestamp("us"))), 1)
    run.process()
    years = [row["v"].lstrip("+").partition("-")[0] for row in run.output("r")]
    assert years == ["1970", "1971", "38504"]


@pytest.mark.either_engine
def test_a_moment_that_no_engine_has_is_set_aside(spark: SparkSession, tmp_path: Path) -> None:
    """In milliseconds it is more than 64 bits of microseconds."""
    run = Query(spark, tmp_path, OF_PARQUET)
    run.write_table("r", table_of(v=pa.array([1, -(2**60), 2**60], pa.timestamp("ms"))), 1)
    run.process()
    assert [row["n"] for row in run.output("r")] == [1]
    assert [row.text for row in run.rejections()] == ["RQ301 `v` has a value beyond all bounds"] * 2


# --- tools that read files ---


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"v": TEXTS["plain"]}, "1.parquet:0: `v` has bytes that are not UTF-8, FF FE"),
        ({"v": COLUMNS["far moments"]}, "1.parquet:1: `v` has a value beyond all bounds"),
        ({"v": COLUMNS["bytes"]}, "1.parquet: its column `v` is of type binary, as in no output"),
        ({"v": COLUMNS["time32"]}, "1.parquet: its column `v` is of type time32[ms], as in no output"),
    ],
)
def test_read_tells_what_no_output_has(tmp_path: Path, columns: dict[str, pa.Array], problem: str) -> None:
    path = Query.without_engine(tmp_path, "").write_table("o", table_of(**columns), 1)
    done = cedilla("read", path.parent)
    assert done.exit_code == 1
    assert f"error[RQ423]: {path.parent}/{problem}" in done.stderr


def test_read_tells_bytes_that_are_not_utf8_in_outputs_of_text(tmp_path: Path) -> None:
    for name, content, message in (
        ("1.jsonl", b'{"n": 1}\n{"v": "\xff"}\n', "1.jsonl:2: the line is not a JSON object"),
        (
            "1.xml",
            b"<r><n>1</n></r>\n<r><v>\xff</v></r>\n",
            "1.xml:2: the text has bytes that are not UTF-8, FF",
        ),
    ):
        path = tmp_path / name / name
        path.parent.mkdir()
        path.write_bytes(content)
        done = cedilla("read", path.parent, "--schema", SCHEMA)
        assert (done.exit_code, f"error[RQ423]: {path.parent}/{message}" in done.stderr) == (1, True), (
            done.stderr
        )


# --- files with any bytes ---


def codes_only(act: Callable[[], object]) -> None:
    """Asserts that nothing but a code ends an act; RQ325 is one of an engine that nobody has foreseen."""
    assert "RQ325" not in {error.code for error in errors_of(act)}


def command_ends(*arguments: object) -> None:
    done = cedilla(*arguments)
    assert done.exit_code in (0, 1), done.output


SEEDS = [*range(2), *map(rest, range(2, 12)), *map(soak, soak_seeds(200))]


@pytest.mark.either_engine
@pytest.mark.parametrize("seed", SEEDS)
def test_any_bytes_give_rows_rejected_lines_or_a_code(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    for format_, write in WRITERS.items():
        rng = Random(f"{format_} {seed}")
        run = Query(spark, tmp_path / format_, query_over(format_))
        path = run.root / "in" / "r" / f"1.{SUFFIXES[format_]}"
        path.parent.mkdir(parents=True)
        path.write_bytes(damaged(rng, write(rng)) if rng.random() < 0.9 else write(rng))
        codes_only(run.run)
        if format_ in ("json", "csv", "otlp"):
            codes_only(run.simulate)


@pytest.mark.parametrize("seed", SEEDS)
def test_tools_take_any_bytes_as_well(tmp_path: Path, seed: int) -> None:
    for format_, write in WRITERS.items():
        rng = Random(f"{format_} {seed}")
        path = tmp_path / f"1.{SUFFIXES[format_]}"
        path.write_bytes(damaged(rng, write(rng)))
        for schema in ([], ["--schema", SCHEMA]):
            command_ends("read", path, *schema)
            for tool in ("validate", "canonize", "suspect"):
                command_ends(tool, path, *schema)


@pytest.mark.either_engine
def test_a_damaged_page_of_parquet_is_a_code(spark: SparkSession, tmp_path: Path) -> None:
    """Its footer is whole, so only the job that reads the rows notices; the epoch before stays."""
    run = Query(spark, tmp_path, 'stream r(k: int) from parquet "r"; emit r to json "out";')
    run.write_table("r", pa.table({"k": [1]}), 1)
    path = run.write_table("r", pa.table({"k": [2, 3]}), 2)
    content = bytearray(path.read_bytes())
    content[4:12] = b"\xff" * 8
    path.write_bytes(content)
    (error,) = errors_of(lambda: run.run(files_per_epoch=1))
    assert error.code == "RQ414"
    assert f"{path.name} cannot be read as Parquet: " in error.message
    assert run.output("r") == [{"k": 1}]


# --- texts of JSON that are no files of tuples ---

DEEP = '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}"
VERSION = """
{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
{"metaData": {"id": "x", "partitionColumns": ["a"], "configuration": {"delta.columnMapping.mode": "id"}, "schemaString":
"{\\"fields\\": [{\\"name\\": \\"a\\", \\"type\\": \\"date\\", \\"metadata\\": {\\"delta.columnMapping.id\\": 1}}]}"}}
{"add": {"path": "1.parquet", "size": 10, "dataChange": true, "partitionValues": {"a": "x"}}}
""".replace("\nschema", "schema").replace('":\n', '": ')


def log_with(folder: Path, content: bytes) -> DeltaLog:
    path = folder / "_delta_log" / f"{0:020d}.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return DeltaLog(Files(), "r", str(folder))


@pytest.mark.parametrize("seed", [*range(30), *map(soak, soak_seeds(100))])
def test_any_bytes_in_the_log_of_a_table_give_files_or_a_code(tmp_path: Path, seed: int) -> None:
    log = log_with(tmp_path, damaged(Random(seed), VERSION.encode()))
    (entry,) = log.entries()
    for act in (lambda: log.identity([entry]), lambda: log.added(entry, TableFields())):
        assert {error.code for error in errors_of(act)} <= {"RQ439", "RQ472"}


def added(path: str = "1.parquet", size: object = 10) -> str:
    return json.dumps({"add": {"path": path, "size": size, "dataChange": True}})


@pytest.mark.parametrize(
    "content",
    [
        *('{"metaData": 1}', "[1]", DEEP, '{"add": {"path": 1, "size": "x"}}'),
        *(added(size=size) for size in ("x", -1, 1.5, True, [], 2**63)),
        *(added(path) for path in ("a\0b", "\ud800", "%00", "")),
    ],
)
def test_a_version_that_is_not_of_the_protocol_is_told(tmp_path: Path, content: str) -> None:
    log = log_with(tmp_path, content.encode())
    (entry,) = log.entries()
    acts = (partial(log.identity, [entry]), partial(log.added, entry, TableFields()))
    codes = {error.code for act in acts for error in errors_of(act)}
    assert codes == {"RQ439"}


def test_a_deep_record_of_several_lines_stays_a_bad_record() -> None:
    record = DEEP.replace(" ", "\n").encode()
    assert record_of(one_line(record)) == record


def test_rejected_lines_are_read_whatever_they_are(tmp_path: Path) -> None:
    """A deep line is one; a line that no run has written is counted apart."""
    line = {"code": "RQ301", "reason": "no", "position": {"file": "file:/r/1.jsonl", "line": 1}, "raw": DEEP}
    path = tmp_path / "quarantine" / "r" / f"{epoch_name(0)}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(line) + "\n")
    assert quarantined(str(tmp_path)) == {"r": {"RQ301": 1}}
    counts = QuarantineCounts(str(tmp_path))
    assert counts_of(counts.read({"r": ["a"]})) == {"r": {"RQ301": 1}}
    assert not counts.members("r")
    for content in (b"no json\n", b'{"code": "RQ301"}\n', b"\xff\n", b"[]\n", b"[" * 100_000):
        path.write_bytes(content)
        assert quarantined(str(tmp_path)) == {"r": {UNREADABLE: 1}}
        assert counts_of(QuarantineCounts(str(tmp_path)).read({"r": ["a"]})).keys() <= {"r"}
