"""Queries as objects of a program: over rows and frames, in the background, with the messages of the commands."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import cedilla
from tests.kit.errors import error_text
from tests.kit.lines import write_files

QUERY = """
stream pumps(ts: long, pump: int in {1, 2}, litres: double unit litre, at?: timestamp, n?: long) from json "pumps"
  punctuated on ts;
flow := aggregate[sum(litres) as litres, count() as n by ts](pumps);
emit flow to json "flow";
emit pumps to parquet "raw";
"""
ROWS: list[dict[str, Any] | str] = [
    {"ts": 1, "pump": 1, "litres": 2.0, "at": datetime(2020, 1, 1, tzinfo=UTC), "n": None},
    '{"$accent": "[[pump = 1, unit(litres, m3)]]"}',
    {"ts": 1, "pump": 1, "litres": Decimal("0.003"), "at": date(2020, 1, 2), "n": 9007199254740993},
    {"ts": 1, "pump": 7, "litres": 1},
    {"$punctuation": "[ts < 5]"},
]
FRAME = pd.DataFrame(
    {
        "ts": [1, 1, 2],
        "pump": pd.Categorical([1, 2, 9]),
        "litres": [1.5, float("nan"), 2],
        "n": [1, None, 3],
        "at": pd.to_datetime(["2020-01-01", "2020-01-02", None]),
    }
)


class Exporter:
    """A frame of a library that only has Arrow's C interface."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


FRAMES: dict[str, Callable[[], Any]] = {
    "pandas": lambda: FRAME,
    "Arrow": lambda: pa.Table.from_pandas(FRAME),
    "polars": lambda: pl.from_arrow(pa.Table.from_pandas(FRAME)),
    "any library": lambda: Exporter(pa.Table.from_pandas(FRAME)),
}


def frame_rows(frame: Any) -> list[dict[str, Any]]:
    match frame:
        case pa.Table():
            table = frame
        case pl.DataFrame():
            table = frame.to_arrow()
        case _:
            table = pa.Table.from_pandas(frame)
    return [{n: v for n, v in row.items() if v is not None} for row in table.to_pylist()]


def test_rows_come_back_as_frames_with_markers_and_rejected_tuples() -> None:
    results = cedilla.query(QUERY).simulate(pumps=ROWS)
    assert frame_rows(results["flow"]) == [{"ts": 1, "litres": 5.0, "n": 2}]
    assert frame_rows(results["pumps"]) == [
        {"ts": 1, "pump": 1, "litres": 2.0, "at": datetime(2020, 1, 1, tzinfo=UTC)},
        {"ts": 1, "pump": 1, "litres": 3.0, "at": datetime(2020, 1, 2, tzinfo=UTC), "n": 9007199254740993},
    ]
    assert results.markers["flow"] == ("[ts < 5]",)
    assert results.markers["pumps"][0].startswith("[[pump = 1, alter(litres")
    assert results.rejected[["source", "code"]].to_numpy().tolist() == [["pumps", "RQ303"]]
    assert json.loads(str(results.rejected["raw"][0])) == {"ts": 1, "pump": 7, "litres": 1}
    latest = cedilla.query(QUERY).simulate({"pumps": ROWS}, units="latest")["pumps"]
    assert latest["litres"].tolist() == [0.002, 0.003]
    assert "<table" in results._repr_html_()
    assert results["flow"].attrs["units"] == results.units["flow"] == {"litres": "litre"}
    assert "<h4>flow: litres in litre</h4>" in results._repr_html_()


@pytest.mark.parametrize("kind", FRAMES)
def test_run_and_simulate_read_a_frame_alike(kind: str) -> None:
    """Categories, gaps that make doubles of whole numbers, times without a zone."""
    query = cedilla.query(QUERY)
    simulated = query.simulate(pumps=FRAMES[kind]())
    run = query.run(sources={"pumps": FRAMES[kind]()}, engine="sail")
    assert run is not None
    for results in (simulated, run):
        assert frame_rows(results["pumps"]) == [
            {"ts": 1, "pump": 1, "litres": 1.5, "at": datetime(2020, 1, 1, tzinfo=UTC), "n": 1}
        ]
        assert isinstance(
            results["pumps"], {"pandas": pd.DataFrame, "polars": pl.DataFrame}.get(kind, pa.Table)
        )
        assert sorted(results.rejected["code"]) == ["RQ302", "RQ303"]
    rows = query.run(sources={"pumps": ROWS}, engine="sail")
    assert rows is not None
    assert frame_rows(rows["flow"]) == [{"ts": 1, "litres": 5.0, "n": 2}]


@pytest.mark.either_engine
def test_settings_of_a_session_change_nothing_and_stay(spark: SparkSession) -> None:
    """A DataFrame comes and goes; those that the session had are there afterwards, also after an error."""
    own = {"spark.sql.session.timeZone": "America/New_York", "spark.sql.parquet.outputTimestampType": "INT96"}
    before = {name: spark.conf.get(name, None) for name in own}
    try:
        for name, value in own.items():
            spark.conf.set(name, value)
        frame = spark.createDataFrame(pa.Table.from_pandas(FRAME.astype({"pump": "int64"}))).selectExpr(
            "ts", "cast(pump as int) pump", "litres", "n", "timestamp'2020-01-01T05:00:00Z' as at"
        )
        results = cedilla.run(QUERY, sources={"pumps": frame}, spark=spark)
        assert results is not None
        moments = results["pumps"].selectExpr("ts", "pump", "unix_seconds(at) AS at").collect()
        assert [row.asDict() for row in moments] == [
            {"ts": 1, "pump": 1, "at": int(datetime(2020, 1, 1, 5, tzinfo=UTC).timestamp())}
        ]
        assert type(results["pumps"]) is type(frame)
        with pytest.raises(cedilla.DiagnosticError, match="RQ302"):
            cedilla.run(
                QUERY, cedilla.Options(settings={"invalid": "abort"}), sources={"pumps": frame}, spark=spark
            )
        assert {name: spark.conf.get(name, None) for name in own} == own
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


NESTED = """
stream pumps(ts: long, city: string from "place.city", zip?: string from "code") from json "pumps";
emit pumps to json "out";
"""


def test_names_of_fields_and_columns_find_their_attributes() -> None:
    query = cedilla.query(NESTED)
    nested = query.simulate(pumps=[{"ts": 1, "place": {"city": "Rom"}, "code": "7"}])
    flat = query.simulate(pumps=pd.DataFrame({"ts": [1], "city": ["Rom"], "code": ["7"]}))
    assert frame_rows(nested.frame) == frame_rows(flat.frame) == [{"ts": 1, "city": "Rom", "zip": "7"}]
    archive = 'stream r(n: int from "No. 1") from csv "r" none {"NA"}; emit r to json "out";'
    assert frame_rows(cedilla.query(archive).simulate(r=[{"No. 1": 5}]).frame) == [{"n": 5}]
    either = cedilla.query(archive.replace('"No. 1"', '"No. 1" or "No.2"'))
    assert frame_rows(either.simulate(r=[{"No. 1": 5}, {"No.2": 6}]).frame) == [{"n": 5}, {"n": 6}]
    assert frame_rows(either.simulate(r=pd.DataFrame({"No.2": [6]})).frame) == [{"n": 6}]
    both = pd.DataFrame({"No. 1": [5], "No.2": [6]})
    assert error_text(lambda: either.simulate(r=both)).startswith("RQ488 `n` is read from one of its columns")


def test_what_is_wrong_is_told_as_by_the_command(tmp_path: Path) -> None:
    query = cedilla.query(QUERY)
    assert "RQ477 sources: the query has no `pmups`" in error_text(lambda: query.simulate(pmups=ROWS))
    assert "did you mean `once`?" in error_text(lambda: query.run(onec=True))
    assert "did you mean `drift`?" in error_text(
        lambda: query.run(sources={"pumps": ROWS}, settings={"drfit": "abort"})
    )
    assert "did you mean `pumps`?" in error_text(lambda: query.start(sources={"pump": tmp_path}))
    assert error_text(lambda: query.start(sources={"pumps": tmp_path / "none"})).startswith("RQ401")
    assert error_text(lambda: query.simulate(pumps=5)).startswith("RQ488 `pumps` is given as int")
    assert error_text(lambda: query.run(sources={"pumps": ROWS}, checkpoint=tmp_path)).startswith("RQ477")
    nested = pd.DataFrame({"ts": [1], "place": [{"city": "Rom"}]})
    assert error_text(lambda: cedilla.query(NESTED).simulate(pumps=nested)).startswith(
        "RQ488 `city` is read from"
    )


def test_a_query_runs_in_the_background_until_it_is_stopped(tmp_path: Path) -> None:
    write_files(tmp_path / "pumps", {"1.jsonl": b'{"ts": 1, "pump": 1, "litres": 2}\n'})
    query = cedilla.query(QUERY)
    arguments: dict[str, Any] = {
        "sources": {"pumps": tmp_path / "pumps"},
        "sinks": {"flow": tmp_path / "flow", "raw": tmp_path / "raw"},
        "checkpoint": tmp_path / "ck",
        "engine": "sail",
    }
    handle = query.start(**arguments, interval=0.05)
    deadline = time.monotonic() + 60
    while handle.last is None and handle.is_active and time.monotonic() < deadline:
        time.sleep(0.05)
    assert handle.status().read == {"pumps": 1}
    handle.stop(60)
    assert not handle.is_active
    assert "stopped, epoch 0" in repr(handle)
    (tmp_path / "pumps" / "2.jsonl").write_text('{"$accent": "[[alter(litres, y -> y * y)]]"}\n')
    failing = query.start(**arguments)
    with pytest.raises(cedilla.DiagnosticError, match="RQ202"):
        failing.await_termination(60)


def test_a_query_is_a_picture_with_its_warnings() -> None:
    picture = cedilla.query(QUERY)._repr_html_()
    assert picture.startswith("<svg")
    assert picture.count("<rect") == 4
    assert picture.count("<path") == 4  # three arrows, and their head
    doubtful = cedilla.query('stream r(a: int) from json "r"; s := distinct(r); emit s to json "o";')
    assert doubtful.warnings
    assert doubtful.warnings[0].code in doubtful._repr_html_()


def test_the_folder_of_a_query_stays_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled once, a query reads next to its file as the command does."""
    project = tmp_path / "project"
    write_files(project / "pumps", {"1.jsonl": b'{"ts": 1, "pump": 1, "litres": 2}\n'})
    text = QUERY.replace('"pumps"', f'"{project}/pumps"').replace('"flow"', f'"{project}/flow"')
    (project / "q.rq").write_text(text.replace('"raw"', f'"{project}/raw"'))
    monkeypatch.delenv("CEDILLA_ALLOW_PATH", raising=False)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    query = cedilla.query(project / "q.rq")
    assert frame_rows(query.simulate()["pumps"]) == [{"ts": 1, "pump": 1, "litres": 2.0}]
    query.run(once=True, engine="sail", checkpoint="ck")
    assert list(cedilla.read(project / "raw").rows()) == [{"ts": 1, "pump": 1, "litres": 2.0}]
    assert error_text(lambda: cedilla.query(text).simulate()).startswith("RQ484")


def test_lists_come_from_frames_too() -> None:
    query = cedilla.query(
        'stream r(ts: long, tags: list of string) from json "r"; o := unnest[tags as tag](r); emit o to json "o";'
    )
    table = pa.table({"ts": [1, 2], "tags": [["a", "b"], ["c"]]})
    run = query.run(sources={"r": table}, engine="sail")
    assert run is not None
    for results in (query.simulate(r=table), run):
        assert sorted((row["ts"], row["tag"]) for row in frame_rows(results.frame)) == [
            (1, "a"),
            (1, "b"),
            (2, "c"),
        ]


def refused(data: Any) -> str:
    query = cedilla.query('stream r(ts: long, x?: double, s?: string) from json "r"; emit r to json "o";')
    return error_text(lambda: query.simulate(r=data)).partition("; ")[0]


def test_columns_that_no_attribute_reads_are_refused_by_name() -> None:
    """Parquet has lengths of time as whole numbers of nanoseconds, and pandas periods as ordinals."""
    second = pd.to_timedelta([1], unit="s")
    assert refused(pd.DataFrame({"ts": [1], "x": second})).startswith("RQ488 column `x` is of type duration")
    assert "RQ488 column `x` is of type duration" in refused(pl.DataFrame({"ts": [1], "x": second}))
    assert refused(pa.table({"ts": [1], "x": [[{"a": second[0]}]]})).startswith("RQ488 column `x`")
    periods = pd.period_range("2020", periods=1, freq="M")
    assert refused(pd.DataFrame({"ts": [1], "s": periods})).startswith("RQ488 column `s` is of type ext")


def test_values_of_a_frame_are_judged_as_those_of_parquet() -> None:
    """A text is no time, and bytes may be no text: their rows are rejected by both, and not read by one."""
    text = 'stream r(ts: int, at?: timestamp, s?: string) from json "r"; emit r to json "o";'
    columns = {"ts": [1, 2, 3], "at": [None, "2020-01-01T00:00:00Z", None], "s": [b"\xff", b"a", b"b"]}
    query = cedilla.query(text)
    simulated = query.simulate(r=pa.table(columns))
    run = query.run(sources={"r": pa.table(columns)}, engine="sail")
    assert run is not None
    for results in (simulated, run):
        assert results.frame["ts"].to_pylist() == [3]
        assert sorted(results.rejected["reason"]) == [
            "`at` must be a timestamp, found a value of a column of type string",
            "`s` must be a string, found a value of a column of type binary",
        ]


def test_columns_of_several_types_are_refused_and_named() -> None:
    mixed = pd.DataFrame({"ts": [1, 2], "s": pd.Series(["a", 5], dtype=object)})
    assert "type object" in refused(mixed)
    assert "column s" in refused(mixed)
    twice = pd.concat([pd.DataFrame({"ts": [1], "x": [2.0]})] * 2, axis=1)
    assert refused(twice).startswith("RQ488 the frame is not a table of columns with one type each")
    times = [datetime(2020, 6, 1, 2), datetime(2020, 6, 1, 2, tzinfo=UTC)]
    moments = pd.DataFrame({"ts": [1, 2], "s": pd.Series(times, dtype=object)})
    assert refused(moments) == "RQ488 column `s` has times with a zone and times without one"
    assert refused([{"ts": 1, "s": {5}}]).startswith("RQ488 row 0 is not an object of JSON")


def test_the_index_of_a_frame_with_a_name_is_a_column() -> None:
    query = cedilla.query('stream r(ts: long, x?: double) from json "r"; emit r to json "o";')
    frame = pd.DataFrame({"ts": [1], "x": [2.5]}).set_index("x")
    assert frame_rows(query.simulate(r=frame)["r"]) == [{"ts": 1, "x": 2.5}]


def test_rejected_tuples_are_shown_whatever_signs_they_have() -> None:
    """Python takes U+2028 and U+0085 for ends of lines, and JSON does not."""
    query = cedilla.query('stream r(ts: long, s: string) from json "r"; emit r to json "o";')
    run = query.run(sources={"r": [{"ts": "x", "s": "a\u2028b\u0085c"}]}, engine="sail")
    assert run is not None
    assert run.rejected["raw"].tolist() == ['{"ts": "x", "s": "a\u2028b\u0085c"}']


ZONED = 'stream r(ts: long, at: timestamp zone "Europe/Berlin") from json "r"; emit r to json "o";'


def test_run_and_simulate_read_local_times_of_a_frame_alike() -> None:
    """A time without a zone is a local one, and one with a zone a moment; year 20000 is none."""
    query = cedilla.query(ZONED)
    local = pa.array([datetime(2020, 6, 1, 2)], pa.timestamp("us"))
    moment = pa.array([datetime(2020, 6, 1, tzinfo=UTC)], pa.timestamp("us", "America/New_York"))
    for times in (local, moment):
        frame = pa.table({"ts": [1], "at": times})
        expected = [{"ts": 1, "at": datetime(2020, 6, 1, tzinfo=UTC)}]
        assert frame_rows(query.simulate(r=frame)["r"]) == expected
    run = query.run(sources={"r": pa.table({"ts": [1], "at": local})}, engine="sail")
    assert run is not None
    assert frame_rows(run["r"]) == expected
    text = cedilla.query('stream r(ts: long, at: string) from json "r"; emit r to json "o";')
    for unit in ("s", "ms", "us", "ns"):
        simulated = text.simulate(r=pa.table({"ts": [1], "at": local.cast(pa.timestamp(unit))}))["r"]
        assert frame_rows(simulated) == [{"ts": 1, "at": "2020-06-01T02:00:00.000000Z"}]
    far = pa.table({"ts": [1], "at": pa.array([2**59], pa.timestamp("us"))})
    assert query.simulate(r=far).rejected["code"].tolist() == ["RQ301"]


@pytest.mark.either_engine
def test_a_frame_of_spark_has_moments_for_zones_and_no_local_times(spark: SparkSession) -> None:
    query = cedilla.query(ZONED)
    moments = spark.sql("SELECT 1L AS ts, timestamp'2020-06-01T00:00:00Z' AS at")
    run = query.run(sources={"r": moments}, spark=spark)
    assert run is not None
    assert run["r"].selectExpr("unix_seconds(at) AS at").collect()[0]["at"] == 1590969600
    local = spark.sql("SELECT 1L AS ts, timestamp_ntz'2020-06-01T02:00:00' AS at")
    assert error_text(lambda: query.run(sources={"r": local}, spark=spark)).startswith(
        "RQ488 column `at` has"
    )
    length = spark.sql("SELECT 1L AS ts, INTERVAL '1' SECOND AS at")
    assert error_text(lambda: query.run(sources={"r": length}, spark=spark)).startswith(
        "RQ488 column `at` is"
    )
