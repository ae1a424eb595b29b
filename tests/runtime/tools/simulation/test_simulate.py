"""`cedilla simulate` and `cedilla verify` on folders, with good and bad input."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from cedilla.compiler import compile_query
from cedilla.compiler.expressions.types import Type
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime import run, simulate
from cedilla.runtime.connectors.records.marker_files import Markers
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.epochs.pipeline.load import load
from cedilla.runtime.tools.inspect import verify as verifying
from tests.kit.command import cedilla
from tests.kit.lines import write_lines
from tests.kit.query import Query
from tests.kit.stream import Item, decode, read_output

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
        write_lines(tmp_path / "pumps" / f"{number}.jsonl", items, number)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_simulate_writes_what_run_would(folder: Path) -> None:
    result = cedilla("simulate", "q.rq", "--sink", "flow=flow")
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


def test_many_rejected_lines_are_counted_and_long_ones_cut(folder: Path) -> None:
    lines: list[Item | str] = [f"line {n}" for n in range(30)]
    write_lines(folder / "pumps" / "3.jsonl", [*lines, {"ts": "x" * 5000}], 3)
    shown = cedilla("simulate", "q.rq").stderr.splitlines()
    assert [line.partition(": ")[2] for line in shown if "3.jsonl" in line] == [
        f"rejected (RQ301): the line is not a JSON object: line {n}" for n in range(19)
    ]
    assert shown[-1] == "rejected (RQ301): 12 more lines"
    write_lines(folder / "pumps" / "3.jsonl", [{"ts": "x" * 5000}], 3)
    assert max(map(len, cedilla("simulate", "q.rq").stderr.splitlines())) < 1000


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
        for text, position in reversed(list(zip(switch, places, strict=True))):
            stream.insert(position, {"$accent": text})
        write_lines(folder / "pumps" / "1.jsonl", stream)
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


def test_simulate_prints_the_attributes_of_a_join_in_the_order_of_a_run(folder: Path) -> None:
    write_lines(folder / "places" / "1.jsonl", [{"id": 9, "pump": 1, "place": "hall"}])
    table = 'table places(id: int, pump: int, place: string) from json "places";\n'
    (folder / "x.rq").write_text(table + QUERY.replace("emit flow", "emit pumps join places on pump"))
    first = cedilla("simulate", "x.rq").stdout.splitlines()[0]
    assert first == '{"ts": 0, "pump": 1, "litres": 100.0, "id": 9, "place": "hall"}'


def test_simulate_prints_and_ends_at_a_bad_marker(folder: Path) -> None:
    with (folder / "pumps" / "1.jsonl").open("a") as file:
        file.write('{"$accent": "[[alter(litre, y -> y * 2)]]"}\n')
    os.utime(folder / "pumps" / "1.jsonl", (1, 1))
    result = cedilla("simulate", "q.rq")
    assert result.exit_code == 1
    assert '{"minute": 0, "litres": 120.0}' in result.output
    assert "1.jsonl:8:" in result.output
    assert not (folder / "flow").exists()


def test_simulate_refuses_what_it_cannot_do(folder: Path) -> None:
    (folder / "x.rq").write_text(QUERY.replace("from json", "from xml"))
    assert "error[RQ212]: an element that looks like a marker" in cedilla("simulate", "x.rq").output
    assert "RQ401" in cedilla("simulate", "q.rq", "--source", "pumps=nowhere").output


@pytest.mark.parametrize("path", ["s3://bucket/pumps", "gs://bucket/pumps", "unknown://host/pumps"])
def test_a_folder_that_is_not_on_this_machine_is_refused_and_not_empty(folder: Path, path: str) -> None:
    for arguments in (("simulate", "q.rq", "--source", f"pumps={path}"), ("read", path)):
        result = cedilla(*arguments)
        assert (result.exit_code, f"error[RQ406]: {path}" in result.output) == (1, True)


def test_a_folder_with_the_scheme_of_local_files_is_read(folder: Path) -> None:
    result = cedilla("simulate", "q.rq", "--source", f"pumps=file://{folder / 'pumps'}")
    assert result.stdout == cedilla("simulate", "q.rq").stdout != ""


@pytest.mark.parametrize("format_", ["parquet", "delta", "xml", 'kafka "host:9092/flow"'])
def test_simulate_prints_whatever_the_query_writes(folder: Path, format_: str) -> None:
    """And writes JSON Lines into a folder that it is given."""
    where = "" if "kafka" in format_ else ' "flow"'
    (folder / "x.rq").write_text(QUERY.replace('json "flow"', f"{format_}{where}"))
    printed = cedilla("simulate", "x.rq")
    assert printed.exit_code == 0, printed.output
    assert printed.stdout == cedilla("simulate", "q.rq").stdout
    assert not (folder / "flow").exists()
    assert cedilla("simulate", "x.rq", "--sink", "flow=there").exit_code == 0
    assert {"minute": 0, "litres": 120.0} in read_output(folder / "there")


WAITS = {
    "a group": (
        "flow",
        "2 groups of `flow` wait for a punctuation on `minute`; none has come on `ts` of `pumps`",
    ),
    "a sort": (
        "sort[ts](pumps)",
        "3 rows of `sort` wait for a punctuation on `ts`; none has come on `ts` of `pumps`",
    ),
    "a difference": ("pumps minus other", "3 rows of `minus` wait"),
    "a left join": ("pumps left join project[pump](other) on pump", "3 rows of `join` wait"),
    "the best": ("top[1 by litres per ts](pumps)", "3 rows of `top` wait"),
}


@pytest.mark.parametrize("case", WAITS)
def test_simulate_says_what_waits_and_shows_it_with_end(folder: Path, case: str) -> None:
    """Of a stream without punctuation, as most first ones are."""
    relation, text = WAITS[case]
    lines = [{"ts": ts, "pump": pump, "litres": 1.0} for ts, pump in ((0, 1), (0, 2), (100, 2))]
    for file in (folder / "pumps").iterdir():
        file.unlink()
    write_lines(folder / "pumps" / "1.jsonl", lines)
    (folder / "other").mkdir()
    other = 'stream other(ts: long, pump: int, litres: double) from json "other" punctuated on ts;\n'
    (folder / "x.rq").write_text(other + QUERY.replace("emit flow", f"emit {relation}"))
    result = cedilla("simulate", "x.rq")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "note[RQ234]" in result.stderr
    assert text in result.stderr
    assert "`--end`" in result.stderr
    assert "`heartbeat ts delay 10` of `pumps`" in result.stderr or case not in ("a group", "a sort")
    ended = cedilla("simulate", "x.rq", "--end")
    assert "RQ234" not in ended.stderr
    assert sum('"ts"' in line or '"minute"' in line for line in ended.stdout.splitlines()) >= 2


def test_a_drop_that_state_outlives_is_announced_once(tmp_path: Path) -> None:
    """Another output holds the Drop back, which changes the facts at each step."""
    query = (
        'stream r(ts: long, v: double, q?: double) from json "r"; emit r to json "o"; '
        'emit top[1 by v](r) to json "t";'
    )
    run = Query.without_engine(tmp_path, query)
    drop = {"$accent": "[[-(q)]]"}
    run.write("r", [{"ts": 1, "v": 1.0, "q": 5.0}, drop, {"ts": 2, "v": 2.0}])
    assert run.simulate().output("r") == [{"ts": 1, "v": 1.0, "q": 5.0}, drop, {"ts": 2, "v": 2.0}]


def test_simulate_says_that_groups_are_open_after_a_punctuation(folder: Path) -> None:
    (folder / "pumps" / "2.jsonl").write_text('{"ts": 70, "pump": 1, "litres": 0.1}\n')
    result = cedilla("simulate", "q.rq")
    assert "note[RQ234]: 1 group of `flow` open: nothing has closed them yet" in result.stderr
    assert "RQ234" not in cedilla("simulate", "q.rq", "--end").stderr


def test_check_sees_outputs_inside_of_sources_and_relations_that_nothing_uses(folder: Path) -> None:
    text = QUERY.replace('"flow"', '"pumps/out"') + "unused := select[pump = 1](pumps);\n"
    (folder / "x.rq").write_text(
        f'table lost(k: int) from json "lost";\n{text}alone := window[5 on ts as w](unused);\n'
    )
    result = cedilla("check", "x.rq")
    assert result.exit_code == 1
    assert "error[RQ116]: `flow` is emitted to pumps/out, which stream `pumps` reads" in result.output
    assert "warning[RQ165]: `lost` is never used" in result.output
    assert "warning[RQ165]: `alone` is never used" in result.output
    assert "`unused` is never used" not in result.output, "`alone` does"
    assert "RQ165" not in cedilla("check", "q.rq").output


def test_a_table_that_gives_a_domain_is_used(folder: Path) -> None:
    text = 'table fleet(pump: int) from json "fleet";\n' + QUERY.replace("{1, 2}", "fleet.pump")
    (folder / "x.rq").write_text(text)
    assert "RQ165" not in cedilla("check", "x.rq").output


def test_outputs_are_printed_with_their_names_where_there_are_several(folder: Path) -> None:
    (folder / "two.rq").write_text(QUERY + 'emit select[pump = 1](pumps) to json "one";')
    result = cedilla("simulate", "two.rq")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert 'flow: {"minute": 0, "litres": 120.0}' in lines
    assert 'select: {"ts": 0, "pump": 1, "litres": 100.0}' in lines
    bare = cedilla("simulate", "two.rq", "--sink", "select=one").stdout.splitlines()
    assert bare == [line.removeprefix("flow: ") for line in lines if line.startswith("flow: ")]
    assert {path.name for path in folder.iterdir()} == {"q.rq", "two.rq", "pumps", "one"}


def test_simulate_reads_standard_input(folder: Path) -> None:
    text = "".join((folder / "pumps" / name).read_text() for name in ("1.jsonl", "2.jsonl"))
    result = cedilla("simulate", "q.rq", "--source", "pumps=-", text=text)
    assert result.exit_code == 0, result.output
    assert '{"minute": 0, "litres": 120.0}' in result.stdout
    assert "<stdin>:5: rejected (RQ301)" in result.stderr


def test_simulate_does_not_write_into_the_results_of_a_run(folder: Path) -> None:
    (folder / "flow" / "epoch=000000000000").mkdir(parents=True)
    result = cedilla("simulate", "q.rq", "--sink", "flow=flow")
    assert result.exit_code == 1
    assert "error[RQ405]: flow holds the output of an earlier run" in result.stderr
    assert "q.rq:5:1" in result.stderr
    assert result.stdout == ""


@pytest.mark.either_engine
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

    monkeypatch.setattr("cedilla.runtime.epochs.pipeline.program.engine_session", no_session)
    (folder / "old" / "epoch=000000000000").mkdir(parents=True)
    if not command:
        compiled = compile_query(QUERY)
        name, _, path = options[1].partition("=")
        streams = {
            "--source": Options(sources={name: path}),
            "--sink": Options(sinks={name: path}),
            "--checkpoint": Options(checkpoint=name),
        }[options[0]]
        with pytest.raises(DiagnosticError) as caught:
            run(compiled, streams)
        assert caught.value.diagnostics[0].code == PLACES[options]
        return
    result = cedilla("run", "q.rq", "--once", *options)
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
    """The errors of Spark in test_bad_input.py: code, place, text and hint; the step has no output."""
    good = '{"ts": 70, "pump": 1, "litres": 1.0}'
    (folder / "pumps" / "2.jsonl").unlink()
    (folder / "pumps" / "1.jsonl").write_text(f'{good}\n{{"$punctuation": "[ts < 60]"}}\n{good}\n{line}\n')
    (folder / "q.rq").write_text(SETTINGS_QUERY + 'emit pumps to json "p";')
    result = cedilla("simulate", "q.rq", "--sink", "flow=flow", "--set", f"{setting}={value}")
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


@pytest.mark.either_engine
def test_unannounced_attributes_are_added_where_accents_can_write_their_names(
    spark: SparkSession, tmp_path: Path
) -> None:
    """By a run and by the reference; others are set aside, with a code that says why."""
    query = 'stream r(ts: long) from json "r"; set drift = infer; emit r to json "o";'
    drifting = Query(spark, tmp_path, query)
    drifting.write("r", list(DRIFTING))
    drifting.process()
    rejected = [(r["code"], r["raw"]) for r in drifting.quarantine("r")]
    expected = [
        ("RQ301", DRIFTING[1]),  # the first value of `hue` is whole
        *(("RQ307", line) for line in DRIFTING[3:-1]),
    ]
    assert sorted(rejected) == sorted(expected)
    collected: list[tuple[str, str]] = []
    simulate(
        query,
        Options(sources={"r": str(tmp_path / "in" / "r")}, sinks={"r": str(tmp_path / "simulated")}),
        lambda line, code: collected.append((code, line.line.text)),
    )
    assert sorted(collected) == sorted(expected)
    outputs = [drifting.output("r"), read_output(tmp_path / "simulated")]
    by_kind = [
        (sorted(str(i) for i in output if "$accent" in i), sorted((i for i in output if "ts" in i), key=str))
        for output in outputs
    ]
    assert by_kind[0] == by_kind[1]
    assert [json.loads(i.replace("'", '"'))["$accent"] for i in by_kind[0][0]] == [
        "[[+(big: double)]]",
        "[[+(hue: long)]]",
        "[[+(in: long)]]",
        "[[+(kind: string)]]",
        "[[+(list: string)]]",
        "[[+(on: boolean)]]",
        "[[+(size: double)]]",
    ]


@pytest.mark.either_engine
def test_verify_compares_spark_with_the_reference(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, flow = load(compile_query(QUERY))
    real = verifying.start
    monkeypatch.setattr(
        verifying, "start", lambda p, f, o, report, **options: real(p, f, o, report, spark, **options)
    )
    here = Options(sources={"pumps": str(folder / "pumps")})  # Spark may have been started elsewhere
    (verdict,) = verifying.verify(plan, flow, here)
    assert verdict.text() == "flow: 2 tuples, decode(out) = query(decode(in))"
    assert not (folder / "flow").exists()


@pytest.mark.either_engine
def test_verify_finds_no_difference_at_the_ends_of_time(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A moment of the year 9999 has more digits in microseconds than a double, and a long may have."""
    ends = ("0001-01-01T00:00:00Z", "9999-12-31T22:59:59.999999Z", "9999-12-31T23:59:59.999999Z")
    (tmp_path / "r").mkdir()
    rows = ({"k": 2**63 - 1 - n, "at": at, "day": at[:10]} for n, at in enumerate(ends))
    write_lines(tmp_path / "r" / "1.jsonl", rows)
    query = f"""
    stream r(k: long, at: timestamp, day: date) from json "{tmp_path}/r" punctuated on at;
    hours := window[1 hour on at as [a, b]](r);
    emit hours to json "{tmp_path}/out";
    """
    plan, flow = load(compile_query(query))
    real = verifying.start
    monkeypatch.setattr(
        verifying, "start", lambda p, f, o, report, **options: real(p, f, o, report, spark, **options)
    )
    (verdict,) = verifying.verify(plan, flow, Options())
    assert verdict.text() == "hours: 3 tuples, decode(out) = query(decode(in))"


def test_verify_tells_two_whole_numbers_apart_that_are_one_double() -> None:
    types = {"n": Type("long"), "at": Type("timestamp")}
    one, other = ({"n": 2**63 - 1, "at": 253402300799999999 - n} for n in (0, 1))
    assert verifying._verdict("out", [one], [one], types).holds
    assert not verifying._verdict("out", [one], [other], types).holds


def test_a_difference_is_shown() -> None:
    verdict = verifying.Verdict("flow", 2, ({"minute": 1.0, "litres": 2.0},), ())
    assert not verdict.holds
    assert "only the engine has 1 of the tuples; the first: litres = 2.0, minute = 1.0" in verdict.text()


@pytest.mark.either_engine
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
