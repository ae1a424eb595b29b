"""Aggregate functions and count windows on Spark, with the input cut in several ways, against plain Python."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.compiler.expressions.types import DOUBLE, Type
from cedilla.compiler.operators import Aggregate
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.engines.spark import costs
from cedilla.runtime.epochs.operators.panes import Panes, panes_of
from tests.kit.query import Query
from tests.kit.stream import Item, complaints, decode, is_tuple
from tests.kit.tiers import tiered
from tests.runtime.epochs.operators.aggregate_oracle import CALLS, same
from tests.runtime.epochs.operators.streams import ROWS, aggregated_stream

HEAD = """
stream r(ts: long, s: int in {1, 2}, t: double, n?: int, l: string) from json "in" punctuated on ts;
"""
pytestmark = pytest.mark.either_engine


def output_of(spark: SparkSession, root: Path, text: str, parts: int, items: Sequence[Item]) -> Query:
    run = Query(spark, root, text)
    executor = run.process_parts(parts, r=items)
    assert executor.last.segments == {}, "all is closed in the end"
    return run


# --- the functions, in plain Python; the argument has at least one value ---


NAMES = {call: f"c{i}" for i, call in enumerate(CALLS)}
ALL_CALLS = ", ".join(f"{call} as {name}" for call, name in NAMES.items())


@pytest.mark.parametrize("parts", tiered([4, 10, 1]))
def test_every_function_in_whatever_epochs_its_tuples_come(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: int
) -> None:
    """In several epochs, state is compacted on the way."""
    if parts == 4:
        monkeypatch.setattr(costs, "SEGMENTS", 2)
    text = (
        HEAD
        + f"""
    w := window[12 on ts as wid](r);
    out := aggregate[{ALL_CALLS} by wid](w);
    emit out to json "o";
    """
    )
    output = output_of(spark, tmp_path, text, parts, aggregated_stream()).output("out")
    actual = {row["wid"]: row for row in decode(output)}
    assert set(actual) == {0, 1}
    for wid, row in actual.items():
        rows = ROWS[12 * wid : 12 * wid + 12]
        for call, expected in CALLS.items():
            assert same(row.get(NAMES[call]), expected(rows)), (parts, call, row)
    assert list(complaints(output, {"wid", *NAMES.values()})) == []
    if parts == 1:
        return  # all groups are closed before anything is said of them
    carried = {i["$accent"] for i in output if "$accent" in i}
    for call in HALVED:
        assert f"[[alter({NAMES[call]}, y -> y / 2)]]" in carried, call
    for call in DOUBLED:
        assert f"[[alter({NAMES[call]}, y -> y * 2 + 1)]]" in carried, call
    for call in ABSORBING:
        assert not any(f"alter({NAMES[call]}," in text for text in carried), call


@pytest.mark.rest
@pytest.mark.parametrize("parts", [4, 1])
def test_every_function_of_no_tuple(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: int
) -> None:
    """Partial results of no tuple are merged with those of all functions, and alone they give counts of 0."""
    monkeypatch.setattr(costs, "SEGMENTS", 2)
    text = (
        HEAD
        + f"""
    w := window[12 on ts as wid](r);
    out := aggregate[{ALL_CALLS} by wid, s complete from -12 to 48](w);
    usual := aggregate[{ALL_CALLS} by wid, s](w);
    emit out to json "o";
    emit usual to json "u";
    """
    )
    run = output_of(spark, tmp_path, text, parts, aggregated_stream())
    completed, usual = (
        {(row["wid"], row["s"]): row for row in decode(run.output(name))} for name in ("out", "usual")
    )
    assert set(completed) == {(wid, s) for wid in range(-1, 4) for s in (1, 2)}
    assert set(usual) == {(wid, s) for wid in (0, 1) for s in (1, 2)}
    counts = {name: 0 for call, name in NAMES.items() if call.startswith("count")}
    for (wid, s), row in completed.items():
        expected = usual.get((wid, s), {"wid": wid, "s": s, **counts})
        assert row.keys() == expected.keys()
        assert all(same(row[name], expected[name]) for name in row), (row, expected)


@pytest.mark.rest
@pytest.mark.parametrize("parts", tiered([4, 10, 1]))
def test_every_function_over_overlapping_windows_by_their_panes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: int
) -> None:
    """Panes of 4, cut by the bounds of windows of 12 every 8; a window of bounds is named by one of them. If the
    engine keeps no rows, partial results of all kinds are written for the jobs of an epoch."""
    monkeypatch.setattr(costs, "SEGMENTS", 2)
    monkeypatch.setattr(costs, "MATERIALIZED", 0)
    text = (
        HEAD
        + f"""
    out := aggregate[{ALL_CALLS} by wid](window[12 every 8 on ts as wid](r));
    ends := aggregate[count() as n, last(t) as t by s, b](window[12 every 8 on ts as [a, b]](r));
    emit out to json "o";
    emit ends to json "e";
    """
    )
    plan = compile_query(text).plan
    for name in ("out", "ends"):
        operator = plan.operator_of[name]
        assert isinstance(operator, Aggregate)
        panes = panes_of(plan, operator, frozenset("t"), plan.start["r"].types)
        assert panes is not None
        assert panes.length == 4
    run = output_of(spark, tmp_path, text, parts, aggregated_stream())
    actual = {row["wid"]: row for row in decode(run.output("out"))}
    windows = {wid: ROWS[max(0, 8 * wid) : 8 * wid + 12] for wid in range(-1, 3)}
    assert set(actual) == set(windows)
    for wid, row in actual.items():
        for call, expected in CALLS.items():
            assert same(row.get(NAMES[call]), expected(windows[wid])), (parts, wid, call, row)
    assert sorted((row["s"], row["b"], row["n"], row["t"]) for row in decode(run.output("ends"))) == [
        (s, 8 * wid + 12, len(of_s), of_s[-1]["t"])
        for s in (1, 2)
        for wid, rows in windows.items()
        if (of_s := [row for row in rows if row["s"] == s])
    ]


def test_windows_are_looked_at_where_panes_would_not_do(tmp_path: Path) -> None:
    def panes(window: str, results: str, reads: str = "", **changed: Type) -> Panes | None:
        plan = compile_query(
            f'{HEAD} w := window[{window}](r); q := aggregate[{results}](w); emit q to json "o";'
        ).plan
        operator = plan.operator_of["q"]
        assert isinstance(operator, Aggregate)
        return panes_of(plan, operator, frozenset(reads.split()), {**plan.start["r"].types, **changed})

    assert panes("12 every 8 on ts as wid", "count() as n by wid") is not None
    assert panes("12 on ts as wid", "count() as n by wid") is None, "each tuple lies in one window"
    assert panes("12 every 8 on ts as wid", "max(wid) as n by wid", "wid") is None
    assert panes("12 every 8 on ts as wid", "count() as n by wid, ts") is None
    assert panes("1000 every 999 on ts as wid", "count() as n by wid") is None, "panes of 1"
    assert panes("12 every 8 on t as wid", "count() as n by wid") is None, "doubles have no last number"
    assert panes("0.5 every 0.25 on ts as wid", "count() as n by wid") is None
    assert panes("12 every 8 on ts as wid", "count() as n by wid", ts=DOUBLE) is None, "since an Alter"


def test_an_axis_that_an_alter_has_made_doubles_has_windows_as_before(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Its values are doubles, whose panes and windows may be rounded apart: it is computed by windows."""
    text = (
        HEAD
        + 'out := aggregate[count() as n by wid](window[300 every 60 on ts as wid](r)); emit out to json "o";'
    )
    row = {"s": 1, "t": 0.0, "l": "a"}
    items: list[Item] = [
        {"$accent": "[[alter(ts, y -> y * 2)]]"},
        {**row, "ts": 119.99999999999998},
        {"$punctuation": "[]"},
    ]
    run = output_of(spark, tmp_path, text, 1, items)
    reference = Reference(compile_query(text).plan)
    expected = [step["out"].tuples for step in reference.step([("r", item) for item in items])]
    assert sorted(row["wid"] for row in decode(run.output("out"))) == sorted(
        row["wid"] for rows in expected for row in rows
    )


HALVED = (
    *("median(n)", "quantile(n, 0)", "quantile(-n, 1)", "first(n)", "collect(n)", "collect(distinct n)"),
    *("sum(n)", "sum(distinct n)", "smallest(n, 2)", "avg(distinct n)", "stddev(n)", "avg_angle(n, 9)"),
    *("mode(n)", "arg_max(n, l)", "first(n, 2)"),
)
DOUBLED = (
    *("last(t)", "median(t)", "quantile(t, 0.9)", "largest(t, 3)", "collect(t)", "max(distinct t)"),
    *("arg_min(t, n)", "last(t, 3)"),
)
ABSORBING = (
    "sum(t)",
    "avg_angle(t, 7)",
    "product(distinct n)",
    "corr(t, n)",
    "slope(t, ts)",
    "covar(t, n)",
    "bit_and(n where n > 3)",
    "count(distinct n)",
)


OVER_ALL = """
w := window[8 on ts as wid](r);
middle := aggregate[median by wid except ts, s](w);
lists := aggregate[collect by wid except ts, s](w);
all := aggregate[count by wid except ts, s](w);
emit middle to json "middle";
emit lists to json "lists";
emit all to json "all";
"""


@pytest.mark.parametrize("parts", tiered([3, 5, 1]))
def test_a_function_over_all_attributes_takes_what_is_added_later(
    spark: SparkSession, tmp_path: Path, parts: int
) -> None:
    """`v` is added to s = 2 after 4 tuples and dropped after 20; strings are left out of a median (A2, A3, G37)."""
    items: list[Item] = []
    for ts in range(24):
        if ts == 4:
            items.append({"$accent": "[[s = 2, +(v: long)]]"})
        if ts == 12:
            items.append({"$accent": "[[s = 2, alter(v, y -> y * 10)]]"})
        if ts == 20:
            items.append({"$accent": "[[s = 2, -(v)]]"})
        has = ts % 2 == 1 and 4 <= ts < 20
        items.append({**ROWS[ts], **({"v": ts * (10 if ts >= 12 else 1)} if has else {})})
    items.append({"$punctuation": "[]"})
    values = {
        wid: [ts for ts in range(8 * wid, 8 * wid + 8) if ts % 2 == 1 and 4 <= ts < 20] for wid in range(3)
    }
    run = output_of(spark, tmp_path, HEAD + OVER_ALL, parts, items)
    for emit, function in (("middle", statistics.median), ("lists", list), ("all", len)):
        output = run.output(emit)
        rows = {row["wid"]: row for row in decode(output)}
        assert {wid: row.get("v") for wid, row in rows.items()} == {
            wid: function(v) for wid, v in values.items()
        }
        assert ("l" in rows[0]) == (emit != "middle")
        assert list(complaints(output, {"wid", "t", "n", "l"})) == []


HOLDING = (
    *("avg(n)", "sum(n)", "min(n)", "var(n)", "first(n)", "median(n)", "quantile(n, 0.9)", "collect(n)"),
    *("largest(n, 2)", "product(n)", "corr(n, t)", "sum(distinct n)", "collect(distinct n where s > 0)"),
)


@pytest.mark.rest
def test_a_drop_waits_for_every_group_that_has_the_attribute(spark: SparkSession, tmp_path: Path) -> None:
    """For all functions, the Drop of the result comes after the group's row (G13)."""
    names = [f"c{i}" for i in range(len(HOLDING))]
    named = ", ".join(f"{call} as {name}" for call, name in zip(HOLDING, names, strict=True))
    text = (
        HEAD
        + f'out := aggregate[{named}, count(n) as k, count(where n > 1) as m by s](r); emit out to json "o";'
    )
    before: list[Item] = [
        {"ts": ts, "s": 1 + ts % 2, "t": float(ts), "l": "a", **({"n": ts} if ts % 2 else {})}
        for ts in range(8)
    ]
    run = Query(spark, tmp_path, text)
    run.write("r", [{"$accent": "[[+(n: int)]]"}, *before])
    run.write("r", [{"$accent": "[[-(n)]]"}, {"ts": 8, "s": 2, "t": 0.0, "l": "b"}])
    run.write("r", [{"ts": 9, "s": 2, "t": 0.0, "l": "b"}])
    run.write("r", [{"$punctuation": "[s = 2]"}])
    run.write("r", [{"$punctuation": "[]"}])
    run.process(files_per_epoch=1)
    output = run.output("out")
    rows = {item["s"]: position for position, item in enumerate(output) if is_tuple(item)}
    drops = {
        item["$accent"]: position for position, item in enumerate(output) if "-(" in item.get("$accent", "")
    }
    assert {*drops} == {f"[[-({name})]]" for name in names}
    assert rows[2] < min(drops.values())
    assert max(drops.values()) < rows[1]
    assert set(output[rows[2]]) == {"s", "k", "m", *names}
    assert output[rows[1]] == {"s": 1, "k": 0, "m": 0}
    assert list(complaints(output, {"s", "k", "m"})) == []


@pytest.mark.parametrize("parts", tiered([3, 7, 1]))
def test_an_hours_best_of_minutes_means(spark: SparkSession, tmp_path: Path, parts: int) -> None:
    """An aggregate of an aggregate; Fahrenheit from minute 70 on, and each group is written once it is closed."""
    text = """
    stream r(at: timestamp, t: double) from json "in" punctuated on at;
    minutes := window[1 minute on at as minute](r);
    means := aggregate[avg(t) as mean by minute](minutes);
    hours := window[60 on minute as hour](means);
    out := aggregate[max(mean) as best, median(mean) as middle, count() as n by hour](hours);
    emit out to json "o";
    """

    def at(minute: int, second: int) -> str:
        return f"2013-01-01T{minute // 60:02}:{minute % 60:02}:{second:02}Z"

    degrees = {(m, s): float((m * m + s) % 23) for m in range(150) for s in (5, 25)}
    items: list[Item] = []
    for (minute, second), value in degrees.items():
        if second == 5 and minute == 70:
            items.append({"$accent": "[[alter(t, y -> y * 9/5 + 32)]]"})
        if second == 5 and minute % 30 == 0 and minute:
            items.append({"$punctuation": f"[at < '{at(minute, 0)}']"})
        raw = value if minute < 70 else value * 9 / 5 + 32
        items.append({"at": at(minute, second), "t": raw})
    items.append({"$punctuation": "[]"})
    start = 376944  # hours from 1970 to 2013
    means = {m: (degrees[m, 5] + degrees[m, 25]) / 2 for m in range(150)}
    output = output_of(spark, tmp_path, text, parts, items).output("out")
    rows = {row["hour"] - start: row for row in decode(output)}
    for hour, row in rows.items():
        inside = [v for m, v in means.items() if m // 60 == hour]
        assert same(
            [row["best"], row["middle"], row["n"]], [max(inside), statistics.median(inside), len(inside)]
        )
    assert set(rows) == {0, 1, 2}
    assert list(complaints(output, {"hour", "best", "middle", "n"})) == []
    if parts > 1:
        hours = [i["hour"] - start if is_tuple(i) else i.get("$punctuation") for i in output]
        assert hours.index(0) < hours.index(f"[hour < {start + 1}]") < hours.index(1)


# --- one group of all tuples ---

NOTHING = """
stream r(ts: long, v: int, s: int in {1, 2}, l: string, p?: double) from json "in" punctuated on ts;
few := select[v > 1000](r);
none := select[s > 2](r);
counts := aggregate[count() as n, count(p) as k, count(distinct l) as d, count(where s = 1) as one](few);
values := aggregate[count() as n, sum(v) as a, sum(p) as b, avg(v) as c, min(l) as d, max(distinct p) as e,
  first(v) as f, collect(l) as g, largest(v, 2) as h, median(v) as i, var(p) as j, product(v) as k, corr(v, p) as m,
  sum(distinct v) as o, count(distinct v) as q](few);
sums := aggregate[sum(v) as total](few);
every := aggregate[count except ts](few);
both := aggregate[count() as n](few union none);
never := aggregate[count() as n, max(v) as most](none);
nested := aggregate[count() as groups, sum(n) as rows, min(n) as least](counts);
spread := aggregate[count(v) * 2 + 1 as n, max(v) - min(v) as length](few);
silent := project["no alarm" as text, n](select[n = 0](counts));
inner := aggregate[count() as n](silent join (project[n, "x" as x](never)) on n);
waits := never anti join counts on n;
late := never anti join few on n = v;
semi := never semi join (project[n](counts)) on n;
best := top[1 by n](counts);
false := select[1 > 2 or ts > 5 and ts < 5](aggregate[count() as ts](few));
windows := aggregate[count() as n by wid](window[10 on ts as wid](few));
some := aggregate[count() as n, sum(v) as a, count(where v > 1000) as none](r);
"""
OF_NOTHING: dict[str, list[Item]] = {
    "counts": [{"n": 0, "k": 0, "d": 0, "one": 0}],
    "values": [{"n": 0, "q": 0}],
    "sums": [{}],
    "every": [{"v": 0, "s": 0, "l": 0, "p": 0}],
    "both": [{"n": 0}],
    "never": [{"n": 0}],
    "nested": [{"groups": 1, "rows": 0, "least": 0}],
    "spread": [{"n": 1}],
    "silent": [{"text": "no alarm", "n": 0}],
    "inner": [{"n": 1}],
    "waits": [],
    "late": [{"n": 0}],
    "semi": [{"n": 0}],
    "best": [{"n": 0, "k": 0, "d": 0, "one": 0}],
    "false": [],
    "windows": [],
    "some": [{"n": 6, "a": 15, "none": 0}],
}
NOTHING += "".join(f'emit {name} to json "{name}";\n' for name in OF_NOTHING)
TUPLES: list[Item] = [{"ts": ts, "v": ts, "s": 1 + ts % 2, "l": "a", "p": 0.5} for ts in range(6)]


@pytest.mark.parametrize(
    ("parts", "ends"),
    tiered(
        [(3, ["[]"]), (1, ["[]"]), (9, ["[s = 2]", "[s = 1]"]), (9, ["[ts < 9]", "[ts >= 9, s in {1, 2}]"])]
    ),
)
def test_the_group_of_all_tuples_has_one_row_even_of_none(
    spark: SparkSession, tmp_path: Path, parts: int, ends: list[str]
) -> None:
    """The row comes once, when all is closed, whatever closes it (theory 1.3); `never` is closed from the start."""
    items = [*TUPLES, *({"$punctuation": end} for end in ends)]
    run = Query(spark, tmp_path, NOTHING)
    run.write_parts("r", items, parts)
    executor = run.process(files_per_epoch=1)
    assert executor.last.segments == {}
    assert {name: [*filter(is_tuple, run.output(name))] for name in OF_NOTHING} == OF_NOTHING
    run.write("r", [{"$punctuation": "[]"}, TUPLES[0]])  # late
    executor = run.executor(1)
    executor.process(1, {"r": run.files(executor)["r"][-1:]})
    assert len(run.quarantine("r")) == 1
    assert {name: [*filter(is_tuple, run.output(name))] for name in OF_NOTHING} == OF_NOTHING


@pytest.mark.parametrize("end", tiered([4, 1, 6]))
def test_a_restart_before_the_end_keeps_the_row_of_no_tuples(
    spark: SparkSession, tmp_path: Path, end: int
) -> None:
    """A process ends after a part of the files and another one goes on; `Reference` reads them item by item."""
    items = [*TUPLES, {"$punctuation": "[]"}]
    run = Query(spark, tmp_path, NOTHING)
    for item in items:
        run.write("r", [item])
    for batch, part in enumerate((slice(end), slice(end, None))):
        executor = run.executor(1)
        executor.process(batch, {"r": run.files(executor)["r"][part]})
    assert {name: [*filter(is_tuple, run.output(name))] for name in OF_NOTHING} == OF_NOTHING
    reference = Reference(compile_query(NOTHING).plan)
    steps = [output for item in items for output in reference.step([("r", item)])]
    assert {name: [row for step in steps for row in step[name].tuples] for name in OF_NOTHING} == OF_NOTHING


def test_a_table_without_files_has_an_epoch_and_its_group_a_row(spark: SparkSession, tmp_path: Path) -> None:
    """A table is closed from the start (theory 1.3), so that `simulate` gives the row as well."""
    text = 'table e(a: int) from json "in"; emit aggregate[count() as n, max(a) as most](e) to json "out";'
    run = Query(spark, tmp_path, text)
    for _ in range(2):
        run.process()
        assert run.output("aggregate") == [{"n": 0}, {"$punctuation": "[]"}]


# --- count windows ---

COUNTED = """
stream r(u: string, v: long, t: double) from json "in" punctuated on u;
chunks := window[4 rows per u as chunk](r);
sums := aggregate[collect(v) as vs, sum(t) as total by u, chunk](chunks);
sizes := aggregate[count() as n by chunk](chunks);
all := window[5 rows as k](r);
emit chunks to json "chunks";
emit sums to json "sums";
emit sizes to json "sizes";
emit all to json "all";
"""


@pytest.mark.parametrize("parts", tiered([3, 6, 1]))
def test_count_windows_number_tuples_and_complete_groups_pass_at_once(
    spark: SparkSession, tmp_path: Path, parts: int
) -> None:
    """b has 10 tuples, a 7; `t` of a is doubled on the way (theory 1.3, "when the count is reached")."""
    sequence = "abbababbaabbabbab"
    rows: list[Item] = [{"u": u, "v": i, "t": float(i)} for i, u in enumerate(sequence)]
    items: list[Item] = [
        {**row, "t": row["t"] * 2} if i >= 8 and row["u"] == "a" else row for i, row in enumerate(rows)
    ]
    items.insert(8, {"$accent": "[[u = 'a', alter(t, y -> y * 2)]]"})
    of_key = {u: [r["v"] for r in rows if r["u"] == u] for u in "ab"}
    chunk = {v: i // 4 for values in of_key.values() for i, v in enumerate(values)}
    groups = {(u, c): [v for v in values if chunk[v] == c] for u, values in of_key.items() for c in range(3)}
    groups = {key: values for key, values in groups.items() if values}
    run = Query(spark, tmp_path, COUNTED)
    run.write_parts("r", items, parts)
    run.process(files_per_epoch=1)
    assert {row["v"]: row["chunk"] for row in decode(run.output("chunks"))} == chunk
    assert {row["v"]: row["k"] for row in decode(run.output("all"))} == {i: i // 5 for i in range(17)}
    whole = {key: values for key, values in groups.items() if len(values) == 4}
    assert {(r["u"], r["chunk"]): r["vs"] for r in decode(run.output("sums"))} == whole
    assert decode(run.output("sizes")) == []
    run.write("r", [{"$punctuation": "[u = 'a']"}])
    run.write("r", [{"u": "b", "v": 17, "t": 17.0}, {"$punctuation": "[]"}])
    executor = run.executor(1)
    executor.process(1, {"r": run.files(executor)["r"][-2:]})
    assert run.quarantine("r") == []
    assert executor.last.segments == {}
    actual = [(r["u"], r["chunk"], r["vs"], r["total"]) for r in decode(run.output("sums"))]
    complete = {**groups, ("b", 2): [*groups["b", 2], 17]}
    assert sorted(actual) == sorted((*key, values, sum(values)) for key, values in complete.items())
    assert {r["chunk"]: r["n"] for r in decode(run.output("sizes"))} == {0: 8, 1: 7, 2: 3}
    assert list(complaints(run.output("sums"), {"u", "chunk", "vs", "total"})) == []
    order = [i for i in run.output("sums") if is_tuple(i) or "$punctuation" in i]
    closed = next(i for i, item in enumerate(order) if "$punctuation" in item)
    assert order[closed - 1]["u"] == "a", "the rest of a key passes once the key is closed"


NAN, GREATEST, LEAST = "NaN", "Infinity", "-Infinity"
UNORDERED: list[list[float | str]] = [
    *([NAN, 1.0], [1.0, NAN], [NAN, GREATEST], [GREATEST, NAN], [NAN, LEAST, 2.0], [LEAST, LEAST]),
    *([1.0, 2.0, 1.0, 3.0, 2.0], [NAN, 1.0, NAN], [GREATEST, GREATEST]),
]
OF_UNORDERED = """
stream r(k: int, ts: long, x: double) from json "in";
emit aggregate[max(x) as most, min(x) as least, corr(x, ts) as c, collect(distinct x) as each by k](r) to json "o";
"""


@pytest.mark.parametrize("parts", [1, 3])
def test_nan_is_the_greatest_wherever_it_comes_and_values_keep_their_first_place(
    spark: SparkSession, tmp_path: Path, parts: int
) -> None:
    rows = [{"k": k, "ts": ts, "x": x} for k, xs in enumerate(UNORDERED) for ts, x in enumerate(xs)]
    items: list[Item] = [*sorted(rows, key=lambda row: row["ts"]), {"$punctuation": "[]"}]
    run = output_of(spark, tmp_path, OF_UNORDERED, parts, items)
    actual = {row["k"]: row for row in run.rows("aggregate")}
    for k, values in enumerate(UNORDERED):
        in_order = sorted(map(float, values), key=lambda x: (x != x, x))
        assert [str(float(actual[k][name])) for name in ("least", "most")] == [
            str(in_order[0]),
            str(in_order[-1]),
        ]
        assert actual[k]["each"] == list(dict.fromkeys(values))
        if NAN in values:
            assert actual[k]["c"] == NAN
    assert run.simulate().rows("aggregate") == run.rows("aggregate")
