"""Sort, top and session through Spark, on random accented-punctuated streams, against plain Python (theory 1.3)."""

from __future__ import annotations

import json
import re
from itertools import pairwise, product
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from cedilla.runtime.engines.spark import costs
from tests.kit.compare import texts
from tests.kit.query import Query
from tests.kit.stream import Decoder, Item, complaints
from tests.kit.tiers import tiered
from tests.runtime.epochs.operators.ordered_oracle import check_epochs, random_stream

QUERY = """
stream r(ts: double, k: int in {0, 1}, t: double, i: long) from json "in" punctuated on ts;
by_time := sort[ts, t desc](r);
by_key := sort[k desc, ts](r);
best := top[2 by t desc, ts per k](r);
visits := session[2 on ts per k as sid](r);
counted := aggregate[count() as n, max(t) as most by k, sid](visits);
emit by_time to json "o/by_time";
emit by_key to json "o/by_key";
emit best to json "o/best";
emit visits to json "o/visits";
emit counted to json "o/counted";
"""


# --- random streams ---


# --- what the operators mean ---


@pytest.mark.either_engine
@pytest.mark.parametrize(("seed", "parts"), tiered(product((1, 2, 3, 4), (3, 5)), most=4))
def test_random_streams_are_ordered_as_plain_python_orders_them(
    spark: SparkSession, tmp_path: Path, seed: int, parts: int
) -> None:
    """decode(out) is the operator over decode(in), epoch by epoch what the pass rule allows, whatever the cuts."""
    random = Random(seed)
    items = random_stream(random, 90)
    run = Query(spark, tmp_path, QUERY)
    places = [0, *sorted(random.sample(range(1, len(items)), parts - 1)), len(items)]
    pieces = [items[a:b] for a, b in pairwise(places)]
    for batch, piece in enumerate(pieces):
        run.write("r", piece)
        executor = run.executor()  # each epoch begins again from the checkpoint
        executor.process(batch, {"r": run.files(executor)["r"][batch:]})
    assert run.quarantine("r") == []
    assert run.executor().last.segments == {}
    check_epochs(run, pieces)


# --- sort ---


@pytest.mark.either_engine
def test_authors_are_sorted_and_there_is_no_g(spark: SparkSession, tmp_path: Path) -> None:
    """The seeds' example (000): authors up to D are written, and that none begins with G is said at once (E5)."""
    text = """
    stream authors(name: string, born: int) from json "in" punctuated on name;
    sorted := sort[name](authors);
    emit sorted to json "o";
    """
    run = Query(spark, tmp_path, text)
    adams, dickens, eliot, hardy = (
        {"name": name, "born": born}
        for name, born in [("Adams", 1952), ("Dickens", 1812), ("Eliot", 1819), ("Hardy", 1840)]
    )
    no_g = {"$punctuation": '[name in ["G", "H")]'}
    run.write("authors", [hardy, dickens, adams, {"$punctuation": '[name < "E"]'}, no_g])
    run.write("authors", [eliot, {"$punctuation": '[name in ["H", "I")]'}])
    run.write("authors", [{"$punctuation": '[name < "G"]'}])
    run.process(files_per_epoch=1)
    first, second, third = run.output_by_epoch("sorted")
    assert first == [adams, dickens, {"$punctuation": '[name < "E"]'}, no_g]
    all_but_hardy = ('[name in ["H", "Hardy")]', '[name in ("Hardy", "I")]')
    assert second[len(first) :] == [{"$punctuation": text} for text in all_but_hardy]
    assert third[len(second) : len(second) + 2] == [eliot, hardy]
    assert list(complaints(third, {"name", "born"})) == []
    decoder = Decoder()
    for item in third:
        decoder.feed(item)
    assert [decoder.closed({"name": n}) for n in ("Zola", "Ibsen", "Huxley", "Gogol", "Eco")] == [
        *(False, False, True, True, True)
    ]


def test_an_epoch_of_many_files_is_in_order_by_their_names(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so is what a selection and a projection make of it; the next epoch goes on where it ended."""
    monkeypatch.setattr(costs, "PARSED_BY_DRIVER", 0)
    monkeypatch.setattr(costs, "PART", 20_000)
    text = """
    stream r(v: long, w: double) from json "in" punctuated on v;
    sorted := sort[v desc](r);
    emit project[v, w * 2 as u](select[w > 1](sorted)) to json "o";
    """
    random = Random(5)
    rows: list[Item] = [{"v": random.randrange(10_000), "w": float(i)} for i in range(6000)]
    run = Query(spark, tmp_path, text, conf={"spark.sql.shuffle.partitions": "2"})
    run.write("r", [*rows[:4000], {"$punctuation": "[v > 5000]"}])
    run.write("r", [*(r for r in rows[4000:] if r["v"] <= 5000), {"$punctuation": "[]"}])
    run.process(files_per_epoch=1)
    came = [r for i, r in enumerate(rows) if (i < 4000 or r["v"] <= 5000) and r["w"] > 1]
    actual = [(i["v"], i["u"]) for i in run.output("project") if "v" in i]
    assert actual == [(r["v"], r["w"] * 2) for r in sorted(came, key=lambda r: -r["v"])]
    for epoch in (0, 1):
        names = (tmp_path / "out" / "project").glob(f"epoch=*{epoch}/1-tuples-*")
        assert len(list(names)) > 1


# --- top, and state of many epochs ---


@pytest.mark.either_engine
@pytest.mark.parametrize("epochs", tiered([3, 10]))
def test_the_best_of_many_epochs_and_what_waits_for_its_place(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, epochs: int
) -> None:
    """State is merged on the way; ⊥ comes last, ties in order of arrival; without `per` the end closes."""
    text = """
    stream r(ts: long, k: int, p?: double, n: int) from json "in" punctuated on ts;
    best := top[3 by p desc](r);
    worst := top[2 by p](r);
    last := top[1 by ts desc per k](r);
    sorted := sort[k, ts desc](r);
    emit best to json "o/best";
    emit worst to json "o/worst";
    emit last to json "o/last";
    emit sorted to json "o/sorted";
    """
    rows: list[Item] = [
        {"ts": i % 7, "k": i % 3, "n": i} | ({"p": float(i * 5 % 8)} if i % 4 else {}) for i in range(30)
    ]
    run = Query(spark, tmp_path, text)
    if epochs == 3:
        monkeypatch.setattr(costs, "SEGMENTS", 2)
    for epoch in range(epochs):
        run.write("r", rows[epoch * 30 // epochs : (epoch + 1) * 30 // epochs])
    run.write("r", [{"$punctuation": "[k = 1]"}])
    run.write("r", [{"$punctuation": "[]"}])
    executor = run.process(files_per_epoch=1)
    assert executor.last.segments == {}
    by_p = sorted(rows, key=lambda r: ("p" not in r, -r.get("p", 0.0)))
    upwards = sorted(rows, key=lambda r: ("p" not in r, r.get("p", 0.0)))
    latest = [max((r for r in rows if r["k"] == k), key=lambda r: r["ts"]) for k in range(3)]
    expected = {"best": by_p[:3], "worst": upwards[:2], "last": latest}
    for emit, want in expected.items():
        assert texts(i for i in run.output(emit) if "n" in i) == texts(want)
    assert [i for i in run.output("sorted") if "n" in i] == sorted(rows, key=lambda r: (r["k"], -r["ts"]))
    assert [len(items) for items in run.output_by_epoch("last")][-2:] == [2, 5], (
        "k = 1 does not wait for the others"
    )


# --- session ---


@pytest.mark.either_engine
def test_sessions_of_moments_are_counted_in_the_epoch_that_closes_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A gap of five minutes on timestamps, with a heartbeat; a Drop waits for the open session that has it (G13)."""
    text = """
    stream clicks(at: timestamp, user: string, p: double) from json "in" heartbeat at delay 1 minute;
    visits := session[5 minutes on at per user as began](clicks);
    counted := aggregate[count() as n by user, began](visits);
    whole := session[5 minutes on at as began](clicks);
    emit visits to json "o/visits";
    emit counted to json "o/counted";
    emit whole to json "o/whole";
    """

    def click(user: str, minute: int, second: int = 0, *, p: bool = True) -> Item:
        row = {"at": f"2024-01-01T00:{minute:02d}:{second:02d}.000000Z", "user": user}
        return {**row, "p": 1.0} if p else row

    run = Query(spark, tmp_path, text)
    run.write("clicks", [click("a", 0), click("b", 3), click("a", 4, 59), {"$accent": "[[-(p)]]"}])
    run.write("clicks", [click("a", 11, p=False)])  # to 10:00: closes a's at 9:59, b's at 8:00
    run.write("clicks", [click("b", 17, p=False)])  # to 16:00, when a's ends
    run.write("clicks", [{"$punctuation": '[user = "b"]'}])
    run.write("clicks", [click("c", 20, p=False), {"$punctuation": "[]"}])
    run.process(files_per_epoch=1)

    def tagged(row: Item, minute: int) -> Item:
        return {**row, "began": f"2024-01-01T00:{minute:02d}:00.000000Z"}

    visits = [texts(i for i in items if "at" in i) for items in run.output_by_epoch("visits")]
    first = [tagged(click("a", 0), 0), tagged(click("a", 4, 59), 0), tagged(click("b", 3), 3)]
    second = [*first, tagged(click("a", 11, p=False), 11)]
    third = [*second, tagged(click("b", 17, p=False), 17)]
    whole = [*third, tagged(click("c", 20, p=False), 20)]
    assert visits == [texts(rows) for rows in ([], first, second, third, whole)]
    counted = [[(i["user"], i["n"]) for i in items if "n" in i] for items in run.output_by_epoch("counted")]
    assert [sorted(rows) for rows in counted] == [
        [],
        [("a", 2), ("b", 1)],
        [("a", 1), ("a", 2), ("b", 1)],
        [("a", 1), ("a", 2), ("b", 1), ("b", 1)],
        [("a", 1), ("a", 2), ("b", 1), ("b", 1), ("c", 1)],
    ]
    drops = [sum("-(p)" in i.get("$accent", "") for i in items) for items in run.output_by_epoch("visits")]
    assert drops == [0, 1, 1, 1, 1]
    for emit, names in (("visits", {"at", "user", "p", "began"}), ("counted", {"user", "began", "n"})):
        # Moments compare like moments in texts only if they are written alike.
        stream = json.loads(re.sub(r"(:\d\d)Z", r"\1.000000Z", json.dumps(run.output(emit))))
        assert list(complaints(stream, names)) == []
    starts = [(i["at"][14:16], i["began"][14:16]) for i in run.output("whole") if "at" in i]
    assert sorted(starts) == [
        ("00", "00"),
        ("03", "00"),
        ("04", "00"),
        ("11", "11"),
        ("17", "17"),
        ("20", "17"),
    ]


# --- after a sort ---

BEHIND = """
stream r(t: int, v: long) from json "in" punctuated on t;
sorted := sort[t](r);
first_two := limit[2](sorted);
in_twos := window[2 rows as w](sorted);
of_each := distinct[t](select[v > 0](sorted));
ends := aggregate[first(v) as first, last(v) as last, collect(v) as all](sorted);
best := top[1 by v desc](project[t, v - v as v](sorted));
emit first_two to json "1"; emit in_twos to json "2"; emit of_each to json "3";
emit ends to json "4"; emit best to json "5";
"""


@pytest.mark.either_engine
@pytest.mark.parametrize("cuts", tiered([[6, 1, 1, 1], [9]]), ids=len)
def test_behind_a_sort_tuples_arrive_as_they_are_sorted(
    spark: SparkSession, tmp_path: Path, cuts: list[int]
) -> None:
    """However the input is cut: released at once, or piece by piece."""
    items: list[Item] = [
        *({"t": t, "v": v} for v, t in enumerate([5, 3, 9, 1, 3, 7])),
        {"$punctuation": "[t < 2]"},
        {"$punctuation": "[t < 4]"},
        {"$punctuation": "[]"},
    ]
    run, left = Query(spark, tmp_path, BEHIND), list(items)
    for size in cuts:
        run.write("r", left[:size])
        left = left[size:]
    run.process(files_per_epoch=1)
    actual = {
        name: [i for i in run.output(name) if "$punctuation" not in i]
        for name in ("first_two", "in_twos", "of_each", "ends", "best")
    }
    assert actual["first_two"] == [{"t": 1, "v": 3}, {"t": 3, "v": 1}]
    assert [i["w"] for i in sorted(actual["in_twos"], key=lambda i: (i["t"], i["v"]))] == [
        0,
        0,
        1,
        1,
        2,
        2,
    ]
    assert sorted((i["t"], i["v"]) for i in actual["of_each"]) == [(1, 3), (3, 1), (7, 5), (9, 2)]
    assert actual["ends"] == [{"first": 3, "last": 2, "all": [3, 1, 4, 0, 5, 2]}]
    assert actual["best"] == [{"t": 1, "v": 0}]


TIES = """
stream a(k: int, v: long) from json "a" punctuated on k;
stream b(k: int, v: long) from json "b" punctuated on k;
some := limit[3](sort[n desc](aggregate[count() as n by k](a union b)));
early := limit[2](sort[k](a union b));
emit some to json "1"; emit early to json "2";
"""


@pytest.mark.either_engine
@pytest.mark.parametrize("parts", tiered([4, 1]))
def test_ties_of_a_sort_over_what_has_no_order_are_told_apart_by_their_values(
    spark: SparkSession, tmp_path: Path, parts: int
) -> None:
    """They wait for each other, so the first of them are the same however the input is cut."""
    a: list[Item] = [{"k": 2, "v": 4}, {"k": 1, "v": 3}, {"k": 1, "v": 9}, {"$punctuation": "[k < 1]"}]
    b: list[Item] = [{"k": 1, "v": 1}, {"k": 3, "v": 0}, {"$punctuation": "[k < 1]"}, {"k": 4, "v": 0}]
    run = Query(spark, tmp_path, TIES)
    for part in range(parts):
        for source, items in (("a", a), ("b", b)):
            run.write(source, items[part * 4 // parts : (part + 1) * 4 // parts])
    for source in ("b", "a"):
        run.write(source, [{"$punctuation": "[]"}])
    run.process(files_per_epoch=1)
    assert [i for i in run.output("early") if "v" in i] == [{"k": 1, "v": 1}, {"k": 1, "v": 3}]
    assert [i["k"] for i in run.output("some") if "k" in i] == [1, 2, 3]
