"""Values that mean undefined (theory N11): the source removes them before it undoes anything else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla import Options, compile_query, run, simulate
from tests.kit.command import cedilla
from tests.kit.compare import values_of
from tests.kit.errors import code_of, error_of
from tests.kit.lines import marker, write_lines
from tests.kit.query import canonical_rows
from tests.kit.stream import Item, decode, read_output
from tests.kit.tiers import rest
from tests.runtime.epochs.checkpoint.plan_edits import edited, ran

QUERY = """
stream r(ts: long, s: int in {1, 2}, x?: double unit degC, k?: string)
  from json "r"
  punctuated on ts;
average := aggregate[avg(x) as x, count() as n by s](r);
emit r to json "out/r" in original units;
emit average to json "out/average" in original units;
"""


def row_of_x(ts: int, x: float | None = None, s: int = 1, **more: object) -> Item:
    return {"ts": ts, "s": s, **({} if x is None else {"x": x}), **more}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rq").write_text(QUERY)
    return tmp_path


LIST = marker("[[s = 1, missing(x, {-999, 9999.9})]]")
CASES: dict[str, tuple[Sequence[Item], list[tuple[int, float | None]]]] = {
    "from its accent on, of the described tuples": (
        [
            row_of_x(1, -999.0),
            LIST,
            row_of_x(2, -999),
            row_of_x(3, 9999.9),
            row_of_x(4, 5.0),
            row_of_x(5, -999.0, 2),
        ],
        [(1, -999.0), (2, None), (3, None), (4, 5.0), (5, -999.0)],
    ),
    "as they are written, whatever the unit is": (
        [LIST, marker("[[unit(x, degF)]]"), row_of_x(1, -999.0), row_of_x(2, 50.0), row_of_x(3, -1766.2)],
        [(1, None), (2, 10.0), (3, -999.0)],
    ),
    "as they are written, when they come after the unit": (
        [marker("[[unit(x, degF)]]"), LIST, row_of_x(1, -999.0), row_of_x(2, 50.0), row_of_x(3, -1766.2)],
        [(1, None), (2, 10.0), (3, -999.0)],
    ),
    "among values that are turned": (
        [
            marker("[[alter(x, y -> 10 / y)]]"),
            row_of_x(1, -999.0),
            LIST,
            row_of_x(2, -999.0),
            row_of_x(3, 2.0),
        ],
        [(2, None), (3, 5.0)],
    ),
    "a later list takes the place of the first": (
        [LIST, marker("[[missing(x, {0})]]"), row_of_x(1, -999.0), row_of_x(2, 0.0), row_of_x(3, 0.0, 2)],
        [(1, -999.0), (2, None), (3, None)],
    ),
    "an empty list": (
        [LIST, marker("[[missing(x, {})]]"), row_of_x(1, -999.0)],
        [(1, -999.0)],
    ),
    "under another name": (
        [LIST, marker("[[rename(t, x)]]"), row_of_x(1, t=-999.0), row_of_x(2, t=5.0)],
        [(1, None), (2, 5.0)],
    ),
    "after an add": (
        [LIST, marker("[[-(x)]]"), row_of_x(1, -999.0), marker("[[+(x: double)]]"), row_of_x(2, -999.0)],
        [(1, None), (2, -999.0)],
    ),
}


def simulate_query() -> None:
    simulate(QUERY, Options(sinks={"r": "out/r", "average": "out/average"}))


@pytest.mark.parametrize("case", CASES)
def test_a_source_removes_the_values(here: Path, case: str) -> None:
    items, expected = CASES[case]
    write_lines(here / "r/1.jsonl", items)
    simulate_query()
    assert values_of(canonical_rows("out/r", 9), "ts", "x") == expected
    problems = cedilla("validate", "r", "--query", "q.rq").output
    assert problems.count("error[") == sum("ts" in item for item in items) - len(expected)


@pytest.mark.either_engine
@pytest.mark.parametrize("files_per_epoch", [rest(None), 1])
def test_an_engine_removes_the_values(spark: SparkSession, here: Path, files_per_epoch: int | None) -> None:
    # All cases one after the other, with names of their own, and what is expected.
    items, expected = (
        [
            row_of_x(1, -999.0, k="none"),
            LIST,
            marker('[[s = 1, missing(k, {"none", ""})]]'),
            row_of_x(2, -999, k="a"),
            row_of_x(3, 9999.9, k="none"),
            marker('[[k = "a", alter(x, y -> y * 2)]]'),
            row_of_x(4, -999.0, k="none"),
            row_of_x(5, 8.0, k="a"),
            row_of_x(6, 9999.9, k="a"),
            row_of_x(7, -999.0, 2, k="none"),
        ],
        [(1, -999.0), (2, None), (3, None), (4, None), (5, 4.0), (6, None), (7, -999.0)],
    )
    options = Options(once=True, checkpoint="ck", files_per_epoch=files_per_epoch)
    for number, half in enumerate((items[:6], items[6:], [{"$punctuation": "[]"}])):
        write_lines(here / f"r/{number}.jsonl", half, number)
    run(QUERY, options, spark=spark)
    assert values_of(canonical_rows("out/r", 9), "ts", "x") == expected
    keys = [item.get("k") for item in sorted(decode(read_output(Path("out/r"))), key=lambda i: i["ts"])]
    assert keys == ["none", "a", None, None, "a", "a", "none"]
    averages = {item["s"]: (item["x"], item["n"]) for item in decode(read_output(Path("out/average")))}
    assert averages == {1: (-497.5, 6), 2: (-999.0, 1)}
    simulate(QUERY, Options(sinks={"r": "again/r", "average": "again/average"}))
    assert values_of(canonical_rows("again/r", 9), "ts", "x") == expected


@pytest.mark.either_engine
def test_it_goes_on_after_a_restart_and_is_shown(spark: SparkSession, here: Path) -> None:
    options = Options(once=True, checkpoint="ck")
    write_lines(here / "r/1.jsonl", [LIST, row_of_x(1, -999.0)], 1)
    run(QUERY, options, spark=spark)
    assert "missing(x, {-999, 9999.9}) where s = 1" in cedilla("status", "ck").output
    write_lines(here / "r/2.jsonl", [row_of_x(2, 9999.9), row_of_x(3, 9999.9, 2)], 2)
    run(QUERY, options, spark=spark)
    assert values_of(canonical_rows("out/r", 9), "ts", "x") == [(1, None), (2, None), (3, 9999.9)]


def test_a_punctuation_does_not_close_them(here: Path) -> None:
    """`x < 0` describes no tuple without x, however it is written; later -999 is a number again."""
    closing = [LIST, {"$punctuation": "[s = 1, x < 0]"}, row_of_x(1, -999.0), row_of_x(2, -1.0)]
    write_lines(here / "r/1.jsonl", [*closing, marker("[[missing(x, {})]]"), row_of_x(3, -999.0)])
    simulate_query()
    assert values_of(canonical_rows("out/r", 9), "ts", "x") == [(1, None), (3, -999.0)]


WRONG: dict[str, tuple[list[str], str]] = {
    "of a required attribute": (["[[missing(ts, {-1})]]"], "RQ238"),
    "of another type": (["[[missing(x, {none})]]"], "RQ208"),
    "no whole number": (["[[+(n: int)]]", "[[missing(n, {0.5})]]"], "RQ208"),
    "of each other": (["[[k = a, missing(x, {1})]]", "[[x > 0, missing(k, {b})]]"], "RQ239"),
    "of each other after an alter": (
        [
            "[[+(p: double)]]",
            "[[p > 1, missing(x, {1})]]",
            "[[p > 1, missing(k, {b})]]",
            "[[k = a, alter(p, y -> 2 * y)]]",
            "[[x = 2, alter(p, y -> 2 * y)]]",
        ],
        "RQ239",
    ),
    "of what changes by them": (
        ["[[k = a, missing(x, {1000})]]", "[[x > 500, recode(k, {b: a, c: b})]]"],
        "RQ239",
    ),
    "a description by one of them": (["[[missing(x, {-999})]]", "[[x = -999, missing(k, {a})]]"], "RQ216"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_lists_end_the_query(here: Path, case: str) -> None:
    texts, code = WRONG[case]
    write_lines(here / "r/1.jsonl", map(marker, texts))
    assert code_of(lambda: simulate(QUERY)) == code


GROWING = """
stream r(s: int in {1, 2}, k?: int in {1, 2}) from json "r";
emit r to json "out/r";
"""


@pytest.mark.parametrize(
    ("missing", "clash"),
    [
        ("[[missing(k, {3})]]", "3 means undefined"),
        ("[[s = 1, missing(k, {3})]]", "3 means undefined for [s = 1]"),
        ("[[s = 1, missing(k, {4})]]", None),
    ],
)
def test_a_domain_does_not_grow_by_what_means_undefined(here: Path, missing: str, clash: str | None) -> None:
    """No tuple could have the new value, and all would wait for it."""
    lines = [missing, "[[recode(k, {1: 1}, else same)]]", "[[grow(k, {3})]]"]
    for texts in (lines, lines[::2]):
        write_lines(here / "r/1.jsonl", map(marker, texts))
        if clash is None:
            simulate(GROWING)
            continue
        error = error_of(lambda: simulate(GROWING))
        assert (error.code, error.message) == ("RQ466", f"the domain of `k` cannot grow: {clash}")
    (changed,) = edited(ran(compile_query(GROWING).plan, [("r", marker(missing))]), WIDER)[0].items
    assert (changed.effect == "new checkpoint") == (clash is not None)
    assert clash is None or f"{clash} (RQ466)" in changed.why


WIDER = GROWING.replace("k?: int in {1, 2}", "k?: int in {1, 2, 3}")


def test_tools_know_it(here: Path) -> None:
    write_lines(here / "r/1.jsonl", [marker("[[missing({x}, {-999})]]"), row_of_x(1, -999.0)])
    assert "RQ213" in cedilla("canonize", "r", "--query", "q.rq").output
    assert "undone at the source" in cedilla("trace", "q.rq", "[[missing(x, {-999})]]").output
    assert "changes nothing" in cedilla("trace", "q.rq", "[[missing(x, {})]]").output
