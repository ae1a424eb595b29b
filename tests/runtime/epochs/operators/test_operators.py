"""Each operator on an engine, with accents in between, against what plain Python says of the canonical data."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit.compare import plain, values_of
from tests.kit.query import Query
from tests.kit.stream import Item, complaints, decode, is_tuple
from tests.runtime.epochs.operators.streams import ALTER_FIRST, ALTER_SECOND, SENSOR_ROWS, sensor_stream

pytestmark = pytest.mark.either_engine

HEAD = 'stream r(ts: long, s: int in {1, 2}, t: double, n?: int) from json "in" punctuated on ts;\n'


def test_select_reads_canonical_values_whatever_the_units(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, HEAD + 'out := select[t > 8 and not n = 0](r); emit out to json "o";')
    run.process_parts(3, r=sensor_stream())
    output = run.output("out")
    expected = sorted((float(r["ts"]), r["t"]) for r in SENSOR_ROWS if r["t"] > 8 and r["n"] != 0)
    assert values_of(decode(output), "ts", "t") == expected
    assert list(complaints(output, {"ts", "s", "t", "n"})) == []


def test_project_computes_and_carries_the_alter_through_an_affine_expression(
    spark: SparkSession, tmp_path: Path
) -> None:
    text = HEAD + 'out := project[s, ts, t * 10 - 3 as u, t * t as square](r); emit out to json "o";'
    run = Query(spark, tmp_path, text)
    run.process_parts(3, r=sensor_stream())
    output = run.output("out")
    assert values_of(decode(output), "ts", "u", "square") == sorted(
        (float(r["ts"]), r["t"] * 10 - 3, r["t"] ** 2) for r in SENSOR_ROWS
    )
    accents = [i["$accent"] for i in output if "$accent" in i]
    assert accents == ["[[s = 1, alter(u, y -> y * 2 + 13)]]", "[[s = 2, alter(u, y -> y * 2 + 13)]]"]


def test_project_without_the_described_attribute_waits_for_the_domain(
    spark: SparkSession, tmp_path: Path
) -> None:
    run = Query(spark, tmp_path, HEAD + 'out := project[ts, t](r); emit out to json "o";')
    run.process_parts(3, r=sensor_stream())
    output = run.output("out")
    assert values_of(decode(output), "ts", "t") == sorted((float(r["ts"]), r["t"]) for r in SENSOR_ROWS)
    assert [i["$accent"] for i in output if "$accent" in i] == ["[[alter(t, y -> y * 2 + 1)]]"]


def test_sliding_windows_have_every_tuple_in_each_of_its_windows(spark: SparkSession, tmp_path: Path) -> None:
    text = (
        HEAD
        + """
    w := window[6 every 2 on ts as wid](r);
    out := aggregate[sum(n) as total, count() as rows, max(t) as top by wid](w);
    emit out to json "o";
    """
    )
    run = Query(spark, tmp_path, text)
    run.process_parts(3, r=sensor_stream())
    output = run.output("out")
    windows = {k: [r for r in SENSOR_ROWS if 2 * k <= r["ts"] < 2 * k + 6] for k in range(-2, 12)}
    expected = [
        (float(k), float(sum(r["n"] for r in rows)), float(len(rows)), max(r["t"] for r in rows))
        for k, rows in windows.items()
    ]
    assert values_of(decode(output), "wid", "total", "rows", "top") == expected
    assert list(complaints(output, {"wid", "total", "rows", "top"})) == []


def test_every_aggregate_function(spark: SparkSession, tmp_path: Path) -> None:
    text = (
        HEAD
        + """
    w := window[8 on ts as wid](r);
    out := aggregate[avg(t) as mean, sum(t) as total, count(t) as n, min(t) as low, max(t) as high,
                     stddev(t) as spread, var(t) as variance, avg(t * 2 + 1) as scaled by wid](w);
    emit out to json "o";
    """
    )
    run = Query(spark, tmp_path, text)
    run.process_parts(3, r=sensor_stream())
    output = run.output("out")
    for row in plain(decode(output)):
        values = [r["t"] for r in SENSOR_ROWS if r["ts"] // 8 == row["wid"]]
        assert row == pytest.approx(
            {
                "wid": row["wid"],
                "mean": statistics.mean(values),
                "total": sum(values),
                "n": len(values),
                "low": min(values),
                "high": max(values),
                "spread": statistics.stdev(values),
                "variance": statistics.variance(values),
                "scaled": 2 * statistics.mean(values) + 1,
            }
        )
    changed = {i["$accent"] for i in output if "$accent" in i}
    assert changed == {
        "[[alter(mean, y -> y * 2 + 1)]]",
        "[[alter(low, y -> y * 2 + 1)]]",
        "[[alter(high, y -> y * 2 + 1)]]",
        "[[alter(spread, y -> y * 2)]]",
        "[[alter(variance, y -> y * 4)]]",
        "[[alter(scaled, y -> y * 2 + 1)]]",
    }, "sum and count absorb a shift (theory 2.8)"


def test_windows_over_timestamps_and_heartbeats(spark: SparkSession, tmp_path: Path) -> None:
    text = """
    stream r(at: timestamp, v: double) from json "in" heartbeat at delay 30 seconds;
    w := window[1 minute on at as minute](r);
    out := aggregate[avg by minute except at](w);
    emit out to json "o";
    """
    run = Query(spark, tmp_path, text)
    run.write("r", [{"at": "1970-01-01T00:00:10Z", "v": 1.0}, {"at": "1970-01-01T00:01:20Z", "v": 3.0}])
    run.write("r", [{"at": "1970-01-01T00:00:59Z", "v": 5.0}, {"at": "1970-01-01T00:01:35Z", "v": 7.0}])
    run.write("r", [{"at": "1970-01-01T00:01:00Z", "v": 9.0}, {"at": "1970-01-01T00:03:00Z", "v": 0.0}])
    run.process(files_per_epoch=1)
    assert run.output("out") == [
        {"$punctuation": "[minute < 0]"},
        {"minute": 0, "v": 3.0},
        {"$punctuation": "[minute < 1]"},
        {"minute": 1, "v": 5.0},
        {"$punctuation": "[minute < 2]"},
    ]
    assert [r["code"] for r in run.quarantine("r")] == ["RQ305"]


def test_windows_are_named_by_their_bounds(spark: SparkSession, tmp_path: Path) -> None:
    """On every kind of axis, sliding and tumbling, with values at the ends of their types."""
    text = """
    stream r(at: timestamp, n: long, i: int, x: double, v: double) from json "in" punctuated on at;
    minutes := window[1 minute on at as [begin, end]](r);
    sliding := window[100 every 50 on n as [n_begin, n_end]](minutes);
    out := window[0.1 on x as [low, high]](window[10 on i as [i_begin, i_end]](sliding));
    by_minute := aggregate[sum(v) as total by begin, end](minutes);
    by_end := aggregate[sum(v) as total by end](minutes);
    emit out to json "o";
    emit by_minute to json "m";
    emit by_end to json "e";
    """
    first = {"at": "2013-01-01T00:00:10Z", "n": 120, "i": -(2**31), "x": 0.35, "v": 1.0}
    items: list[Item] = [
        first,
        {"at": "2013-01-01T00:01:10Z", "n": -20, "i": 2**31 - 1, "x": -0.35, "v": 2.0},
        {"$accent": "[[at >= 2013-01-01T00:01:30Z, alter(v, y -> y * 10)]]"},
        {"at": "2013-01-01T00:01:40Z", "n": 0, "i": 9, "x": 7.7, "v": 30.0},
        {"at": "2013-01-01T00:02:10Z", "n": 99, "i": 10, "x": 0.0, "v": 20.0},
        {"$punctuation": "[at < 2013-01-01T00:02:20Z]"},
        {"at": "9999-12-31T23:59:59Z", "n": 7, "i": 0, "x": 2.5, "v": 70.0},
    ]
    run = Query(spark, tmp_path, text)
    run.write("r", items)
    run.write("r", [{"$punctuation": "[]"}])
    run.process(files_per_epoch=1)
    reference = Reference(compile_query(text).plan)
    steps = [reference.step([("r", item) for item in part]) for part in (items, [{"$punctuation": "[]"}])]
    expected = {
        name: [item for step in steps for output in step for item in output[name].items()]
        for name in ("out", "by_minute", "by_end")
    }

    def written(items: list[Item]) -> list[str]:
        return sorted(re.sub(r"\.0+Z", "Z", json.dumps(item)) for item in items)

    for name, rows in expected.items():
        assert written(run.output(name)) == written(rows), name
    window = {"begin": "2013-01-01T00:00:00.000000Z", "end": "2013-01-01T00:01:00.000000Z"}
    numbers = {"i_begin": -(2**31) - 2, "i_end": -(2**31) + 8, "low": 0.3, "high": 0.4}
    bounds = {**window, "n_begin": 100, "n_end": 200, **numbers}
    assert {**first, "at": "2013-01-01T00:00:10.000000Z", **bounds} in run.output("out")
    assert run.output("by_minute")[:5] == [
        {**window, "total": 1.0},
        {"begin": "2013-01-01T00:01:00.000000Z", "end": "2013-01-01T00:02:00.000000Z", "total": 5.0},
        {"$punctuation": '[begin < "2013-01-01T00:02:00Z"]'},
        {"$punctuation": '[end <= "2013-01-01T00:02:00Z"]'},
        {"$accent": "[[alter(total, y -> y * 10)]]"},
    ]
    last = [row for row in run.output("by_end") if "total" in row and "end" not in row]
    assert len(last) == 1, "there is no year 10000"


def test_join_on_attributes_of_other_names_and_self_join(spark: SparkSession, tmp_path: Path) -> None:
    text = """
    stream a(ts: long, x: int, v: double) from json "in" punctuated on ts;
    left := project[ts, x, v](a);
    right := project[x as y, v as w](a);
    out := left join right on left.x = right.y;
    emit out to json "o";
    """
    rows: list[Item] = [{"ts": i, "x": i % 3, "v": float(i)} for i in range(9)]
    run = Query(spark, tmp_path, text)
    run.process_parts(3, a=rows)
    output = run.output("out")
    expected = sorted((float(a["ts"]), b["v"]) for a in rows for b in rows if a["x"] == b["x"])
    assert values_of(decode(output), "ts", "w") == expected


def test_join_state_is_purged_and_never_stored_for_a_table(spark: SparkSession, tmp_path: Path) -> None:
    text = """
    stream r(ts: long, s: int) from json "in" punctuated on ts;
    table names(s: int, name: string) from json "in";
    out := r join names on s;
    emit out to json "o";
    """
    run = Query(spark, tmp_path, text)
    run.write("names", [{"s": 1, "name": "one"}])
    run.write("r", [{"ts": 1, "s": 1}, {"$punctuation": "[s = 2]"}])
    executor = run.process()
    assert list(executor.last.segments) == ["out.right"], (
        "stream tuples are not kept beside a closed relation"
    )
    run.write("r", [{"ts": 2, "s": 1}, {"$punctuation": "[]"}])
    executor = run.executor()
    executor.process(1, {"r": run.files(executor)["r"][1:]})
    assert executor.last.segments == {}
    assert [i["ts"] for i in run.output("out") if is_tuple(i)] == [1, 2]
    assert list((tmp_path / "checkpoint" / "state").rglob("*.parquet")) == []


def test_many_epochs_compact_the_state(spark: SparkSession, tmp_path: Path) -> None:
    text = """
    stream r(ts: long, g: int, v: double) from json "in" punctuated on ts;
    out := aggregate[avg(v) as mean, var(v) as spread by g](r);
    emit out to json "o";
    """
    run = Query(spark, tmp_path, text)
    for i in range(11):
        run.write("r", [{"ts": i, "g": g, "v": float(i * g)} for g in range(3)])
    run.write("r", [{"$punctuation": "[]"}])
    executor = run.process(files_per_epoch=1)
    assert executor.last.segments == {}
    rows = run.canonical("out")
    for row in rows:
        values = [i * row["g"] for i in range(11)]
        assert (row["mean"], row["spread"]) == pytest.approx(
            (statistics.mean(values), statistics.variance(values))
        )
    assert len(rows) == 3


def test_an_output_is_another_querys_input(spark: SparkSession, tmp_path: Path) -> None:
    first = Query(spark, tmp_path / "first", HEAD + 'out := project[ts, t](r); emit out to json "o";')
    items = sensor_stream()
    for start in range(0, len(items), 9):
        first.write("r", items[start : start + 9])
    first.process(files_per_epoch=1)
    text = """
    stream out(ts: long, t: double) from json "in";
    w := window[8 on ts as wid](out);
    mean := aggregate[avg by wid except ts](w);
    emit mean to json "o";
    """
    second = Query(spark, tmp_path / "second", text)
    (tmp_path / "second" / "in").mkdir(parents=True)
    (tmp_path / "first" / "out" / "out").rename(tmp_path / "second" / "in" / "out")
    second.process(files_per_epoch=2)
    assert second.quarantine("out") == []
    rows = {row["wid"]: row["t"] for row in second.canonical("mean")}
    assert rows == pytest.approx(
        {k: statistics.mean(r["t"] for r in SENSOR_ROWS if r["ts"] // 8 == k) for k in range(3)}
    )


def test_a_fleet_changes_sensor_by_sensor_in_one_epoch(spark: SparkSession, tmp_path: Path) -> None:
    fleet = 300
    text = f"""
    stream r(s: int in [1, {fleet}], t: double) from json "in";
    out := aggregate[avg(t) as mean, count() as n except s](r);
    emit out to json "o";
    """.replace(" except s", "")
    rows: list[Item] = []
    for s in range(1, fleet + 1):
        rows += [{"s": s, "t": float(s)}, {"$accent": f"[[s = {s}, alter(t, y -> y * 2 + {s % 7})]]"}]
        rows += [{"s": s, "t": float(s) * 2 + s % 7}]
    run = Query(spark, tmp_path, text)
    run.write("r", rows)
    run.write(
        "r", [*({"s": s, "t": float(s) * 2 + s % 7} for s in range(1, fleet + 1)), {"$punctuation": "[]"}]
    )
    run.process(files_per_epoch=1)
    assert run.output("out")[-2:] == [{"mean": (fleet + 1) / 2, "n": 3 * fleet}, {"$punctuation": "[]"}]


def test_many_small_files_are_one_epoch_in_the_order_of_their_names(
    spark: SparkSession, tmp_path: Path
) -> None:
    """More files than an expression can number; each closes what it brings, so any disorder would show."""
    run = Query(spark, tmp_path, HEAD + 'out := select[t > 0](r); emit out to json "o";')
    for ts in range(90):
        change: list[Item] = [{"$accent": "[[alter(t, y -> y * 2)]]"}] if ts in (30, 60) else []
        row = {"ts": ts, "s": 1, "t": float(2 ** (ts // 30))}
        run.write("r", [*change, row, {"$punctuation": f"[ts <= {ts}]"}])
    run.process()
    assert len(run.reports) == 1
    assert run.quarantine("r") == []
    assert values_of(run.canonical("out"), "ts", "t") == [(float(ts), 1.0) for ts in range(90)]


def test_several_emits_share_state_and_aggregates_may_be_aggregated(
    spark: SparkSession, tmp_path: Path
) -> None:
    text = (
        HEAD
        + """
    table names(s: int, name: string) from json "in";
    joined := r join names on s;
    w := window[8 on ts as wid](joined);
    mean := aggregate[avg(t) as mean by name, wid](w);
    best := aggregate[max(mean) as best by wid](mean);
    emit r to json "o/r";
    emit mean to json "o/mean";
    emit best to json "o/best" in original units;
    """
    )
    run = Query(spark, tmp_path, text)
    run.write("names", [{"s": 1, "name": "one"}, {"s": 2, "name": "two"}])
    items = sensor_stream()
    for start in range(0, len(items), 9):
        run.write("r", items[start : start + 9])
    run.process(files_per_epoch=1)
    means = {
        (name, k): statistics.mean(r["t"] for r in SENSOR_ROWS if r["s"] == s and r["ts"] // 8 == k)
        for s, name in ((1, "one"), (2, "two"))
        for k in range(3)
    }
    assert values_of(run.canonical("r"), "ts", "t") == [(float(r["ts"]), r["t"]) for r in SENSOR_ROWS]
    actual = {(r["name"], r["wid"]): r["mean"] for r in run.canonical("mean")}
    assert actual == pytest.approx(means)
    best = {i["wid"]: i["best"] for i in run.output("best") if is_tuple(i)}
    assert best == pytest.approx({k: max(means["one", k], means["two", k]) for k in range(3)})
    assert [i for i in run.output("r") if "$accent" in i] == [ALTER_FIRST, ALTER_SECOND]
    for emit, names in (
        ("r", {"ts", "s", "t", "n"}),
        ("mean", {"name", "wid", "mean"}),
        ("best", {"wid", "best"}),
    ):
        assert list(complaints(run.output(emit), names)) == []


@pytest.mark.soak
def test_accents_count_from_their_line_in_a_file_of_several_blocks(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Two files of about 25 MB, each read by several tasks; the value is 1 in every unit."""
    text = """
    stream r(i: long, t: double) from json "in";
    out := aggregate[avg(t) as mean, min(t) as low, max(t) as high, count() as n](r);
    emit out to json "o";
    """
    run = Query(spark, tmp_path, text)
    unit, sent = 1.0, 0
    for _ in range(2):
        lines: list[Item | str] = []
        for _ in range(7):
            lines += [f'{{"i": {sent + i}, "t": {unit}, "padding": "{"x" * 40}"}}' for i in range(40_000)]
            sent += 40_000
            lines.append({"$accent": "[[alter(t, y -> y * 2)]]"})
            unit *= 2
        run.write("r", lines)
    run.write("r", [{"$punctuation": "[]"}])
    run.process(files_per_epoch=2)
    assert decode(run.output("out")) == [{"mean": 1, "low": 1, "high": 1, "n": sent}]
