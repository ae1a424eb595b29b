"""Alters that say the unit to which they lead: what outputs write, what tools read, and what is refused (theory N4)."""

from __future__ import annotations

import json
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla import Options, read, run, simulate
from cedilla.compiler.compile import compile_query
from cedilla.grammar import DiagnosticError
from cedilla.produce import Stream
from cedilla.runtime.connectors.records.marker import MarkerLine
from cedilla.runtime.control.accents import unit_accents
from cedilla.runtime.control.markers.advance import advance
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.tools.inspect.status import read_status, status_text
from cedilla.runtime.tools.reading.units import Units
from tests.kit.command import cedilla
from tests.kit.compare import rounded
from tests.kit.lines import marker, write_lines
from tests.kit.marker_runs import compare
from tests.kit.query import Query
from tests.kit.reference import stepped
from tests.kit.stream import Item, decode, read_output
from tests.runtime.epochs.checkpoint.plan_edits import checkpoint_of, edited, ran

ONE = 'stream r(ts: long, s: int in {1, 2}, t: double unit degF%s) from json "in/r" punctuated on ts;\n'
CELSIUS = "alter(t, y -> (y * 5 - 160) / 9"


def announced_alters(query: str, markers: list[str], emit: str | None = None) -> list[str]:
    """The Alters that an output announces, each marker an epoch of its own."""
    run = stepped(query, markers)
    emit = emit or next(iter(run.reference.plan.emits)).name
    return [text for output in run.outputs for text in output[emit].markers.alters]


@pytest.mark.parametrize(
    ("rest", "markers", "texts"),
    [
        # A unit accent and a plain Alter; the canonical unit has a name, and so has no other one.
        ("emit r", ["[[unit(t, degC)]]"], [f"[[{CELSIUS}, unit degC)]]"]),
        ("emit r", ["[[alter(t, y -> (y - 32) * 5/9)]]"], [f"[[{CELSIUS})]]"]),
        ("emit r", ["[[alter(t, y -> (y - 32) * 5/9, unit Cel)]]"], [f"[[{CELSIUS}, unit Cel)]]"]),
        (
            "emit r",
            ["[[alter(t, y -> y * 2)]]", "[[alter(t, y -> y / 2)]]"],
            ["[[alter(t, y -> y * 2)]]", "[[alter(t, y -> y / 2, unit degF)]]"],
        ),
        # A name that one tuple's accent brings is one for the others.
        (
            "emit r",
            ["[[s = 1, unit(t, degC)]]", "[[s = 2, alter(t, y -> (y - 32) * 5/9)]]"],
            [f"[[s = 1, {CELSIUS}, unit degC)]]", f"[[s = 2, {CELSIUS}, unit degC)]]"],
        ),
        # No unit is named if the description matches values in several units, for every knowledge of the domain.
        (
            "emit r",
            ["[[s = 1, unit(t, degC)]]", "[[s = 2, unit(t, degC)]]", "[[alter(t, y -> y + 273.15)]]"],
            [
                f"[[s = 1, {CELSIUS}, unit degC)]]",
                f"[[s = 2, {CELSIUS}, unit degC)]]",
                "[[alter(t, y -> (y * 20 + 5463) / 20)]]",
            ],
        ),
        # A description that extends into what is closed has the units of there, too.
        (
            "emit r",
            ["[[ts >= 60, unit(t, degC)]]", "[ts < 60]", "[[unit(t, kelvin)]]"],
            [
                f"[[ts >= 60, {CELSIUS}, unit degC)]]",
                "[[ts >= 60, alter(t, y -> (y * 20 + 5463) / 20, unit kelvin)]]",
            ],
        ),
        # Through operators, under other names.
        (
            "emit aggregate[avg(t) as mean by s](r)",
            ["[[unit(t, degC)]]"],
            ["[[alter(mean, y -> (y * 5 - 160) / 9, unit degC)]]"],
        ),
        (
            "emit project[s, t as warmth, t * 2 as twice](r)",
            ["[[unit(t, degR)]]"],
            [
                "[[alter(warmth, y -> (y * 100 + 45967) / 100, unit degR)]]",
                "[[alter(twice, y -> (y * 50 + 45967) / 50)]]",
            ],
        ),
        # A name that the query has for what the attribute is made from, and for nothing else.
        (
            'emit r to json "x" with t in degC; emit r',
            ["[[alter(t, y -> (y - 32) * 5/9)]]"],
            [f"[[{CELSIUS}, unit degC)]]"],
        ),
        (
            'stream o(ts: long, v: double unit degC) from json "o"; emit o to json "x"; emit r',
            ["[[alter(t, y -> (y - 32) * 5/9)]]"],
            [f"[[{CELSIUS})]]"],
        ),
        ("emit r", ["[[s = 1, unit(p, hPa)]]"], ["[[s = 1, alter(p, y -> y / 100, unit hPa)]]"]),
        # Differences have the unit of differences: they are scaled and not shifted.
        (
            "emit aggregate[stddev(t) as dev, var(t) as square, avg(t - 50 degF) as above by s](r)",
            ["[[unit(t, degC)]]"],
            [
                "[[alter(dev, y -> (y * 5) / 9, unit delta_degC)]]",
                '[[alter(square, y -> (y * 25) / 81, unit "delta_degree_Celsius**2")]]',
                "[[alter(above, y -> (y * 5) / 9, unit delta_degC)]]",
            ],
        ),
        (
            "emit project[s, t - 50 degF as above, (50 degF - t) * 2 as below](r)",
            ["[[s = 1, unit(t, Cel)]]"],
            [
                f"[[s = 1, alter({name}, y -> (y * 5) / 9, unit delta_degree_Celsius)]]"
                for name in ("above", "below")
            ],
        ),
        ("emit aggregate[avg(t) - 50 degF as above by s](r)", ["[[alter(t, y -> y + 459.67)]]"], []),
        (
            "emit aggregate[var(p) as square by s](r)",
            ["[[unit(p, hPa)]]"],
            ['[[alter(square, y -> y / 10000, unit "hectopascal**2")]]'],
        ),
    ],
)
def test_what_outputs_say(rest: str, markers: list[str], texts: list[str]) -> None:
    more = ", p: double unit Pa" if "unit(p" in markers[0] else ""
    query = ONE % more + rest + ' to json "out";'
    actual = announced_alters(query, markers, compile_query(query).plan.emits[-1].name)
    assert actual == texts


def test_units_of_differences_are_read_back_and_checked() -> None:
    """They lead from each other as those of temperatures do, and are no temperatures (RQ219, RQ142)."""
    query = 'stream r(s: int in {1, 2}, d: double unit delta_degF) from json "r"; emit r to json "out";'
    scaled = "alter(d, y -> (y * 5) / 9, unit delta_degC)"
    assert announced_alters(
        query, ["[[s = 1, unit(d, delta_degC)]]", "[[s = 2, alter(d, y -> y * 5/9)]]"]
    ) == [f"[[s = {s}, {scaled}]]" for s in (1, 2)]
    assert announced_alters(query, [f"[[{scaled}]]"]) == [f"[[{scaled}]]"]
    for text, code in [
        ("alter(d, y -> (y - 32) * 5/9, unit delta_degC)", "RQ219"),
        ("alter(d, y -> y * 5/9, unit degC)", "RQ142"),
        ("unit(d, degC)", "RQ142"),
    ]:
        with pytest.raises(DiagnosticError, match=code):
            announced_alters(query, [f"[[{text}]]"])


def test_added_attributes_and_units_that_tuples_name() -> None:
    query = ONE % "" + 'emit r to json "out";'
    adds = ["[[s = 1, +(p: double unit hPa)]]", "[[s = 2, +(p: double unit kPa)]]", "[[s = 1, unit(p, kPa)]]"]
    assert announced_alters(query, adds) == [
        "[[s = 2, alter(p, y -> y / 10, unit kPa)]]",
        "[[s = 1, alter(p, y -> y / 10, unit kPa)]]",
    ]
    named = 'stream r(ts: long, u: string, t: double unit from u in {degF, "[degR]"}) from json "r"; '
    named += 'emit r to json "out";'
    assert announced_alters(named, ["[]"]) == []  # no tuple comes any more
    assert announced_alters(named, ["[ts < 5]"]) == [
        '[[u = "[degR]", alter(t, y -> (y * 100 + 45967) / 100, unit "[degR]")]]'
    ]


def test_original_units_are_taken_back_by_their_name() -> None:
    query = ONE % "" + 'emit r to json "out";'
    reference = ran(compile_query(query).plan, [("r", {"$accent": "[[unit(t, degC)]]"})])
    _, after = edited(reference, query.replace('"out";', '"out" in original units;'))
    (outputs,) = after.step([("r", {"$punctuation": "[ts < 1]"})])
    assert outputs["r"].markers.alters == ("[[alter(t, y -> (y * 9 + 160) / 5, unit degF)]]",)


@pytest.mark.parametrize(
    ("before", "text", "why"),
    [
        (
            [],
            "[[alter(t, y -> (y - 32) * 5/9, unit kelvin)]]",
            "10 degF would be written as -12.2222, which is not 260.928 kelvin",
        ),
        (
            ["[[s = 2, unit(t, degC)]]"],
            "[[alter(t, y -> (y - 32) * 5/9, unit degC)]]",
            "10 degF would be written as -24.5679",
        ),
        (["[[unit(t, degC)]]"], "[[s = 1, alter(t, y -> y * 1.8 + 32, unit degC)]]", "it would be in degF"),
        (["[[unit(t, degC)]]"], "[[s = 1, alter(t, y -> y, unit kelvin)]]", "it would be in degC"),
    ],
)
def test_a_wrong_unit_ends_the_query(before: list[str], text: str, why: str) -> None:
    reference = Reference(compile_query(ONE % "" + 'emit r to json "out";').plan)
    for accent in before:
        reference.step([("r", {"$accent": accent})])
    with pytest.raises(DiagnosticError) as caught:
        reference.step([("r", {"$accent": text})])
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "RQ219"
    assert why in "".join(diagnostic.notes)
    assert diagnostic.span is not None
    assert text[diagnostic.span.start : diagnostic.span.end].startswith("alter(")


def test_what_no_tuple_is_concerns_nobody() -> None:
    """Tuples that are closed, and those without what they have to have."""
    reference = Reference(compile_query(ONE % "" + 'emit r to json "out";').plan)
    for text in ("[[s = 1, unit(t, degC)]]", "[s = 2]", "[[alter(t, y -> y + 273.15, unit kelvin)]]"):
        reference.step([("r", marker(text))])
    (outputs,) = reference.step([("r", {"ts": 1, "s": 1, "t": 273.15})])
    assert float(outputs["r"].canonical[0]["t"]) == pytest.approx(32)


@pytest.mark.rest
def test_where_no_unit_is_known_it_is_taken_as_said() -> None:
    """And not looked up: pint is not loaded."""
    code = (
        "import sys; from cedilla.compiler.compile import compile_query;"
        "from cedilla.runtime.engines.plain.reference import Reference;"
        'r = Reference(compile_query(\'stream r(t: double) from json "r"; emit r to json "o";\').plan);'
        "(o,) = r.step([('r', {'$accent': '[[alter(t, y -> y / 10, unit parrot)]]'})]);"
        "print(o['r'].markers.alters, 'pint' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "('[[alter(t, y -> y / 10)]]',) False\n"


WAYS: list[list[Item]] = [
    [{"ts": 1, "s": 1, "t": 77}, {"$accent": "[[s = 1, unit(t, degC)]]"}],
    [{"ts": 2, "s": 1, "t": 25.0}, {"ts": 2, "s": 2, "t": 77}],
    [{"$accent": "[[s = 2, alter(t, y -> (y - 32) * 5/9)]]"}, {"ts": 3, "s": 2, "t": 25.0}],
]


@pytest.mark.either_engine
def test_names_are_part_of_the_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    """A run that is ended and started again says what one says that goes on; readers with units and without read it."""
    texts = []
    for again in (False, True):
        run_ = Query(spark, tmp_path / str(again), ONE % "" + 'emit r to json "out/r";')
        executor = run_.executor()
        for number, items in enumerate(WAYS):
            run_.write("r", items)
            executor = run_.executor() if again else executor
            run_.go_on(executor, number)
        texts.append([line["$accent"] for line in run_.output("r") if "$accent" in line])
    assert texts[0] == texts[1] == [f"[[s = {s}, {CELSIUS}, unit degC)]]" for s in (1, 2)]
    lines = read_output(tmp_path / "True" / "out" / "r")
    assert rounded(decode(lines)) == rounded(
        [{"ts": ts, "s": s, "t": 77} for ts, s in ((1, 1), (2, 1), (2, 2), (3, 2))]
    )
    for number, unit in enumerate((" unit degF", "")):
        query = f'stream r(ts: long, s: int, t: double{unit}) from json "in/r"; emit r to json "out/r";'
        reader = Query(spark, tmp_path / f"reader{number}", query)
        reader.write("r", lines)
        reader.process()
        assert rounded(decode(reader.output("r"))) == rounded(decode(lines))
        accents = [line["$accent"] for line in reader.output("r") if "$accent" in line]
        assert ["unit degC" in text for text in accents] == [bool(unit)] * len(accents)


@pytest.mark.either_engine
def test_other_formats_carry_the_text_as_it_is(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    query = f"""
    stream r(ts: long, v: double unit "m/s") from json "{tmp_path}/in/r";
    emit r to xml "{tmp_path}/out/xml";
    emit r to parquet "{tmp_path}/out/parquet";
    """
    text = '[[alter(v, y -> y * 3.6, unit "km/h")]]'
    items: list[Item] = [{"ts": 1, "v": 10.0}, {"$accent": text}, {"ts": 2, "v": 36.0}]
    (tmp_path / "in" / "r").mkdir(parents=True)
    for number, item in enumerate(items):
        (tmp_path / "in" / "r" / f"{number}.jsonl").write_text(json.dumps(item) + "\n")
    run(query, Options(once=True, checkpoint=f"{tmp_path}/checkpoint", files_per_epoch=1), spark=spark)
    markers = "".join(file.read_text() for file in sorted((tmp_path / "out" / "xml").rglob("*alters*")))
    assert 'unit "km/h"' in markers or "unit &quot;km/h&quot;" in markers
    for name in ("xml", "parquet"):
        rows = read(f"{tmp_path}/out/{name}", schema="ts: long, v: double").rows()
        assert [row["v"] for row in rows] == [10, 10]
        rows = read(f"{tmp_path}/out/{name}", "latest", schema="ts: long, v: double").rows()
        assert [row["v"] for row in rows] == [36, 36]
    # In CSV, markers are in a folder of their own.
    (tmp_path / "csv").mkdir()
    (tmp_path / "markers").mkdir()
    (tmp_path / "csv" / "1.csv").write_text("ts,v\n1,36\n")
    (tmp_path / "markers" / "1.jsonl").write_text(json.dumps({"$accent": text}) + "\n")
    csv = 'stream r(ts: long, v: double unit "m/s") from csv "csv" markers "markers"; emit r to json "o";'
    simulate(csv, Options(sinks={"r": "o"}))
    lines = read_output(tmp_path / "o")
    assert [line["$accent"] for line in lines if "$accent" in line] == [
        '[[alter(v, y -> (y * 18) / 5, unit "km/h")]]'
    ]


FLEET = """
stream r(ts: long, s: int, t: double unit degC, n: double) from json "r";
emit r to json "out";
"""


@pytest.mark.parametrize("claims", [("degF", "degF"), ("degF", "kelvin"), ("", "degF")])
def test_a_fleet_says_units_as_one_step(claims: tuple[str, str]) -> None:
    """Runs of them are what they are one by one, right or wrong."""
    begin = "[[s = 0, alter(t, y -> y * 2)]]"
    texts = [begin, begin.replace("* 2", "/ 2"), "[[s = 1, alter(n, y -> y * 2, unit degF)]]"]
    for number in range(1, 30):
        claim = claims[number > 20]
        unit = f", unit {claim}" if claim else ""
        texts.append(f"[[s = {number}, alter(t, y -> y * 1.8 + 32{unit})]]")
    lines = [MarkerLine("accent", text, number, next=number + 1) for number, text in enumerate(texts)]
    plan = compile_query(FLEET).plan
    effects = compare(plan, [*lines])
    assert bool(effects.failures) == ("kelvin" in claims)
    assert effects.states["r"].notes.named_units == {"t": ("degF",)}


def test_names_are_few_whatever_a_stream_says() -> None:
    plan = compile_query(FLEET).plan
    state = {"r": SourceState.start(plan.source_of["r"], plan.droppable["r"])}
    names = [f"degF{'*m/m' * number}" for number in range(9)]
    lines = [MarkerLine("accent", f'[[unit(t, "{name}")]]', number) for number, name in enumerate(names * 2)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unit_accents, "MAX_NAMES", 4)
        after = advance(plan, state, {"r": lines}).states["r"]
    assert after.notes.named_units == {"t": tuple(names[:4])}


def test_tools_read_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rq").write_text(ONE % "" + 'emit r to json "out";')
    items: list[Item] = [
        {"$accent": "[[s = 1, alter(t, y -> (y - 32) * 5/9, unit degC)]]"},
        {"ts": 1, "s": 1, "t": 25},
        {"$accent": "[[s = 1, unit(t, kelvin)]]"},
        {"ts": 2, "s": 1, "t": 298.15},
    ]
    write_lines(tmp_path / "r.jsonl", items)
    schema = "ts: long, s: int in {1, 2}, t: double unit degF"
    valid = cedilla("validate", "r.jsonl", "--schema", schema)
    assert valid.exit_code == 0, valid.output
    result = cedilla("canonize", "r.jsonl", "--schema", schema)
    lines = [json.loads(line) for line in result.output.splitlines()]
    assert [line["t"] for line in lines if "t" in line] == [77, 77]
    assert [line["$accent"] for line in lines if "$accent" in line] == [
        "[[s = 1, alter(t, y -> (y * 100 + 45967) / 180, unit kelvin)]]"
    ]
    wrong = cedilla("trace", "q.rq", "--on", "r", "[[alter(t, y -> y - 32, unit degC)]]")
    assert wrong.exit_code == 1
    assert "RQ219" in wrong.output
    traced = cedilla("trace", "q.rq", "--on", "r", items[0]["$accent"])
    assert f"[[s = 1, {CELSIUS}, unit degC)]]" in traced.output
    units = Units({})
    for item in items:
        if "$accent" in item and "unit(" not in item["$accent"]:
            units.accent(item["$accent"])
    assert float(units.decoded({"s": 1, "t": 25})["t"]) == 77


def test_canonize_says_what_is_true_of_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In canonical order tuples have an attribute that they lacked at the unit accent; then the unit is left out."""
    monkeypatch.chdir(tmp_path)
    accents = ["[[s = 1, unit(t, degC)]]", "[[s = 1, -(t)]]", f"[[{CELSIUS}, unit degC)]]"]
    (tmp_path / "r.jsonl").write_text("".join(f"{json.dumps({'$accent': text})}\n" for text in accents))
    schema = "ts: long, s: int in {1, 2}, t: double unit degF"
    result = cedilla("canonize", "r.jsonl", "--schema", schema)
    lines = [json.loads(line)["$accent"] for line in result.output.splitlines()]
    assert lines == [f"[[s = 1, {CELSIUS}, unit degC)]]", f"[[{CELSIUS})]]", "[[s = 1, -(t)]]"]


def test_a_sender_says_them() -> None:
    out = StringIO()
    with Stream(out, schema="ts: long, t: double unit degF, v: double") as stream:
        stream.alter("t", "y -> (y - 32) * 5/9", unit="degC")
        stream.alter("v", "y -> y * 3.6", "ts > 5", unit="km/h")
        with pytest.raises(DiagnosticError, match="RQ219"):
            stream.alter("t", "y -> (y - 32) * 5/9", unit="degC")
    assert [json.loads(line)["$accent"] for line in out.getvalue().splitlines()] == [
        "[[alter(t, y -> (y - 32) * 5/9, unit degC)]]",
        '[[ts > 5, alter(v, y -> y * 3.6, unit "km/h")]]',
    ]


def test_status_says_units(tmp_path: Path) -> None:
    query = ONE % "" + 'emit aggregate[max(t) as top, max(p) as p by s](r) to json "out";'
    query = query.replace("degF)", "degF, p?: double)")
    reference = ran(
        compile_query(query).plan,
        [
            ("r", {"$accent": "[[s = 1, unit(t, degC)]]"}),
            ("r", {"$accent": "[[+(v: double unit hPa)]]"}),
            ("r", {"$accent": "[[s = 2, alter(t, y -> y * 2)]]"}),
        ],
    )
    status = read_status(str(checkpoint_of(tmp_path / "checkpoint", reference)))
    (source,), (output,) = status.sources, status.outputs
    assert source.units == {"t": "degF", "v": "hPa"}
    assert set(source.accents) == {
        f"{CELSIUS}, unit degC) where s = 1",
        "alter(t, y -> y * 2) where s = 2",
        "+(v: double unit hPa) everywhere",
    }
    assert output.units == {"top": "degF"}
    assert f"{CELSIUS}, unit degC)".replace("(t,", "(top,") + " where s = 1" in output.accents
    assert "  units top degF" in status_text(status)


def test_status_says_units_of_what_waits(tmp_path: Path) -> None:
    query = ONE % "" + 'emit aggregate[max by ts except s](r) to json "out";'
    reference = ran(compile_query(query).plan, [("r", {"$accent": "[[s = 1, unit(t, degC)]]"})])
    status = read_status(str(checkpoint_of(tmp_path / "checkpoint", reference)))
    assert status.waiting == (f"{CELSIUS}, unit degC) at aggregate, where s = 1: waits for r where s = 2",)


def test_an_edited_query_keeps_the_names(tmp_path: Path) -> None:
    query = ONE % "" + 'emit r to json "out";'
    reference = ran(compile_query(query).plan, [("r", {"$accent": "[[s = 1, unit(t, degC)]]"})])
    changes, after = edited(
        reference, query.replace("punctuated on ts", "").replace("s: int", "o?: int, s: int")
    )
    assert changes.effect == "continues"
    (outputs,) = after.step([("r", {"$accent": "[[s = 2, alter(t, y -> (y - 32) * 5/9)]]"})])
    assert outputs["r"].markers.alters == (f"[[s = 2, {CELSIUS}, unit degC)]]",)
    _, gone = edited(
        reference, 'stream r(ts: long, s: int in {1, 2}) from json "in/r"; emit r to json "out";'
    )
    assert gone.states["r"].notes.named_units == {}
