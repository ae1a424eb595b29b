"""User operators on an engine: functions on canonical data, whatever the accents and however the input is cut."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from cedilla.compiler import compile_query
from cedilla.compiler.plan import Plan
from cedilla.grammar import DiagnosticError
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.engines.spark.jobs import Jobs
from cedilla.runtime.epochs.operators.epoch import Epoch
from cedilla.runtime.epochs.operators.user import check_functions, look_beside
from cedilla.runtime.epochs.state.state_store import StateStore
from tests.kit.query import Query
from tests.kit.stream import Item, complaints, decode, is_tuple
from tests.kit.tiers import rest
from tests.runtime.epochs.operators.streams import ALTER, ALTER_REST, ROWS_OF_USERS, evolving_stream

MODULE = """
from pyspark.sql import functions as F


def doubled(r):
    return r.withColumn("twice", F.col("t") * 2).drop("n")


def spread(r):
    return r.groupBy("wid").agg((F.max("t") - F.min("t")).alias("width"), F.count("n").cast("int").alias("count"))


def hottest(r):
    best = r.groupBy("wid").agg(F.max_by(F.struct(*r.columns), F.struct("t", "ts")).alias("best"))
    return best.select("best.*")


def difference(a, b):
    def summed(frame):
        return frame.groupBy("k").agg(F.sum("v").alias("v"))

    return summed(a).select("k", F.col("v").alias("w")).join(summed(b), "k").selectExpr("k", "w - v AS gap")


def both(a, b):
    return a.unionByName(b)


def lengthened(t):
    return t + len(NAME)


def longer(r):
    return r.withColumn("t", F.udf(lengthened, "double", useArrow=False)("t"))


def nothing(r):
    return None


def fails(r):
    return r.select("missing")


def lacks(r):
    return r.drop("s")


def adds(r):
    return r.withColumn("more", F.lit(1))


def strings(r):
    return r.withColumn("s", F.col("s").cast("string"))


def wide(r):
    return r.withColumn("s", F.lit(None).cast("struct<a: decimal(3, 1)>"))


def narrow(r):
    return r.withColumn("ts", F.col("ts").cast("int"))


def selects(r):
    return r.select("ts", "s", "t")


NAME = "four"
"""

HEAD = """
stream r(ts: long, s: int in {1, 2}, t: double, n?: int) from json "in" punctuated on ts;
operator doubled(R) foundation {t} returns (ts: long, s: int, t: double, twice: double) from "accents:doubled";
operator spread(R) foundation {wid} accumulate {ts, s, t, n}
  returns (wid: long, width: double, count: long) from "accents:spread";
operator hottest(R) foundation {wid} accumulate {ts, s, n} from "accents:hottest";
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module `accents` of functions."""
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "accents.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path / "modules")
    monkeypatch.delitem(__import__("sys").modules, "accents", raising=False)


def by(name: str, rows: list[Item]) -> dict[float, Item]:
    return {float(row[name]): {n: float(v) for n, v in row.items()} for row in rows}


@pytest.mark.either_engine
@pytest.mark.parametrize("lines", [7, rest(100)])
def test_functions_see_canonical_tuples_however_the_input_is_cut(
    spark: SparkSession, tmp_path: Path, lines: int
) -> None:
    """Tuple by tuple, per group with absorbed Alters, and per group with Alters that go on (theory 2.2, 2.8)."""
    text = (
        HEAD
        + """
    twice := doubled(r);
    w := window[8 on ts as wid](r);
    widths := spread(w);
    best := hottest(w);
    emit twice to json "o";
    emit widths to json "o/w";
    emit best to json "o/b";
    """
    )
    run = Query(spark, tmp_path, text)
    items = evolving_stream()
    for start in range(0, len(items), lines):
        run.write("r", items[start : start + lines])
    run.process(files_per_epoch=1)
    assert run.quarantine("r") == []
    tuples = {
        row["ts"]: {"ts": row["ts"], "s": row["s"], "t": row["t"], "twice": row["t"] * 2}
        for row in ROWS_OF_USERS
    }
    assert by("ts", decode(run.output("twice"))) == tuples
    accents = [i["$accent"] for i in run.output("twice") if "$accent" in i]
    # Of one file, the first Add of p ends an epoch, in which both sensors have changed.
    both = ["[[alter(t, y -> y * 2 + 1)]]"]
    assert accents == (both if lines == 100 else [ALTER["$accent"], ALTER_REST["$accent"]])
    groups = {k: [row for row in ROWS_OF_USERS if row["ts"] // 8 == k] for k in range(3)}
    assert [i for i in run.output("widths") if "$accent" in i] == [], "what is accumulated absorbs"
    assert by("wid", [i for i in run.output("widths") if is_tuple(i)]) == {
        k: {
            "wid": k,
            "width": max(r["t"] for r in rows) - min(r["t"] for r in rows),
            "count": sum(r["ts"] < 21 for r in rows),
        }
        for k, rows in groups.items()
    }
    best = by("wid", decode(run.output("best")))
    for k, rows in groups.items():
        expected = max(rows, key=lambda r: (r["t"], r["ts"]))
        assert best[k]["t"] == expected["t"]
        assert best[k]["ts"] == expected["ts"]
    for emit, names in (
        ("twice", {"ts", "s", "t", "twice"}),
        ("widths", {"wid", "width", "count"}),
        ("best", {"wid", "ts", "s", "t", "n"}),
    ):
        assert list(complaints(run.output(emit), names)) == []


@pytest.mark.either_engine
def test_two_inputs_wait_for_each_other(spark: SparkSession, tmp_path: Path) -> None:
    """Groups of both inputs close when both have closed them; a union's accents are coordinated (U4)."""
    text = """
    stream a(k: long, v: double) from json "in";
    stream b(k: long, v: double) from json "in";
    operator difference(A, B) foundation {k} merge {k} accumulate {v} returns (k: long, gap: double)
      from "accents:difference";
    operator both(A, B) merge {k, v} from "accents:both";
    gaps := difference(a, b);
    every := both(a, b);
    emit gaps to json "o";
    emit every to json "o/2";
    """
    alter = {"$accent": "[[alter(v, y -> y / 10)]]"}
    run = Query(spark, tmp_path, text)
    run.write("a", [{"k": 1, "v": 10.0}, {"k": 2, "v": 20.0}, alter, {"k": 1, "v": 5.0}])
    run.write("b", [{"k": 1, "v": 7.0}, {"$punctuation": "[k = 1]"}, {"k": 2, "v": 1.0}])
    run.write("a", [{"$punctuation": "[k = 1]"}, {"k": 2, "v": 2.0}])
    run.write("a", [{"$punctuation": "[]"}])
    run.write("b", [])
    run.write("b", [alter, {"k": 2, "v": 0.1}, {"k": 3, "v": 1.0}, {"$punctuation": "[]"}])
    executor = run.process(files_per_epoch=1)
    assert run.output("gaps") == [
        {"k": 1, "gap": 53.0},
        {"$punctuation": "[k = 1]"},
        {"k": 2, "gap": 38.0},
        {"$punctuation": "[]"},
    ]
    assert executor.last.segments == {}
    values = sorted((row["k"], float(row["v"])) for row in decode(run.output("every")))
    assert values == [(1, 7.0), (1, 10.0), (1, 50.0), (2, 1.0), (2, 1.0), (2, 20.0), (2, 20.0), (3, 10.0)]


# --- functions that are none, and results that are wrong ---

ONE = """
stream r(ts: long, s: int, t: double) from json "in";
operator f(R) foundation {{t}} {returns} from "{function}";
out := f(r);
emit {emitted} to json "o";
"""


def planned(function: str, returns: str = "", emitted: str = "out") -> Plan:
    return compile_query(ONE.format(function=function, returns=returns, emitted=emitted)).plan


@contextmanager
def on_one_tuple(spark: SparkSession, root: Path, plan: Plan) -> Iterator[DataFrame]:
    """Yields the result of the function of `out` for one tuple; planned, but not computed yet."""
    frame = spark.sql("SELECT 1L AS ts, 2 AS s, 3D AS t")
    frame = frame.selectExpr("*", "1 AS `$order`") if "r" in plan.placed else frame
    state = StateStore(spark, Files(), str(root / "state"), Jobs())
    with ExitStack() as cached:
        e: Any = Epoch(plan, 0, {"r": frame}, frozenset({"r"}), plan.start, plan.start, state, cached)
        yield e.user(frame)


def columns(spark: SparkSession, root: Path, plan: Plan) -> list[str]:
    with on_one_tuple(spark, root, plan) as result:
        return result.columns


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("absent:f", "the module `absent` of `f` cannot be loaded: ModuleNotFoundError"),
        ("accents:f", "`f` of `f` is not a function of"),
        ("accents:NAME", "`NAME` of `f` is not a function of"),
    ],
)
def test_a_function_that_cannot_be_loaded_is_refused_before_anything_runs(
    function: str, message: str
) -> None:
    with pytest.raises(DiagnosticError) as caught:
        check_functions(planned(function))
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message[: len(message)]) == ("RQ407", message)
    assert diagnostic.span is not None
    assert diagnostic.help


def test_a_wrong_result_is_refused_with_what_is_wrong(spark: SparkSession, tmp_path: Path) -> None:
    returns = "returns (ts: long, s: int, t: double)"
    for function, schema, code, message in (
        ("nothing", "", "RQ409", "returned NoneType, not a DataFrame"),
        ("fails", "", "RQ408", "failed: AnalysisException"),
        ("lacks", "", "RQ409", "returned a DataFrame without `s`"),
        ("adds", returns, "RQ409", "with `more`, which nothing declares"),
        ("strings", "", "RQ409", "with `s` as string, not int"),
        ("wide", "", "RQ409", "with `s` as struct<a:decimal(3,1)>, not int"),
    ):
        with pytest.raises(DiagnosticError) as caught:
            columns(spark, tmp_path, planned(f"accents:{function}", schema))
        (diagnostic,) = caught.value.diagnostics
        assert diagnostic.code == code
        assert message in diagnostic.message
        assert diagnostic.help
    with pytest.raises(DiagnosticError) as caught:
        columns(spark, tmp_path, planned("accents:selects", emitted="limit[1](out)"))
    assert "without `$order`" in caught.value.diagnostics[0].message
    assert columns(spark, tmp_path, planned("accents:narrow")) == ["ts", "s", "t"], "an int is a long"


def test_a_module_is_found_beside_the_query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", ["nowhere"])
    monkeypatch.chdir(tmp_path)
    plan = planned("accents:doubled")
    with pytest.raises(DiagnosticError):
        check_functions(plan)
    look_beside(plan, str(tmp_path / "modules" / "accents.py"))
    check_functions(plan)


def test_a_function_may_work_in_python_workers(spark: SparkSession, tmp_path: Path) -> None:
    """Modules of functions travel by value: the workers cannot import them."""
    with on_one_tuple(spark, tmp_path, planned("accents:longer")) as result:
        assert [row["t"] for row in result.collect()] == [7.0]
