"""Levels, which are logarithms: decibels and pH (theory N7). Sources undo them by powers, the same on all engines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from math import inf, nextafter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from cedilla import Options, run, simulate
from cedilla.compiler import compile_query
from cedilla.compiler.regions.logarithms import Power
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.grammar.parser import parse_accent
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit.command import cedilla
from tests.kit.errors import code_of
from tests.kit.lines import marker, write_lines
from tests.kit.query import canonical_rows
from tests.kit.stream import Item, read_output

POWERS = [Power(10, 1), Power(20, Fraction(1, 50)), Power(-1, 1), Power(Fraction(1, 10), 7)]
DECIBELS = st.decimals(-219, 219, places=4)


# --- functions ---


@pytest.mark.parametrize("power", POWERS)
@given(st.floats(-230, 230), st.floats(-230, 230))
def test_a_power_keeps_the_order_of_doubles(power: Power, one: float, other: float) -> None:
    for value in (one, nextafter(one, inf), other, round(one, -1), nextafter(round(one, -1), -inf)):
        low, high = sorted((one, value), reverse=not power.rises)
        if power.takes(low) and power.takes(high):
            assert power.of_double(low) <= power.of_double(high)


@pytest.mark.parametrize("power", POWERS)
@given(DECIBELS)
def test_a_power_is_nearly_exact_and_a_decimal_comes_back(power: Power, decibels: Decimal) -> None:
    value = Fraction(decibels) * abs(power.step) / 10
    value = Fraction(round(value, 6))
    exponent, context = value / power.step, Context(prec=40)
    exact = context.power(10, context.divide(Decimal(exponent.numerator), Decimal(exponent.denominator)))
    image = power.of_double(float(value))
    assert abs(Fraction(image) / (power.reference * Fraction(exact)) - 1) < Fraction(1, 10**14)
    assert power.inverse()(power(value)) == value


def test_powers_of_ten_are_exact() -> None:
    assert [Power(10, 1).of_double(10.0 * n) for n in range(-22, 23)] == [
        float(f"1e{n}") for n in range(-22, 23)
    ]


@pytest.mark.parametrize("power", POWERS)
def test_a_bound_beside_the_domain_counts_as_its_end(power: Power) -> None:
    """Two levels of one attribute round the ends of what they take together."""
    for function in (power, power.inverse()):
        (low, _), (high, _) = function.domain
        assert [function(low - 1), function(high + 1)] == [function(low), function(high)]


def test_a_condition_in_units_may_follow_two_levels() -> None:
    """0 dBW, which is 1 W, is no power of a further level."""
    reference = Reference(
        compile_query('stream r(g: double unit mW, v: double) from json "r"; emit r to json "o";').plan
    )
    for text in ("[[unit(g, dBW)]]", "[[alter(g, y -> 10 * log10(y))]]", "[[g > 1 W, alter(v, y -> y * 2)]]"):
        reference.step([("r", {"$accent": text})])
    (output,) = reference.step([("r", {"g": 10, "v": 8})])
    assert [*output["r"].canonical] == [{"g": 10000, "v": 4}]


@pytest.mark.either_engine
def test_an_engine_has_the_same_bits(spark: SparkSession) -> None:
    values = [n * 0.74 for n in range(-310, 310)] + [10.0 * n for n in range(-25, 26)]
    values += [end * sign for power in POWERS for end in (float(power.domain[1][0]),) for sign in (-1, 1)]
    values += [nextafter(value, side) for value in values for side in (-inf, inf)] + [inf, -inf, float("nan")]
    frame = spark.createDataFrame([(value,) for value in values], "v double")
    rows = frame.selectExpr("v", *(f"{power.sql('v')} AS p{n}" for n, power in enumerate(POWERS))).collect()
    for row in rows:
        expected = [power.of_double(row.v) if power.takes(row.v) else None for power in POWERS]
        assert list(row)[1:] == expected, row.v


# --- streams ---

QUERY = """
stream r(ts: long, s: int in {1, 2}, p: double unit mW, h?: double unit "mol/L", q?: double)
  from json "r"
  punctuated on ts, p;
loud := select[p > 0.001](r);
emit r to json "out/r";
emit loud to json "out/loud";
"""


def level(ts: int, p: float, s: int = 1, **further: float) -> Item:
    return {"ts": ts, "s": s, "p": p, **further}


ITEMS: Sequence[Item] = (
    level(1, 0.5),
    level(1, 0.001, 2, h=1e-7),
    marker("[[s = 1, unit(p, dBm)]]"),
    marker('[[unit(h, "[pH]")]]'),
    level(2, -30.0),
    level(3, -67.5),
    level(3, 0.01, 2, h=7.0),
    level(4, 500.0),  # beyond what a double holds exactly
    marker("[[s = 1, p > -20, alter(q, y -> y * 2)]]"),
    level(5, -10.0, q=4.0),
    level(5, -20.0, q=2.0),
    {"$punctuation": "[p < -60, s = 1]"},
    level(6, -60.0),
    level(6, -60.5),  # late
    {"$punctuation": "[h > 8]"},
    level(7, 0.25, 2, h=8.0),
    level(7, 0.25, 2, h=8.5),  # late
    marker("[[s = 1, unit(p, dBm)]]"),
    marker("[[unit(p, dBW)]]"),
    level(8, -30.0),
    level(8, -60.0, 2),
    marker("[[unit(p, W)]]"),
    level(9, 1e-6),
    level(9, 2e-6, 2),
    marker("[[alter(p, y -> 10 * log10(y) + 30)]]"),
    level(10, -20.0),
    {"$punctuation": "[]"},
)
POWER = [
    *[(1, 0.5), (1, 0.001), (2, 0.001), (3, 1.7782794100389224e-07), (3, 0.01), (5, 0.1), (5, 0.01)],
    *[(6, 1e-6), (7, 0.25), (8, 1.0), (8, 0.001), (9, 0.001), (9, 0.002), (10, 0.01)],
]
ONE_UNIT = ITEMS.index(marker("[[unit(p, dBW)]]"))
"""The number of items before further units, which cost an engine much time and nothing else."""


@pytest.mark.either_engine
def test_a_source_undoes_levels(spark: SparkSession, here: Path) -> None:
    half = ONE_UNIT // 2
    for number, items in enumerate((ITEMS[:half], ITEMS[half:ONE_UNIT])):
        write_lines(here / f"r/{number}.jsonl", items, number)
        run(QUERY, Options(once=True, checkpoint="ck"), spark=spark)
    rows = canonical_rows("out/r")
    assert sorted((row["ts"], row["p"]) for row in rows) == sorted(item for item in POWER if item[0] < 8)
    assert [row["h"] for row in rows if "h" in row] == [1e-7, 1e-7, 1e-8]
    assert [row["q"] for row in rows if "q" in row] == [2.0, 2.0]
    assert all(row["p"] > 0.001 for row in canonical_rows("out/loud"))
    assert not any("p, " in str(item.get("$accent")) for item in read_output(here / "out/r"))


def test_levels_have_the_same_powers_without_an_engine(here: Path) -> None:
    write_lines(here / "r/1.jsonl", ITEMS)
    codes: list[str] = []
    options = Options(sinks={"r": "out/r", "loud": "out/loud"})
    simulate(QUERY, options, lambda _, code: codes.append(code))
    assert codes == ["RQ315", "RQ305", "RQ305"]
    rows = canonical_rows("out/r")
    assert sorted((row["ts"], row["p"]) for row in rows) == sorted(POWER)
    assert [row["h"] for row in rows if "h" in row] == [1e-7, 1e-7, 1e-8]
    assert [row["q"] for row in rows if "q" in row] == [2.0, 2.0]


UNITS: dict[str, int | None] = {"mW": None, "W": None, "dBm": 0, "dBW": -30}
STEPS = st.lists(
    st.tuples(st.sampled_from([1, 2, None]), st.sampled_from([*UNITS, "y * 10"]), st.integers(-900, 900)),
    min_size=1,
    max_size=8,
)


@given(STEPS)
def test_units_and_levels_lead_back_to_the_power(steps: list[tuple[int | None, str, int]]) -> None:
    """Each tuple is sent in the unit that its group has: the source has the same powers, whatever came before."""
    source = 'stream r(ts: long, s: int in {1, 2}, p: double unit mW) from json "r";'
    reference = Reference(compile_query(f'{source} emit r to json "o" in original units;').plan)
    units: dict[int, str] = dict.fromkeys((1, 2), "mW")
    factors: dict[int, int] = dict.fromkeys((1, 2), 1)
    for ts, (group, unit, tenths) in enumerate(steps):
        described, groups = ("", (1, 2)) if group is None else (f"s = {group}, ", (group,))
        if unit not in UNITS:
            if all(units[s] in ("mW", "W") and factors[s] < 1000 for s in groups):
                reference.step([("r", marker(f"[[{described}alter(p, y -> {unit})]]"))])
                factors |= {s: factors[s] * 10 for s in groups}
        else:
            reference.step([("r", marker(f"[[{described}unit(p, {unit})]]"))])
            units |= dict.fromkeys(groups, unit)
            factors |= dict.fromkeys(groups, 1)
        power = 10 ** (tenths / 100)
        for s in (1, 2):
            shift = UNITS[units[s]]
            linear = power * factors[s] / (1000 if units[s] == "W" else 1)
            sent = linear if shift is None else round(tenths / 10 + shift, 6)
            (outputs,) = reference.step([("r", level(ts, sent, s))])
            (row,) = outputs["r"].tuples
            assert float(row["p"]) == pytest.approx(power, rel=1e-12)
    assert not reference.rejected


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        (["[[alter(p, y -> pow(10, y / 10))]]"], "RQ340"),
        (["[[alter(p, y -> 10 * log10(y))]]", "[[alter(p, y -> pow(10, y / 20))]]"], "RQ340"),
        (["[[alter(p, y -> y + log10(y))]]"], "RQ202"),
        (["[[alter(p, y -> 10 * log10(y), unit dBm)]]"], "RQ202"),
        (["[[unit(p, dBV)]]"], "RQ142"),
        (["[[unit(p, dB)]]"], "RQ142"),
        (["[[unit(p, dBu)]]"], "RQ143"),
        (["[[unit(h, pH)]]"], "RQ143"),
        (["[[alter(p, y -> -y)]]", "[[unit(p, dBm)]]"], "RQ463"),
        (["[[unit(p, dBm)]]", "[[alter(p, y -> -y)]]", "[[unit(p, dBm)]]"], "RQ463"),
    ],
)
def test_levels_that_no_source_undoes_are_refused(here: Path, texts: list[str], code: str) -> None:
    write_lines(here / "r/1.jsonl", map(marker, texts))
    assert code_of(lambda: simulate(QUERY)) == code


def test_a_change_that_is_written_otherwise_has_a_hint() -> None:
    with pytest.raises(DiagnosticError, match=re.escape("did you mean `unit(p, dBm)`?")):
        parse_accent("[[s = 1, decibels(p)]]")


def test_a_stream_declared_in_levels_says_how_to_declare_it(here: Path) -> None:
    (here / "q.rq").write_text('stream r(p: double unit dBm) from json "r"; emit r to json "out/r";')
    write_lines(here / "r/1.jsonl", [marker("[[unit(p, mW)]]")])
    output = cedilla("validate", "r", "--query", "q.rq").output
    assert "RQ142" in output
    assert "declared in mW, values come in it after the accent `unit(x, dBm)`" in output


def test_tools_know_levels(here: Path) -> None:
    write_lines(here / "r/1.jsonl", [marker("[[unit(p, dBm)]]"), level(1, -30.0), level(2, 300.0)])
    (here / "q.rq").write_text(QUERY)
    assert "RQ315" in cedilla("validate", "r", "--query", "q.rq").output
    assert "RQ213" in cedilla("canonize", "r", "--query", "q.rq").output
    assert "undone at the source" in cedilla("trace", "q.rq", "[[s = 1, unit(p, dBm)]]").output


@pytest.mark.either_engine
def test_a_stated_level_ends_with_its_statement(spark: SparkSession, here: Path) -> None:
    """The stream begins in dBm. An edit removes the statement, and later values are in mW again."""
    stated = QUERY + "accent r [[s = 1, unit(p, dBm)]];"
    options = Options(once=True, checkpoint="ck")
    write_lines(here / "r/1.jsonl", [level(1, -30.0), level(1, 0.5, 2)], 1)
    run(stated, options, spark=spark)
    assert "alter(p, y -> log10(y) * 10)" in cedilla("status", "ck").output
    (here / "q.rq").write_text(QUERY)
    assert "unit(p, mW)" in cedilla("plan", "q.rq", "ck").output
    write_lines(here / "r/2.jsonl", [level(2, 0.25), level(2, 0.125, 2)], 2)
    run(QUERY, Options(once=True, checkpoint="ck", yes=True), spark=spark)
    assert sorted(row["p"] for row in canonical_rows("out/r")) == [0.001, 0.125, 0.25, 0.5]
