"""All joins through Spark: random streams on both inputs, against plain Python joins of the canonical tuples."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.runtime.engines.spark import costs
from tests.kit.compare import bag
from tests.kit.query import Query
from tests.kit.stream import complaints, decode
from tests.kit.tiers import soak, tiered
from tests.runtime.epochs.operators.join_oracle import Writer, joins

pytestmark = pytest.mark.either_engine


SAME = """
stream l(k?: double, s: int in {0, 1}, v: double, p?: long) from json "in" punctuated on k, s;
stream r(k?: double, u: int in {0, 1}, w: double, q?: long) from json "in" punctuated on k, u;
inner := l join r on k;
semi := l semi join r on k;
anti := l anti join r on k;
outer := l left join r on k;
emit inner to json "1"; emit semi to json "2"; emit anti to json "3"; emit outer to json "4";
"""
DIFFERENT = """
stream l(order?: double, s: int in {0, 1}, v: double, p?: long) from json "in" punctuated on order, s;
stream r(key?: double, u: int in {0, 1}, w: double, q?: long) from json "in" punctuated on key, u;
semi := l ⋉ r on order = key;
anti := l ▷ r on r.key = l.order;
outer := l ⟕ r on order = key;
itself := l semi join l on order;
lonely := l anti join l on order;
first := distinct(project[s](semi));
emit semi to json "1"; emit anti to json "2"; emit outer to json "3";
emit itself to json "4"; emit lonely to json "5"; emit first to json "6";
"""
EPOCHS = 4


def run_joins(spark: SparkSession, root: Path, text: str, left: Writer, right: Writer) -> Query:
    """Two micro-batches of some epochs each, by two executors."""
    run = Query(spark, root, text)
    for name, writer in (("l", left), ("r", right)):
        for items in writer.files:
            run.write(name, items)
    executor = run.executor(files_per_epoch=1)
    files_by_source = run.files(executor)
    executor.process(0, {name: files[:2] for name, files in files_by_source.items()})
    executor = run.executor(files_per_epoch=1)
    executor.process(1, {name: files[2:] for name, files in files_by_source.items()})
    assert [run.quarantine(name) for name in ("l", "r")] == [[], []]
    assert executor.last.segments == {}, "everything is closed on both sides"
    assert len(run.reports) == EPOCHS
    return run


def check_joins(run: Query, left: Writer, right: Writer, *names_of_joins: str) -> None:
    """Every join has passed exactly what is certain, after every epoch, as a valid stream."""
    for join in names_of_joins:
        names = {left.key, left.by, left.value, left.extra}
        if join in ("inner", "outer"):
            names |= {right.key, right.by, right.value, right.extra}
        assert list(complaints(run.output(join), names)) == []
        for epoch, stream in enumerate(run.output_by_epoch(join)):
            closed = right.after(epoch + 1)[1]
            rows = [writer.after(epoch + 1)[0] for writer in (left, right)]
            expected = joins(rows[0], rows[1], left.key, right.key, closed)[join]
            assert bag(decode(stream)) == expected, (join, epoch)


@pytest.mark.parametrize("seed", tiered([2, 12, 14, 23]))
def test_joins_on_one_name_pass_exactly_what_is_certain(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    left = Writer("k", "s", "v", "p", seed).write(EPOCHS)
    right = Writer("k", "u", "w", "q", seed + 100, lag=1, most=12).write(EPOCHS)
    run = run_joins(spark, tmp_path, SAME, left, right)
    check_joins(run, left, right, "inner", "semi", "anti", "outer")


@pytest.fixture
def all_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every state is treated as a large one, and rewritten when it has three segments."""
    monkeypatch.setattr(costs, "LARGE_STATE", 0)
    monkeypatch.setattr(costs, "MATCHED_AT_ONCE", -1)
    monkeypatch.setattr(costs, "SEGMENTS", 3)


@pytest.mark.rest
@pytest.mark.usefixtures("all_is_large")
@pytest.mark.parametrize("seed", [3, 13, soak(15), soak(24)])
def test_large_states_give_what_small_ones_give(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    left = Writer("k", "s", "v", "p", seed).write(EPOCHS)
    right = Writer("k", "u", "w", "q", seed + 100, lag=1, most=12).write(EPOCHS)
    run = run_joins(spark, tmp_path, SAME, left, right)
    check_joins(run, left, right, "inner", "semi", "anti", "outer")


@pytest.mark.rest
@pytest.mark.usefixtures("all_is_large")
def test_joins_on_two_names_and_with_itself(spark: SparkSession, tmp_path: Path) -> None:
    left = Writer("order", "s", "v", "p", 17).write(EPOCHS)
    right = Writer("key", "u", "w", "q", 117, lag=1, most=12).write(EPOCHS)
    run = run_joins(spark, tmp_path, DIFFERENT, left, right)
    check_joins(run, left, right, "semi", "anti", "outer")
    rows, _ = left.after(EPOCHS)
    keyed = [row for row in rows if row.get("order") is not None]
    assert bag(decode(run.output("itself"))) == bag(keyed), "every tuple meets itself"
    assert len(decode(run.output("first"))) == len({row["s"] for row in decode(run.output("semi"))})
    assert bag(decode(run.output("lonely"))) == bag([row for row in rows if row.get("order") is None])


@pytest.mark.parametrize("large", tiered([True, False]))
def test_a_drop_waits_for_tuples_without_a_match(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest, *, large: bool
) -> None:
    """Tuples that wait, or may meet more, still have the attribute (G13); it is gone when they are."""
    if large:
        request.getfixturevalue("all_is_large")
    text = """
    stream l(k: long, p: long) from json "in" punctuated on k;
    stream r(k: long) from json "in" punctuated on k;
    semi := l semi join r on k;
    anti := l anti join r on k;
    outer := l left join r on k;
    emit semi to json "1"; emit anti to json "2"; emit outer to json "3";
    """
    run = Query(spark, tmp_path, text)
    drop = {"$accent": "[[-(p)]]"}
    run.write("l", [{"k": 1, "p": 5}, {"k": 2, "p": 6}, {"k": 4, "p": 7}, drop])
    run.write("r", [{"k": 2}])
    run.write("l", [{"k": 3}])
    run.write("r", [{"k": 4}, {"$punctuation": "[k in {1, 2}]"}])
    run.write("l", [{"$punctuation": "[k < 0]"}])
    run.write("r", [{"k": 4}, {"$punctuation": "[k < 5]"}])
    run.process(files_per_epoch=1)
    closed = {"$punctuation": "[k < 0]"}
    assert run.output("semi") == [{"k": 2, "p": 6}, {"k": 4, "p": 7}, drop, closed]
    assert run.output("anti") == [{"k": 1, "p": 5}, drop, {"k": 3}, closed]
    *outer, last, gone = run.output("outer")
    once, late, again, alone = {"k": 2, "p": 6}, {"k": 4, "p": 7}, {"k": 4, "p": 7}, {"k": 1, "p": 5}
    assert bag(outer) == bag([once, late, alone, again, {"k": 3}])
    assert (outer[0], last, gone) == (once, closed, drop), "what has met one may meet more"
    assert [len(report.held) for report in run.reports] == [3, 1, 0]


@pytest.mark.either_engine
def test_a_left_join_keeps_the_order_of_pairs_and_of_tuples_without_a_match(
    spark: SparkSession, tmp_path: Path
) -> None:
    text = """
    stream l(k: int, v: int) from json 'l' punctuated on k;
    table d(k: int, name: string) from json 'd';
    n := window[2 rows per none as w](extend[1 as none](l left join d on k));
    emit n to json 'n';
    """
    run = Query(spark, tmp_path, text)
    run.write("d", [{"k": 1, "name": "one"}])
    run.write("l", [*({"k": k, "v": v} for v, k in enumerate([2, 1, 3, 1])), {"$punctuation": "[]"}])
    run.process()
    rows = sorted((row["w"], row["v"], row.get("name")) for row in run.rows("n"))
    run.simulate()
    assert rows == sorted((row["w"], row["v"], row.get("name")) for row in run.simulated.rows("n"))
    assert {row[1:] for row in rows} == {(0, None), (1, "one"), (2, None), (3, "one")}
