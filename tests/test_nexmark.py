"""NEXMark's queries, and their twins for Spark, against plain SQL over the same streams."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from attrs import frozen
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.compiler.explain.analysis.findings import findings
from cedilla.runtime import run
from cedilla.runtime.epochs.options.options import Options
from tests.benchmarks.nexmark import flink_sql, generator, oracle
from tests.benchmarks.nexmark.spark_twins import REFUSED, TWINS
from tests.kit import ROOT
from tests.kit.nexmark import (
    Bag,
    as_bag,
    bag_of_frame,
    digest,
    digest_of_files,
    read_value,
    tuples_before_closing,
)
from tests.kit.stream import Item, complaints, decode, read_output
from tests.kit.tiers import rest

QUERIES = ROOT / "queries" / "nexmark"
EVENTS, EVENTS_PER_FILE, DENSITY = 6_000, 1_000, 100
FILES_PER_EPOCH = 4  # two of data, two of marks
ACCENTS = 8
RESULTS = {
    "q0": "5520 rows, 41db49f4caafd2f2",
    "q1": "5520 rows, 763ff9ad8da7f593",
    "q2": "14 rows, 6f3005258962c379",
    "q3": "22 rows, 98d4392ed7a800ee",
    "q4": "5 rows, 8637eb418a6fbc7b",
    "q5": "34 rows, 9f3634436dd38981",
    "q6": "321 rows, b9c294940a3d6be6",
    "q7": "6 rows, 3f55c026ad36d281",
    "q8": "32 rows, cacff5f525a694b1",
    "q9": "321 rows, 8fd6c6c8403de341",
    "q10": "5520 rows, 54a0cca532012886",
    "q11": "173 rows, 873dfdd801a6304a",
    "q12": "412 rows, 0ca55340762de651",
    "q13": "5520 rows, 467ff2cdaffdb510",
    "q14": "1574 rows, a38a70ae0d127fbc",
    "q15": "1 rows, 2ad82af1c8241f97",
    "q16": "2424 rows, 87f35f1d7c421346",
    "q17": "356 rows, 6d7b2dc8c41b981a",
    "q18": "1339 rows, 60286a055adbfe8e",
    "q19": "2547 rows, 488d62864dc77bc5",
    "q20": "523 rows, b30c09d67dd95ad9",
    "q21": "5237 rows, 49a665bbd54745d7",
    "q22": "5520 rows, 57d8597013b0edb3",
}
"""What the SQL of each query gives on Spark over the plain data set."""

SHORT = "q5"
"""What `make test` tries; `make test-rest` tries all others."""


@frozen
class Data:
    """A data set, and the same with accents in the bids."""

    plain: Path
    accented: Path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Data:
    root = tmp_path_factory.mktemp("nexmark")
    made = Data(root / "plain", root / "accented")
    generator.write(made.plain, EVENTS, EVENTS_PER_FILE, density=DENSITY)
    generator.write(made.accented, EVENTS, EVENTS_PER_FILE, density=DENSITY, accents=ACCENTS)
    return made


@pytest.fixture(scope="module")
def data(spark: SparkSession, files: Data) -> Iterator[Data]:
    """The same files; the tuples of the first data set are tables of the session, too."""
    for name, schema in generator.SCHEMAS.items():
        tuples = spark.read.schema(schema).json(f"{files.plain}/{name}/*-data.json")
        tuples.cache().createOrReplaceTempView(name)
    yield files
    for name in generator.SCHEMAS:
        spark.table(name).unpersist()
        spark.catalog.dropTempView(name)


def process(spark: SparkSession, query: str, folder: Path, root: Path) -> list[Item]:
    """The canonical tuples that a query of `queries/nexmark/` gives."""
    compiled = compile_query((QUERIES / f"{query}.rq").read_text())
    run(
        compiled,
        Options(
            once=True,
            sources={source.name: str(folder / source.name) for source in compiled.plan.sources},
            sinks={compiled.plan.emits[0].name: str(root / "out")},
            checkpoint=str(root / "checkpoint"),
            files_per_epoch=FILES_PER_EPOCH,
        ),
        spark=spark,
    )
    assert not (root / "checkpoint" / "quarantine").exists()
    return tuples_before_closing(read_output(root / "out"))


@pytest.fixture(scope="module")
def expected(spark: SparkSession, data: Data) -> Callable[[str], Bag]:
    """What plain SQL gives of a query, asked once; on whatever engine, it is what it gives on Spark."""

    @cache
    def of(query: str) -> Bag:
        rows = bag_of_frame(spark.sql(oracle.sql(query)))
        assert digest(rows) == RESULTS[query]
        return rows

    return of


# --- queries -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", oracle.QUERIES)
def test_state_is_bounded(query: str) -> None:
    """`cedilla check --strict` says so, but for query 6, whose text says why."""
    plan = compile_query((QUERIES / f"{query}.rq").read_text()).plan
    unbounded = [finding for finding in findings(plan) if finding.code == "RQ130"]
    assert bool(unbounded) == (query == "q6")


@pytest.mark.rest
@pytest.mark.parametrize("query", oracle.QUERIES)
def test_query(
    spark: SparkSession, data: Data, tmp_path: Path, expected: Callable[[str], Bag], query: str
) -> None:
    assert as_bag(process(spark, query, data.plain, tmp_path)) == expected(query)


@pytest.mark.soak
@pytest.mark.parametrize("query", oracle.QUERIES)
def test_query_with_accents(
    spark: SparkSession, data: Data, tmp_path: Path, expected: Callable[[str], Bag], query: str
) -> None:
    """Channels go over to prices in hundredths one by one; decoded, the output is the same."""
    assert as_bag(process(spark, query, data.accented, tmp_path)) == expected(query)


@pytest.mark.parametrize("query", [name if name == SHORT else rest(name) for name in oracle.QUERIES])
def test_query_with_accents_on_sail(sail: SparkSession, files: Data, tmp_path: Path, query: str) -> None:
    """`--engine sail` runs all tests of this file there, and says what differs."""
    assert digest(as_bag(process(sail, query, files.accented, tmp_path))) == RESULTS[query]


@pytest.mark.rest
@pytest.mark.parametrize("query", oracle.QUERIES)
def test_columns_of_a_result(spark: SparkSession, data: Data, query: str) -> None:
    schema = spark.sql(oracle.sql(query)).schema
    stated = spark.createDataFrame([], oracle.columns(query)).schema
    wide = {"int": "bigint"}
    actual = {f.name: f.dataType.simpleString() for f in schema.fields}
    assert {n: wide.get(t, t) for n, t in actual.items()} == {
        f.name: f.dataType.simpleString() for f in stated.fields
    }


# --- native Spark --------------------------------------------------------------------------------------------


def test_every_query_has_a_twin_or_a_reason() -> None:
    assert sorted([*TWINS, *REFUSED]) == sorted(oracle.QUERIES)


@pytest.mark.soak
@pytest.mark.parametrize("query", TWINS)
def test_twin(
    request: pytest.FixtureRequest,
    spark: SparkSession,
    data: Data,
    tmp_path: Path,
    expected: Callable[[str], Bag],
    query: str,
) -> None:
    if request.config.getoption("--engine") == "sail":
        pytest.skip("Sail has no Structured Streaming")
    frame = TWINS[query](spark, data.plain, "json", 2)
    writer = frame.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    writer = writer.outputMode("append").trigger(availableNow=True).format("parquet")
    writer.start(str(tmp_path / "out")).awaitTermination()
    assert bag_of_frame(spark.read.parquet(str(tmp_path / "out"))) == expected(query)


# --- Flink, which the benchmark runs ---------------------------------------------------------------------------


@pytest.mark.parametrize("query", oracle.QUERIES)
def test_every_query_is_sql_for_flink_or_has_a_reason(query: str) -> None:
    if query in flink_sql.REFUSED:
        return
    *tables, sink, insert = flink_sql.statements(query, "data", "json", keep=True)
    assert insert.startswith("INSERT INTO answers SELECT")
    assert sink.count("`") == 2 * (oracle.columns(query).count(",") + 1)
    read = compile_query((QUERIES / f"{query}.rq").read_text()).plan.sources
    assert {t.split()[3] for t in tables} == {source.name for source in read}


# --- the generator -------------------------------------------------------------------------------------------


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path) -> None:
    """Figures of different versions are of the same data: the digests are of what Spark wrote, by SQL."""
    generator.write(tmp_path / "accents", EVENTS, EVENTS_PER_FILE, density=DENSITY, accents=ACCENTS)
    generator.write(tmp_path / "seed", 20_000, 10_000, seed=-7)
    assert digest_of_files(tmp_path / "accents") == "88825ec4b600a1de"
    assert digest_of_files(tmp_path / "seed") == "3bc8774f82cc0448"


def test_files_are_ordered_by_time_as_by_name(files: Data) -> None:
    for stream in ("person", "auction", "bid"):
        names = sorted((files.plain / stream).iterdir())
        assert len(names) == 2 * EVENTS // EVENTS_PER_FILE
        times = [file.stat().st_mtime_ns for file in names]
        assert times == sorted(set(times))
        assert next((files.plain / "closing" / stream).iterdir()).stat().st_mtime_ns > times[-1]


def test_punctuation_is_true_and_close(files: Data) -> None:
    """No tuple comes after a pattern that it matches; patterns close most of what has come."""
    for stream in ("person", "auction", "bid"):
        items: list[Item] = [
            json.loads(line)
            for file in sorted((files.plain / stream).iterdir())
            for line in file.read_text().splitlines()
        ]
        tuples = decode(items)
        assert len(tuples) == generator.counts(EVENTS)[stream]
        assert list(complaints(items, set(tuples[0]), read_value)) == []
    assert items[-1] == {"$punctuation": "[]"}
    bids = [
        int(i["$punctuation"].split("< ")[1][:-1]) for i in items if "[auction <" in i.get("$punctuation", "")
    ]
    assert bids == [max(1000, 902 + 3 * x // 50) for x in range(EVENTS_PER_FILE, EVENTS, EVENTS_PER_FILE)]


@pytest.mark.rest
def test_parquet_has_the_same_tuples(spark: SparkSession, data: Data, tmp_path: Path) -> None:
    generator.write(tmp_path, EVENTS, EVENTS_PER_FILE, format="parquet", density=DENSITY)
    for stream, schema in generator.SCHEMAS.items():
        parquet = spark.read.schema(schema).parquet(f"{tmp_path}/{stream}/*-data.parquet")
        assert parquet.exceptAll(spark.table(stream)).isEmpty()
        assert parquet.count() == spark.table(stream).count()


@pytest.mark.parametrize(
    ("events", "per_file", "accents"),
    [(1000, 75, 0), (1000, 300, 0), (0, 50, 0), (1000, 1000, 1), (1000, 50, 20000)],
)
def test_numbers_that_do_not_fit(events: int, per_file: int, accents: int) -> None:
    with pytest.raises(ValueError, match=r"events|channels|files"):
        generator.write("out", events, per_file, accents=accents)
