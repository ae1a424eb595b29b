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
from cedilla.runtime.cli.main import main
from cedilla.runtime.control.sinks.announce import Markers
from cedilla.runtime.inspect import verify as verifying
from cedilla.runtime.pipeline.load import load
from cedilla.runtime.terminal.options import Options
from tests.pipeline import Run
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
    result = call("simulate", "q.rq", "--sink", "flow=flow")
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
    result = call("simulate", "q.rq")
    assert result.exit_code == 1
    assert '{"minute": 0, "litres": 120.0}' in result.output
    assert "1.jsonl:8:" in result.output
    assert not (folder / "flow").exists()


def test_simulate_refuses_what_it_cannot_do(folder: Path) -> None:
    (folder / "x.rq").write_text(QUERY.replace('to json "flow"', 'to xml "flow"'))
    assert "RQ406" in call("simulate", "x.rq").output
    assert "RQ401" in call("simulate", "q.rq", "--source", "pumps=nowhere").output


def test_outputs_are_printed_with_their_names_where_there_are_several(folder: Path) -> None:
    (folder / "two.rq").write_text(QUERY + 'emit select[pump = 1](pumps) to json "one";')
    result = call("simulate", "two.rq")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert 'flow: {"minute": 0, "litres": 120.0}' in lines
    assert 'select: {"ts": 0, "pump": 1, "litres": 100.0}' in lines
    bare = call("simulate", "two.rq", "--sink", "select=one").stdout.splitlines()
    assert bare == [line.removeprefix("flow: ") for line in lines if line.startswith("flow: ")]
    assert {path.name for path in folder.iterdir()} == {"q.rq", "two.rq", "pumps", "one"}


def test_simulate_reads_standard_input(folder: Path) -> None:
    text = "".join((folder / "pumps" / name).read_text() for name in ("1.jsonl", "2.jsonl"))
    result = CliRunner().invoke(main, ["simulate", "q.rq", "--source", "pumps=-"], input=text)
    assert result.exit_code == 0, result.output
    assert '{"minute": 0, "litres": 120.0}' in result.stdout
    assert "<stdin>:5: rejected (RQ301)" in result.stderr


def test_simulate_does_not_write_into_the_results_of_a_run(folder: Path) -> None:
    (folder / "flow" / "epoch=000000000000").mkdir(parents=True)
    result = call("simulate", "q.rq", "--sink", "flow=flow")
    assert result.exit_code == 1
    assert "error[RQ405]: flow holds the output of an earlier run" in result.stderr
    assert "q.rq:5:1" in result.stderr
    assert result.stdout == ""


def test_run_prints_what_is_committed(
    spark: SparkSession, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Line by line, after the epoch's commit; nothing is left of it."""
    here = Options(
        once=True,
        checkpoint=str(folder / "checkpoint"),
        sources={"pumps": str(folder / "pumps")},
        sinks={"flow": "-"},
        files_per_epoch=1,
    )
    for expected in (['{"minute":0,"litres":120.0}', '{"minute":1,"litres":200.0}'], []):
        run(QUERY, here, spark=spark)
        lines = capsys.readouterr().out.splitlines()
        assert [line for line in lines if "minute" in line and "$" not in line] == expected
    assert not Path("-").exists()
    assert not list((folder / "checkpoint" / "printed").rglob("*.jsonl"))


PLACES = {
    ("--source", "pumps=nowhere"): "RQ401",
    ("--source", "pumps=-"): "RQ401",
    ("--sink", "flow=q.rq"): "RQ405",
    ("--sink", "flow=q.rq/below"): "RQ405",
    ("--sink", "flow=old"): "RQ405",
    ("--checkpoint", "q.rq/c"): "RQ411",
}


@pytest.mark.parametrize("command", [True, False])
@pytest.mark.parametrize("options", PLACES)
def test_places_that_will_not_do_are_found_before_spark_starts(
    folder: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, str], command: bool
) -> None:
    """By the command and by the function, with the query's line."""

    def no_session(*_: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("cedilla.runtime.pipeline.program.engine_session", no_session)
    (folder / "old" / "epoch=000000000000").mkdir(parents=True)
    if not command:
        compiled = compile_query(QUERY)
        name, _, path = options[1].partition("=")
        given = {
            "--source": Options(sources={name: path}),
            "--sink": Options(sinks={name: path}),
            "--checkpoint": Options(checkpoint=name),
        }[options[0]]
        with pytest.raises(DiagnosticError) as caught:
            run(compiled, given)
        assert caught.value.diagnostics[0].code == PLACES[options]
        return
    result = call("run", "q.rq", "--once", *options)
    assert result.exit_code == 1
    assert f"error[{PLACES[options]}]" in result.stderr
    assert ("--> q.rq:" in result.stderr) == (PLACES[options] != "RQ411")


SETTINGS_QUERY = QUERY.replace("litres: double", "litres: double, note?: string")
SETTING_CASES = [
    ("invalid", "abort", "no json", "RQ301"),
    ("invalid", "abort", '{"ts": 70, "litres": 1.0}', "RQ302"),
    ("late", "abort", '{"ts": 1, "pump": 1, "litres": 1.0}', "RQ305"),
    ("drift", "abort", '{"ts": 70, "pump": 1, "litres": 1.0, "hue": 1}', "RQ306"),
    ("late", "ignore", '{"ts": 1, "pump": 1, "litres": 1.0}', None),
    ("drift", "ignore", '{"ts": 70, "pump": 1, "litres": 1.0, "hue": 1}', None),
]


@pytest.mark.parametrize(("setting", "value", "line", "code"), SETTING_CASES)
def test_settings_do_what_they_do_in_a_run(
    folder: Path, setting: str, value: str, line: str, code: str | None
) -> None:
    """As test_bad_input.py has it for Spark: code, place, text and hint; nothing of the step comes out."""
    good = '{"ts": 70, "pump": 1, "litres": 1.0}'
    (folder / "pumps" / "2.jsonl").unlink()
    (folder / "pumps" / "1.jsonl").write_text(f'{good}\n{{"$punctuation": "[ts < 60]"}}\n{good}\n{line}\n')
    (folder / "q.rq").write_text(SETTINGS_QUERY + 'emit pumps to json "p";')
    result = call("simulate", "q.rq", "--sink", "flow=flow", "--set", f"{setting}={value}")
    assert result.exit_code == (0 if code is None else 1)
    assert "rejected (" not in result.stderr
    if code is None:
        return
    assert f"error[{code}]: 1 rejected: " in result.stderr
    assert f"1.jsonl:4: {line}" in result.stderr
    assert f"`set {setting} = quarantine;`" in result.stderr
    assert result.stdout.splitlines() == [good, '{"$punctuation": "[ts < 60]"}']


ODD_NAMES = ["a`b", "a b", "a.b", "$x", "and", "a: int"]
DRIFTING = [
    '{"ts": 1, "hue": 2, "on": true, "size": 1.5, "name": null, "kind": "a"}',
    '{"ts": 2, "hue": 2.5, "list": [1]}',
    '{"ts": 2, "big": 9223372036854775808}',
    *(json.dumps({"ts": 3, name: "odd"}) for name in ODD_NAMES),
    '{"ts": 4, "in": 4}',
]


def test_unannounced_attributes_are_added_where_accents_can_write_their_names(
    spark: SparkSession, tmp_path: Path
) -> None:
    """By a run and by the reference; others are set aside, with a code that says why."""
    query = 'stream r(ts: long) from json "r"; set drift = infer; emit r to json "o";'
    drifting = Run(spark, tmp_path, query)
    drifting.write("r", list(DRIFTING))
    drifting.process()
    rejected = [(r["code"], r["raw"]) for r in drifting.quarantine("r")]
    expected = [
        *(("RQ306", line) for line in DRIFTING[1:3]),
        *(("RQ307", line) for line in DRIFTING[3:-1]),
    ]
    assert sorted(rejected) == sorted(expected)
    seen: list[tuple[str, str]] = []
    simulate(
        query,
        Options(sources={"r": str(tmp_path / "in" / "r")}, sinks={"r": str(tmp_path / "simulated")}),
        lambda line, code: seen.append((code, line.line.text)),
    )
    assert sorted(seen) == sorted(expected)
    outputs = [drifting.output("r"), read_output(tmp_path / "simulated")]
    by_kind = [
        (sorted(str(i) for i in output if "$accent" in i), sorted((i for i in output if "ts" in i), key=str))
        for output in outputs
    ]
    assert by_kind[0] == by_kind[1]
    assert [json.loads(i.replace("'", '"'))["$accent"] for i in by_kind[0][0]] == [
        "[[+(hue: double)]]",
        "[[+(in: long)]]",
        "[[+(kind: string)]]",
        "[[+(name: string)]]",
        "[[+(on: boolean)]]",
        "[[+(size: double)]]",
    ]


def test_verify_compares_spark_with_the_reference(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, flow = load(compile_query(QUERY).program)
    real = verifying.start
    monkeypatch.setattr(verifying, "start", lambda p, f, o, report, _: real(p, f, o, report, spark))
    here = Options(sources={"pumps": str(folder / "pumps")})  # Spark may have been started elsewhere
    (verdict,) = verifying.verify(plan, flow, here)
    assert verdict.text() == "flow: 2 tuples, decode(out) = query(decode(in))"
    assert not (folder / "flow").exists()


def test_a_difference_is_shown() -> None:
    verdict = verifying.Verdict("flow", 2, ({"minute": 1.0, "litres": 2.0},), ())
    assert not verdict.holds
    assert "only Spark has 1 of the tuples; the first: litres = 2.0, minute = 1.0" in verdict.text()


def test_python_users_get_epochs_and_may_simulate(
    spark: SparkSession, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    simulate(QUERY)
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
