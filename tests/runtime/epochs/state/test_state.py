"""The state on disk and in memory, epoch by epoch (design, section 5; theory 1.3, E7)."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
from pyspark.sql.types import LongType

from cedilla.compiler import regions
from cedilla.compiler.regions import Tree
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.engines.spark import costs
from cedilla.runtime.engines.spark.columns import Columns
from cedilla.runtime.engines.spark.jobs import Jobs, wait_all
from cedilla.runtime.epochs.state.segments import Segment, first_small
from cedilla.runtime.epochs.state.state_store import StateStore
from tests.kit.columns import columns_in
from tests.kit.query import Query
from tests.kit.remote_files import Elsewhere
from tests.kit.stream import Item, is_tuple
from tests.kit.tiers import rest, tiered

WINDOWS = """
stream r(ts: long, s: int, t: double) from json "in" punctuated on ts;
windows := window[100 on ts as wid](r);
out := aggregate[avg(t) as mean, count() as n by s, wid](windows);
emit out to json "out/out";
"""


def file(epoch: int) -> list[Item]:
    """The second half of a window and the first half of the next."""
    rows: list[Item] = [{"ts": 100 * epoch + ts, "s": ts % 3, "t": 1.0 * ts} for ts in range(50, 150)]
    return [*rows, {"$punctuation": f"[ts < {100 * epoch + 150}]"}]


@pytest.mark.rest
def test_what_is_wholly_closed_is_forgotten_unread(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each epoch adds the groups of one open window; the epoch after it closes them, so no more than two segments
    are ever there, none is compacted, and where one epoch follows another their rows are not read from disk."""
    run = Query(spark, tmp_path, WINDOWS)
    for epoch in range(8):
        run.write("r", file(epoch))
    collected: list[int] = []
    from_disk: list[str] = []
    committed, read = StateStore.commit, StateStore.read

    def commit(self: StateStore, planned: Any, segments: Any, unused: Any) -> None:
        collected.append(sum(map(len, segments.values())))
        committed(self, planned, segments, unused)

    def watch(self: StateStore, key: str, columns: Columns, region: Tree = True) -> DataFrame | None:
        rows = read(self, key, columns, region)
        if rows is not None:
            from_disk.extend(rows.inputFiles())
        return rows

    monkeypatch.setattr(StateStore, "commit", commit)
    monkeypatch.setattr(StateStore, "read", watch)
    run.process(files_per_epoch=1)
    assert len(collected) == 8
    assert max(collected) <= 2
    assert [path for path in from_disk if "/state/" in path] == []
    actual = {(row["s"], row["wid"]): row["n"] for row in run.output("out") if is_tuple(row)}
    sent = Counter((row["s"], row["ts"] // 100) for epoch in range(8) for row in file(epoch) if is_tuple(row))
    assert actual == {group: n for group, n in sent.items() if group[1] < 8}


ONCE = """
stream r(k: long, v: long) from json "in";
out := %s;
emit out to json "out/out";
"""


def repeated(epoch: int) -> list[Item]:
    """Keys that come in every file, one that came in the file before, and a new one; each twice."""
    keys = [0, 1, 2, 10 + epoch - 1, 10 + epoch]
    return [{"k": k, "v": 2 * k} for k in (*keys, *keys)]


@pytest.fixture(params=[False, True], ids=["small", "large"])
def is_large(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """True: every state is treated as a large one."""
    if request.param:
        monkeypatch.setattr(costs, "LARGE_STATE", 0)
    return request.param


@pytest.mark.usefixtures("is_large")
@pytest.mark.parametrize("on", tiered(["", "[k]"]))
def test_distinct_reads_what_the_epoch_before_has_read(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on: str
) -> None:
    """Its tuples are in memory, so no epoch waits until the one before it has written what was new."""
    run = Query(spark, tmp_path, ONCE % f"distinct{on}(r)")
    for epoch in range(6):
        run.write("r", repeated(epoch))
    epochs: list[int] = []
    ages: set[int] = set()
    begin, read = StateStore.begin, StateStore.read

    def count(self: StateStore, epoch: int, **of_epoch: bool) -> None:
        epochs.append(epoch)
        begin(self, epoch, **of_epoch)

    def watch(self: StateStore, key: str, columns: Columns, region: Tree = True) -> DataFrame | None:
        rows = read(self, key, columns, region)
        for path in [] if rows is None else rows.inputFiles():
            if match := re.search(r"/state/out/epoch=(\d+)-", path):
                ages.add(epochs[-1] - int(match[1]))
        return rows

    monkeypatch.setattr(StateStore, "begin", count)
    monkeypatch.setattr(StateStore, "read", watch)
    run.process(files_per_epoch=1)
    assert epochs == list(range(6))
    assert ages == {2, 3, 4, 5}
    keys = sorted(row["k"] for row in run.output("out") if is_tuple(row))
    assert keys == [0, 1, 2, *range(9, 16)]


def test_tuples_in_files_are_read_again_and_not_kept(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an epoch only its new keys are kept: two jobs need them. Folders of all these jobs are there before."""
    monkeypatch.setattr(costs, "PARSED_BY_DRIVER", 0)
    run = Query(spark, tmp_path, ONCE % "distinct(r)")
    for epoch in range(4):
        run.write("r", repeated(epoch))
    kept, made = list[DataFrame](), list[bool]()
    frames = type(spark.range(1))
    persist, parquet = frames.persist, DataFrameWriter.parquet

    def keep(frame: DataFrame) -> DataFrame:
        kept.append(frame)
        return persist(frame)

    def write(writer: DataFrameWriter, path: str) -> None:
        made.append(Path(path, "_temporary/0/_temporary").is_dir())
        parquet(writer, path)
        assert not Path(path, "_temporary").exists()

    monkeypatch.setattr(frames, "persist", keep)
    monkeypatch.setattr(DataFrameWriter, "parquet", write)
    run.process(files_per_epoch=1)
    assert len(kept) == 4
    assert made == [True] * 4
    keys = sorted(row["k"] for row in run.output("out") if is_tuple(row))
    assert keys == [0, 1, 2, *range(9, 14)]


@pytest.mark.either_engine
@pytest.mark.usefixtures("is_large")
def test_state_of_distinct_has_each_key_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often a key comes, and also where state is compacted beside an epoch whose tuples are in memory."""
    monkeypatch.setattr(costs, "SEGMENTS", 2)
    run = Query(spark, tmp_path, ONCE % "distinct(r)")
    for epoch in range(9):
        run.write("r", repeated(epoch))
    executor = run.process(files_per_epoch=1)
    (segments,) = executor.last.segments.values()
    assert len(segments) < 9
    assert sum(segment.rows or 0 for segment in segments) == 3 + 1 + 9
    keys = sorted(row["k"] for row in run.output("out") if is_tuple(row))
    assert keys == [0, 1, 2, *range(9, 19)]


@pytest.mark.rest
@pytest.mark.either_engine
@pytest.mark.parametrize("rows", ["distinct(r)", "distinct[k](r)", "distinct(project[k + 1 as n](r))"])
def test_segments_without_the_keys_of_an_epoch_are_not_read(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: str
) -> None:
    """By the bounds of both. Statistics of an altered attribute are in another unit than state."""
    run = Query(spark, tmp_path, ONCE % rows)
    files: list[list[Item]] = [[{"k": 10 * n + k, "v": k} for k in (0, 1, 2, 2)] for n in range(4)]
    files.append([{"k": k, "v": k % 10} for k in (11, 12, 13)])
    files.append(
        [{"$accent": "[[alter(k, y -> y + 100)]]"}, *({"k": 100 + k, "v": k} for k in (1, 2, 3))],
    )
    read_segments: list[int] = []
    read = StateStore.read

    def watch(self: StateStore, key: str, columns: Columns, region: Tree = True) -> DataFrame | None:
        result = read(self, key, columns, region)
        paths = [] if result is None else result.inputFiles()
        read_segments.append(len({Path(path).parent for path in paths}))
        return result

    monkeypatch.setattr(StateStore, "read", watch)
    executor = run.executor()
    for batch, items in enumerate(files):
        run.write("r", items)
        run.go_on(executor, batch)
    assert read_segments == [0, 0, 0, 0, 1, 5]
    news = 4 * 3 + 1 + 1
    assert len([item for item in run.output("out") if is_tuple(item)]) == news


@pytest.mark.either_engine
def test_what_is_known_of_a_segment_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    """Its bytes and bounds, also where the next epoch was launched before they were known, so that later epochs know
    what they have to read."""
    run = Query(
        spark,
        tmp_path,
        'stream r(k: long) from json "in";\nout := distinct(r);\nemit out to json "out/out";\n',
    )
    for epoch in range(5):
        run.write("r", [{"k": 10 * epoch + k} for k in range(3)])
    executor = run.process(files_per_epoch=1)
    (segments,) = executor.last.segments.values()
    assert [segment.bounds for segment in segments] == [{"k": (10 * n, 10 * n + 2)} for n in range(5)]
    assert all(segment.length > 0 for segment in segments)


@pytest.mark.either_engine
def test_a_segment_stays_while_a_row_may_be_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    """By the least and the greatest value of each attribute; where some rows are ⊥, or nothing is known, it stays."""
    jobs = Jobs()
    store = StateStore(spark, Files(), (tmp_path / "state").as_uri(), jobs)
    texts = {
        "low": "SELECT 1L AS k, DATE'1970-01-03' AS day UNION ALL SELECT 3, DATE'1970-01-04'",
        "high": "SELECT 2L AS k, DATE'1970-01-05' AS day UNION ALL SELECT 9, DATE'1970-01-06'",
        "undefined": "SELECT 1L AS k, DATE'1970-01-03' AS day UNION ALL SELECT NULL, NULL",
    }
    for number, (key, text) in enumerate(texts.items()):
        rows = spark.sql(text)
        store.append(key, rows, columns_in(rows), number)
    wait_all(jobs.take())
    measured = store.measured(store.segments)
    store.commit(store.segments, measured, ())
    for attribute, below in {"k": 4, "day": 4}.items():
        closed = regions.interval(attribute, None, (below, 0))
        left = []
        for key in texts:
            store.reset(measured)
            assert store.read(key, {"k": LongType()}) is not None
            store.purge(key, closed)
            left.append(store.read(key, {"k": LongType()}) is not None)
        assert left == [False, True, True], attribute
    jobs.close()


KINDS = {
    "id": "id",
    "i": "CAST(id - 50 AS INT)",
    "at": "timestamp_micros(id * 7 - 50)",
    "day": "date_from_unix_date(CAST(id AS INT) - 50)",
    "some": "IF(id = 31, NULL, id)",
    "d": "CAST(id AS DOUBLE)",
    "s": "CAST(id AS STRING)",
    "many": "array(id)",
}


def measured(spark: SparkSession, root: Path, rows: DataFrame) -> Segment | None:
    """Returns the measures of a written segment, `None` if it has no rows."""
    jobs = Jobs()
    store = StateStore(spark, Files(), str(root / "state"), jobs)
    store.append("k", rows, columns_in(rows), 0)
    wait_all(jobs.take())
    jobs.close()
    measure = store.measured(store.segments).get("k", ())
    return measure[0] if measure else None


@pytest.mark.either_engine
@pytest.mark.parametrize("parts", [rest(1), 3, rest(200)])
def test_rows_and_bounds_are_those_of_what_was_written(
    spark: SparkSession, tmp_path: Path, parts: int
) -> None:
    """Of whole numbers, moments and days that all rows have, over all files; some of these have no rows."""
    rows = (
        spark.range(100).selectExpr(*(f"{sql} AS {name}" for name, sql in KINDS.items())).repartition(parts)
    )
    segment = measured(spark, tmp_path, rows)
    assert segment is not None
    assert segment.rows == 100
    files = list((tmp_path / "state").rglob("*.parquet"))
    assert segment.length == sum(file.stat().st_size for file in files)
    assert segment.bounds == {"id": (0, 99), "i": (-50, 49), "at": (-50, 643), "day": (-50, 49)}


@pytest.mark.either_engine
def test_a_segment_without_rows_is_none(spark: SparkSession, tmp_path: Path) -> None:
    assert measured(spark, tmp_path, spark.range(5).where("id < 0")) is None


def test_of_moments_without_statistics_nothing_is_known(spark: SparkSession, tmp_path: Path) -> None:
    """A session that Cedilla has not set up writes such files."""
    name = "spark.sql.parquet.outputTimestampType"
    before = spark.conf.get(name)
    spark.conf.set(name, "INT96")
    try:
        segment = measured(spark, tmp_path, spark.range(3).selectExpr("id", "timestamp_micros(id) AS at"))
    finally:
        spark.conf.set(name, before or "TIMESTAMP_MICROS")
    assert segment is not None
    assert segment.bounds == {"id": (0, 2)}


@pytest.mark.either_engine
def test_state_that_is_written_elsewhere_is_noticed(spark: SparkSession, tmp_path: Path) -> None:
    """Else it would be lost without a word."""
    jobs = Jobs()
    store = StateStore(spark, Elsewhere(tmp_path / "far"), str(tmp_path / "state"), jobs)
    store.append("k", spark.range(3), {"id": LongType()}, 0)
    with pytest.raises(DiagnosticError) as raised:
        wait_all(jobs.take())
    assert raised.value.diagnostics[0].code == "RQ432"
    jobs.close()


MANY = """
stream r(ts: long, s: int, t: double) from json "in" punctuated on ts;
once := distinct[ts, s](r);
few := select[t < 80](r);
rest := once minus few;
windows := window[100 on ts as wid](once);
means := aggregate[avg(t) as mean by s, wid](windows);
most := aggregate[max(mean) as most by wid](means);
pairs := once join (rename[t as u](few)) on ts, s;
emit once to json "out/once";
emit rest to json "out/rest";
emit most to json "out/most";
emit pairs to json "out/pairs";
"""

EPOCHS = 4


@pytest.mark.either_engine
def test_epoch_after_epoch_gives_what_one_epoch_gives(spark: SparkSession, tmp_path: Path) -> None:
    """Epochs overlap, and each closes state of earlier ones; none asks for state that is gone."""
    actual: list[dict[str, list[str]]] = []
    for folder, files in (("single", None), ("many", 1)):
        run = Query(spark, tmp_path / folder, MANY)
        for epoch in range(EPOCHS):
            items = file(epoch)
            run.write("r", [*items[:20], *items])
        run.process(files_per_epoch=files)
        assert len(run.reports) == (EPOCHS if files else 1)
        actual.append(
            {
                name: sorted(str(sorted(row.items())) for row in run.output(name) if is_tuple(row))
                for name in ("once", "rest", "most", "pairs")
            }
        )
    assert actual[0] == actual[1]
    assert all(actual[0].values())


def test_segments_of_a_state_that_grows_are_few_and_are_rewritten_a_few_times() -> None:
    """Of 4 GB, which come by 100 KB, a part of which is there at once."""
    lengths, rewritten, most = [200 << 20], 0, 0
    for _ in range(40_000):
        lengths.append(100 << 10)
        if len(lengths) - (first := first_small(lengths)) > costs.SEGMENTS:
            together = sum(lengths[first:])
            lengths[first:] = [together]
            rewritten, most = rewritten + together, max(most, together)
    assert lengths[0] == 200 << 20
    assert most <= costs.REWRITTEN
    assert rewritten < 10 * sum(lengths)
    assert len(lengths) < 2 * sum(lengths) / costs.REWRITTEN + 20


@pytest.mark.rest
@pytest.mark.either_engine
def test_runs_that_continue_with_large_segments_give_what_one_epoch_gives(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each run has one epoch, and finds segments that stayed, were rewritten alone, and became one."""
    for name, value in {"SEGMENTS": 2, "LARGE_STATE": 0, "RESTING": 3, "REWRITTEN": 5_000}.items():
        monkeypatch.setattr(costs, name, value)
    runs, rewritten, write = list[Query](), list[str](), StateStore._write

    def watch(self: StateStore, name: str, rows: DataFrame, columns: Columns) -> Segment:
        rewritten.append(name.rpartition("-")[2])
        return write(self, name, rows, columns)

    monkeypatch.setattr(StateStore, "_write", watch)
    for folder in ("single", "many"):
        run = Query(spark, tmp_path / folder, MANY)
        runs.append(run)
        for epoch in range(12):
            items = [item for item in file(epoch) if is_tuple(item)]
            closed = [{"$punctuation": f"[ts < {100 * epoch - 350}]"}]
            run.write("r", [*items[:20], *items, *closed])
            if folder == "many":
                run.go_on(run.executor(), epoch)
        if folder == "single":
            run.process()
    single, many = (
        {
            name: sorted(str(sorted(row.items())) for row in run.output(name) if is_tuple(row))
            for name in ("once", "rest", "most", "pairs")
        }
        for run in runs
    )
    assert single == many
    assert all(single.values())
    assert {"compacted", "purged"} <= {*rewritten}


@pytest.mark.either_engine
@pytest.mark.parametrize("merges", tiered([False, True]))
def test_an_epoch_rewrites_a_bounded_part_of_a_state(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, merges: bool
) -> None:
    """The newest segments, however large the state is, and an old one whose rows may be purged. Rows that are merged
    may be anywhere, so all are rewritten."""
    for name, value in {"SEGMENTS": 2, "LARGE_STATE": 0, "RESTING": 10, "REWRITTEN": 4_000}.items():
        monkeypatch.setattr(costs, name, value)
    jobs = Jobs()
    store = StateStore(spark, Files(), str(tmp_path / "state"), jobs)
    rewritten, columns, closed = list[dict[str, Segment]](), {"k": LongType()}, 0
    for epoch in range(16):
        if epoch == 12:
            closed = 1_500
        before, begin = store.segments, 0 if epoch == 0 else 2_900 + 100 * epoch
        store.append("k", spark.range(begin, 3_000 + 100 * epoch).selectExpr("id AS k"), columns, epoch)
        store.purge("k", regions.interval("k", None, (closed, 0)))
        live = lambda rows, least=closed: rows.where(f"k >= {least}")  # noqa: E731
        store.compact("k", columns, epoch, live, merges=merges)
        wait_all(jobs.take())
        measured = store.measured(store.segments)
        store.commit(store.segments, measured, store.unused(before))
        new = [s for s in measured["k"] if s.is_of(epoch) and not re.search(r"-\d+-0$", s.path)]
        rewritten.append({segment.path.split("-")[-2]: segment for segment in new})
    rows = store.read("k", columns)
    assert rows is not None
    assert rows.count() == 3_000 + 15 * 100 - closed
    jobs.close()
    if merges:
        assert max(segment.rows or 0 for new in rewritten for segment in new.values()) > 3_000
        return
    purged = [new["purged"].rows for new in rewritten if "purged" in new]
    assert purged == [1_500]  # the segment of the first epoch, alone, once some of it is closed
    compacted = [new["compacted"].length for new in rewritten if "compacted" in new]
    assert len(compacted) > 3
    assert max(compacted) <= costs.REWRITTEN < store.length_of("k") / 2
    assert len(store.segments["k"]) < 8
