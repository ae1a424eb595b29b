"""Local times, `at: timestamp zone "Europe/Berlin"` (theory N13): at once and one by one, on engines and without."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query, regions
from cedilla.compiler.expressions.types import TIMESTAMP, Type
from cedilla.compiler.expressions.types.zones import NoMoment, moment_in
from cedilla.compiler.facts.marker_parser import read_accent, read_punctuation
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.formats.csv.batches import CsvBatches, RecordBatches
from cedilla.runtime.connectors.formats.csv.blocks import CsvPart
from cedilla.runtime.connectors.formats.jsonl.batches import JsonBatches
from cedilla.runtime.connectors.formats.lines.blocks import Part
from cedilla.runtime.connectors.formats.lines.local_times import moments_in
from cedilla.runtime.connectors.formats.xml.batches import XmlBatches
from cedilla.runtime.connectors.formats.xml.blocks import XmlPart
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.epochs.pipeline.load import load
from tests.kit.command import cedilla
from tests.kit.errors import error_of
from tests.kit.lines import marker, write_lines
from tests.kit.query import Query
from tests.kit.stream import Item, decode
from tests.kit.tiers import rest
from tests.runtime.epochs.checkpoint.plan_edits import edited, ran

BERLIN = "Europe/Berlin"
LOCAL = Type("timestamp", zone=BERLIN)

# --- times and moments ---

MOMENTS = [
    ("2020-10-25T01:59:59.999999", BERLIN, "2020-10-24T23:59:59.999999"),
    ("2020-10-25T03:00:00", BERLIN, "2020-10-25T02:00:00"),
    ("2021-03-28T01:59:59", BERLIN, "2021-03-28T00:59:59"),
    ("2021-03-28T03:00:00", BERLIN, "2021-03-28T01:00:00"),
    ("2100-07-01T12:00:00", BERLIN, "2100-07-01T10:00:00"),
    ("2021-04-04T01:29:00", "Australia/Lord_Howe", "2021-04-03T14:29:00"),
    ("2011-12-31T00:00:00", "Pacific/Apia", "2011-12-30T10:00:00"),
    ("1850-01-01T00:00:00", "Europe/Amsterdam", "1849-12-31T23:40:28"),
]
NONE = [
    ("2020-10-25T02:00:00", BERLIN, "RQ337"),
    ("2020-10-25T02:59:59", BERLIN, "RQ337"),
    ("2021-03-28T02:00:00", BERLIN, "RQ338"),
    ("2021-04-04T01:45:00", "Australia/Lord_Howe", "RQ337"),
    ("2011-12-30T12:00:00", "Pacific/Apia", "RQ338"),
    ("2100-10-31T02:30:00", BERLIN, "RQ337"),
]


@pytest.mark.parametrize(("local", "zone", "moment"), MOMENTS)
def test_a_local_time_is_a_moment(local: str, zone: str, moment: str) -> None:
    time, expected = datetime.fromisoformat(local), datetime.fromisoformat(moment)
    assert moment_in(time, zone) == expected.replace(tzinfo=UTC)
    column = moments_in(pa.array([None, time], pa.timestamp("us")), zone)
    assert column is not None
    assert column.to_pylist() == [None, expected]


@pytest.mark.parametrize(("local", "zone", "code"), NONE)
def test_a_time_that_clocks_show_twice_or_skip_is_no_moment(local: str, zone: str, code: str) -> None:
    time = datetime.fromisoformat(local)
    with pytest.raises(NoMoment) as problem:
        moment_in(time, zone)
    assert problem.value.code == code
    assert moments_in(pa.array([time, time + timedelta(3)], pa.timestamp("us")), zone) is None


CHANGES = [datetime(2020, 10, 25, 2), datetime(2021, 3, 28, 2), datetime(2040, 10, 28, 2)]
"""Clocks of Berlin and Dublin change there."""


@pytest.mark.parametrize("zone", [BERLIN, "America/New_York", "Europe/Dublin", "Africa/Casablanca", "UTC"])
def test_columns_and_single_times_are_the_same(zone: str) -> None:
    chance, refused = Random(zone), 0
    for _ in range(30):
        times = [
            chance.choice(CHANGES)
            + timedelta(minutes=chance.randrange(-300, 300), microseconds=chance.randrange(2))
            for _ in range(chance.choice([1, 5]))
        ]
        expected: list[datetime] | None = []
        for time in times:
            try:
                assert expected is not None
                expected.append(moment_in(time, zone).replace(tzinfo=None))
            except NoMoment:
                expected = None
                break
        actual = moments_in(pa.array(times, pa.timestamp("us")), zone)
        assert (None if actual is None else actual.to_pylist()) == expected
        refused += actual is None
    assert (refused > 0) == (zone in (BERLIN, "Europe/Dublin"))  # the others change on other days


# --- lines ---

TYPES = {"n": Type("long"), "at": LOCAL}
TEXTS = [
    *(
        "2020-10-25T01:30:00",
        "2020-10-25 03:30:00.5",
        "2020-10-25T03:30",
        "2020-10-25",
        "2020-07-01T00:00:00",
    ),
    *("2020-10-25T02:30:00", "2020-10-25T02:30", "2020-10-25T02:30:00.123456789", "2021-03-28T02:30:00"),
    *("2020-10-25T02:30:00Z", "2020-10-25T02:30:00+01:00", "2020-10-25T02:30+02", "2021-03-28T02:30:00Z"),
    *("0001-01-01T00:00:00", "9999-12-31T23:59:59", "2020-10-25T2:30:00", "2020-13-01T00:00:00", "now"),
]
FORMS = {
    "json": (JsonBatches(TYPES), Part, JsonBatches),
    "csv": (CsvBatches(TYPES), CsvPart, RecordBatches),
    "xml": (XmlBatches(TYPES), XmlPart, XmlBatches),
}


def rows_of(folder: Path, format_: str, texts: list[str]) -> list[dict[str, Any]]:
    """Returns the tuples of a file with some times."""
    lines = {
        "json": [json.dumps({"n": n, "at": text}) for n, text in enumerate(texts)],
        "csv": ["n,at", *(f"{n},{text}" for n, text in enumerate(texts))],
        "xml": [f"<r><n>{n}</n><at>{text}</at></r>" for n, text in enumerate(texts)],
    }
    file = folder / f"some.{format_}"
    file.write_text("\n".join(lines[format_]) + "\n")
    batches, part, _ = FORMS[format_]
    return [row for block in part(str(file), 0).blocks() for row in batches.batch(block, 0).to_pylist()]  # type: ignore[arg-type]


@pytest.mark.parametrize("format_", FORMS)
def test_all_at_once_is_the_same_as_line_by_line(
    format_: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, codes = Random(format_), set[str]()
    for _ in range(20):
        texts = chance.choices(
            chance.choice([TEXTS, TEXTS[:5], TEXTS[:5] + TEXTS[9:12]]), k=chance.choice([1, 40])
        )
        actual = rows_of(tmp_path, format_, texts)
        with monkeypatch.context() as patch:
            patch.setattr(FORMS[format_][2], "parsed", lambda *_: None)
            patch.setattr(XmlBatches, "_columns", lambda *_: None)
            expected = rows_of(tmp_path, format_, texts)
        assert repr(actual) == repr(expected)
        assert len(actual) == len(texts)
        codes |= {str(row["$corrupt"])[:5] for row in actual}
    assert codes == {"None", "RQ337", "RQ338", "`at` "}


# --- queries ---

QUERY = """
stream r(n: long, at: timestamp zone "Europe/Berlin", x?: double unit degC) from json "in/r" punctuated on at;
stream c(n: long, at: timestamp zone "America/New_York" from "local time") from csv "in/c";
stream x(n: long, at: timestamp zone "Europe/Berlin") from xml "in/x";
byhour := aggregate[count() as many by w](window[1 hour on at as w](r));
emit r to json "out/r" in original units;
emit c to json "out/c";
emit x to json "out/x";
emit byhour to json "out/byhour";
"""
WITHOUT_XML = "\n".join(line for line in QUERY.splitlines() if " x(" not in line and " x to" not in line)
FILES: list[list[Item]] = [
    [
        {"n": 1, "at": "2020-10-25T01:30:00", "x": 1.0},
        {"n": 2, "at": "2020-10-25T02:30:00"},
        {"n": 3, "at": "2020-10-25T02:30:00+02:00"},
        {"n": 4, "at": "2020-10-25T02:30:00+01:00"},
        {"$accent": '[[at >= "2020-10-25T03:00:00", unit(x, degF)]]'},
        {"n": 5, "at": "2020-10-25 03:00:00", "x": 50.0},
    ],
    [
        {"n": 6, "at": "2021-03-28T01:59"},
        {"n": 7, "at": "2021-03-28T02:30:00"},
        {"n": 8, "at": "2021-03-28T03:00:00"},
        {"n": 9, "at": "2021-07-01"},
        {"n": 10, "at": "2021-07-01T12:00:00Z"},
        {"$accent": '[[zone(at, "UTC")]]'},
        {"$accent": '[[zone(at, "UTC")]]'},
        {"n": 11, "at": "2021-07-01T12:00:00"},
        {"$accent": '[[zone(at, "America/New_York")]]'},
    ],
    [
        {"n": 12, "at": "2021-07-01T12:00:00"},
        {"$punctuation": '[at < "2021-07-01T12:30:00"]'},
        {"n": 13, "at": "2021-07-01T12:10:00"},
        {"n": 14, "at": "2021-07-01T12:10:00-05:00"},
    ],
]
MADE = {
    1: "2020-10-24T23:30", 3: "2020-10-25T00:30", 4: "2020-10-25T01:30", 5: "2020-10-25T02:00",
    6: "2021-03-28T00:59", 8: "2021-03-28T01:00", 9: "2021-06-30T22:00", 10: "2021-07-01T12:00",
    11: "2021-07-01T12:00", 12: "2021-07-01T16:00", 14: "2021-07-01T17:10",
}  # fmt: skip
CODES = {2: "RQ337", 7: "RQ338", 13: "RQ305"}
RECORDS = "n,local time\n1,2020-11-01T00:30:00\n2,2020-11-01T01:30:00\n3,2020-11-01T02:30:00"
ELEMENTS = "<r><n>1</n><at>2020-07-01T12:00:00</at></r>\n<r><n>2</n><at>2020-10-25T02:30:00</at></r>"


def times(items: list[Item]) -> dict[int, str]:
    return {item["n"]: item["at"][:16] for item in decode(items)}


def check(run: Any) -> None:
    assert times(run.output("r")) == MADE
    assert {item["n"]: item["x"] for item in decode(run.output("r")) if "x" in item} == {1: 1.0, 5: 10.0}
    assert times(run.output("c")) == {1: "2020-11-01T04:30", 3: "2020-11-01T07:30"}
    closed = [item["$punctuation"] for item in run.output("r") if "$punctuation" in item]
    assert closed == ['[at < "2021-07-01T16:30:00Z"]']
    hours = [
        TIMESTAMP.moment(f"{text}:00Z") // 3_600_000_000 for text in MADE.values() if text < "2021-07-01T16"
    ]
    assert {item["w"]: item["many"] for item in decode(run.output("byhour"))} == Counter(hours)


def write(run: Query, parts: list[list[Item]]) -> None:
    for number, part in enumerate(parts):
        run.write("r", part, f"{number}.jsonl")
    run.write("c", RECORDS.splitlines(), "r.csv")


@pytest.mark.either_engine
@pytest.mark.parametrize("files_per_epoch", [rest(None), 1])
def test_zones_on_an_engine(spark: SparkSession, tmp_path: Path, files_per_epoch: int | None) -> None:
    run = Query(spark, tmp_path, QUERY)
    write(run, FILES)
    run.write("x", ELEMENTS.splitlines(), "x.xml")
    run.process(files_per_epoch)
    check(run)
    assert times(run.output("x")) == {1: "2020-07-01T10:00"}
    assert {json.loads(line.raw)["n"]: line.code for line in run.rejections()} == CODES
    reasons = [line["reason"] for source in ("c", "x") for line in run.quarantine(source)]
    message = "`at` is a local time without an offset that its clock shows twice"
    assert reasons == [f"{message} (read from local time)", message]


@pytest.mark.either_engine
def test_a_zone_stays_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, QUERY)
    write(run, FILES[:2])
    run.go_on(run.executor(), 0)
    assert 'zone(at, "America/New_York")' in cedilla("status", str(tmp_path / "checkpoint")).output
    run.write("r", FILES[2], "2.jsonl")
    run.go_on(run.executor(), 1)
    check(run)
    assert {json.loads(line.raw)["n"]: line.code for line in run.rejections()} == CODES


@pytest.mark.parametrize("whole", [True, False])
def test_zones_without_an_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: bool) -> None:
    run = Query.without_engine(tmp_path, WITHOUT_XML)
    write(run, [list(chain.from_iterable(FILES))] if whole else FILES)
    actual = run.simulate()
    check(actual)
    assert sorted(actual.codes) == sorted([*CODES.values(), "RQ337"])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rq").write_text(run.query)
    output = cedilla("validate", "in/r", "--query", "q.rq", "--source", "r").output
    assert output.count("error") >= 3
    assert all(code in output for code in CODES.values())


# --- the hour that a clock shows twice ---

A, B = ("a", "2020-10-25T02:59:00"), ("b", "2020-10-25T02:58:00")
"""The last tuples of two devices before their clocks are set back, both from the first hour."""


def by_order(tuples: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Returns moments as N13 has them: of the second hour from where time goes back; all tuples are of one source."""
    moments: dict[str, str] = {}
    latest, goes_back = "", False
    for device, local in tuples:
        goes_back = goes_back or local < latest
        latest = max(latest, local)
        moments[device] = f"{local}+0{1 if goes_back else 2}:00"
    return moments


def test_the_order_of_tuples_tells_no_hour() -> None:
    """The printed N13 gives a tuple that comes one line later a moment of another hour. Tuples between the same two
    markers may come in any order (theory 1.1), so each is set aside."""
    assert by_order([A, B]) != by_order([B, A])
    for order in ([A, B], [B, A]):
        reference = Reference(compile_query(TWICE).plan)
        reference.step([("r", {"device": device, "at": at}) for device, at in order])
        assert [code for _, code, _ in reference.rejected] == ["RQ337", "RQ337"]


TWICE = f'stream r(device: string, at: timestamp zone "{BERLIN}") from json "in/r"; emit r to json "out/o";'
STEPS: list[Item] = [
    {"device": "a", "at": "2020-10-25T01:30:00"},
    {"$accent": '[[zone(at, "Etc/GMT-2")]]'},
    {"device": "a", "at": "2020-10-25T02:30:00"},
    {"device": "b", "at": "2020-10-25T02:20:00"},
    {"$accent": '[[zone(at, "Etc/GMT-1")]]'},
    {"device": "a", "at": "2020-10-25T02:30:00"},
    {"$accent": f'[[zone(at, "{BERLIN}")]]'},
    {"device": "a", "at": "2020-10-25T03:30:00"},
]
FLAG = """
stream r(device: string, summer: boolean, at: timestamp zone "Etc/GMT-1") from json "in/r";
accent r [[summer = true, alter(at, y -> y + 1 hour)]];
emit r to json "out/o";
"""


@pytest.mark.either_engine
def test_zones_of_markers_tell_the_two_hours(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, TWICE)
    run.write("r", STEPS)
    run.process()
    hours = sorted((row["device"], row["at"][11:16]) for row in run.output("r") if "at" in row)
    assert hours == [("a", "00:30"), ("a", "01:30"), ("a", "02:30"), ("a", "23:30"), ("b", "00:20")]
    assert not run.rejections()


@pytest.mark.either_engine
def test_a_flag_of_summer_time_tells_the_two_hours(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, FLAG)
    run.write("r", [{"device": "a", "summer": summer, "at": A[1]} for summer in (True, False)])
    run.process()
    assert {row["summer"]: row["at"][11:16] for row in run.output("r")} == {True: "00:59", False: "01:59"}


# --- markers ---


@pytest.mark.parametrize(
    ("text", "last", "first"),
    [
        ('[at < "2020-10-25T02:30:00"]', "2020-10-25T00:29:59.999999Z", "2020-10-25T00:30:00Z"),
        ('[at <= "2020-10-25T02:30:00"]', "2020-10-25T00:30:00Z", "2020-10-25T00:30:00.000001Z"),
        ("[at in [,2020-10-25T02:30:00)]", "2020-10-25T00:29:59.999999Z", "2020-10-25T00:30:00Z"),
        ('[at < "2020-10-25T03:00:00"]', "2020-10-25T01:59:59.999999Z", "2020-10-25T02:00:00Z"),
        ('[at < "2020-10-25T02:30:00+01:00"]', "2020-10-25T01:29:59.999999Z", "2020-10-25T01:30:00Z"),
        ('[at < "2021-03-28T02:30:00"]', "2021-03-28T00:59:59.999999Z", "2021-03-28T01:00:00Z"),
        ('[at <= "2021-03-28T02:30:00"]', "2021-03-28T00:59:59.999999Z", "2021-03-28T01:00:00Z"),
    ],
)
def test_a_punctuation_closes_what_is_certain(text: str, last: str, first: str) -> None:
    closed = read_punctuation(text, {"at": LOCAL}).pattern
    assert regions.contains(closed, {"at": TIMESTAMP.moment(last)})
    assert not regions.contains(closed, {"at": TIMESTAMP.moment(first)})


def test_a_punctuation_closes_no_moment_whose_local_time_it_leaves_open() -> None:
    """And all of them where no bound is a time that clocks show twice."""
    chance, zone = Random(13), ZoneInfo(BERLIN)
    days = [datetime(2020, 10, 25), datetime(2021, 3, 28)]
    compared = {
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
        ">": lambda a, b: a > b,
        ">=": lambda a, b: a >= b,
    }
    for _ in range(300):
        day, sign = chance.choice(days), chance.choice([*compared])
        bound = day + timedelta(minutes=chance.randrange(0, 300, 10))
        moment = (day + timedelta(minutes=chance.randrange(-60, 300, 10))).replace(tzinfo=UTC)
        local = moment.astimezone(zone).replace(tzinfo=None)
        closed = read_punctuation(f'[at {sign} "{bound.isoformat()}"]', {"at": LOCAL}).pattern
        is_closed = regions.contains(closed, {"at": TIMESTAMP.moment(moment.isoformat())})
        matches = compared[sign](local, bound)
        twice = day.month == 10 and 2 <= bound.hour < 3
        repeated = day.month == 10 and bound.hour == 3 and bound.minute == 0
        assert matches or not is_closed, (sign, bound, moment)
        assert is_closed or not matches or twice or repeated, (sign, bound, moment)


@pytest.mark.parametrize(
    "text",
    [
        '[[at > "2020-10-25T02:30:00", unit(x, degC)]]',
        '[[at = "2021-03-28T02:30:00", -(x)]]',
        '[[missing(at, {"2020-10-25T02:30:00"})]]',
        '[at = "2020-10-25T02:30:00"]',
    ],
)
def test_a_constant_without_one_moment_is_refused(text: str) -> None:
    read = read_accent if text.startswith("[[") else read_punctuation
    with pytest.raises(DiagnosticError, match="RQ175") as problem:
        read(text, {"at": LOCAL, "x": Type("double")})
    assert "Z`" in str(problem.value.diagnostics[0].help)


def ends_with(declared: str, *texts: str, format_: str = "json", kind: str = "stream") -> str:
    address = "host:9092/r" if format_ == "kafka" else "r"
    plan = compile_query(f'{kind} r({declared}) from {format_} "{address}"; emit r to json "o";').plan
    reference = Reference(plan)
    try:
        for text in texts:
            reference.step([("r", {"$accent": text})])
    except DiagnosticError as error:
        return error.diagnostics[0].code
    return ""


DECLARED = 'n: long, at: timestamp zone "Europe/Berlin", u: timestamp, v: timestamp zone "Europe/Berlin"'
DECLARED += ', w?: timestamp from "one" or "other"'


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('[[zone(at, "Europe/Rome")]]', ""),
        ('[[zone(u, "Europe/Rome")]]', ""),
        ("[[swap(at, v)]]", ""),
        ('[[zone(at, "Europe/Berln")]]', "RQ173"),
        ('[[zone(n, "Europe/Rome")]]', "RQ208"),
        ('[[zone(att, "Europe/Rome")]]', "RQ207"),
        ('[[n = 1, zone(at, "Europe/Rome")]]', "RQ339"),
        ("[[swap(at, u)]]", "RQ318"),
        ('[[zone(w, "Europe/Rome")]]', "RQ339"),
    ],
)
def test_accents_name_zones(text: str, code: str) -> None:
    assert ends_with(DECLARED, text) == code


def test_times_that_have_changed_places_keep_their_zone() -> None:
    back_again = ["[[swap(at, v)]]", "[[swap(at, v)]]", '[[zone(at, "Europe/Rome")]]']
    assert ends_with(DECLARED, *back_again) == ""
    assert ends_with(DECLARED, *back_again[1:]) == "RQ241"


@pytest.mark.parametrize(("format_", "kind"), [("json", "table"), ("kafka", "stream"), ("parquet", "stream")])
def test_a_zone_changes_only_where_lines_have_one_order(format_: str, kind: str) -> None:
    assert (
        ends_with("n: long, at: timestamp", '[[zone(at, "Europe/Rome")]]', format_=format_, kind=kind)
        == "RQ339"
    )


@pytest.mark.parametrize(
    ("declared", "format_", "code"),
    [
        ('at: date zone "Europe/Berlin"', "json", "RQ174"),
        ('at: timestamp zone "Europe/Berlin"', "parquet", "RQ174"),
        ('at: timestamp zone "Europe/Berlin" from "a" or "b"', "json", "RQ242"),
        ('at: timestamp zone "Berlin"', "csv", "RQ173"),
    ],
)
def test_a_zone_is_for_texts_of_times(declared: str, format_: str, code: str) -> None:
    with pytest.raises(DiagnosticError, match=code):
        compile_query(f'stream r({declared}) from {format_} "r"; emit r to json "o";')


def test_a_query_states_zones() -> None:
    """Constants of later statements are in the zone."""
    text = 'stream r(n: long, at: timestamp, x?: double unit m) from %s "r"; accent r [[zone(at, "Europe/Berlin")]];'
    text += 'accent r [[at < "2020-07-01T13:00:00", unit(x, km)]]; emit r to json "o";'
    reference = Reference(compile_query(text % "json").plan)
    read: list[Any] = []
    for at in ("12", "13"):
        (outputs,) = reference.step([("r", {"n": 1, "at": f"2020-07-01T{at}:00:00", "x": 1.0})])
        read += [(row["at"].hour, row["x"]) for row in outputs["r"].canonical]
    assert read == [(10, 1000.0), (11, 1.0)]
    with pytest.raises(DiagnosticError, match="RQ339"):
        compile_query(text % "parquet")


def test_an_attribute_under_another_name_keeps_its_zone(tmp_path: Path) -> None:
    query = f'stream r({DECLARED.partition(", u")[0]}) from json "in/r"; emit r to json "out/o";'
    run = Query.without_engine(tmp_path, query)
    lines = [{"$accent": "[[rename(time, at)]]"}, {"n": 1, "time": "2020-07-01T12:00:00"}]
    run.write("r", [*lines, {"$accent": '[[zone(time, "UTC")]]'}, {"n": 2, "time": "2020-07-01T12:00:00"}])
    assert times(run.simulate().output("r")) == {1: "2020-07-01T10:00", 2: "2020-07-01T12:00"}


NEVER = "1900-01-01T00:00:00"
MISSING = 'stream r(n: long, at?: timestamp zone "Europe/Berlin") from json "in/r"; emit r to json "out/r";'
OF_MISSING: list[list[Item]] = [
    [
        {"n": 1, "at": NEVER},
        {"$accent": f'[[missing(at, {{"{NEVER}", "2020-10-25T01:00:00"}})]]'},
        {"n": 2, "at": NEVER},
        {"$accent": '[[zone(at, "America/New_York")]]'},
        {"n": 3, "at": NEVER},
        {"n": 4, "at": "1899-12-31T18:00:00"},
    ],
    [
        {"$accent": '[[zone(at, "UTC")]]'},
        {"n": 5, "at": NEVER},
        {"n": 6, "at": "2020-10-25T01:00:00"},
        {"n": 7, "at": "1899-12-31T23:00:00"},
    ],
]


def defined_times(items: list[Item]) -> dict[int, str | None]:
    return {item["n"]: item.get("at", "")[:16] for item in decode(items)}


DEFINED = {1: "1899-12-31T23:00", 2: "", 3: "", 4: "1899-12-31T23:00", 5: "", 6: "", 7: "1899-12-31T23:00"}


def test_a_missing_local_time_is_the_same_text_in_every_zone(tmp_path: Path) -> None:
    run = Query.without_engine(tmp_path, MISSING)
    for part in OF_MISSING:
        run.write("r", part)
    assert defined_times(run.simulate().output("r")) == DEFINED
    text = 'stream r(n: long, at?: timestamp zone "%s") from json "in/r"; emit r to json "out/o";'
    state = ran(compile_query(text % BERLIN).plan, [("r", OF_MISSING[0][1])])
    _, after = edited(state, text % "Asia/Kolkata")
    here = after.states["r"].sentinels.here["at"]
    assert regions.contains(here, {"at": TIMESTAMP.moment("2020-10-24T19:30:00Z")})
    assert not regions.contains(here, {"at": TIMESTAMP.moment("2020-10-24T23:00:00Z")})


@pytest.mark.parametrize(
    ("local", "zone", "refused"),
    [
        ("2021-10-31T02:30:00", BERLIN, "show 2021-10-31T02:30:00 twice"),
        ("2021-03-28T02:30:00", BERLIN, "skip 2021-03-28T02:30:00"),
        ("2021-10-31T02:30:00", "Asia/Kolkata", None),
    ],
)
def test_a_zone_in_which_a_missing_time_has_no_one_moment_is_refused(
    local: str, zone: str, refused: str | None
) -> None:
    """Its text could not be read, and the moment that took its place would be undefined where it has an offset."""
    declared = 'stream r(at?: timestamp zone "%s", x?: double) from json "in/r"; emit r to json "out/o";'
    reference = ran(compile_query(declared % "UTC").plan, [("r", marker(f'[[missing(at, {{"{local}"}})]]'))])
    (change,) = edited(reference, declared % zone)[0].items
    assert (change.effect, (refused or "") in change.why) == (
        "new checkpoint" if refused else "at once",
        True,
    )
    another = marker(f'[[zone(at, "{zone}")]]')
    if refused is None:
        reference.step([("r", another)])
        return
    error = error_of(lambda: reference.step([("r", another)]))
    assert error.code == "RQ175"
    assert refused in error.message
    reference.step([("r", marker("[[missing(at, {})]]"))])
    reference.step([("r", another)])


@pytest.mark.either_engine
def test_a_missing_local_time_is_the_same_text_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, MISSING)
    for number, part in enumerate(OF_MISSING):
        run.write("r", part)
        run.go_on(run.executor(), number)
    assert defined_times(run.output("r")) == DEFINED


# --- tools ---


def test_tools_know_zones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rq").write_text(WITHOUT_XML)
    write_lines(tmp_path / "r/1.jsonl", [{"n": 1, "at": "2020-07-01T12:00:00"}, *FILES[1][5:6]])
    assert "RQ213" in cedilla("canonize", "r", "--query", "q.rq", "--source", "r").output
    assert "undone at the source" in cedilla("trace", "q.rq", "--on", "r", '[[zone(at, "UTC")]]').output
    plan, _ = load(compile_query(QUERY))
    assert str(plan.sources[1].attributes[1]) == 'at: timestamp zone "America/New_York" from "local time"'


def test_an_edit_names_the_zone_from_now_on() -> None:
    text = 'stream r(n: long, at: timestamp%s) from json "in/r"; emit r to json "out/o";'
    berlin, rome = ' zone "Europe/Berlin"', ' zone "Europe/Rome"'
    for old, new in (("", berlin), (berlin, ""), (berlin, rome)):
        changes, after = edited(ran(compile_query(text % old).plan, []), text % new)
        assert changes.effect == "at once"
        assert after.states["r"].forms.get("at") == (new.split('"')[1] if new else None)
    state = ran(compile_query(text % berlin).plan, [("r", {"$accent": '[[zone(at, "UTC")]]'})])
    changes, after = edited(state, text % berlin)
    assert after.states["r"].forms == {"at": "UTC"}
