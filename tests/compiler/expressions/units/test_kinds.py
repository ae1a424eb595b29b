"""Kinds of quantity (theory N15): which units convert to which, and by how much, over units of the world outside."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cedilla.compiler import compile_query
from cedilla.compiler.expressions.units import units
from cedilla.grammar import DiagnosticError

KINDS: dict[str, dict[str, str]] = {
    "information": {
        "bit": "1",
        "By": "8",
        "byte": "8",
        "kB": "8000",
        "KB": "8000",
        "KiBy": "8192",
        "MiB": "8388608",
        "Gbit": "1000000000",
        "Bytes": "8",
        "Megabytes": "8000000",
        "By/{packet}": "8",
    },
    "rate of information": {"bit/s": "1", "By/s": "8", "kbps": "1000", "Mbit/s": "1000000", "Bytes/Second": "8"},
    "count of packets": {"{packet}": "1"},
    "count of requests": {"{request}": "1"},
    "count of cells": {"{cells}": "1"},
    "count": {"count": "1", "{count}": "1", "Count": "1"},
    "rate of requests": {"{request}/s": "1", "{request}/min": "1/60"},
    "rate of packets": {"{packet}/s": "1", "{packet}/ms": "1000"},
    "rate of a count": {"cps": "1", "Count/Second": "1"},
    "activity": {"Bq": "1", "kBq": "1000", "Ci": "37000000000"},
    "symbols": {"baud": "1", "Bd": "1"},
    "ratio": {
        "1": "1",
        "dimensionless": "1",
        "percent": "1/100",
        "%": "1/100",
        "%{vol}": "1/100",
        "permille": "1/1000",
        "ppm": "1/1000000",
        "[ppb]": "1/1000000000",
        "{error}/{request}": "1",
        "By/KiBy": "1/1024",
        "W/VA": "1",
    },
    "angle": {"arcsec": "1", "arcmin": "60", "degree": "3600", "°": "3600", "turn": "1296000", "circ": "1296000"},
    "angle in radians": {"rad": "1", "mrad": "1/1000", "rad/revolution": "1"},
    "angular velocity": {"deg/s": "1", "°/s": "1", "turn/s": "360", "arcmin/s": "1/60"},
    "solid angle": {"sr": "1"},
    "rotation": {"revolution": "1", "cycle": "1"},
    "frequency": {
        "Hz": "1",
        "1/s": "1",
        "kHz": "1000",
        "rpm": "1/60",
        "/min": "1/60",
        "revolution/s": "1",
        "cycle/min": "1/60",
    },
    "energy": {
        "J": "1",
        "Wh": "3600",
        "kWh": "3600000",
        "kW*h": "3600000",
        "kcal": "4184",
        "W*s": "1",
        "m*N": "1",
        "J/{request}": "1",
        "J*rad": "1",
    },
    "torque": {"N*m": "1", "N.m": "1", "N·m": "1", "kN*m": "1000", "newton*meter": "1"},
    "power": {"W": "1", "kW": "1000", "Watts": "1", "V*A": "1", "J/s": "1", "N*m*rad/s": "1"},
    "apparent power": {"VA": "1", "kVA": "1000"},
    "reactive power": {"var": "1", "kvar": "1000", "VAr": "1"},
    "reactive energy": {"varh": "1", "kvarh": "1000", "kvar*h": "1000"},
    "apparent energy": {"VAh": "1", "kVAh": "1000"},
    "luminous flux": {"lm": "1", "cd*sr": "1"},
    "luminous intensity": {"cd": "1", "lm/sr": "1"},
    "illuminance": {"lx": "1", "lm/m2": "1"},
    "luminance": {"cd/m2": "1"},
    "absorbed dose": {"Gy": "1", "J/kg": "1", "mGy": "1/1000"},
    "equivalent dose": {"Sv": "1", "mSv": "1/1000", "rem": "1/100"},
    "temperature": {"K": "1"},
    "length": {"m": "1", "km": "1000", "[ft_i]": "0.3048", "mi": "1609.344", "m/rad": "1", "m{head}": "1"},
    "time": {"s": "1", "Seconds": "1", "ms": "1/1000", "min": "60", "h": "3600", "ms/{request}": "1/1000"},
    "volume": {"m3": "1", "m³": "1", "L": "1/1000", "CCF": "2.8316846592", "MCF": "28.316846592"},
    "flow": {"m3/h": "1", "m³/h": "1", "L/min": "0.06", "cfm": "1.69901079552", "ft³/min": "1.69901079552"},
    "concentration": {"g/m3": "1", "µg/m3": "0.000001", "μg/m3": "0.000001", "ug/m3": "0.000001", "mg/L": "1"},
    "cells in a volume": {"{cells}/L": "1", "{cells}/mL": "1000"},
    "number in a volume": {"1/L": "1", "10*9/L": "1000000000"},
    "pressure": {"Pa": "1", "hPa": "100", "mbar": "100", "bar": "100000", "psi": "6894.757293168361336722673445"},
    "substance": {"mol": "1", "mmol": "1/1000", "eq": "1"},
    "units of insulin": {"[IU]": "1", "m[IU]": "1/1000"},
    "turbidity": {"NTU": "1"},
}  # fmt: skip
"""Kind -> unit -> how many of the kind's first unit it is. Of OpenTelemetry, Home Assistant, meters."""

NAMES = [(kind, name) for kind, factors in KINDS.items() for name in factors]


def converts(source: str, target: str) -> bool:
    try:
        return units.conversion(source, target).slope > 0
    except units.Mismatch:
        return False


@pytest.mark.parametrize("kind", KINDS)
def test_units_of_a_kind_convert_exactly(kind: str) -> None:
    factors = {name: Fraction(factor) for name, factor in KINDS[kind].items()}
    for one, other in combinations(factors, 2):
        if "psi" not in (one, other):  # a gravity of many digits
            assert units.conversion(one, other).slope == factors[one] / factors[other], (one, other)
        assert units.conversion(one, other).shift == 0


def test_units_of_two_kinds_do_not_convert() -> None:
    same = {("angle", "angle in radians")}  # by a number with 50 digits
    for (kind, name), (other_kind, other) in combinations(NAMES, 2):
        expected = kind == other_kind or (kind, other_kind) in same
        assert (converts(name, other), converts(other, name)) == (expected, expected), (name, other)


@given(*(st.sampled_from([name for _, name in NAMES]) for _ in range(3)))
def test_conversion_is_an_equivalence(one: str, other: str, third: str) -> None:
    assert units.conversion(one, one).is_identity
    if converts(one, other):
        assert units.conversion(other, one) == units.conversion(one, other).inverse()
        assert converts(other, third) == converts(one, third)
        if converts(other, third):
            assert units.conversion(other, third).after(units.conversion(one, other)) == units.conversion(
                one, third
            )


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        *(("C", "degC"), ("F", "degF"), ("30 C", "degC"), ("J/C", "coulomb"), ("pH", "picohenry"), ("st", "stone")),
        *(("ph", "pH_value"), ("dBu", "decibelmicrowatt"), ("dB(A)", "dBSPL"), ("dBA", "dBSPL")),
        *(("ct", "carat"), ("mbps", "Mbit/s"), ("Cal", "kcal"), ("Mb", "bit"), ("b/s", "bit"), ("Kib", "bit")),
        *(("Nm", "N*m"), ("pct", "percent"), ("pcs", "{piece}"), ("rps", "{request}/s"), ("ppt", "permille")),
        *(("k", "kW"), ("req/s", "{req/s}"), ("cars", "{cars}"), ("Min", "minute"), ("ft/C", "degC")),
    ],
)  # fmt: skip
def test_names_that_mislead_are_refused_with_what_to_write(name: str, meant: str) -> None:
    """Pint's reading of each: coulomb, picohenry, stere, millibit, kilometer/kilogram of yarn, picocarat."""
    name = name.removeprefix("30 ")
    with pytest.raises(DiagnosticError) as caught:
        compile_query(f'stream r(x: double unit "{name}") from json "r"; emit r to json "o";')
    (problem,) = caught.value.diagnostics
    assert problem.code == "RQ143"
    assert meant.replace("{req/s}", "{req}") in (problem.help or "")


@pytest.mark.parametrize(
    "name",
    [
        "picohenry",
        "stone",
        "coulomb",
        "farad",
        "carat",
        "nm",
        "uF",
        "pF",
        "mol",
        "Mt",
        "kt",
        "GW",
        "PB",
        "mAh",
        "kbit",
    ],
)
def test_names_that_say_what_they_are_are_taken(name: str) -> None:
    units.check(name)


@pytest.mark.parametrize(
    ("operator", "left", "right", "kind"),
    [
        ("*", "N", "m", "J"),
        ("*", "m", "N", "J"),
        ("/", "ms", "{request}", "s"),
        ("/", "{request}", "s", "{request}/s"),
        ("/", "By", "By", "percent"),
        ("*", "rad/s", "m", "m/s"),
        ("*", "rpm", "rad/revolution", "rad/s"),
        ("/", "W", "VA", "percent"),
        ("*", "{packet}", "By/{packet}", "By"),
        ("/", "J", "s", "W"),
    ],
)
def test_products_have_the_kind_that_is_listed_or_none(
    operator: str, left: str, right: str, kind: str
) -> None:
    result = units.product(operator, left, right)
    assert result is not None
    assert converts(result, kind)
    assert converts(units.product("*", result, "1") or "", kind)


def test_a_query_may_use_every_name_that_a_computation_makes() -> None:
    """Names of results are read back as what they are named for."""
    for operator, left, right in (("/", "By", "{a-b_c}"), ("*", "{a.b}", "{a.b}"), ("*", "N", "m")):
        result = units.product(operator, left, right)
        assert result is not None
        units.check(result)
    assert units.product("/", "By", "{a-b_c}") == "byte/{a-b_c}"
    assert units.product("*", "{a.b}", "{a.b}") == "{a.b}**2"


HEAD = """
stream net(ts: long, size: double unit byte, share: double unit percent, angle: double unit degree,
           arm: double unit m) from json "net";
stream packets(ts: long, size: double unit "{packet}", share: double, angle: double, arm: double) from json "packets";
"""


@pytest.mark.parametrize(
    ("relation", "code"),
    [
        ("net union packets", "RQ142"),
        ("select[size > 5 percent](net)", "RQ142"),
        ("select[size > 5 \"{packet}\"](net)", "RQ142"),
        ("select[angle > 5](net)", None),
        ("select[angle > 5 percent](net)", "RQ142"),
        ("select[size > 5 Kilobytes](net)", None),
        ("extend[size + share as x](net)", "RQ142"),
        ("extend[ln(size) as x](net)", "RQ142"),
        ("extend[ln(size / 1 byte) as x](net)", None),
        ("extend[sin(arm / arm) as x](net)", None),
        ("extend[sin(share) as x](net)", "RQ142"),
        ("select[arm * angle > 5 m](net)", None),
    ],
)  # fmt: skip
def test_queries_keep_kinds_apart(relation: str, code: str | None) -> None:
    text = f'{HEAD}emit {relation} to json "o";'
    if code is None:
        compile_query(text)
        return
    with pytest.raises(DiagnosticError) as caught:
        compile_query(text)
    assert {diagnostic.code for diagnostic in caught.value.diagnostics} == {code}


def test_an_angle_times_a_length_is_converted_from_degrees() -> None:
    assert float(units.conversion("degree*meter", "m").slope) == pytest.approx(
        0.017453292519943295, rel=1e-15
    )


@pytest.mark.rest
def test_the_order_in_which_names_are_read_changes_nothing() -> None:
    """UCUM's units were once loaded with the first code, and gave later names another meaning."""
    names = ["st", "HP", "By", "[degF]", "eq", "Cal", "att", "IU", "RAD"]
    code = (
        "import json, sys; from cedilla.compiler.expressions.units import units\n"
        "def read(name):\n"
        "    try: return str(units.conversion(name, name)) + units.described(name)\n"
        "    except units.UnknownUnit: return None\n"
        "print(json.dumps([read(name) for name in sys.argv[1:]]))"
    )

    def answers(names: list[str]) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", code, *names], capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)

    assert answers(names) == answers(names[::-1])[::-1]
