"""Kinds of quantity in runs (theory N15): what goes together is converted exactly, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime import simulate
from cedilla.runtime.terminal.options import Options
from tests.kit.query import Query
from tests.kit.stream import Item, read_output

FANS = """
stream fans(ts: long, u: string, speed: double unit from u in {rpm, Hz}) from json "in/fans" punctuated on ts;
turns := project[ts, speed](fans);
emit turns to json "out/turns" with speed in rpm;
"""
TURNS: list[Item] = [
    {"ts": 1, "u": "rpm", "speed": 1200.0},
    {"ts": 2, "u": "Hz", "speed": 20.0},
    {"ts": 3, "u": "Hz", "speed": 50.0},
    {"$punctuation": "[]"},
]
SPEEDS = [1200.0, 1200.0, 3000.0]


@pytest.mark.either_engine
@pytest.mark.parametrize("per_epoch", [None, 1])
def test_turns_a_second_are_sixty_a_minute(
    spark: SparkSession, tmp_path: Path, per_epoch: int | None
) -> None:
    run = Query(spark, tmp_path, FANS)
    for item in TURNS:
        run.write("fans", [item])
    run.process(per_epoch)
    assert [row["speed"] for row in run.output("turns") if "speed" in row] == SPEEDS


def test_turns_a_second_are_sixty_a_minute_in_the_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Query(None, tmp_path, FANS).write("fans", TURNS)  # type: ignore[arg-type]
    simulate(FANS, Options(sinks={"turns": "out/turns"}))
    assert [row["speed"] for row in read_output(tmp_path / "out" / "turns") if "speed" in row] == SPEEDS


USED = """
stream disks(ts: long, used: double unit byte, rate: double unit "{request}/s", p: double unit W) from json "in/disks";
emit disks to json "out/disks";
"""


@pytest.mark.either_engine
@pytest.mark.parametrize(
    ("accent", "code"),
    [
        ("[[unit(used, percent)]]", "RQ142"),
        ('[[unit(used, "{packet}")]]', "RQ142"),
        ("[[unit(rate, Hz)]]", "RQ142"),
        ("[[unit(p, VA)]]", "RQ142"),
        ("[[unit(used, mbps)]]", "RQ143"),
        ("[[used > 5 percent, alter(p, y -> y * 2)]]", "RQ142"),
    ],
)
def test_an_accent_of_another_kind_ends_the_query_at_its_place(
    spark: SparkSession, tmp_path: Path, accent: str, code: str
) -> None:
    run = Query(spark, tmp_path, USED)
    tuple_: Item = {"ts": 1, "used": 1500.0, "rate": 8.0, "p": 1.0}
    run.write("disks", [tuple_, {"$accent": accent}, {**tuple_, "ts": 2}])
    with pytest.raises(DiagnosticError, match=code):
        run.process(1)
    assert [row["ts"] for row in run.output("disks")] == [1]


@pytest.mark.either_engine
def test_an_accent_goes_on_within_a_kind_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, USED.replace("emit disks", "emit select[used > 1 kB](disks)"))
    first: Item = {"ts": 1, "used": 1500.0, "rate": 8.0, "p": 1.0}
    run.write("disks", [first, {"$accent": "[[unit(used, Kilobytes)]]"}])
    run.go_on(run.executor(1), 0)
    run.write("disks", [{**first, "ts": 2, "used": 1.5}, {**first, "ts": 3, "used": 0.5}])
    run.go_on(run.executor(1), 1)
    assert [row["ts"] for row in run.output("select") if "ts" in row] == [1, 2]
