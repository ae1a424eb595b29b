"""Functions that fall or bend (theory N7, N11): sources undo them, outputs never announce them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from cedilla import Options, run, simulate
from cedilla.compiler import regions
from cedilla.compiler.regions.affine import Affine
from cedilla.compiler.regions.bent import Bent, ByPoints, Chain, Reciprocal, after, takes
from cedilla.grammar.parser import parse_accent
from tests.kit.command import cedilla, code_of
from tests.kit.lines import write_lines
from tests.kit.stream import Item, decode, read_output

QUERY = """
stream r(ts: long, s: int in {1, 2}, p: double, q: double)
  from json "r"
  punctuated on ts;
high := select[p > 5](r);
emit r to json "out/r";
emit high to json "out/high";
"""

# --- images of regions ---

FALLING = Chain((Affine(-2, 3),))
FUNCTIONS: list[Bent] = [
    FALLING,
    Reciprocal(Fraction("235.215")),
    ByPoints(((0, 0), (2, 5), (10, 100))),
    ByPoints(((-3, 7), (1, 0), (4, -20))),
]
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
        if isinstance(function, Affine) or takes(function, value):
            mapped = {"x": function(value)}
            assert regions.contains(image, mapped) == regions.contains(region, {"x": value})
    if not isinstance(function, Affine):
        back = function.inverse()
        for value in (Fraction(n, 4) for n in range(-500, 500, 7)):
            if not takes(back, value):
                assert not regions.contains(image, {"x": value})


@pytest.mark.parametrize("function", FUNCTIONS)
@given(st.decimals(-20, 20, places=4).map(float))
def test_a_double_leads_next_to_the_exact_number_and_back(function: Bent, value: float) -> None:
    if takes(function, value):
        there = function.of_double(value)
        assert there == pytest.approx(float(function(Fraction(repr(value)))), rel=1e-12, abs=1e-12)
        if takes(function.inverse(), there):
            assert function.inverse().of_double(there) == pytest.approx(value, rel=1e-9, abs=1e-9)


# --- streams ---


def accent(text: str) -> Item:
    return {"$accent": text}


def row(ts: int, p: float | None, s: int = 1) -> Item:
    return {"ts": ts, "s": s, "q": 1.0} | ({} if p is None else {"p": p})


def decoded(folder: str) -> list[Item]:
    return [{n: float(v) for n, v in item.items()} for item in decode(read_output(Path(folder)))]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


CASES: dict[str, tuple[Sequence[Item], list[float]]] = {
    "a sign": ([row(1, -500.0), accent("[[s = 1, alter(p, y -> -y)]]"), row(2, 500.0)], [-500.0, -500.0]),
    "a sign twice": (
        [accent("[[alter(p, y -> -y)]]"), row(1, -51.0), accent("[[alter(p, y -> -y)]]"), row(2, 52.0)],
        [51.0, 52.0],
    ),
    "a reciprocal": (
        [row(1, 7.0), accent("[[alter(p, y -> 235.215 / y)]]"), row(2, 33.60214285714286)],
        [7.0, 7.0],
    ),
    "points": (
        [
            row(1, 50.0),
            accent("[[alter(p, by points {(0, 0), (50, 56), (100, 100)})]]"),
            row(2, 56.0),
            row(3, 28.0),
        ],
        [50.0, 50.0, 25.0],
    ),
    "a scale before and after": (
        [
            accent("[[alter(p, y -> y / 10)]]"),
            row(1, 0.7),
            accent("[[alter(p, y -> 100 - y)]]"),
            row(2, 99.3),
            accent("[[alter(p, y -> y * 2)]]"),
            row(3, 198.6),
        ],
        [7.0, 7.0, 7.0],
    ),
    "descriptions by raw values": (
        [
            accent("[[alter(p, y -> -y)]]"),
            accent("[[p < -5, alter(q, y -> y * 2)]]"),
            row(1, -7.0),
            row(2, -5.0),
            row(3, 7.0),
        ],
        [7.0, 5.0, -7.0],
    ),
    "a punctuation by raw values": (
        [
            accent("[[alter(p, y -> -y)]]"),
            row(1, 5.0),
            {"$punctuation": "[p >= 3]"},
            row(2, 2.0),
            row(3, 3.0),
            row(4, -9.0),
        ],
        [-5.0, -2.0, 9.0],
    ),
    "values that the function does not take": (
        [
            accent("[[s = 1, alter(p, y -> 12 / y)]]"),
            row(1, 0.0),
            row(2, -3.0),
            row(3, 4.0),
            row(4, -3.0, 2),
            row(5, None),
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
    rows = decoded("out/r")
    assert [item["p"] for item in rows if "p" in item] == expected
    assert [item["p"] for item in decoded("out/high")] == [p for p in expected if p > 5]
    simulate(query, Options(sinks={"r": "simulated/r", "high": "simulated/high"}))
    assert decoded("simulated/r") == rows
    announced = [parse_accent(each["$accent"]) for each in read_output(Path("out/r")) if "$accent" in each]
    assert all("by points" not in str(each) for each in announced)


def test_doubled_values_are_described_by_what_was_sent(here: Path) -> None:
    items, _ = CASES["descriptions by raw values"]
    write_lines(here / "r/1.jsonl", items)
    simulate(QUERY, Options(sinks={"r": "out/r", "high": "out/high"}))
    assert [item["q"] for item in decoded("out/r")] == [0.5, 1.0, 1.0]


@pytest.mark.either_engine
def test_it_goes_on_after_a_restart_and_is_shown(spark: SparkSession, here: Path) -> None:
    options = Options(once=True, checkpoint="ck")
    write_lines(here / "r/1.jsonl", [accent("[[s = 1, alter(p, y -> 12 / y)]]"), row(1, 4.0)], 1)
    run(QUERY, options, spark=spark)
    assert "alter(p, y -> 12 / y)" in cedilla("status", "ck").output
    write_lines(here / "r/2.jsonl", [row(2, 3.0), row(3, 3.0, 2)], 2)
    run(QUERY, options, spark=spark)
    assert [item["p"] for item in decoded("out/r")] == [3.0, 4.0, 3.0]


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
    write_lines(here / "r/1.jsonl", map(accent, texts))
    assert code_of(lambda: simulate(QUERY)) == code


def test_a_unit_of_turned_values_is_refused(here: Path) -> None:
    turned, unit = accent("[[s = 1, alter(p, y -> -y)]]"), accent("[[unit(p, kW)]]")
    query = QUERY.replace("p: double", "p: double unit W")
    write_lines(here / "r/1.jsonl", [turned, unit])
    assert code_of(lambda: simulate(query)) == "RQ463"
    write_lines(here / "r/1.jsonl", [turned, accent("[[s = 2, unit(p, kW)]]"), row(1, 0.5, 2)])
    simulate(query, Options(sinks={"r": "out/r", "high": "out/high"}))
    assert [item["p"] for item in decoded("out/r")] == [500.0]


def test_tools_know_it(here: Path) -> None:
    write_lines(here / "r/1.jsonl", [accent("[[alter(p, y -> 12 / y)]]"), row(1, 4.0), row(2, 0.0)])
    (here / "q.rq").write_text(QUERY)
    assert "RQ315" in cedilla("validate", "r", "--query", "q.rq").output
    assert "RQ213" in cedilla("canonize", "r", "--query", "q.rq").output
    assert "undone at the source" in cedilla("trace", "q.rq", "[[alter(p, y -> -y)]]").output
