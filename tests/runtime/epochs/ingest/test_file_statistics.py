"""Files that vouch for their tuples are not looked through for bad ones (theory 1.1, D0)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from cedilla.compiler import compile_query, regions
from cedilla.compiler.plan import Plan
from cedilla.runtime.connectors.formats.jsonl.batches import JsonBatches
from cedilla.runtime.connectors.formats.lines.blocks import Block
from cedilla.runtime.connectors.formats.lines.written_tuples import _KEPT
from cedilla.runtime.connectors.formats.sinks.jsonl import JsonLinesSink
from cedilla.runtime.connectors.formats.source import FileStatistics, MarkerLine
from cedilla.runtime.connectors.records.marker import NEXT_FILE
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.storage.parquet import ColumnStatistics
from cedilla.runtime.control.markers.advance import advance
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.engines.spark import costs
from cedilla.runtime.epochs.ingest import file_statistics, intake
from cedilla.runtime.epochs.ingest.file_statistics import proven_valid, region_of_tuples
from cedilla.runtime.epochs.pipeline.load import load
from tests.kit.query import Query, save_parquet
from tests.kit.stream import decode

QUERY = """
stream r(ts: long, s: int in [0, 9], at: timestamp, t: double, note?: string) from parquet "r" punctuated on ts;
out := select[s < 5](project[ts, s](r));
emit out to json "out";
"""


def plan_of(text: str) -> Plan:
    return load(compile_query(text))[0]


PLAN = plan_of(QUERY)
GOOD = {
    "ts": ColumnStatistics(0, 10, 19),
    "s": ColumnStatistics(0, 0, 9),
    "at": ColumnStatistics(0, 0, 10**15),
    "t": ColumnStatistics(0),
    "note": ColumnStatistics(10),
}


def state_after(*markers: tuple[str, str, int]) -> SourceState:
    """The source's state after some markers: kind, text, place."""
    state = SourceState.start(PLAN.sources[0], PLAN.droppable["r"])
    lines = [MarkerLine(kind, text, position) for kind, text, position in markers]
    advanced = advance(PLAN, {"r": state}, {"r": lines})
    assert not advanced.stops
    return advanced.states["r"]


def is_proven_valid(state: SourceState, **ranges: ColumnStatistics) -> bool:
    return (
        proven_valid(PLAN.sources[0], state, {0: FileStatistics(10, {**GOOD, **ranges})}, frozenset())
        is not None
    )


def test_attributes_without_missing_values_are_not_compared_with_regions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of the rules for five attributes, a domain and a punctuation are left."""
    compared: list[object] = []
    lies_outside = file_statistics._Box.lies_outside

    def noted(box: Any, altered: Any, region: Any, universe: Any) -> bool:
        compared.append(region)
        return lies_outside(box, altered, region, universe)

    monkeypatch.setattr(file_statistics._Box, "lies_outside", noted)
    state = state_after(("punctuation", "[ts < 5]", 0))
    assert is_proven_valid(state)
    assert len(compared) == 2


@pytest.mark.parametrize(
    ("ranges", "all_valid"),
    [
        ({}, True),
        ({"note": ColumnStatistics(0)}, True),
        ({"note": ColumnStatistics(3)}, True),
        ({"t": ColumnStatistics(1)}, False),  # one is missing
        ({"at": ColumnStatistics(10)}, False),  # all are
        ({"s": ColumnStatistics(0, 0, 10)}, False),  # outside of the domain
        ({"s": ColumnStatistics(0)}, False),  # unknown
    ],
)
def test_what_a_file_says_of_missing_values_and_domains_counts(
    ranges: Mapping[str, ColumnStatistics], all_valid: bool
) -> None:
    assert is_proven_valid(state_after(), **ranges) is all_valid


@pytest.mark.parametrize(
    ("type_", "greatest", "all_valid"),
    [("long", 12, True), ("int", 12, True), ("long", 13, False), ("double", 12, False)],
)
def test_whole_numbers_between_the_members_of_a_list_are_all_in_it(
    type_: str, greatest: int, all_valid: bool
) -> None:
    """Nothing lies between 10 and 11 but for a double."""
    plan = plan_of(
        f'stream r(k: {type_} in {{10, 11, 12}}) from parquet "r"; out := select[k > 10](r); emit out to json "o";'
    )
    state = SourceState.start(plan.sources[0], plan.droppable["r"])
    file = FileStatistics(10, {"k": ColumnStatistics(0, 10, greatest)})
    assert (proven_valid(plan.sources[0], state, {0: file}, frozenset()) is not None) is all_valid


def test_altered_values_of_a_list_are_not_proven_valid() -> None:
    """A file in tenths has 10 to 12 where the canonical values are 1, 1.1 and 1.2."""
    plan = plan_of(
        'stream r(k: long in {1, 2}) from parquet "r"; out := select[k > 1](r); emit out to json "o";'
    )
    state = SourceState.start(plan.sources[0], plan.droppable["r"])
    line = MarkerLine("accent", "[[alter(k, y -> y * 10)]]", 0)
    altered = advance(plan, {"r": state}, {"r": [line]}).states["r"].next_epoch()
    file = FileStatistics(10, {"k": ColumnStatistics(0, 10, 20)})
    assert proven_valid(plan.sources[0], altered, {0: file}, frozenset()) is None


def test_late_tuples_are_told_by_the_least_value() -> None:
    state = state_after(("punctuation", "[ts < 10]", 0)).next_epoch()
    assert is_proven_valid(state)
    assert not is_proven_valid(state, ts=ColumnStatistics(0, 9, 19))
    behind = state_after(("punctuation", "[ts < 20]", NEXT_FILE))
    assert is_proven_valid(behind), "the marker comes in the file behind this one"
    inside = state_after(("punctuation", "[ts < 20]", 5))
    assert not is_proven_valid(inside), "nobody knows which tuples come behind it"


def test_of_what_is_altered_only_its_presence_counts() -> None:
    """The file's bounds are in its own unit, what is closed is in the first one."""
    altered = ("accent", "[[alter(ts, y -> y + 100)]]", 0)
    assert is_proven_valid(state_after(altered).next_epoch())
    state = state_after(altered, ("punctuation", "[ts < 110]", 1)).next_epoch()
    assert not is_proven_valid(state, ts=ColumnStatistics(0, 200, 300))


def test_an_attribute_that_is_dropped_may_not_come() -> None:
    state = state_after(("accent", "[[-(note)]]", 0)).next_epoch()
    assert is_proven_valid(state)
    assert not is_proven_valid(state, note=ColumnStatistics(0))


def test_files_of_markers_have_no_tuples() -> None:
    empty = FileStatistics(3, {name: ColumnStatistics(3) for name in GOOD})
    assert not proven_valid(PLAN.sources[0], state_after(), {0: empty}, frozenset())
    assert proven_valid(PLAN.sources[0], state_after(), {0: empty}, frozenset({0}))


def test_very_many_valid_files_are_proven_valid_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One invalid file among them is noticed."""
    state, compared = state_after(("punctuation", "[ts < 10]", 0)).next_epoch(), list[object]()
    lies_outside = file_statistics._Box.lies_outside

    def counted(box: Any, *of: Any) -> bool:
        compared.append(box)
        return lies_outside(box, *of)

    monkeypatch.setattr(file_statistics._Box, "lies_outside", counted)
    files = {n: FileStatistics(10, {**GOOD, "ts": ColumnStatistics(0, 10 + n, 20 + n)}) for n in range(100)}
    assert proven_valid(PLAN.sources[0], state, files, frozenset())
    assert len(compared) < 20
    late = FileStatistics(10, {**GOOD, "ts": ColumnStatistics(0, 9, 20)})
    assert not proven_valid(PLAN.sources[0], state, {**files, 50: late}, frozenset())


def test_files_together_tell_a_region_of_their_tuples() -> None:
    """Of what all of them know, missing values too; nothing of what is altered, or of files without tuples."""
    statistics = {
        0: FileStatistics(10, {**GOOD, "note": ColumnStatistics(4, 2, 3)}),
        1: FileStatistics(
            5,
            {
                **GOOD,
                "ts": ColumnStatistics(0, 30, 40),
                "s": ColumnStatistics(0),
                "note": ColumnStatistics(5),
            },
        ),
        2: FileStatistics(0, {}),
    }
    region = region_of_tuples(state_after(), statistics)
    sides = [regions.interval("ts", (10, 0), (40, 1)), regions.interval("at", (0, 0), (10**15, 1))]
    note = regions.union(
        regions.interval("note", (2, 0), (3, 1)), regions.complement(regions.defined("note"))
    )
    assert region == regions.intersection(*sides, note)
    altered = region_of_tuples(state_after(("accent", "[[alter(ts, y -> y + 100)]]", 0)), statistics)
    assert altered == regions.intersection(sides[1], note)
    assert region_of_tuples(state_after(), {2: statistics[2]}) is True


def _readings(spark: SparkSession, first: int, *changed: str) -> DataFrame:
    columns = {
        "ts": "id",
        "s": "int(id % 10)",
        "at": "timestamp_micros(id * 1000)",
        "t": "id / 2D",
        "$punctuation": "CAST(NULL AS STRING)",
    }
    columns |= dict(change.split(" = ", 1) for change in changed)
    return spark.range(first, first + 100).selectExpr(*(f"{e} AS `{n}`" for n, e in columns.items()))


@pytest.mark.rest
def test_a_vouched_file_is_read_in_the_needed_columns_and_not_counted(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then comes a file whose statistics prove nothing: a null, a value outside the domain, a late tuple."""
    run = Query(spark, tmp_path, QUERY)
    folder = tmp_path / "in" / "r"
    folder.mkdir(parents=True)
    save_parquet(_readings(spark, 0), folder / "1.parquet")
    marks = "CAST(NULL AS BIGINT) AS ts", "'[ts < 100]' AS `$punctuation`"
    save_parquet(spark.range(1).selectExpr(*marks), folder / "2.parquet")
    save_parquet(_readings(spark, 100), folder / "3.parquet")
    bad = ("t = IF(id = 205, NULL, 1D)", "s = IF(id = 206, 11, 1)", "ts = IF(id = 207, 99, id)")
    save_parquet(_readings(spark, 200, *bad), folder / "4.parquet")
    counted, counts = intake.counted, []
    schemas: list[str] = []
    write = JsonLinesSink.write

    def watch_count(frame: DataFrame, *rest: object) -> intake.ReadCounts:
        counts.append(len(run.reports))
        return counted(frame, *rest)  # type: ignore[arg-type]

    def watch_write(sink: JsonLinesSink, tuples: DataFrame, *rest: Any) -> None:
        schemas.append(tuples._jdf.queryExecution().executedPlan().toString())  # type: ignore[operator]
        write(sink, tuples, *rest)

    monkeypatch.setattr(intake, "counted", watch_count)
    monkeypatch.setattr(JsonLinesSink, "write", watch_write)
    executor = run.process(files_per_epoch=1)
    assert [report.tuples for report in run.reports] == [100, 0, 100, 97]
    assert executor.last.counters == {"RQ302": 1, "RQ303": 1, "RQ305": 1}
    assert len(counts) == 1, "only the last file was looked through"
    read = [schema.split("ReadSchema: ")[1].split("\n")[0] for schema in schemas]
    assert ["t:double" in columns for columns in read] == [False, False, True]
    actual = sorted(row["ts"] for row in run.output("out") if "ts" in row)
    expected = [n for n in range(200) if n % 10 < 5] + [
        n for n in range(200, 300) if n not in (205, 206, 207)
    ]
    assert actual == expected


BEATING = 'stream r(ts: long, s?: int in {1, 2}) from json "r" heartbeat ts delay 2; emit r to json "out";'
CLOSING = BEATING.replace("heartbeat ts delay 2", "punctuated on ts")


@pytest.mark.either_engine
@pytest.mark.parametrize("query", [CLOSING, BEATING])
def test_of_what_the_driver_has_parsed_it_knows_whether_all_is_valid(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    """No job counts an epoch whose tuples are all valid, with or without markers after them. A late tuple, a value
    outside its domain and a line that is not a tuple are found as before."""
    run = Query(spark, tmp_path, query)
    closing = {"$punctuation": "[ts < 5]"} if query == CLOSING else ""
    run.write("r", [{"ts": 3, "s": 1}, {"ts": 4}, closing])
    run.write("r", [{"ts": 5}, {"ts": 7, "s": 2}])
    run.write("r", [{"ts": 1}, {"ts": 9, "s": 3}, {"ts": 10}])
    run.write("r", [{"ts": 11}, "no json"])
    counted, counts = intake.counted, list[DataFrame]()

    def watched(frame: DataFrame, *rest: object) -> intake.ReadCounts:
        counts.append(frame)
        return counted(frame, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(intake, "counted", watched)
    executor = run.process(files_per_epoch=1)
    assert len(counts) == 2
    assert [(report.tuples, report.quarantined) for report in run.reports] == [
        (2, {}),
        (2, {}),
        (1, {"RQ303": 1, "RQ305": 1}),
        (1, {"RQ301": 1}),
    ]
    assert sorted(row["ts"] for row in decode(run.output("r"))) == [3, 4, 5, 7, 10, 11]
    assert executor.last.read == {"r": 6}


ONCE = CLOSING.replace("emit r", "d := distinct(r); emit d")


@pytest.mark.parametrize(
    ("query", "output", "times"),
    [(BEATING, "r", [3, 3, 4, 10]), (ONCE, "d", [3, 4, 10])],
    ids=["heartbeat", "state"],
)
@pytest.mark.either_engine
def test_each_line_is_parsed_once_for_all_jobs(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    query: str,
    output: str,
    times: list[int],
) -> None:
    """A heartbeat, states, outputs and counts read what was parsed before: a table, or Parquet in the scratch folder,
    which goes with its epoch."""
    parse, parsed = JsonBatches.batch, list[int]()

    def watched(of: JsonBatches, block: Block, position: int) -> pa.RecordBatch:
        parsed.append(len(block.text))
        return parse(of, block, position)

    monkeypatch.setattr(JsonBatches, "batch", watched)
    for cost in ("", "PARSED_BY_DRIVER", "KEPT_PARSED"):
        if cost:
            monkeypatch.setattr(costs, cost, 0)
        parsed.clear()
        run = Query(spark, tmp_path / f"limit{cost}", query)
        run.write("r", [{"ts": 3, "s": 1}, {"ts": 4}])
        run.write("r", [{"ts": 9, "s": 3}, {"ts": 3, "s": 1}, {"ts": 10}, "no json"])
        run.process(files_per_epoch=1)
        assert sorted(row["ts"] for row in decode(run.output(output))) == times
        assert [report.quarantined for report in run.reports] == [{}, {"RQ301": 1, "RQ303": 1}]
        assert len(parsed) == 2
        assert not [*tmp_path.rglob("scratch/**/*.parquet")]
    assert not _KEPT


@pytest.mark.either_engine
def test_a_new_run_deletes_the_scratch_files_of_one_that_has_crashed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for cost in ("PARSED_BY_DRIVER", "KEPT_PARSED"):
        monkeypatch.setattr(costs, cost, 0)
    run = Query(spark, tmp_path, CLOSING)
    run.write("r", [{"ts": 3, "s": 1}])
    with monkeypatch.context() as crash:
        crash.setattr(intake, "_canonical", lambda *_, **__: 1 / 0)
        crash.setattr(Files, "delete", lambda *_: None)
        with pytest.raises(ZeroDivisionError):
            run.process()
    assert [*tmp_path.rglob("scratch/**/*.parquet")]
    run.process()
    assert not [*tmp_path.rglob("scratch/**/*.parquet")]
    assert [row["ts"] for row in decode(run.output("r"))] == [3]
