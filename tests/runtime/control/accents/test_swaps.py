"""Attributes that change places (theory N11); `tests/runtime/cases/undone-at-the-source.md` has their lines."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla import Options, run, simulate
from tests.kit.command import cedilla
from tests.kit.errors import code_of
from tests.kit.lines import write_lines
from tests.kit.stream import Item, decode, read_output

QUERY = """
stream r(ts: long, s: int in {1, 2}, a: double unit W, b: double unit W, c: double unit W, n: long, m: long, t: double,
  i?: int in {1, 2}, j?: int in {1, 2})
  from json "r"
  punctuated on ts;
emit r to json "out/r";
"""
ONE: Item = {"ts": 1, "s": 1, "a": 1.0, "b": 2.0, "c": 3.0, "n": 4, "m": 5, "t": 6.0}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rq").write_text(QUERY)
    return tmp_path


def accents(*texts: str) -> list[Item]:
    return [{"$accent": text} for text in texts]


WRONG: dict[str, tuple[list[str], str]] = {
    "of two types": (["[[swap(a, n)]]"], "RQ240"),
    "of two units": (["[[swap(a, t)]]"], "RQ240"),
    "of three": (["[[swap(a, b)]]", "[[swap(b, c)]]"], "RQ240"),
    "of one": (["[[swap(a, a)]]"], "RQ001"),
    "of an unknown one": (["[[swap(a, unknown)]]"], "RQ207"),
    "described by one of them": (["[[b > 1, swap(a, b)]]"], "RQ201"),
    "described by a swapped one": (["[[swap(a, b)]]", "[[a > 1, swap(n, m)]]"], "RQ241"),
    "an accent on one of them": (["[[s = 1, swap(a, b)]]", "[[alter(a, y -> y * 2)]]"], "RQ241"),
    "a growth of one of them": (["[[s = 1, swap(i, j)]]", "[[grow(i, {3})]]"], "RQ241"),
    "an alter of whole numbers": (["[[s = 1, swap(n, m)]]", "[[s = 2, alter(n, y -> y * 2)]]"], "RQ241"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_swaps_end_the_query(here: Path, case: str) -> None:
    texts, code = WRONG[case]
    write_lines(here / "r/1.jsonl", accents(*texts))
    assert code_of(lambda: simulate(QUERY)) == code


def test_a_swap_of_other_tuples_allows_accents(here: Path) -> None:
    write_lines(here / "r/1.jsonl", [*accents("[[s = 2, swap(a, b)]]", "[[s = 1, unit(a, kW)]]"), ONE])
    simulate(QUERY, Options(sinks={"r": "out/r"}))
    assert [(row["a"], row["b"]) for row in decode(read_output(Path("out/r")))] == [(1000.0, 2.0)]


def test_a_swapped_attribute_is_renamed_before_or_after(here: Path) -> None:
    """A tuple has the name of the place, whatever value is there."""
    swap, rename = "[[s = 1, swap(a, b)]]", "[[rename(aa, a)]]"
    row = {**{name: value for name, value in ONE.items() if name != "a"}, "aa": 1.0}
    for texts in ([swap, rename], [rename, swap]):
        rows = [row, row | {"ts": 2, "s": 2}, ONE | {"ts": 3}]
        write_lines(here / "r/1.jsonl", [*accents(*texts), *rows])
        simulate(QUERY, Options(sinks={"r": "out/r"}))
        actual = [(row["ts"], row["a"], row["b"]) for row in decode(read_output(Path("out/r")))]
        assert actual == [(1, 2.0, 1.0), (2, 1.0, 2.0)]
        shutil.rmtree("out")


def test_constants_with_units_are_of_what_tuples_have_there(here: Path) -> None:
    """A description by such a constant depends on the units of both, in their own places."""
    begun = accents("[[s = 1, swap(a, b)]]", "[[s = 2, unit(a, kW)]]", "[[c > 2 W, alter(t, y -> y * 2)]]")
    described = accents("[[a > 5 W, alter(t, y -> y * 4)]]")
    rows = [
        ONE | {"ts": 1, "a": 9.0},
        ONE | {"ts": 2, "b": 9.0},
        ONE | {"ts": 3, "s": 2, "a": 0.004, "b": 9.0},
    ]
    last = [{"$punctuation": "[s = 1, a > 8 W]"}, ONE | {"ts": 4, "a": 9.0}, ONE | {"ts": 5, "b": 9.0}]
    write_lines(here / "r/1.jsonl", [*begun, *described, *rows, *last])
    simulate(QUERY, Options(sinks={"r": "out/r"}))
    actual = [(row["ts"], row["a"], row["b"], row["t"]) for row in decode(read_output(Path("out/r")))]
    assert actual == [(1, 2.0, 9.0, 0.75), (2, 9.0, 1.0, 3.0), (3, 4.0, 9.0, 3.0), (5, 9.0, 1.0, 3.0)]


def test_tools_know_swaps(here: Path) -> None:
    write_lines(here / "r/1.jsonl", [*accents("[[s = 1, swap(n, m)]]"), ONE])
    assert "1 tuple" in cedilla("validate", "r", "--query", "q.rq").output
    assert "RQ213" in cedilla("canonize", "r", "--query", "q.rq").output
    assert "undone at the source" in cedilla("trace", "q.rq", "[[swap(a, b)]]").output


def test_a_swap_goes_on_after_a_restart_and_its_statement_is_undone(sail: SparkSession, here: Path) -> None:
    options = Options(once=True, checkpoint="ck", yes=True)
    stated = QUERY + "accent r [[s = 1, swap(n, m)]];\n"
    write_lines(here / "r/1.jsonl", [ONE], 1)
    run(stated, options, spark=sail)
    assert "swap(m, n) where s = 1" in cedilla("status", "ck").output
    write_lines(here / "r/2.jsonl", [ONE | {"ts": 2}], 2)
    run(stated, options, spark=sail)
    write_lines(here / "r/3.jsonl", [ONE | {"ts": 3}], 3)
    run(QUERY, options, spark=sail)
    assert [(row["ts"], row["n"]) for row in decode(read_output(Path("out/r")))] == [(1, 5), (2, 5), (3, 4)]
