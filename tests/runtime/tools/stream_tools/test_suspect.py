"""`cedilla suspect` finds unannounced changes of unit, and nothing else."""

from __future__ import annotations

import importlib
import json
import random
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import product
from math import sin
from pathlib import Path

import pytest

from cedilla.compiler.regions.affine import Affine
from cedilla.grammar import DiagnosticError
from cedilla.runtime.connectors.records.lines import Line
from cedilla.runtime.control.change_detection.conversions import CONVERSIONS
from cedilla.runtime.control.change_detection.series import Series
from cedilla.runtime.control.change_detection.window import MIN_VALUES
from cedilla.runtime.tools.stream_tools import suspect as suspects_module
from cedilla.runtime.tools.stream_tools.groupings import Search
from cedilla.runtime.tools.stream_tools.schema import declared_schema
from cedilla.runtime.tools.stream_tools.suspect import dividing
from tests.kit import ROOT
from tests.kit.command import cedilla
from tests.kit.lines import write_lines
from tests.kit.stream import Item
from tests.kit.tiers import tiered

FUNCTIONS = {conversion.name: conversion.function for conversion in CONVERSIONS}
SCHEMA = "ts: long, s: int in {1, 2}, t: double"


def day(n: int, rng: random.Random) -> float:
    """Degrees Fahrenheit, hour by hour, with the course of a day and weather."""
    return 60 + 8 * sin(n / 3.8) + 6 * sin(n / 40) + rng.gauss(0, 0.8)


def readings(length: int = 600, seed: int = 1) -> list[Item]:
    rng = random.Random(seed)
    return [{"ts": n, "s": s, "t": day(n, rng)} for n in range(length) for s in (1, 2)]


def changed(items: Iterable[Item], sensor: int, since: int, function: Affine) -> Iterator[Item]:
    for item in items:
        here = item.get("s") == sensor and item["ts"] >= since
        yield {**item, "t": float(function.slope) * item["t"] + float(function.shift)} if here else item


@pytest.mark.parametrize(
    "name", tiered(["°F to °C", "x 1,000", "/ 100", "/ 1,000", "°C to K", "psi to kPa"], 2)
)
def test_a_change_is_found_where_it_is_and_explained(tmp_path: Path, name: str) -> None:
    function = FUNCTIONS[name]
    stream = list(changed(readings(), 2, 333, function))
    write_lines(tmp_path / "1.jsonl", stream)
    result = cedilla("suspect", str(tmp_path), "--schema", SCHEMA, "--format", "json")
    (suspect,) = json.loads(result.output)["suspects"]
    assert result.exit_code == 1
    assert (suspect["group"], suspect["attribute"], suspect["conversion"]) == ({"s": 2}, "t", name)
    assert (suspect["slope"], suspect["shift"]) == (str(function.slope), str(function.shift))
    assert json.loads(
        (tmp_path / "1.jsonl").read_text().splitlines()[int(suspect["place"].rpartition(":")[2]) - 1]
    ) == next(item for item in stream if item["s"] == 2 and item["ts"] == 333)
    # Announced by the proposal, it is not suspect any more; also by a planned accent before the stream.
    at = stream.index(next(item for item in stream if item["s"] == 2 and item["ts"] == 333))
    write_lines(tmp_path / "1.jsonl", [*stream[:at], {"$accent": suspect["accent"]}, *stream[at:]])
    assert cedilla("suspect", str(tmp_path), "--schema", SCHEMA).exit_code == 0
    query = tmp_path / "q.rq"
    query.write_text(f'stream r({SCHEMA}) from json "r" punctuated on ts; emit r to json "o";')
    write_lines(tmp_path / "1.jsonl", stream)
    (suspect,) = json.loads(
        cedilla("suspect", str(tmp_path / "1.jsonl"), "--query", str(query), "--format", "json").output
    )["suspects"]
    assert "ts >= 333" in suspect["planned"]
    write_lines(tmp_path / "1.jsonl", [{"$accent": suspect["planned"]}, *stream])
    assert cedilla("suspect", str(tmp_path / "1.jsonl"), "--query", str(query)).exit_code == 0


def test_the_time_that_is_proposed_divides_tuples_that_overtake_others(tmp_path: Path) -> None:
    """The bound was the time of the first changed value by arrival: the changed ones that it had overtaken stayed in
    the old unit."""
    rng = random.Random(3)
    items = [item for item in changed(readings(), 2, 333, FUNCTIONS["°F to °C"]) if item["s"] == 2]
    late = sorted(items, key=lambda item: item["ts"] + rng.choice([0, 0, 0, 9, 14]))
    write_lines(tmp_path / "1.jsonl", late)
    query = tmp_path / "q.rq"
    query.write_text(f'stream r({SCHEMA}) from json "r" punctuated on ts; emit r to json "o";')
    output = cedilla("suspect", str(tmp_path / "1.jsonl"), "--query", str(query), "--format", "json").output
    (suspect,) = json.loads(output)["suspects"]
    assert "ts >= 333" in suspect["planned"]
    assert suspect["overlap"] is None
    # A change by the place, of tuples out of order: no time divides them.
    at = next(n for n, item in enumerate(late) if item["ts"] == 333)
    original = sorted(readings(), key=lambda item: late.index(item) if item in late else -1)
    plain = {item["ts"]: item["t"] for item in original if item["s"] == 2}
    by_place = [
        item | {"t": plain[item["ts"]] if n < at else (plain[item["ts"]] - 32) * 5 / 9}
        for n, item in enumerate(late)
    ]
    write_lines(tmp_path / "1.jsonl", by_place)
    output = cedilla("suspect", str(tmp_path / "1.jsonl"), "--query", str(query), "--format", "json").output
    (suspect,) = json.loads(output)["suspects"]
    assert suspect["planned"] is None
    assert "no better than the place" in suspect["overlap"]


@pytest.mark.parametrize(
    ("sides", "expected"),
    [
        ([(1, False), (4, True), (3, False), (5, True)], (4, 0)),
        ([(1, False), (2, False), (3, True), (4, True)], (3, 0)),
        ([(1, True), (2, False), (3, True)], (1, 1)),
        ([(1, False), (3, True), (3, False), (4, True)], (3, 1)),
        ([], (7, 0)),
        ([(None, False), (None, True)], (7, 0)),
    ],
)
def test_the_moment_that_divides_best(
    sides: list[tuple[int | None, bool]], expected: tuple[int, int]
) -> None:
    assert dividing(sides, 7) == expected


def test_one_change_after_another_is_proposed_in_the_units_of_its_place(tmp_path: Path) -> None:
    conversions = FUNCTIONS
    celsius, kelvin = conversions["°F to °C"], conversions["°C to K"]
    stream = list(changed(changed(readings(), 1, 200, celsius), 1, 420, kelvin))
    write_lines(tmp_path / "1.jsonl", stream)
    suspects = json.loads(cedilla("suspect", str(tmp_path), "--schema", SCHEMA, "--format", "json").output)[
        "suspects"
    ]
    assert [suspect["accent"] for suspect in suspects] == [
        "[[s = 1, alter(t, y -> (y * 5 - 160) / 9)]]",
        "[[s = 1, alter(t, y -> (y * 20 + 5463) / 20)]]",
    ]


@pytest.mark.parametrize(
    ("declared", "new", "function"),
    tiered(
        [
            ("degF", "degC", FUNCTIONS["°F to °C"]),
            ("kWh", "Wh", FUNCTIONS["x 1,000"]),
            ("knot", "km/h", Affine(Fraction("1.852"), 0)),
            ("MiB", "KiB", FUNCTIONS["KiB to B"]),
            ("kWh", "kW*min", FUNCTIONS["minutes to seconds"]),
            ("kWh/day", "Wh/day", FUNCTIONS["x 1,000"]),
            ("EUR", "HRK", Affine(Fraction("7.5345"), 0)),
            ("ct/kWh", "EUR/kWh", FUNCTIONS["/ 100"]),
            ("mg/dL of glucose", "mmol/L of glucose", Affine(Fraction(10, 180), 0)),
        ],
        4,
    ),
)
def test_a_declared_unit_leads_to_another_one_of_its_kind(
    tmp_path: Path, declared: str, new: str, function: Affine
) -> None:
    (tmp_path / "s").mkdir()
    write_lines(tmp_path / "s" / "1.jsonl", changed(readings(400, seed=5), 2, 233, function))
    query = tmp_path / "q.rq"
    query.write_text(
        'unit EUR; unit ct = EUR / 100; unit HRK = EUR / 7.5345; unit "mol of glucose" = 180 g; '
        f'stream r(ts: long, s: int in {{1, 2}}, t: double unit "{declared}") from json "s" punctuated on ts '
        f'markers "{tmp_path}/ops"; emit r to json "o";'
    )
    (tmp_path / "ops").mkdir()
    arguments = ("suspect", str(tmp_path / "s"), "--query", str(query), "--format", "json")
    (suspect,) = json.loads(cedilla(*arguments).output)["suspects"]
    unit = new if new.isalpha() else f'"{new}"'
    assert suspect["conversion"] == f"{declared} to {new}"
    assert suspect["accent"] == f"[[s = 2, unit(t, {unit})]]"
    assert suspect["statement"] == f"accent r [[s = 2, ts >= 233, unit(t, {unit})]];"
    # The query's folder of markers is read, too, by all tools.
    write_lines(tmp_path / "ops" / "1.jsonl", [{"$accent": suspect["planned"]}], 1)
    assert json.loads(cedilla(*arguments).output)["suspects"] == []
    assert "1 accent," in cedilla("validate", *arguments[1:4]).output
    assert "$accent" in cedilla("canonize", *arguments[1:4]).output
    # The statement does the same.
    (tmp_path / "ops" / "1.jsonl").unlink()
    query.write_text(f"{query.read_text()} {suspect['statement']}")
    assert json.loads(cedilla(*arguments).output)["suspects"] == []


@pytest.mark.parametrize(
    ("declared", "other", "factor"),
    tiered([("m", "foot", Fraction("0.3048")), ("W", "hp", None), ("EUR", "HRK", Fraction(10000, 75345))]),
)
def test_values_that_come_into_the_declared_unit_were_in_another_one(
    tmp_path: Path, declared: str, other: str, factor: Fraction | None
) -> None:
    """Feet until the new firmware, then metres, as declared: what is wrong is before the jump."""
    factor = factor or Fraction("745.69987158227022")
    items = readings(400, seed=5)
    stream = [
        item if item["s"] == 1 or item["ts"] < 233 else item | {"t": item["t"] * float(factor)}
        for item in items
    ]
    (tmp_path / "s").mkdir()
    write_lines(tmp_path / "s" / "1.jsonl", stream)
    query = tmp_path / "q.rq"
    query.write_text(
        "unit EUR; unit HRK = EUR / 7.5345; "
        f'stream r(ts: long, s: int in {{1, 2}}, t: double unit "{declared}") from json "s" punctuated on ts; '
        f'emit r to json "o";'
    )
    arguments = ("suspect", str(tmp_path / "s"), "--query", str(query), "--format", "json")
    (suspect,) = json.loads(cedilla(*arguments).output)["suspects"]
    assert suspect["conversion"] == f"{other} to {declared}"
    assert suspect["statement"] == f"accent r [[s = 2, ts < 233, unit(t, {other})]];"
    assert suspect["first"] == f"[[s = 2, unit(t, {other})]]"
    query.write_text(f"{query.read_text()} {suspect['statement']}")
    assert json.loads(cedilla(*arguments).output)["suspects"] == []
    query.write_text(query.read_text().replace(suspect["statement"], ""))
    at = next(n for n, item in enumerate(stream) if item["s"] == 2 and item["ts"] == 233)
    marked = [{"$accent": suspect["first"]}, *stream[:at], {"$accent": suspect["accent"]}, *stream[at:]]
    write_lines(tmp_path / "s" / "1.jsonl", marked)
    assert json.loads(cedilla(*arguments).output)["suspects"] == []


def orders(is_changed: Callable[[Item], bool]) -> list[Item]:
    """Two shops with orders of three states, of which some are a hundred times as much."""
    rng, items = random.Random(2), list[Item]()
    for n in range(2400):
        item = {
            "ts": n,
            "shop": rng.choice("AB"),
            "status": rng.choice(["paid", "open", "sent"]),
            "no": f"n{n}",
        }
        item["t"] = day(n, rng) * (100 if is_changed(item) else 1)
        items.append(item)
    return items


@pytest.mark.rest
@pytest.mark.parametrize(
    ("is_changed", "described"),
    tiered(
        [
            (
                lambda item: item["shop"] == "B" and item["ts"] >= 1200,
                ['[[shop = "B", alter(t, y -> y * 100)]]'],
            ),
            (
                lambda item: item["shop"] == "B" and item["status"] == "paid" and item["ts"] >= 1200,
                ['[[status = "paid", shop = "B", alter(t, y -> y * 100)]]'],
            ),
        ]
    ),
    ids=["shop", "shop and status"],
)
def test_what_tells_groups_apart_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_changed: Callable[[Item], bool], described: list[str]
) -> None:
    """By each attribute alone and by some together; only what has a list as its domain was looked at."""
    monkeypatch.setattr(suspects_module, "MAX_SERIES", 50)
    schema = 'ts: long, shop: string, status: string in {"paid", "open", "sent"}, no: string, t: double'
    write_lines(tmp_path / "1.jsonl", orders(is_changed))
    result = cedilla("suspect", str(tmp_path), "--schema", schema, "--format", "json")
    assert [suspect["accent"] for suspect in json.loads(result.output)["suspects"]] == described
    text = cedilla("suspect", str(tmp_path), "--schema", schema).output
    assert "; 6 sequences by status, 4 by shop, 12 by status and shop; " in text
    assert (
        "; not by no, nor by status and no, nor by shop and no, nor by status and shop and no: too many groups)"
        in text
    )


def test_an_accent_for_the_wrong_group_is_named(tmp_path: Path) -> None:
    stream = list(changed(readings(300), 2, 150, FUNCTIONS["°F to °C"]))
    at = next(n for n, item in enumerate(stream) if item["ts"] == 150)
    write_lines(tmp_path / "1.jsonl", [*stream[:at], {"$accent": "[[s = 1, unit(t, degC)]]"}, *stream[at:]])
    schema = "ts: long, s: int in {1, 2}, t: double unit degF"
    result = cedilla("suspect", str(tmp_path), "--schema", schema)
    assert result.output.startswith("warning[RQ227]: ")
    assert "`t` of s = 1 continues as before an accent on it, which seems to be wrong" in result.output
    assert "help: before that line: [[s = 1, unit(t, degF)]]\n" in result.output
    assert "`t` of s = 2 jumps like degF to degC, and no accent says so" in result.output


def test_values_that_the_declared_domain_excludes_explain_nothing(tmp_path: Path) -> None:
    """Percent of a sensor that begins to report a tenth: the tenfold of other values would be impossible."""
    rng = random.Random(1)
    values = [rng.uniform(70, 90) if n < 150 else rng.uniform(7, 9) for n in range(300)]
    write_lines(tmp_path / "1.jsonl", [{"s": 1, "t": value} for value in values])
    actual: list[str] = []
    for domain in ("", " in [0, 100]", " in [0, 10]"):
        result = cedilla("suspect", str(tmp_path), "--schema", f"s: int in {{1}}, t: double{domain}")
        actual.append("jumps like / 10" if "jumps like / 10" in result.output else "nothing")
    assert actual == ["jumps like / 10", "jumps like / 10", "nothing"]


@pytest.mark.parametrize("factor", [10, 60, Fraction(1, 60), 1000])
def test_zeros_of_the_night_hide_no_factor_and_similar_factors_are_told_apart(factor: Fraction) -> None:
    """Sixty and a hundred both lead about there, until enough values show which one it is."""
    series: Series[int] = Series()
    rng = random.Random(2)
    powers = [max(0.0, 6 * sin((n - 24) / 15.279) * rng.uniform(0.5, 1)) for n in range(700)]
    since = next(n for n in range(400, 700) if powers[n] > 2)
    values = [power * float(factor) if n >= since else power for n, power in enumerate(powers)]
    jumps = [jump for n, value in enumerate(values) if (jump := series.add(n, value))]
    assert [(jump.place, jump.function) for jump in jumps] == [(since, Affine(Fraction(factor), Fraction(0)))]
    assert len(series.values) < 700 / 2


@pytest.mark.parametrize("growth", [1.6, 1.8, 1.85, 2.2, 2.5])
def test_a_level_that_grows_is_no_change_of_unit(growth: float) -> None:
    series: Series[int] = Series()
    rng = random.Random(7)
    jumps = [series.add(n, day(n, rng) * (growth if n >= 200 else 1)) for n in range(400)]
    assert not any(jumps)


@pytest.mark.parametrize("seed", tiered(range(5), 2))
def test_what_is_no_change_of_unit_is_not_found(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    stream: list[Item] = [
        {
            "s": 1,
            "t": day(n, rng),
            "spikes": day(n, rng) * (1000 if rng.random() < 0.01 else 1),
            "rain": 0.0 if sin(n / 50) < 0.7 else rng.expovariate(2),
            "wide": rng.lognormvariate(0, 2),
            "walk": 100 + 30 * sin(n / 200) + rng.gauss(0, 5),
            "constant": 5.0,
            "level": 10.0 if n < 500 else 14.0,
        }
        for n in range(1000)
    ]
    write_lines(tmp_path / "1.jsonl", stream)
    schema = f"s: int, {', '.join(f'{name}: double' for name in stream[0] if name != 's')}"
    result = cedilla("suspect", str(tmp_path), "--schema", schema, "--by", "s")
    assert (result.exit_code, "0 suspects (1,000 tuples; 7 sequences by s)" in result.output) == (0, True), (
        result.output
    )


def test_too_few_values_are_no_proof_that_nothing_changed(tmp_path: Path) -> None:
    rng = random.Random(1)
    stream = [{"s": s, "t": rng.gauss(60, 1)} for s, count in ((1, 95), (2, 96)) for _ in range(count)]
    write_lines(tmp_path / "1.jsonl", stream)
    result = cedilla("suspect", str(tmp_path), "--schema", "s: int, t: double", "--by", "s")
    short = "2 sequences by s; 1 of them with the 96 values that it takes to see a jump)"
    assert (result.exit_code, short in result.output) == (0, True), result.output


@pytest.mark.parametrize("kept", [True, False])
def test_an_attribute_that_is_dropped_and_added_begins_anew(tmp_path: Path, kept: bool) -> None:
    """It may come in another unit then (G32); a jump before that is told, and one of a group that kept it."""
    first, function = readings(), FUNCTIONS["°F to °C"]
    stream = list(changed(first, 2, 333, function))
    at = next(n for n, item in enumerate(stream) if item["ts"] == 333)
    sensor = 1 if kept else 2
    markers: list[Item] = [{"$accent": f"[[s = {sensor}, {what}]]"} for what in ("-(t)", "+(t: double)")]
    write_lines(tmp_path / "1.jsonl", [*stream[:at], *markers, *stream[at:]])
    assert cedilla("suspect", str(tmp_path), "--schema", SCHEMA).exit_code == int(kept)
    late = next(n for n, item in enumerate(stream) if item["ts"] == 360)
    write_lines(tmp_path / "1.jsonl", [*stream[:late], *markers, *stream[late:]])
    actual = json.loads(cedilla("suspect", str(tmp_path), "--schema", SCHEMA, "--format", "json").output)
    assert [suspect["group"] for suspect in actual["suspects"]] == [{"s": 2}]


@pytest.mark.rest
def test_memory_does_not_grow_with_the_stream() -> None:
    series: Series[int] = Series()
    rng = random.Random(1)
    sizes = set[int]()
    for n in range(20_000):
        assert series.add(n, day(n, rng)) is None
        sizes.add(series.size)
    assert max(sizes) < 2_000


def test_too_many_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [Line(json.dumps({"ts": n, "s": 1, "t": float(n % 7)}), f"x:{n}") for n in range(200)]
    schema = declared_schema(SCHEMA)
    monkeypatch.setattr(suspects_module, "MAX_SERIES", 20)
    with pytest.raises(DiagnosticError) as caught:
        list(Search(schema, [("ts",)]).of(lines))
    assert caught.value.diagnostics[0].code == "RQ228"
    assert cedilla("suspect", "-", "--schema", SCHEMA, "--by", "x").exit_code == 2


def test_the_smallest_windows_are_enough_at_the_end() -> None:
    series: Series[int] = Series()
    rng = random.Random(3)
    function = FUNCTIONS["/ 1,000"]
    values = [day(n, rng) * (1 if n < 100 else float(function.slope)) for n in range(100 + MIN_VALUES)]
    actual = [jump for n, value in enumerate(values) if (jump := series.add(n, value))]
    actual += [jump for jump in [series.look()] if jump]
    assert [(jump.place, jump.name) for jump in actual] == [(100, "/ 1,000")]


@pytest.mark.soak
def test_the_weather_without_its_accents_has_five_of_six_and_with_them_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "queries" / "weather")
    prepare = importlib.import_module("prepare")
    stream = [item for _, item in prepare.stream(prepare.untouched())]
    arguments = ("--query", str(ROOT / "queries" / "weather.rq"), "--source", "weather", "--format", "json")
    write_lines(tmp_path / "1.jsonl", stream)
    assert json.loads(cedilla("suspect", str(tmp_path), *arguments).output)["suspects"] == []
    write_lines(tmp_path / "1.jsonl", [item for item in stream if "alter(" not in item.get("$accent", "")])
    suspects = json.loads(cedilla("suspect", str(tmp_path), *arguments).output)["suspects"]
    announced = [a for change in prepare.CHANGES if change.kind == "alter" for a in change.attributes]
    stations = [change.station for change in prepare.CHANGES if change.kind == "alter"]
    # In April the dew point of EWR moves as far by itself.
    expected = set(product(stations, announced)) - {("EWR", "dewp")}
    assert {(suspect["group"]["origin"], suspect["attribute"]) for suspect in suspects} == expected
    assert (len(suspects), {suspect["conversion"] for suspect in suspects}) == (5, {"°F to °C"})
