"""Batches of another stream, each counted once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import cedilla
from cedilla.runtime.tools.inspect.doctor import examine

QUERY = """
stream pumps(ts: long, pump: int in {1, 2}, litres: double from "Litres/min" unit litre) from json "pumps"
  punctuated on ts;
table places(pump: int, place: string) from json "places";
flow := aggregate[sum(litres) as litres, count() as n by ts, place](pumps join places on pump);
emit flow to json "flow";
emit pumps to json "raw";
"""
BATCHES: list[list[dict[str, Any]]] = [
    [{"ts": 1, "pump": 1, "litres": 2.0}, {"ts": 1, "pump": 2, "litres": 3.0}],
    [
        {"$accent": "[[unit(litres, m3)]]"},
        {"ts": 1, "pump": 1, "litres": 0.5},
        {"ts": 2, "pump": 9, "litres": 1.0},
    ],
    [],
    [{"ts": 2, "pump": 1, "litres": 0.25}, {"$punctuation": "[ts < 2]"}],
]
COLUMNS = "`$accent` string, `$punctuation` string, ts bigint, pump int, `Litres/min` double"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "places").mkdir()
    (tmp_path / "places" / "1.jsonl").write_text(
        "".join(json.dumps({"pump": pump, "place": "north"}) + "\n" for pump in (1, 2))
    )
    return tmp_path


def frame_of(spark: SparkSession, rows: list[dict[str, Any]]) -> DataFrame:
    names = ("$accent", "$punctuation", "ts", "pump", "litres")
    return spark.createDataFrame([tuple(row.get(name) for name in names) for row in rows], COLUMNS).coalesce(
        1
    )


def check_batches(folder: Path) -> None:
    tuples = list(cedilla.read(folder / "raw").rows())
    assert [(row["ts"], row["pump"], row["litres"]) for row in tuples] == [
        (1, 1, 2.0),
        (1, 2, 3.0),
        (1, 1, 500.0),
        (2, 1, 250.0),
    ]
    assert list(cedilla.read(folder / "flow").rows()) == [
        {"ts": 1, "place": "north", "litres": 505.0, "n": 3}
    ]
    aside = [*(folder / "ck" / "quarantine" / "pumps").glob("*.jsonl")]
    assert [json.loads(file.read_text())["code"] for file in aside] == ["RQ303"]
    assert not examine(str(folder / "ck")).problems
    assert [folder_.name for folder_ in (folder / "ck/batches/pumps").glob("batch=*")] == [
        "batch=000000000003"
    ]


@pytest.mark.rest
@pytest.mark.either_engine
def test_batches_count_once_whatever_is_repeated(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each comes twice, in a new process too; one is cut off between its write and its commit."""
    from cedilla.runtime.epochs.pipeline import program

    def function() -> Callable[[DataFrame, int], None]:
        return cedilla.foreach_batch(QUERY, source="pumps", checkpoint=folder / "ck")

    process = function()
    for number, rows in enumerate(BATCHES):
        if number == 1:
            with monkeypatch.context() as patch:
                patch.setattr(program, "run", lambda *_, **__: (_ for _ in ()).throw(OSError("killed")))
                with pytest.raises(OSError, match="killed"):
                    process(frame_of(spark, rows), number)
        process(frame_of(spark, rows), number)
        process = function()
        process(frame_of(spark, rows), number)
    check_batches(folder)
    with pytest.raises(cedilla.DiagnosticError, match=r"RQ489.*batch 0 comes after batch 3"):
        process(frame_of(spark, BATCHES[0]), 0)


@pytest.mark.rest
def test_a_stream_of_spark_gives_its_batches(spark: SparkSession, folder: Path) -> None:
    """A restart of the stream goes on; a stream with a new checkpoint is another one."""
    (folder / "in").mkdir()

    def drain(checkpoint: str) -> None:
        stream = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
        sink = cedilla.foreach_batch(QUERY, source="pumps", checkpoint=folder / "ck")
        started = stream.writeStream.foreachBatch(sink).option("checkpointLocation", str(folder / checkpoint))
        started.trigger(availableNow=True).start().awaitTermination()

    for number, rows in enumerate(BATCHES):
        frame_of(spark, rows).write.parquet(str(folder / "made" / str(number)))
        (file,) = (folder / "made" / str(number)).glob("*.parquet")
        file.rename(folder / "in" / f"{number}.parquet")
        drain("spark")
    check_batches(folder)
    with pytest.raises(Exception, match="RQ489"):
        drain("another")


def test_what_is_wrong_is_told_before_the_first_batch(folder: Path) -> None:
    for arguments, expected in (
        ({"source": "pump"}, "did you mean `pumps`?"),
        ({"source": "places"}, "the query has no `places`; it has pumps"),
        ({"source": "pumps", "once": True}, "`once` is set by `foreach_batch`"),
        ({"source": "pumps", "enigne": "sail"}, "did you mean `engine`?"),
        ({"source": "pumps", "checkpoint": "s3://bucket/ck"}, "batches are kept in a local folder"),
    ):
        with pytest.raises(cedilla.DiagnosticError) as caught:
            cedilla.foreach_batch(QUERY, **{"checkpoint": "ck", **arguments})
        (diagnostic,) = caught.value.diagnostics
        assert expected in f"{diagnostic.message} {diagnostic.help}"
