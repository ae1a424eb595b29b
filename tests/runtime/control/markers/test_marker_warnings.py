"""Accents that are mistakes, or likely ones, are said alike by every command (theory G34, N8)."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler.facts.marker_parser import read_accent
from cedilla.grammar import Diagnostic, DiagnosticError
from cedilla.runtime.connectors.records.lines import Line
from cedilla.runtime.control.markers.one_accent import with_accent
from cedilla.runtime.control.markers.repeated import standing
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.epochs.checkpoint.commit_json import dump_commit, load_commit
from cedilla.runtime.epochs.pipeline.report import EpochReport
from cedilla.runtime.hosts.terminal.console import Console, epoch_line
from cedilla.runtime.tools.inspect.status import read_status, status_text
from cedilla.runtime.tools.stream_tools.schema import declared_schema
from cedilla.runtime.tools.stream_tools.validate import validate
from tests.kit.command import marker_messages
from tests.kit.lines import as_lines, marker
from tests.kit.query import Query
from tests.kit.sensor_streams import random_stream
from tests.kit.stream import Item, is_tuple
from tests.kit.tiers import rest
from tests.runtime.control.markers.repetitions import naive_repetitions

QUERY = """
stream pumps(ts: long, pump: int in {1, 2, 3}, litres: double, place?: string in {"north", "south"})
  from json "in" punctuated on ts;
emit select[litres > 0](pumps) to json "out";
"""


@pytest.fixture
def query(tmp_path: Path) -> Path:
    path = tmp_path / "q.rq"
    path.write_text(QUERY)
    return path


SCHEMA = declared_schema(
    'ts: long, pump: int in {1, 2, 3}, litres: double, place?: string in {"north", "south"}'
)
FIRST = "[[pump = 1, alter(litres, y -> y * 1000)]]"
AGAIN = "[[alter(litres, y -> y * 1000)]]"


# --- descriptions that meet nothing ---

IMPOSSIBLE = {
    "pump = 22": "did you mean `pump = 2`?",
    "pump in {0, -7}": "`pump in {1, 2, 3}` is declared",
    "pump > 3": "`pump in {1, 2, 3}` is declared",
    'place = "nort"': 'did you mean `place = "north"`?',
    "pump in (1, 2)": "a list is written `s in {1, 2}`",
    "ts > 5, ts < 3": "no value meets all its conditions",
    "pump = 2, pump = 3": "no value meets all its conditions",
}


@pytest.mark.parametrize("description", IMPOSSIBLE)
@pytest.mark.parametrize("command", ["simulate", "validate", "trace"])
def test_an_accent_that_describes_no_possible_tuple_is_refused(
    query: Path, command: str, description: str
) -> None:
    output = marker_messages(query, [f"[[{description}, alter(litres, y -> y * 1000)]]"], command)
    assert "error[RQ216]: the accent describes no possible tuple" in output
    assert IMPOSSIBLE[description] in output
    assert f"1 | [[{description}, alter" in output


@pytest.mark.parametrize("primitive", ["+(p: double)", "-(litres)", "alter(litres, y -> y * 1000)"])
def test_every_kind_of_accent_is_refused_there(query: Path, primitive: str) -> None:
    assert "error[RQ216]" in marker_messages(query, [f"[[pump = 22, {primitive}]]"], "trace")


def test_what_may_come_or_is_closed_is_not_refused() -> None:
    stream: list[Item] = [
        {"$accent": "[[ts > 1000000, +(p: double)]]"},
        {"$punctuation": "[pump = 1]"},
        {"$accent": FIRST},
        {"$accent": "[[pump != 7, alter(litres, y -> y * 2)]]"},
    ]
    lines = as_lines(stream)
    assert (verdict := validate(lines, SCHEMA)).valid
    assert not verdict.warnings


@pytest.mark.parametrize("command", ["simulate", "validate", "trace"])
def test_a_value_that_cannot_be_beside_ones_that_can_is_a_warning(query: Path, command: str) -> None:
    output = marker_messages(query, ["[[pump in {2, 22}, alter(litres, y -> y * 1000)]]"], command)
    assert "warning[RQ217]: the accent describes `pump = 22`, which no tuple has" in output
    assert "did you mean `2`?" in output


def test_a_bound_on_a_string_that_looks_like_a_version_is_a_warning(query: Path) -> None:
    query.write_text(QUERY.replace("litres:", "fw: string, litres:"))
    markers = ['[[fw >= "2.0.0", alter(litres, y -> y * 1000)]]', '[[fw = "1.0", alter(litres, y -> y * 2)]]']
    output = marker_messages(query, markers, "trace")
    assert 'warning[RQ243]: `fw` is a string, and "2.0.0" looks like a version' in output
    assert output.count("RQ243") == 1


# --- attributes by which others are told apart ---

FIRMWARE = 'pump: int in {1, 2, 3}, fw: int, litres: double, state: string in {"M", "F"}'
BY_FIRMWARE = "[[fw = 2, alter(litres, y -> y * 1000)]]"
RECODED = '[[fw = 2, recode(state, {"M": "F", "F": "M"})]]'
OTHERS = "[[fw != 2, alter(litres, y -> y * 1000)]]"
"""With `BY_FIRMWARE`, of all that have a firmware, and so not of those without."""


@pytest.mark.parametrize(
    ("markers", "attributes"),
    [
        ([BY_FIRMWARE, "[[-(fw)]]"], "`litres`"),
        ([BY_FIRMWARE, "[[pump = 1, -(fw)]]"], "`litres`"),
        ([BY_FIRMWARE, OTHERS, "[[-(fw)]]"], "`litres`"),
        ([BY_FIRMWARE, RECODED, "[[-(fw)]]"], "`litres` and `state`"),
        ([BY_FIRMWARE, "[[fw = 2, alter(litres, y -> y / 1000)]]", "[[-(fw)]]"], None),
        ([RECODED, RECODED, "[[-(fw)]]"], None),
        ([BY_FIRMWARE, "[[pump = 1, -(fw)]]", "[[pump = 1, -(litres)]]"], "`litres`"),
        (["[[pump = 1, fw = 2, alter(litres, y -> y * 1000)]]", "[[pump = 2, -(fw)]]"], None),
        ([BY_FIRMWARE, "[[pump = 1, -(litres)]]", "[[pump = 1, -(fw)]]"], None),
        (["[[alter(litres, y -> y * 1000)]]", "[[-(fw)]]"], None),
    ],
)
def test_a_drop_of_what_others_are_told_apart_by_is_a_warning(
    markers: list[str], attributes: str | None
) -> None:
    """Tuples without it are read as if they had never had it, whatever firmware sends them."""
    diagnostics: list[Diagnostic] = []
    lines = [Line(json.dumps({"$accent": text}), f"s:{n}") for n, text in enumerate(markers, 1)]
    assert validate(lines, declared_schema(FIRMWARE), diagnostics.append).valid
    warnings = [warning for warning in diagnostics if warning.code == "RQ229"]
    assert [warning.message for warning in warnings] == (
        [f"the accent drops `fw`, and accents on {attributes} were about its values"] if attributes else []
    )


UNDONE = "fw: int, s: int, a: double, b: double, h?: double, state: string"


@pytest.mark.parametrize(
    ("markers", "attributes"),
    [
        (["[[fw = 2, swap(a, b)]]"], "`a` and `b`"),
        (["[[fw = 2, missing(h, {-9})]]"], "`h`"),
        (["[[missing(h, {-9})]]", "[[fw = 2, missing(h, {-8})]]"], "`h`"),
        (["[[fw = 2, rename(aa, a)]]"], "`a`"),
        (["[[fw = 2, alter(a, y -> -y)]]"], "`a`"),
        (["[[fw = 2, alter(h, y -> 8 / y)]]", "[[fw = 2, alter(b, y -> y * 2)]]"], "`b` and `h`"),
        (["[[fw = 2, swap(a, b)]]", "[[fw = 2, swap(a, b)]]"], None),
        (["[[fw = 2, missing(h, {-9})]]", "[[missing(h, {})]]"], None),
        (["[[fw = 2, rename(aa, a)]]", "[[fw = 2, rename(a, a)]]"], None),
        (["[[fw = 2, alter(a, y -> -y)]]", "[[fw = 2, alter(a, y -> -y)]]"], None),
        (["[[s = 2, swap(a, b)]]", "[[s = 2, missing(h, {-9})]]", "[[s = 2, rename(aa, a)]]"], None),
        (["[[recode(fw, {1: 2, 2: 1})]]", "[[fw = 2, swap(a, b)]]"], "`a` and `b`"),
        (["[[missing(h, {-9})]]", "[[-(h)]]", "[[fw = 2, rename(aa, a)]]"], "`a`"),
        (["[[fw = 2, missing(h, {-9})]]", "[[-(h)]]"], None),
    ],
)
def test_a_drop_of_what_others_are_undone_by_is_a_warning(markers: list[str], attributes: str | None) -> None:
    """Changes that only a source undoes end silently with what describes their tuples, as units and codes do."""
    diagnostics: list[Diagnostic] = []
    validate(
        [Line(json.dumps({"$accent": text}), "s:1") for text in [*markers, "[[-(fw)]]"]],
        declared_schema(UNDONE),
        diagnostics.append,
    )
    warnings = [warning.message for warning in diagnostics if warning.code == "RQ229"]
    expected = f"the accent drops `fw`, and accents on {attributes} were about its values"
    assert warnings == ([expected] if attributes else [])


# --- recodes that leave values out ---

ORDERS = (
    'ts: long, site?: string in {"A", "B"}, state: string in {"new", "paid", "sent"}, kind: long in {1, 2}'
)
LEFT_OUT: dict[str, tuple[list[str], list[str]]] = {
    "a part": (["[[recode(state, {new: N})]]"], ['"paid", "sent" of `state`']),
    "a part, for some": (['[[site = "A", recode(kind, {1: 7})]]'], ["2 of `kind`"]),
    "of the codes in force": (
        ["[[recode(state, {new: N, paid: P, sent: sent})]]", "[[recode(state, {N: new, P: paid})]]"],
        ['"sent" of `state`'],
    ),
    "in two steps": (
        ["[[recode(state, {new: N})]]", "[[recode(state, {N: M})]]"],
        ['"paid", "sent" of `state`'],
    ),
    "where some have codes": (
        ['[[site = "A", recode(kind, {1: 7, 2: 2})]]', '[[site = "A", recode(kind, {7: 1})]]'],
        ["2 of `kind`"],
    ),
    "all": (["[[recode(kind, {1: 2, 2: 1})]]"], []),
    "all that may come": (["[kind = 2]", "[[recode(kind, {1: 7})]]"], []),
    "of nothing": (['[site = "A"]', '[[site = "A", recode(kind, {1: 7})]]'], []),
}


@pytest.mark.parametrize("case", LEFT_OUT)
def test_a_recode_that_leaves_out_values_that_may_come_is_a_warning(case: str) -> None:
    diagnostics: list[Diagnostic] = []
    markers, expected = LEFT_OUT[case]
    lines = [Line(json.dumps(marker(text)), f"s:{n}") for n, text in enumerate(markers, 1)]
    validate(lines, declared_schema(ORDERS), diagnostics.append)
    assert [
        diagnostic.message.removeprefix("the recode leaves out ").partition(":")[0]
        for diagnostic in diagnostics
        if diagnostic.code == "RQ232"
    ] == expected
    for diagnostic in diagnostics:
        if diagnostic.code == "RQ232":
            assert diagnostic.help is not None
            whole = diagnostic.help.partition("`")[2].rstrip("`")
            assert whole.startswith("recode("), "the hint is a recode that leaves out nothing"


CODED = "s: int, k?: int, v?: int in {1, 2}"
TO_THREE, NO_THREE = "[[recode(k, {1: 10, 2: 3})]]", "[[missing(k, {3})]]"
LOST = [
    ([NO_THREE, TO_THREE], "the recode writes 2 as 3"),
    ([TO_THREE, NO_THREE], "a recode writes 2 as 3"),
    (["[[s = 1, missing(k, {3})]]", TO_THREE], "the recode writes 2 as 3"),
    (["[[s = 1, missing(k, {3})]]", "[[s = 2, recode(k, {1: 10, 2: 3})]]"], None),
    (["[[s = 1, recode(k, {1: 10, 2: 3})]]", "[[s = 2, missing(k, {3})]]"], None),
    ([NO_THREE, "[[recode(k, {1: 3, 3: 1}, else same)]]"], "the recode writes 1 as 3"),
    ([NO_THREE, "[[recode(k, {3: 4, 1: 2, 2: 1})]]"], None),
    ([NO_THREE, "[[missing(k, {})]]", TO_THREE], None),
    ([TO_THREE, NO_THREE, NO_THREE], "a recode writes 2 as 3"),
    (["[[missing(v, {1, 3})]]", "[[recode(v, {2: 3, 1: 2})]]"], "the recode writes 2 as 3"),
    (["[[missing(v, {3})]]", "[v = 2]", "[[recode(v, {1: 1, 2: 3})]]"], None),
]


@pytest.mark.parametrize(("markers", "message"), LOST)
def test_a_recode_to_what_means_undefined_is_a_warning(markers: list[str], message: str | None) -> None:
    """In either order: a value with such a code was undefined without a word."""
    diagnostics: list[Diagnostic] = []
    lines = [Line(json.dumps(marker(text)), f"s:{n}") for n, text in enumerate(markers, 1)]
    assert validate(lines, declared_schema(CODED), diagnostics.append).valid
    lost = [d.message.partition(" in `")[0] for d in diagnostics if "means undefined" in d.message]
    assert lost == ([] if message is None else [message])


@pytest.mark.parametrize("command", ["simulate", "validate", "trace"])
def test_every_command_warns_of_it(query: Path, command: str) -> None:
    output = marker_messages(query, ['[[pump = 1, recode(place, {"north": "N"})]]'], command)
    assert 'warning[RQ232]: the recode leaves out "south" of `place`' in output
    assert '`recode(place, {"north": "N", "south": "south"})`' in output


# --- functions that are applied twice ---

TURNED = "s: int, a: double, at: timestamp, u: double unit W"


@pytest.mark.parametrize(
    ("markers", "where", "undo"),
    [
        (["alter(a, y -> -y)"] * 2, "", "[[alter(a, y -> y * -1)]]"),
        (["alter(at, y -> y + 1 hour)"] * 2, "", "[[alter(at, y -> y - 1 hour)]]"),
        (["alter(at, y -> y + 1 hour)"] * 3, "", "[[alter(at, y -> y - 1 hour)]]"),
        (["alter(a, y -> 10 * log10(y))"] * 2, "", "[[alter(a, y -> pow(10, y / 10))]]"),
        (["alter(a, y -> y * 3)", *["alter(a, y -> 8 / y)"] * 2], "", "[[alter(a, y -> 8 / y)]]"),
        (
            ["s = 1, alter(a, y -> -y)", "alter(a, y -> -y)"],
            " for [s = 1]",
            "[[s = 1, alter(a, y -> y * -1)]]",
        ),
        (["s = 1, alter(a, y -> -y)", "s = 2, alter(a, y -> -y)"], None, ""),
        (["alter(at, y -> y + 1 hour)", "alter(at, y -> y - 1 hour)"], None, ""),
        (["alter(at, y -> y + 1 hour)", "alter(at, y -> y + 90 minute)"], None, ""),
        (["unit(u, dBW)", "unit(u, dBW)"], None, ""),
    ],
)
def test_a_function_that_falls_or_bends_twice_is_a_warning(
    markers: list[str], where: str | None, undo: str
) -> None:
    """They are as often sent twice as others are, and no output tells of them."""
    diagnostics: list[Diagnostic] = []
    lines = [Line(json.dumps(marker(f"[[{text}]]")), f"s:{n}") for n, text in enumerate(markers, 1)]
    validate(lines, declared_schema(TURNED), diagnostics.append)
    repeated = [warning for warning in diagnostics if warning.code == "RQ218"]
    if where is None:
        assert repeated == []
        return
    last = repeated[-1]
    assert len(repeated) == len(markers) - 1 - (markers[0] != markers[-1] and where == "")
    assert f" is in force already{where}: such values are converted twice" in last.message
    assert str(last.help).endswith(f"undo it: {undo}")


@pytest.mark.parametrize("command", ["simulate", "validate", "trace"])
def test_an_equal_alter_over_an_earlier_one_is_a_loud_warning(query: Path, command: str) -> None:
    output = marker_messages(query, [FIRST, AGAIN], command)
    assert output.count("warning[RQ218]") == 1
    assert (
        "an equal alter of `litres` is in force already for [pump = 1]: such values are converted twice"
        in output
    )
    first = "<marker 1>" if command == "trace" else f"{query.parent}/in/a.jsonl:1"
    second = "<marker 2>:1:3" if command == "trace" else f"{query.parent}/in/a.jsonl:2:3"
    assert f"= note: before: {first}: {FIRST}" in output
    assert f"--> {second}\n" in output
    assert "a value that was 1 at the start of the stream is written as 1000000 from here on" in output
    undo = "[[pump = 1, alter(litres, y -> y / 1000)]]"
    assert f"undo it: {undo}" in output
    assert (f"{undo}; or in the query: accent pumps {undo};" in output) == (command != "validate")


SILENT: dict[str, list[str]] = {
    "other pumps": [FIRST, "[[pump != 1, alter(litres, y -> y * 1000)]]"],
    "another function": [FIRST, "[[alter(litres, y -> y * 100)]]"],
    "there and back": [FIRST, "[[pump = 1, alter(litres, y -> y / 1000)]]", AGAIN],
    "a new incarnation": [AGAIN, "[[-(litres)]]", "[[+(litres: double)]]", AGAIN],
}


@pytest.mark.parametrize("markers", SILENT.values(), ids=SILENT.keys())
def test_what_is_no_repetition_is_not_warned_of(query: Path, markers: list[str]) -> None:
    assert "warning" not in marker_messages(query, markers, "validate")


def test_a_function_in_between_does_not_hide_the_repetition(query: Path) -> None:
    output = marker_messages(query, [FIRST, "[[alter(litres, y -> y + 1)]]", AGAIN], "validate")
    assert "warning[RQ218]" in output
    assert "a value that was 1 at the start of the stream is written as 1001000 from here on" in output


def test_closed_cells_are_not_converted(query: Path) -> None:
    lines = [
        Line(json.dumps(item), f"s:{number}")
        for number, item in enumerate(
            [{"$accent": FIRST}, {"$punctuation": "[pump = 1]"}, {"$accent": AGAIN}]
        )
    ]
    assert not validate(lines, SCHEMA).warnings


def test_many_earlier_markers_are_counted(query: Path) -> None:
    earlier = [f"[[pump = {pump}, alter(litres, y -> y * 1000)]]" for pump in (1, 2, 3)]
    output = marker_messages(query, [*earlier, AGAIN], "validate")
    assert "in force already for [pump in {1, 2, 3}]: such values" in output
    assert all(f"a.jsonl:{number}: {text}" in output for number, text in enumerate(earlier, 1))


def test_functions_that_stand() -> None:
    state = SourceState.start(SCHEMA.source, frozenset())
    for text in (AGAIN, "[[alter(litres, y -> y + 1)]]", "[[alter(litres, y -> y - 1)]]", AGAIN):
        state = with_accent(state, read_accent(text, state.types), 0)
    first, second = standing(state.units["litres"])
    assert first == second


@pytest.mark.parametrize("seed", range(30))
def test_repetitions_are_those_of_a_list_per_sensor(seed: int) -> None:
    stream = random_stream(random.Random(seed), 60)
    lines = as_lines(stream)
    warned: list[Diagnostic] = []
    validate(lines, declared_schema("ts: long, s: int in {1, 2, 3}, t: double"), warned.append)
    assert [warning.span.line for warning in warned if warning.span is not None] == naive_repetitions(stream)


# --- accents that change nothing ---

IN_UNITS = declared_schema("m: string, e: double unit kWh, k: int in {1, 2}, p?: double unit hPa, x: double")
KWH = '[[m = "a", unit(e, kWh)]]'
WH = '[[m = "a", unit(e, Wh)]]'


@pytest.mark.parametrize(
    ("accents", "lines"),
    [
        ([KWH], [1]),
        ([KWH, KWH], [1]),
        ([KWH, KWH.replace('"a"', '"b"'), "[[unit(e, kilowatt_hour)]]"], [1]),
        ([f'[[m = "{n}", unit(e, kWh)]]' for n in range(9)], [1]),
        ([WH, *(f'[[m = "{n}", unit(e, kWh)]]' for n in range(9))], [2]),
        ([WH, WH, KWH, KWH], []),
        (["[[unit(e, Wh)]]", WH, KWH, "[[unit(e, MWh)]]"], []),
        (["[[+(p: double unit hPa)]]", "[[unit(p, hPa)]]", "[[unit(p, mbar)]]"], []),
        (["[[+(p: double)]]", "[[unit(p, hPa)]]"], [2]),
        (["[[alter(e, y -> y)]]", "[[alter(x, y -> y * 1)]]", "[[recode(k, {1: 1, 2: 2})]]"], [1, 2, 3]),
        (["[[recode(k, {1: 2, 2: 1})]]", "[[recode(k, {1: 2, 2: 1})]]"], []),
    ],
)
def test_an_accent_that_changes_nothing_says_so_when_it_comes_first(
    accents: list[str], lines: list[int]
) -> None:
    """A unit accent may be sent again (N4); the first one says that its sender took the unit for another."""
    diagnostics: list[Diagnostic] = []
    stream = [Line(json.dumps({"$accent": text}), f"s:{n}") for n, text in enumerate(accents, 1)]
    assert validate(stream, IN_UNITS, diagnostics.append).valid
    assert [
        diagnostic.span.line
        for diagnostic in diagnostics
        if diagnostic.code == "RQ230" and diagnostic.span is not None
    ] == lines


def test_an_accent_about_closed_tuples_changes_nothing_and_says_nothing() -> None:
    items: list[Item] = [{"$punctuation": '[m = "a"]'}, {"$accent": KWH}, {"$accent": WH}]
    stream = as_lines(items)
    assert not validate(stream, IN_UNITS).warnings


METERS = """
stream e(ts: long, m: string, energy: double unit kWh) from json "in" punctuated on ts;
emit aggregate[sum(energy) as total by ts](e) to json "out";
"""


@pytest.mark.either_engine
@pytest.mark.parametrize("per_epoch", [rest(None), 1])
def test_a_run_says_once_that_the_unit_was_in_force(
    spark: SparkSession, tmp_path: Path, per_epoch: int | None
) -> None:
    run = Query(spark, tmp_path, METERS)
    row: Item = {"ts": 0, "m": "a", "energy": 1000.0}
    run.write("e", [row, {"$accent": '[[m = "a", unit(energy, kWh)]]'}])
    run.write("e", [{"$accent": '[[m = "b", unit(energy, kWh)]]'}, row])
    run.go_on(run.executor(per_epoch), 0)
    run.write("e", [{"$accent": '[[m = "a", unit(energy, kWh)]]'}, row])
    run.go_on(run.executor(per_epoch), 1)  # a new process
    assert [warning.code for report in run.reports for warning in report.warnings] == ["RQ230"]


@pytest.mark.parametrize("marker", ['[[m = "a", unit(x, kWh)]]', "[[x > 3 kWh, -(m)]]"])
def test_a_hint_about_a_missing_unit_names_none(marker: str) -> None:
    """The accent's unit is the one that the values before it were not in."""
    diagnostics: list[Diagnostic] = []
    validate([Line(json.dumps({"$accent": marker}), "s:1")], IN_UNITS, diagnostics.append)
    (problem,) = diagnostics
    assert problem.code == "RQ142"
    assert "`x: double unit U`" in (problem.help or "")
    assert "kWh`" not in (problem.help or "")


# --- a run ---


@pytest.mark.either_engine
def test_a_run_says_it_names_both_files_and_status_keeps_it(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, QUERY)
    row: Item = {"ts": 1, "pump": 1, "litres": 2000.0}
    run.write("pumps", [{"$accent": FIRST}, row])
    run.process()
    assert not run.reports[-1].warnings
    run.write("pumps", [row, {"$accent": AGAIN}, {**row, "litres": 2e6}])
    executor = run.executor()  # a new process: what came before is in the checkpoint
    executor.process(1, {"pumps": run.files(executor)["pumps"][1:]})
    (warning,) = run.reports[-1].warnings
    assert warning.code == "RQ218"
    assert any("before: " in note and "00001.jsonl" in note and FIRST in note for note in warning.notes)
    assert any("now: " in note and f"00002.jsonl:2: {AGAIN}" in note for note in warning.notes)
    assert "1 warning" in epoch_line(run.reports[-1])
    status = status_text(read_status(str(tmp_path / "checkpoint")))
    assert (
        "converted more than once\n  source pumps: alter(litres, y -> y * 1000) 2 times for [pump = 1]"
        in status
    )
    assert load_commit(dump_commit(executor.last)).sources == executor.last.sources

    path = run.write("pumps", [row, {"$accent": "[[pump = 22, alter(litres, y -> y / 2)]]"}, row])
    with pytest.raises(DiagnosticError) as caught:
        executor.process(2, {"pumps": run.files(executor)["pumps"][2:]})
    (error,) = caught.value.diagnostics
    assert error.code == "RQ216"
    assert error.span is not None
    assert (Path(error.span.source).name, error.span.line) == (path.name, 2)
    assert error.excerpt == "[[pump = 22, alter(litres, y -> y / 2)]]"
    assert sum(map(is_tuple, run.output("select"))) == 4  # all before the accent is committed


@pytest.mark.either_engine
def test_a_run_warns_of_a_recode_of_a_part_once(spark: SparkSession, tmp_path: Path) -> None:
    """In the epoch of the marker; what is set aside after it is counted as ever, also after a restart."""
    run = Query(spark, tmp_path, QUERY)
    row: Item = {"ts": 1, "pump": 1, "litres": 2.0, "place": "south"}
    for batch, items in enumerate(
        ([row, {"$accent": '[[recode(place, {"north": "N"})]]'}], [row, {**row, "place": "N"}])
    ):
        run.write("pumps", items)
        run.go_on(run.executor(), batch)
    assert [[warning.code for warning in report.warnings] for report in run.reports] == [["RQ232"], []]
    assert [rejected["code"] for rejected in run.quarantine("pumps")] == ["RQ314"]


@pytest.mark.parametrize("code", ["RQ218", "RQ223"])
def test_an_epoch_shows_ten_of_its_rq218(capsys: pytest.CaptureFixture[str], code: str) -> None:
    warnings = [Diagnostic(code, "warning", f"doubt {n}") for n in range(13)]
    warnings.insert(12, Diagnostic("RQ217", "warning", "another"))
    Console().epoch(EpochReport(number=1, tuples=1, seconds=1.0, warnings=warnings))
    output = capsys.readouterr().err
    assert output.count(f"{code}]") == 10
    assert "another" in output
    assert output.endswith(f"and 3 warnings {code} more\n")


# --- types of Adds ---


@pytest.mark.parametrize(
    ("before", "added", "warned"),
    [
        ("int", "long", True),
        ("int", "int", False),
        ("long", "int", False),
        ("long", "double", True),
        ("double", "long", False),
        ("decimal(10, 2)", "decimal(10, 3)", True),
        ("decimal(12, 3)", "decimal(10, 2)", False),
        ("decimal(21, 2)", "long", False),
        ("string", "string", False),
    ],
)
def test_an_add_of_a_wider_type_than_declared_is_told(before: str, added: str, warned: bool) -> None:
    """A producer that widens an `int` heard nothing, and its values were set aside as no `int`."""
    lines = as_lines([marker("[[-(id)]]"), marker(f"[[+(id: {added})]]")])
    verdict = validate(lines, declared_schema(f"id?: {before}"))
    assert (verdict.valid, verdict.warnings) == (True, {"RQ366": 1} if warned else {})
