"""Functions that fall or bend (theory N7, N11): sources undo them, outputs never announce them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from cedilla import Options, run, simulate
from cedilla.compiler import compile_query, regions
from cedilla.compiler.regions.affine import Affine
from cedilla.compiler.regions.composition import Bent, after
from cedilla.grammar.parser import parse_accent
from cedilla.runtime.connectors.records.marker import MarkerLine
from cedilla.runtime.control.markers.advance import advance
from cedilla.runtime.control.markers.stated_accents import starting_states
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit.accents import FUNCTIONS
from tests.kit.command import cedilla
from tests.kit.errors import code_of, error_of
from tests.kit.lines import marker, write_lines
from tests.kit.query import canonical_rows
from tests.kit.stream import Item, decode, read_output
from tests.kit.tiers import rest
from tests.kit.work import operations

QUERY = """
stream r(ts: long, s: int in {1, 2}, p: double, q: double)
  from json "r"
  punctuated on ts;
high := select[p > 5](r);
emit r to json "out/r";
emit high to json "out/high";
"""

# --- images of regions ---

VALUES = st.sampled_from([Fraction(n, 2) for n in range(-12, 25)])


@given(
    st.lists(st.tuples(VALUES, st.sampled_from([0, 1])), max_size=4),
    st.sets(VALUES, max_size=3),
    st.sampled_from(FUNCTIONS),
    st.sampled_from([*FUNCTIONS, Affine(3, -1)]),
)
def test_an_image_has_the_images_of_exactly_the_values_inside(
    ends: list[tuple[Fraction, int]], points: set[Fraction], first: Bent, last: Bent | Affine
) -> None:
    cuts = sorted(set(ends))
    region = regions.values("x", points)
    for low, high in zip(cuts[::2], cuts[1::2], strict=False):
        region = regions.union(region, regions.interval("x", low, high))
    function = after(last, first)
    image = regions.transform(region, "x", function, False)
    for value in (Fraction(n, 4) for n in range(-30, 60)):
        if isinstance(function, Affine) or function.takes(value):
            mapped = {"x": function(value)}
            assert regions.contains(image, mapped) == regions.contains(region, {"x": value})
    if not isinstance(function, Affine):
        back = function.inverse()
        for value in (Fraction(n, 4) for n in range(-500, 500, 7)):
            if not back.takes(value):
                assert not regions.contains(image, {"x": value})


@pytest.mark.parametrize("function", FUNCTIONS)
@given(st.decimals(-20, 20, places=4).map(float))
def test_a_double_leads_next_to_the_exact_number_and_back(function: Bent, value: float) -> None:
    if function.takes(value):
        image = function.of_double(value)
        assert image == pytest.approx(float(function(Fraction(repr(value)))), rel=1e-12, abs=1e-12)
        if function.inverse().takes(image):
            assert function.inverse().of_double(image) == pytest.approx(value, rel=1e-9, abs=1e-9)


# --- streams ---


def bent_row(ts: int, p: float | None, s: int = 1) -> Item:
    return {"ts": ts, "s": s, "q": 1.0} | ({} if p is None else {"p": p})


CASES: dict[str, tuple[Sequence[Item], list[float]]] = {
    "a sign": (
        [bent_row(1, -500.0), marker("[[s = 1, alter(p, y -> -y)]]"), bent_row(2, 500.0)],
        [-500.0, -500.0],
    ),
    "a sign twice": (
        [
            marker("[[alter(p, y -> -y)]]"),
            bent_row(1, -51.0),
            marker("[[alter(p, y -> -y)]]"),
            bent_row(2, 52.0),
        ],
        [51.0, 52.0],
    ),
    "a reciprocal": (
        [bent_row(1, 7.0), marker("[[alter(p, y -> 235.215 / y)]]"), bent_row(2, 33.60214285714286)],
        [7.0, 7.0],
    ),
    "points": (
        [
            bent_row(1, 50.0),
            marker("[[alter(p, by points {(0, 0), (50, 56), (100, 100)})]]"),
            bent_row(2, 56.0),
            bent_row(3, 28.0),
        ],
        [50.0, 50.0, 25.0],
    ),
    "ends of points that are no doubles": (
        [
            marker("[[alter(p, by points {(0, -0.1), (5, 0.1)})]]"),
            bent_row(1, 0.1),
            bent_row(2, -0.1),
            bent_row(3, 0.1000001),
        ],
        [5.0, 0.0],
    ),
    "a scale before and after": (
        [
            marker("[[alter(p, y -> y / 10)]]"),
            bent_row(1, 0.7),
            marker("[[alter(p, y -> 100 - y)]]"),
            bent_row(2, 99.3),
            marker("[[alter(p, y -> y * 2)]]"),
            bent_row(3, 198.6),
        ],
        [7.0, 7.0, 7.0],
    ),
    "descriptions by raw values": (
        [
            marker("[[alter(p, y -> -y)]]"),
            marker("[[p < -5, alter(q, y -> y * 2)]]"),
            bent_row(1, -7.0),
            bent_row(2, -5.0),
            bent_row(3, 7.0),
        ],
        [7.0, 5.0, -7.0],
    ),
    "a punctuation by raw values": (
        [
            marker("[[alter(p, y -> -y)]]"),
            bent_row(1, 5.0),
            {"$punctuation": "[p >= 3]"},
            bent_row(2, 2.0),
            bent_row(3, 3.0),
            bent_row(4, -9.0),
        ],
        [-5.0, -2.0, 9.0],
    ),
    "values that the function does not take": (
        [
            marker("[[s = 1, alter(p, y -> 12 / y)]]"),
            bent_row(1, 0.0),
            bent_row(2, -3.0),
            bent_row(3, 4.0),
            bent_row(4, -3.0, 2),
            bent_row(5, None),
        ],
        [3.0, -3.0],
    ),
}


@pytest.mark.either_engine
@pytest.mark.parametrize("case", CASES)
def test_a_source_undoes_the_function(spark: SparkSession, here: Path, case: str) -> None:
    items, expected = CASES[case]
    query = QUERY.replace("p: double", "p?: double")
    write_lines(here / "r/1.jsonl", [*items, {"$punctuation": "[]"}])
    run(query, Options(once=True, checkpoint="ck"), spark=spark)
    rows = canonical_rows("out/r")
    assert [item["p"] for item in rows if "p" in item] == expected
    assert [item["p"] for item in canonical_rows("out/high")] == [p for p in expected if p > 5]
    simulate(query, Options(sinks={"r": "simulated/r", "high": "simulated/high"}))
    assert canonical_rows("simulated/r") == rows
    announced = [parse_accent(item["$accent"]) for item in read_output(Path("out/r")) if "$accent" in item]
    assert all("by points" not in str(accent) for accent in announced)


def test_doubled_values_are_described_by_what_was_sent(here: Path) -> None:
    items, _ = CASES["descriptions by raw values"]
    write_lines(here / "r/1.jsonl", items)
    simulate(QUERY, Options(sinks={"r": "out/r", "high": "out/high"}))
    assert [item["q"] for item in canonical_rows("out/r")] == [0.5, 1.0, 1.0]


@pytest.mark.either_engine
def test_it_goes_on_after_a_restart_and_is_shown(spark: SparkSession, here: Path) -> None:
    options = Options(once=True, checkpoint="ck")
    write_lines(here / "r/1.jsonl", [marker("[[s = 1, alter(p, y -> 12 / y)]]"), bent_row(1, 4.0)], 1)
    run(QUERY, options, spark=spark)
    assert "alter(p, y -> 12 / y)" in cedilla("status", "ck").output
    write_lines(here / "r/2.jsonl", [bent_row(2, 3.0), bent_row(3, 3.0, 2)], 2)
    run(QUERY, options, spark=spark)
    assert [item["p"] for item in canonical_rows("out/r")] == [3.0, 4.0, 3.0]


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        (["[[alter(p, y -> 0 * y)]]"], "RQ202"),
        (["[[alter(p, y -> y * y)]]"], "RQ202"),
        (["[[alter(p, y -> -5 / y)]]"], "RQ202"),
        (["[[alter(p, y -> -y, unit kW)]]"], "RQ202"),
        (["[[alter(p, by points {(0, 0)})]]"], "RQ203"),
        (["[[alter(p, by points {(0, 0), (1, 5), (2, 3)})]]"], "RQ203"),
        (["[[alter(p, by points {(1, 0), (0, 5)})]]"], "RQ203"),
    ],
)
def test_what_has_no_inverse_is_refused(here: Path, texts: list[str], code: str) -> None:
    write_lines(here / "r/1.jsonl", map(marker, texts))
    assert code_of(lambda: simulate(QUERY)) == code


def test_a_unit_of_turned_values_is_refused(here: Path) -> None:
    turned, unit = marker("[[s = 1, alter(p, y -> -y)]]"), marker("[[unit(p, kW)]]")
    query = QUERY.replace("p: double", "p: double unit W")
    write_lines(here / "r/1.jsonl", [turned, unit])
    assert code_of(lambda: simulate(query)) == "RQ463"
    write_lines(here / "r/1.jsonl", [turned, marker("[[s = 2, unit(p, kW)]]"), bent_row(1, 0.5, 2)])
    simulate(query, Options(sinks={"r": "out/r", "high": "out/high"}))
    assert [item["p"] for item in canonical_rows("out/r")] == [500.0]


def test_tools_know_it(here: Path) -> None:
    write_lines(here / "r/1.jsonl", [marker("[[alter(p, y -> 12 / y)]]"), bent_row(1, 4.0), bent_row(2, 0.0)])
    (here / "q.rq").write_text(QUERY)
    assert "RQ315" in cedilla("validate", "r", "--query", "q.rq").output
    assert "RQ213" in cedilla("canonize", "r", "--query", "q.rq").output
    assert "undone at the source" in cedilla("trace", "q.rq", "[[alter(p, y -> -y)]]").output


# --- timestamps ---

SHIFTED = """
stream r(at: timestamp, s: int in {1, 2}, n: long)
  from json "r"
  punctuated on at;
hours := aggregate[count() as n by hour](window[1 hour on at as hour](r));
emit r to json "out/r";
emit hours to json "out/hours";
"""


def moment(at: str, n: int, s: int = 1) -> Item:
    return {"at": at, "s": s, "n": n}


MOMENTS: Sequence[Item] = (
    moment("2000-01-01T01:30:00Z", 1),
    marker("[[s = 1, alter(at, y -> y + 1 hour)]]"),
    moment("2000-01-01T02:40:00Z", 2),
    moment("2000-01-01T01:50:00Z", 3, 2),
    marker('[[at >= "2000-01-01T05:00:00Z", alter(n, y -> y * 2)]]'),
    marker("[[s = 1, alter(at, y -> y + 30 minutes)]]"),
    moment("2000-01-01T05:15:00Z", 8),  # 03:45, before what the description means
    moment("0001-01-01T00:10:00Z", 5),
    {"$punctuation": '[at < "2000-01-01T06:30:00Z", s = 1]'},
    moment("2000-01-01T06:29:00Z", 14),
    marker("[[s = 1, alter(at, y -> y - 1.5 hours)]]"),
    moment("2000-01-01T05:00:00Z", 18),
    {"$punctuation": "[]"},
)
UTC = [
    ("2000-01-01T01:30:00", 1),
    ("2000-01-01T01:40:00", 2),
    ("2000-01-01T01:50:00", 3),
    ("2000-01-01T03:45:00", 8),
    ("2000-01-01T05:00:00", 9),
]


def moments(folder: str) -> list[tuple[str, float]]:
    rows = (row for row in decode(read_output(Path(folder))) if "at" in row)
    return sorted((str(row["at"])[:19], float(row["n"])) for row in rows)


@pytest.mark.either_engine
@pytest.mark.parametrize("files", [1, rest(len(MOMENTS))], ids=["one file", "a file a line"])
def test_a_source_undoes_a_shift_of_timestamps(spark: SparkSession, here: Path, files: int) -> None:
    """A tuple that is late after the shift, and one before the first timestamp, are set aside."""
    for number, items in enumerate([MOMENTS] if files == 1 else [[item] for item in MOMENTS]):
        write_lines(here / f"r/{number:03}.jsonl", items, number)
    run(SHIFTED, Options(once=True, checkpoint="ck", files_per_epoch=1), spark=spark)
    assert moments("out/r") == UTC
    codes: list[str] = []
    options = Options(sinks={"r": "simulated/r", "hours": "simulated/hours"})
    simulate(SHIFTED, options, lambda line, code: codes.append(code))
    assert moments("simulated/r") == UTC
    assert codes == ["RQ315", "RQ305"]
    counts = {item["hour"]: item["n"] for item in read_output(here / "out/hours") if "hour" in item}
    assert [counts[hour] for hour in sorted(counts)] == [3, 1, 1]
    assert not any("alter(at" in str(item) for item in read_output(here / "out/r"))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("alter(at, y -> y + 3600)", "RQ208"),
        ("alter(at, y -> y * 2)", "RQ208"),
        ("alter(at, y -> y + 1 m)", "RQ208"),
        ("alter(at, y -> 1 hour - y)", "RQ208"),
        ("alter(at, z -> y + 1 hour)", "RQ208"),
        ("alter(at, y -> y + 0.0000001 seconds)", "RQ208"),
        ("alter(at, y -> y + 1 hour, y -> y - 1 hour)", "RQ202"),
        ("unit(at, s)", "RQ208"),
    ],
)
def test_timestamps_are_only_shifted(here: Path, text: str, code: str) -> None:
    write_lines(here / "r/1.jsonl", [marker(f"[[{text}]]")])
    assert code_of(lambda: simulate(SHIFTED)) == code


@pytest.mark.parametrize(
    "length", ["1 hour", "90 minutes", "36 hours", "0.25 seconds", "2 days", "0.000001 seconds"]
)
def test_a_shift_is_written_as_it_is_read(here: Path, length: str) -> None:
    (here / "q.rq").write_text(SHIFTED)
    traced = cedilla("trace", "q.rq", f"[[alter(at, y -> y + {length})]]").output
    assert "undone at the source" in traced
    write_lines(here / "r/1.jsonl", [marker(f"[[alter(at, y -> y - {length})]]")])
    simulated = cedilla("validate", "r", "--query", "q.rq")
    assert simulated.exit_code == 0, simulated.output


STEPS = st.lists(
    st.tuples(st.sampled_from([1, 2, None]), st.integers(-48, 48), st.booleans()), min_size=1, max_size=12
)


@pytest.mark.rest
@given(STEPS)
def test_shifts_add_up_by_group(steps: list[tuple[int | None, int, bool]]) -> None:
    """Each tuple is sent as its group's clock shows it: the source has the same times as without any shift."""
    reference, ahead, start = Reference(compile_query(SHIFTED).plan), {1: 0, 2: 0}, datetime(2020, 3, 29)
    sent: list[str] = []
    for number, (group, half_hours, is_accent) in enumerate(steps):
        if is_accent:
            described = "" if group is None else f"s = {group}, "
            text = f"[[{described}alter(at, y -> y {'-' if half_hours < 0 else '+'} {abs(half_hours) * 30} minutes)]]"
            reference.step([("r", marker(text))])
            ahead = {s: n + (half_hours if group in (None, s) else 0) for s, n in ahead.items()}
            continue
        at = start + timedelta(minutes=number)
        shown = at + timedelta(minutes=30 * ahead[group or 1])
        for outputs in reference.step([("r", moment(shown.isoformat(), number, group or 1))]):
            sent += [str(row["at"])[:19] for row in outputs["r"].tuples]
        assert sent[-1] == at.isoformat(timespec="seconds")
    assert not reference.rejected


# --- numbers that wrap around ---


def test_a_counter_that_wraps_twice_has_its_first_wrap_undone() -> None:
    reference = Reference(compile_query(QUERY).plan)
    for text in ("[[wrap(p, 10 from 10)]]", "[[wrap(p, 10 from 0 to 10)]]", "[[wrap(p, 10 from 20)]]"):
        reference.step([("r", marker(text))])
    (outputs,) = reference.step([("r", {"ts": 1, "s": 1, "p": 3.0, "q": 0.0})])
    assert [row["p"] for row in outputs["r"].canonical] == [23.0]


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ("wrap(p, 10 from 0)", "`to` where they begin from here on"),
        ("wrap(p, 0)", "the number of different values"),
        ("wrap(p, 10 from)", "`wrap(x, 65536 from -32768 to 0)`"),
        ("wrap(p, 10 to 5 from 0)", "`wrap(x, 65536 from -32768 to 0)`"),
        ('wrap(p, "10")', "`10` is written without quotes"),
        ("alter(p, y -> y % 65536)", "`wrap(x, 65536)`"),
        ("alter(p, y -> mod(y, 65536))", "`wrap(x, 65536)`"),
    ],
)
def test_a_wrong_wrap_has_a_hint(change: str, hint: str) -> None:
    error = error_of(lambda: Reference(compile_query(QUERY).plan).step([("r", marker(f"[[{change}]]"))]))
    assert hint in (error.help or "")


BACK_AND_FORTH = [
    ("wrap(p, 20 from 0 to -10)", "wrap(p, 20 from -10 to 0)"),
    ("alter(p, y -> 24 / y)", "alter(p, y -> 24 / y)"),
    ("alter(p, by points {(0, 0), (10, 20)})", "alter(p, by points {(0, 0), (20, 10)})"),
]
"""Functions that do not take -40, and what undoes them."""


@pytest.mark.parametrize(("forth", "back"), BACK_AND_FORTH)
def test_what_a_function_did_not_take_is_read_as_before_once_it_is_undone(forth: str, back: str) -> None:
    """Conditions on the numbers that it does not take hold again, also those of missing values."""
    query = 'stream r(p: double, q: double, h?: double) from json "r"; emit r to json "out";'
    reference = Reference(compile_query(query).plan)
    for change in ("p < -36, alter(q, y -> y * 2)", "p < -36, missing(h, {-9})", forth, back):
        reference.step([("r", marker(f"[[{change}]]"))])
    (outputs,) = reference.step([("r", {"p": -40.0, "q": 10.0, "h": -9.0})])
    assert outputs["r"].canonical == ({"p": -40.0, "q": 5.0},)
    (outputs,) = reference.step([("r", {"p": 5.0, "q": 10.0, "h": -9.0})])
    assert outputs["r"].canonical == ({"p": 5.0, "q": 10.0, "h": -9.0},)


@pytest.mark.rest
@pytest.mark.parametrize("change", ["alter(p, y -> -y)", "unit(p, kPa)"])
def test_an_accent_for_one_device_costs_the_same_after_many(change: str) -> None:
    """A fleet turns the sign, or changes the unit, of each device by an accent of its own."""
    plan = compile_query('stream r(s: int, p: double unit Pa) from json "r"; emit r to json "out";').plan
    lines = [MarkerLine("accent", f"[[s = {s}, {change}]]", s) for s in range(410)]

    def work(before: int) -> int:
        states = advance(plan, starting_states(plan), {"r": lines[:before]}).states
        return operations(lambda: advance(plan, states, {"r": lines[before : before + 5]}))

    work(5)  # functions that are remembered
    assert work(400) < 2 * work(5)
