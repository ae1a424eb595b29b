"""`cedilla simulate` and `cedilla verify` on folders, with good and bad input."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pyspark.sql import DataFrame, SparkSession

from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime import run, simulate
from cedilla.runtime import verify as verifying
from cedilla.runtime.announce import Markers
from cedilla.runtime.cli import main
from cedilla.runtime.load import load
from cedilla.runtime.options import Options
from tests.stream import Item, decode, read_output

QUERY = """
stream pumps(ts: long, pump: int in {1, 2}, litres: double) from json "pumps" punctuated on ts;
minutes := window[60 on ts as minute](pumps);
flow := aggregate[avg by minute except ts, pump](minutes);
emit flow to json "flow";
"""
FIRST: list[Item | str] = [
    {"ts": 0, "pump": 1, "litres": 100.0},
    {"ts": 0, "pump": 2, "litres": 140.0},
    {"$accent": "[[pump = 1, alter(litres, y -> y / 1000)]]"},
    {"ts": 30, "pump": 1, "litres": 0.1},
    "no json",
    {"ts": 30, "pump": 2, "litres": 140.0},
    {"$punctuation": "[ts < 60]"},
]
SECOND: list[Item | str] = [
    {"$accent": "[[pump = 2, alter(litres, y -> y / 1000)]]"},
    {"ts": 60, "pump": 1, "litres": 0.2},
    {"ts": 30, "pump": 2, "litres": 0.2},
    {"$punctuation": "[]"},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "q.rq").write_text(QUERY)
    (tmp_path / "pumps").mkdir()
    for number, items in enumerate((FIRST, SECOND), 1):
        file = tmp_path / "pumps" / f"{number}.jsonl"
        file.write_text("".join((i if isinstance(i, str) else json.dumps(i)) + "\n" for i in items))
        os.utime(file, (number, number))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_simulate_writes_what_run_would(folder: Path) -> None:
    result = call("simulate", "q.rq")
    assert result.exit_code == 0, result.output
    assert "2.jsonl:3: rejected (RQ305)" in result.output
    assert "1.jsonl:5: rejected (RQ301)" in result.output
    output = read_output(folder / "flow")
    assert [{n: float(v) for n, v in row.items()} for row in decode(output)] == [
        {"minute": 0, "litres": 120},
        {"minute": 1, "litres": 200},
    ]
    # All pumps have changed before the second minute: it is written in cubic metres.
    assert output[-2] == {"minute": 1, "litres": 0.2}


def test_a_planned_switch_holds_by_its_description_and_not_by_its_place(folder: Path) -> None:
    switch = [f"[[pump = {n}, ts >= {at}, alter(litres, y -> y / 1000)]]" for n, at in ((1, 90), (2, 120))]
    tuples: list[Item] = [
        {"ts": 0, "pump": 1, "litres": 100.0},
        {"ts": 0, "pump": 2, "litres": 140.0},
        {"ts": 60, "pump": 1, "litres": 200.0},
        {"ts": 95, "pump": 1, "litres": 0.2},
        {"ts": 70, "pump": 1, "litres": 230.0},
        {"ts": 130, "pump": 2, "litres": 0.3},
        {"$punctuation": "[ts < 180]"},
    ]
    (folder / "pumps" / "2.jsonl").unlink()
    for places in ((0, 0), (0, 3), (2, 5), (3, 4)):
        stream = list(tuples)
        for text, place in reversed(list(zip(switch, places, strict=True))):
            stream.insert(place, {"$accent": text})
        (folder / "pumps" / "1.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in stream))
        out = folder / f"{places[0]}-{places[1]}"
        simulate(QUERY, Options(sinks={"flow": str(out)}))
        output = read_output(out)
        assert [{n: float(v) for n, v in row.items()} for row in decode(output)] == [
            {"minute": 0, "litres": 120},
            {"minute": 1, "litres": 210},
            {"minute": 2, "litres": 300},
        ]
        # Announced before the switch: what comes then is in the new units from its first tuple on.
        assert {"$accent": "[[minute >= 2, alter(litres, y -> y / 1000)]]"} in output
        assert output[-2] == {"minute": 2, "litres": 0.3}


def test_simulate_prints_and_ends_at_a_bad_marker(folder: Path) -> None:
    with (folder / "pumps" / "1.jsonl").open("a") as file:
        file.write('{"$accent": "[[alter(depth, y -> y * 2)]]"}\n')
    os.utime(folder / "pumps" / "1.jsonl", (1, 1))
    result = call("simulate", "q.rq", "--sink", "flow=-")
    assert result.exit_code == 1
    assert '{"minute": 0, "litres": 120.0}' in result.output
    assert "1.jsonl:8:" in result.output
    assert not (folder / "flow").exists()


def test_simulate_refuses_what_it_cannot_do(folder: Path) -> None:
    (folder / "x.rq").write_text(QUERY.replace('to json "flow"', 'to xml "flow"'))
    assert "RQ406" in call("simulate", "x.rq").output
    assert "RQ401" in call("simulate", "q.rq", "--source", "pumps=nowhere").output


def test_verify_compares_spark_with_the_reference(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, functions = load(compile_query(QUERY).program)
    real = verifying.start
    monkeypatch.setattr(verifying, "start", lambda p, f, o, report, _: real(p, f, o, report, spark))
    here = Options(sources={"pumps": str(folder / "pumps")})  # Spark may have been started elsewhere
    (verdict,) = verifying.verify(plan, functions, here)
    assert verdict.text() == "flow: 2 tuples, decode(out) = query(decode(in))"
    assert not (folder / "flow").exists()


def test_a_difference_is_shown() -> None:
    verdict = verifying.Verdict("flow", 2, ({"minute": 1.0, "litres": 2.0},), ())
    assert not verdict.holds
    assert "only Spark has 1 of the tuples; the first: litres = 2.0, minute = 1.0" in verdict.text()


def test_python_users_get_epochs_and_may_simulate(
    spark: SparkSession, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    simulate(QUERY, Options(sinks={"flow": "-"}))
    assert '{"minute": 0, "litres": 120.0}' in capsys.readouterr().out
    epochs: list[tuple[int, list[dict[str, float]], Markers]] = []

    def on_epoch(tuples: DataFrame | None, markers: Markers, epoch: int) -> None:
        rows = [row.asDict() for row in tuples.collect()] if tuples is not None else []
        epochs.append((epoch, rows, markers))

    here = Options(
        once=True,
        checkpoint=str(folder / "checkpoint"),
        sources={"pumps": str(folder / "pumps")},
        files_per_epoch=1,
    )
    run(compile_query(QUERY), here, on_epoch, spark)
    assert [(number, rows) for number, rows, _ in epochs] == [
        (0, [{"minute": 0, "litres": 120.0}]),
        (1, [{"minute": 1, "litres": 200.0}]),
    ]
    assert "minute" in epochs[0][2].punctuations[0]
    with pytest.raises(DiagnosticError, match="RQ413"):
        run(QUERY + 'emit minutes to json "m";', here, on_epoch, spark)
