"""Vacant regions: an operator closes what its input has closed and of which it keeps nothing (theory 2.9; E5, J1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from cedilla.compiler import compile_query
from cedilla.compiler.explain.analysis.safety import safety
from cedilla.compiler.operators.shared.vacancies import Point, Vacancy
from cedilla.runtime.epochs.operators import vacancies
from tests.kit.query import Query
from tests.kit.stream import Decoder, Item, complaints
from tests.kit.tiers import tiered

GAP = [{"k": 9}, {"k": 1}, {"$punctuation": "[k in [4, 6]]"}]


def both(run: Query, emit: str, files_per_epoch: int | None = None) -> list[Item]:
    """The lines that an engine writes, which are those of the reference."""
    run.process(files_per_epoch)
    assert run.simulate().output(emit) == run.output(emit)
    return run.output(emit)


@pytest.mark.either_engine
def test_a_sort_closes_a_gap_in_which_nothing_waits(spark: SparkSession, tmp_path: Path) -> None:
    """E5: what is above the sort is decided while 1 and 9 wait, in every epoch and in the reference (sort-gap2)."""
    run = Query(
        spark,
        tmp_path,
        """
        stream a(k: int) from json "a" punctuated on k;
        stream c(k: int) from json "c" punctuated on k;
        s := sort[k](a);
        rest := c minus s;
        emit s to json "s";
        emit rest to json "rest";
        """,
    )
    run.write("a", GAP)
    run.write("c", [{"k": 5}])
    assert both(run, "s") == [{"$punctuation": "[k in [4, 7)]"}]
    assert run.output("rest") == [{"k": 5}] == run.simulated.output("rest")


SESSIONS = """
stream a(k: int, ts: int) from json "a" punctuated on ts punctuated on k;
stream c(k: int, ts: int) from json "c" punctuated on ts punctuated on k;
g := session[3 on ts per k as g](a);
rest := c minus project[k, ts](g);
emit g to json "g";
emit rest to json "rest";
"""
VISITS: list[Item] = [
    {"k": 0, "ts": 9},
    {"k": 2, "ts": 0},
    {"k": 2, "ts": 6},
    {"$punctuation": "[k = 2]"},
    {"$punctuation": "[ts >= 7]"},
    {"k": 1, "ts": 2},
    {"$punctuation": "[k in {0, 2}, ts <= 7]"},
]


@pytest.mark.either_engine
@pytest.mark.parametrize("parts", tiered([1, 7]))
def test_what_a_session_closes_depends_on_no_cut(spark: SparkSession, tmp_path: Path, parts: int) -> None:
    """In one epoch, 8 of key 1 was closed only with `[]`, and item by item it was closed too early (session-closes)."""
    run = Query(spark, tmp_path, SESSIONS)
    run.write("c", [{"k": 1, "ts": 8}])
    run.write_parts("a", VISITS, parts)
    run.process(files_per_epoch=1)
    assert closed_of(run.output("g")) == closed_of(run.simulate().output("g")) == PLACES - {(1, 2)}
    assert run.output("rest") == [{"k": 1, "ts": 8}] == run.simulated.output("rest")


PLACES = {(k, ts) for k in (0, 1, 2) for ts in (2, 8)}


def closed_of(output: list[Item]) -> set[tuple[int, int]]:
    """The `PLACES` that an output has closed, for sessions that begin at 2."""
    decoder = Decoder()
    for item in output:
        decoder.feed(item)
    return {(k, ts) for k, ts in PLACES if decoder.closed({"k": k, "ts": ts, "g": 2})}


# --- J1 and its sisters: orders are closed by their time, payments by the order that they are of ---

PAYMENTS = """
stream orders(ts: long, id: long) from json "orders" punctuated on ts;
stream payments(id: long{more}) from json "payments" punctuated on id;
q := {relation};
per := aggregate[count() as n by w](window[10 on ts as w](q));
emit q to json "q";
emit per to json "per";
"""
RELATIONS = {
    "join": ("orders join payments on id", 2),
    "left join": ("orders left join payments on id", 3),
    "semi join": ("orders semi join payments on id", 2),
    "anti join": ("orders anti join payments on id", 1),
    "minus": ("orders minus (orders semi join payments on id)", 1),
    "intersect": ("orders intersect (orders semi join payments on id)", 2),
}
"""Operator -> the relation, and the number of its tuples in window 0, of which two orders of three are paid."""


@pytest.mark.either_engine
@pytest.mark.parametrize("operator", tiered(RELATIONS))
def test_a_window_of_orders_is_written_once_all_of_its_payments_are_known(
    spark: SparkSession, tmp_path: Path, operator: str
) -> None:
    """J1: window 0 is certain once the payments of its orders are closed; the order of window 1 still waits, and that
    of window 2, which is closed before it (announce-j1)."""
    relation, count = RELATIONS[operator]
    run = Query(spark, tmp_path, PAYMENTS.format(relation=relation, more=", amount: double"))
    run.write("orders", [{"ts": 1, "id": 7}, {"ts": 3, "id": 8}, {"ts": 5, "id": 9}, {"ts": 15, "id": 1}])
    run.write("payments", [{"id": 7, "amount": 5}, {"$punctuation": "[id = 7]"}])
    run.write("orders", [{"ts": 25, "id": 2}, {"$punctuation": "[ts < 30]"}])
    run.write("payments", [{"id": 8, "amount": 6}, {"$punctuation": "[id = 2]"}])
    run.write("payments", [{"$punctuation": "[id in {8, 9}]"}])
    run.process(files_per_epoch=1)
    run.simulate()
    for output in (run.output("per"), run.simulated.output("per")):
        assert [item["n"] for item in output if item.get("w") == 0] == [count]
        decoder = Decoder()
        for item in output:
            decoder.feed(item)
        assert [decoder.closed({"w": w, "n": 0}) for w in (-1, 0, 1, 2, 3)] == [
            True,
            True,
            False,
            True,
            False,
        ]
    assert [*complaints(run.output("q"), {"ts", "id", "amount"})] == []


def test_a_promise_of_the_key_lets_the_window_of_a_join_be_bounded() -> None:
    """RQ130: without `punctuated on id`, kept orders would never leave, and close nothing above the join."""
    text = PAYMENTS.format(relation="orders join payments on id", more=", amount: double")
    for promise, bounded in ((" punctuated on id", True), ("", False)):
        plan = compile_query(text.replace(" punctuated on id", promise)).plan
        assert (safety(plan).verdict("per") == "bounded") == bounded


@pytest.mark.either_engine
@pytest.mark.parametrize("files", tiered([1, 2]))
def test_a_match_alone_closes_what_no_order_waits_for(
    spark: SparkSession, tmp_path: Path, files: int
) -> None:
    """The payment of the last waiting order closes its time, in an epoch of its own as in that of the punctuation."""
    run = Query(spark, tmp_path, PAYMENTS.format(relation="orders semi join payments on id", more=""))
    run.write("orders", [{"ts": 1, "id": 7}, {"$punctuation": "[ts < 10]"}])
    run.write("payments", [{"id": 7}])
    run.process(files)
    run.simulate()
    for output in (run.output("per"), run.simulated.output("per")):
        assert output[-2:] == [{"w": 0, "n": 1}, {"$punctuation": "[w < 1]"}]


def test_state_is_asked_only_while_a_window_could_close(
    sail: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look-up is a job of its own, so an epoch inside of a window is none the slower for it."""
    asked: list[int] = []

    def counted(
        ways: Sequence[Vacancy], frames: Sequence[DataFrame | None]
    ) -> Mapping[Vacancy, Sequence[Point]]:
        asked.append(len(orders))
        return points(ways, frames)

    points = vacancies._points  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(vacancies, "_points", counted)
    query = PAYMENTS.format(relation="orders join payments on id", more="")
    run = Query(sail, tmp_path, query.replace('emit q to json "q";', ""))
    executor, orders = run.executor(), list[int]()
    for ts in range(0, 24, 4):
        orders.append(ts)
        run.write("orders", [{"ts": ts, "id": ts}, {"$punctuation": f"[ts <= {ts}]"}])
        run.write("payments", [{"id": ts}, {"$punctuation": f"[id = {ts}]"}])
        run.go_on(executor, ts)
    assert [item["n"] for item in run.output("per") if "n" in item] == [3, 2]
    assert asked == [1, 4, 6]  # the first one closes the windows before all orders
