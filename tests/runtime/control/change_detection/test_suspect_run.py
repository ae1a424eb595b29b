"""`set suspect = warn`: a run tells of changes of unit that no accent announces, once, and of nothing else."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from math import sin
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.compiler.facts.marker_parser import read_accent
from cedilla.compiler.regions.affine import Affine
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime.control.change_detection import monitor as monitor_module
from cedilla.runtime.control.change_detection.conversions import CONVERSIONS
from cedilla.runtime.control.change_detection.groups import described_by, new_series
from cedilla.runtime.control.change_detection.monitor import Monitor
from cedilla.runtime.control.change_detection.monitor_record import MAX_STORED, dump_monitor, load_monitor
from cedilla.runtime.control.change_detection.points import (
    MAX_TUPLES,
    TARGET_POINTS,
    Point,
    points_of,
    run_bits,
)
from cedilla.runtime.control.markers.one_accent import with_accent
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.epochs.pipeline import watching
from cedilla.runtime.tools.inspect.status import read_status, status_text
from tests.kit.command import cedilla
from tests.kit.lines import write_lines
from tests.kit.query import Query, save_parquet
from tests.kit.stream import Item
from tests.kit.tiers import tiered

QUERY = """
stream readings(ts: long, s: int in {1, 2, 3}, t: double, p?: double) from json "in" punctuated on ts;
minutes := window[60 on ts as minute](readings);
mean := aggregate[avg by minute except ts, s](minutes);
emit mean to json "out";
set suspect = warn;
"""
SOURCE = compile_query(QUERY).plan.sources[0]
FUNCTIONS = {conversion.name: conversion.function for conversion in CONVERSIONS}
FAHRENHEIT = FUNCTIONS["°F to °C"]
ANNOUNCED = "[[s = 2, alter(t, y -> (y * 5 - 160) / 9)]]"
JUMPS = "`t` of s = 2 jumps like °F to °C, and no accent says so"
STATED = f"accent readings {ANNOUNCED};"
Told = tuple[int, Diagnostic]


def source_state(*droppable: str) -> SourceState:
    return SourceState.start(SOURCE, frozenset(droppable))


def temperature(n: int, rng: random.Random) -> float:
    """Degrees Fahrenheit with the course of a day and weather."""
    return 60 + 8 * sin(n / 38) + 6 * sin(n / 400) + rng.gauss(0, 0.8)


def applied(function: Affine, value: float) -> float:
    return float(function.slope) * value + float(function.shift)


def reported(
    epochs: Iterable[Sequence[tuple[int, float]]],
    state: SourceState | None = None,
    *,
    restart: bool = False,
    watch: Monitor | None = None,
) -> list[Told]:
    """Returns the reports of a watch over epochs of sensors and values, with the epoch; medians are those of the
    engine."""
    state, watch = state or source_state(), watch or Monitor(SOURCE, tuple(described_by(SOURCE)))
    result: list[Told] = []
    for number, values in enumerate(epochs):
        tuples = (((s,), f"epoch {number}", {"t": value}) for s, value in values)
        points = list(points_of(tuples, run_bits(len(values), 3) if len(values) > MAX_TUPLES else 0))
        result += [(number, report) for report in watch.take(points, watch.share, state, state)]
        if restart:
            watch = load_monitor(
                SOURCE, tuple(described_by(SOURCE)), json.loads(json.dumps(dump_monitor(watch)))
            )
    return result


def sensors(
    sizes: Iterable[int], seed: int = 1, since: int = 1 << 60, function: Affine = FAHRENHEIT
) -> Iterator[list[tuple[int, float]]]:
    """Epochs of so many values of three sensors; the second changes its unit."""
    rng, n = random.Random(seed), 0
    for size in sizes:
        epoch: list[tuple[int, float]] = []
        for _ in range(size):
            value, sensor = temperature(n, rng), 1 + n % 3
            epoch.append((sensor, applied(function, value) if sensor == 2 and n >= since else value))
            n += 1
        yield epoch


@pytest.mark.parametrize("restart", tiered([True, False]))
@pytest.mark.parametrize(
    ("sizes", "since"),
    tiered([([9] * 80, 400), ([600] * 12, 4000), ([20_000], 9000), ([30_000] * 3, 40_000)], 3),
)
def test_a_change_is_told_once_with_its_group_place_and_accent(
    sizes: list[int], since: int, restart: bool
) -> None:
    ((number, warning),) = reported(sensors(sizes, since=since), restart=restart)
    assert (warning.code, warning.severity) == ("RQ223", "warning")
    epoch = next(n for n in range(len(sizes)) if sum(sizes[: n + 1]) > since)
    assert warning.message == f"{JUMPS}, since epoch {epoch}: {STATED}"
    assert (warning.notes, warning.help) == ((), None)
    assert number <= epoch + max(1, 3 * 32 // sizes[0])


@pytest.mark.parametrize("name", tiered(["°F to °C", "x 1,000", "psi to kPa"]))
def test_the_cut_into_epochs_decides_nothing(name: str) -> None:
    """A look comes after a number of values of a sequence, in a run as in `cedilla suspect`."""
    ((*values,),) = sensors([2400], seed=2, since=1200, function=FUNCTIONS[name])
    points = [Point((s,), "r.jsonl", {"t": value}, {"t": 1}) for s, value in values]
    state, results = source_state(), list[tuple[list[str], Any]]()
    for size in (2400, 250, 33):
        watch, messages = Monitor(SOURCE, tuple(described_by(SOURCE))), list[str]()
        for begin in range(0, len(points), size):
            messages += (
                w.message for w in watch.take(points[begin : begin + size], watch.share, state, state)
            )
        results.append((messages, dump_monitor(watch)))
    assert results == results[:1] * 3
    offline = new_series(SOURCE, "t", state)
    jumps = [offline.add("r.jsonl", value) for s, value in values if s == 2]
    assert len([jump for jump in jumps if jump is not None]) == len(results[0][0]) == 1


@pytest.mark.parametrize("name", tiered(["x 1,000", "°C to K", "/ 100", "psi to kPa"], 2))
def test_every_kind_of_change(name: str) -> None:
    function = FUNCTIONS[name]
    ((_, warning),) = reported(sensors([300] * 20, seed=2, since=3000, function=function))
    assert f"jumps like {name}," in warning.message


def _walk(rng: random.Random) -> Iterator[float]:
    value = 50.0
    while True:
        yield (value := value + rng.gauss(0, 1))


def _each(of: Any) -> Any:
    return lambda rng: (of(n, rng) for n in range(1 << 30))


QUIET = {
    "walk": _walk,
    "sine": _each(lambda n, rng: 100 * sin(n / 500) + rng.gauss(0, 1)),
    "day and year": _each(lambda n, rng: 60 + 10 * sin(n / 3.8) + 20 * sin(n / 1400) + rng.gauss(0, 2)),
    "noise": _each(lambda n, rng: rng.gauss(0, 5)),
    "skewed": _each(lambda n, rng: rng.lognormvariate(2, 1)),
    "trend": _each(lambda n, rng: 0.01 * n + rng.gauss(0, 0.1)),
    "rain": _each(lambda n, rng: 0.0 if sin(n / 500) < 0.7 else rng.expovariate(0.5)),
    "spikes": _each(lambda n, rng: (20 + rng.gauss(0, 1)) * (1000 if rng.random() < 0.01 else 1)),
    "constant": _each(lambda n, rng: 5.0),
    "odd": _each(lambda n, rng: rng.choice([float("nan"), float("inf"), -1e300, 1.0])),
}
SIZES = {
    "small": lambda rng: rng.randint(4, 40),
    "large": lambda rng: rng.randint(3000, 9000),
    "all": lambda rng: int(10 ** rng.uniform(0.7, 4)),
}


@pytest.mark.parametrize("size", tiered(["small", "all", "large"], most=1))
@pytest.mark.parametrize("kind", tiered(QUIET))
def test_what_is_no_change_of_unit_is_not_told(kind: str, size: str) -> None:
    rng = random.Random(f"{kind} {size}")
    values = {s: QUIET[kind](random.Random(f"{kind} {size} {s}")) for s in (1, 2, 3)}
    epochs: list[list[tuple[int, float]]] = []
    while sum(map(len, epochs)) < {"small": 2000, "all": 5000, "large": 12_000}[size]:
        came = (rng.randint(1, 3) for _ in range(SIZES[size](rng)))
        epochs.append([(s, next(values[s])) for s in came])
    assert reported(epochs) == []
    assert reported(epochs, restart=True) == []


def test_a_new_group_in_another_unit_is_no_jump() -> None:
    rng = random.Random(1)
    epochs = [[(1, temperature(n, rng)) for n in range(90)] for _ in range(4)]
    epochs += [
        [
            (1 + n % 3, temperature(n, rng) * (1 + n % 3) * 100) if n % 3 else (1, temperature(n, rng))
            for n in range(90)
        ]
    ] * 4
    assert reported(epochs) == []


@pytest.mark.rest
def test_what_goes_back_is_a_note_and_the_accent_says_all_that_is_not_announced() -> None:
    def value(epoch: int, n: int) -> float:
        factor = 1 if not 4 <= epoch < 12 else 1000 if epoch < 8 else 10
        return factor * temperature(300 * epoch + n, rng)

    rng = random.Random(1)
    reports = reported([(2, value(epoch, n)) for n in range(300)] for epoch in range(16))
    assert [(diagnostic.severity, diagnostic.message.partition(",")[0]) for _, diagnostic in reports] == [
        ("warning", "`t` of s = 2 jumps like x 1"),
        ("warning", "`t` of s = 2 jumps like / 100"),
        ("note", "`t` of s = 2 continues as before its jump"),
    ]
    assert "alter(t, y -> y * 1000)" in reports[0][1].message
    assert "alter(t, y -> y * 10)" in reports[1][1].message


@pytest.mark.rest
def test_the_accent_is_in_the_units_in_force() -> None:
    state = source_state()
    state = with_accent(state, read_accent("[[s = 2, alter(t, y -> y / 10)]]", state.types), 0).next_epoch()
    ((_, warning),) = reported(sensors([600] * 8, since=3000), state)
    # of what is written: tenths of °F, then of °C
    assert "[[s = 2, alter(t, y -> (y * 5 - 16) / 9)]];" in warning.message
    # No unit can be named for a group with two units.
    state = with_accent(
        state, read_accent("[[s = 2, ts > 5, alter(t, y -> y / 10)]]", state.types), 0
    ).next_epoch()
    ((_, warning),) = reported(sensors([600] * 8, since=3000), state)
    assert warning.message.endswith("it has several units, and each takes an accent")


def test_an_attribute_that_is_dropped_and_added_may_come_in_another_unit() -> None:
    watch, state = Monitor(SOURCE, tuple(described_by(SOURCE))), source_state("t")
    epochs = list(sensors([600] * 8, since=2400))
    assert reported(epochs[:4], state, watch=watch) == []
    before = state
    for text in ("[[s = 2, -(t)]]", "[[s = 2, +(t: double)]]"):
        state = with_accent(state, read_accent(text, state.types), 0).next_epoch()
    tuples = (((s,), "epoch 4", {"t": value}) for s, value in epochs[4])
    assert watch.take(list(points_of(tuples, 0)), 1, before, before.next_epoch()) != []
    watch = Monitor(SOURCE, tuple(described_by(SOURCE)))
    assert reported(epochs[:4], before, watch=watch) == []
    dropped = with_accent(before, read_accent("[[s = 2, -(t)]]", before.types), 0).next_epoch()
    assert watch.take([], 1, before, dropped) == []
    tuples = (((s,), "epoch 4", {"t": value}) for s, value in epochs[4])
    assert watch.take(list(points_of(tuples, 0)), 1, dropped, state) == []
    assert reported(epochs[5:], state, watch=watch) == []


def test_of_many_groups_one_in_so_many_is_watched_which_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitor_module, "MAX_GROUPS", 10)
    source = evolve(compile_query(QUERY.replace("s: int in {1, 2, 3}", "s: string")).plan.sources[0])
    watch, state = Monitor(source, tuple(described_by(source))), SourceState.start(source, frozenset())

    def take(names: Iterable[int], share: int) -> list[Diagnostic]:
        return watch.take([Point((str(n),), "", {"t": 1.0}, {"t": 1}) for n in names], share, state, state)

    assert take(range(10), 1) == []
    (note,) = take(range(5, 35), 1)
    assert (note.code, note.notes) == ("RQ419", ("one group in 4 is monitored from here on",))
    assert "at most 10 groups by s; `readings` has more" in note.message
    assert take(range(100), 1) == []  # of an epoch that began before
    assert (take(range(9), 4), len(watch.groups)) == ([], 9)
    assert take(range(20, 30), 4) == []
    assert load_monitor(source, tuple(described_by(source)), dump_monitor(watch)).share == watch.share == 8


def test_a_checkpoint_keeps_a_bounded_part() -> None:
    rng, watch, state = random.Random(1), Monitor(SOURCE, tuple(described_by(SOURCE))), source_state()
    for number in range(3):
        tuples = (((s,), f"epoch {number}", {"t": rng.random()}) for s in range(900) for _ in range(3))
        watch.take(list(points_of(tuples, 0)), 1, state, state)
    assert dump_monitor(watch)["series"] == []  # too few of each to go on with
    watch = Monitor(SOURCE, tuple(described_by(SOURCE)))
    for number in range(12):
        tuples = (((s,), f"epoch {number}", {"t": rng.random()}) for s in range(200) for _ in range(10))
        watch.take(list(points_of(tuples, 0)), 1, state, state)
    text = json.dumps(dump_monitor(watch))
    assert len(text) < 8 * MAX_STORED
    assert (
        json.dumps(dump_monitor(load_monitor(SOURCE, tuple(described_by(SOURCE)), json.loads(text)))) == text
    )
    regrouped = evolve(SOURCE, attributes=[evolve(a, domain=None) for a in SOURCE.attributes])
    assert load_monitor(regrouped, tuple(described_by(regrouped)), json.loads(text)).groups == {}


def test_points_are_few_however_many_tuples() -> None:
    tuples = [((n % 3,), f"line {n}", {"t": float(n % 7)}) for n in range(50_000)]
    points = list(points_of(tuples, run_bits(len(tuples), 3)))
    assert TARGET_POINTS / 2 <= len(points) <= TARGET_POINTS + 3
    assert sum(point.counts["t"] for point in points) == len(tuples)
    assert list(points_of(tuples[:2], 0)) == [
        Point((0,), "line 0", {"t": 0.0}, {"t": 1}),
        Point((1,), "line 1", {"t": 1.0}, {"t": 1}),
    ]


# --- simulate ------------------------------------------------------------------------------------------------


def minutes_of_sensors(
    numbers: Iterable[int], since: int | None = None, function: Affine = FAHRENHEIT
) -> list[Item]:
    """A minute of three sensors after the other, each ending in a punctuation; the second may change its unit."""
    result: list[Item] = []
    for minute in numbers:
        rng = random.Random(minute)
        for n in range(20):
            for s in (1, 2, 3):
                value = temperature(20 * minute + n, rng)
                value = (
                    applied(function, value) if s == 2 and since is not None and minute >= since else value
                )
                result.append({"ts": 60 * minute + 3 * n, "s": s, "t": value})
        result.append({"$punctuation": f"[ts < {60 * minute + 60}]"})
    return result


def simulate_messages(root: Path, stream: Sequence[Item], *options: str) -> str:
    (root / "in").mkdir(exist_ok=True)
    write_lines(root / "in" / "1.jsonl", stream)
    (root / "q.rq").write_text(QUERY.replace('"in"', f'"{root}/in"'))
    result = cedilla("simulate", str(root / "q.rq"), *options)
    assert result.exit_code == 0, result.output
    return result.stderr


def test_simulate_tells_of_a_change_at_its_line(tmp_path: Path) -> None:
    stream = minutes_of_sensors(range(12), since=8)
    messages = simulate_messages(tmp_path, stream)
    assert messages.count("RQ223") == 1
    line = 1 + stream.index(next(i for i in stream if i.get("s") == 2 and i["ts"] == 480))
    assert messages == f"warning[RQ223]: {JUMPS}, since {tmp_path}/in/1.jsonl:{line}: {STATED}\n"
    assert simulate_messages(tmp_path, stream, "--set", "suspect=off") == ""
    # Announced where it is, it is no jump.
    at_line = [*stream[: line - 1], {"$accent": ANNOUNCED}, *stream[line - 1 :]]
    assert simulate_messages(tmp_path, at_line) == ""


SHOPS = (
    QUERY.replace("s: int in {1, 2, 3}", 's: string, day: string in {"mon", "tue"}')
    .replace("except ts, s](", "except ts, s, day](")
    .replace("p?: double", "n?: int")
)


@pytest.mark.parametrize(
    ("by", "where"), [("s", "s = s2"), *tiered([("s,n", "s = s2"), ("day, s", "day = mon, s = s2")], 0)]
)
def test_the_setting_says_by_what_tuples_are_grouped(tmp_path: Path, by: str, where: str) -> None:
    """The domain of another attribute would choose that one alone, and the change of a shop is blurred by it."""
    run = Query.without_engine(tmp_path, SHOPS)
    stream: list[Item] = [
        {**item, "s": f"s{item['s']}", "day": "mon"} if "s" in item else item
        for item in minutes_of_sensors(range(12), since=7)
    ]
    run.write("readings", stream)
    run.simulate(suspect=f"warn by {by}")
    (warning,) = run.simulated.warnings
    assert warning.message.startswith(f"`t` of {where} jumps like °F to °C")


def test_by_names_attributes_of_streams(tmp_path: Path) -> None:
    path = tmp_path / "q.rq"
    path.write_text(QUERY.replace("= warn", "= warn by s , minute"))
    assert "RQ102" in cedilla("check", str(path)).output
    path.write_text(QUERY.replace("= warn", "= warn by s,ts"))
    assert cedilla("check", str(path)).exit_code == 0
    assert cedilla("fmt", str(path)).exit_code == 0
    assert "set suspect = warn by s, ts;" in path.read_text()
    for value, complaint in {
        "suspect=warn by minute": "unknown attribute `minute`",
        "suspect=off by s": "`by` is for `suspect = warn`",
        "drop=eager by s": "`by` is for `suspect = warn`",
    }.items():
        result = cedilla("simulate", str(path), "--set", value)
        assert result.exit_code != 0
        assert complaint in result.output


def test_an_unknown_value_of_the_setting(tmp_path: Path) -> None:
    (tmp_path / "q.rq").write_text(QUERY.replace("= warn", "= yes"))
    result = cedilla("check", str(tmp_path / "q.rq"))
    assert (result.exit_code, "RQ004" in result.output) == (1, True)


# --- Spark ---------------------------------------------------------------------------------------------------


def warnings_of(run: Query) -> Mapping[int, tuple[Diagnostic, ...]]:
    return {report.number: report.warnings for report in run.reports if report.warnings}


@pytest.mark.either_engine
@pytest.mark.parametrize("minutes", tiered([3, 1, 12]))
def test_a_run_tells_of_a_change_once(spark: SparkSession, tmp_path: Path, minutes: int) -> None:
    """In epochs of a minute, of three, and in one of all; also where each epoch is a process of its own."""
    run = Query(spark, tmp_path, QUERY)
    executor = run.executor()
    for number, first in enumerate(range(0, 12, minutes)):
        run.write("readings", minutes_of_sensors(range(first, first + minutes), since=7))
        run.go_on(executor, number)
        executor = run.executor()
    ((number, (warning,)),) = warnings_of(run).items()
    epoch = 7 // minutes
    start, end = warning.message.removesuffix(f": {STATED}").split(", since ")
    assert start == JUMPS
    assert end.startswith(f"epoch {epoch}, ")
    assert end.endswith(f"/in/readings/{epoch + 1:05d}.jsonl")
    assert number - epoch <= 3 // minutes
    grouped = "jumps of `readings` are looked for by s; `set suspect = warn by NAME;` chooses"
    assert all(report.notes.count(grouped) == 1 for report in run.reports), "each is a run"
    shown = status_text(read_status(str(tmp_path / "checkpoint")))
    assert "jumps that no accent announces" in shown
    assert f"source readings: {end}: `t` of s = 2 jumps like °F to °C: {ANNOUNCED}" in shown


def write_elements(run: Query, number: int, stream: Sequence[Item]) -> None:
    """Items as a file of XML elements."""
    path = run.write("readings", [element(item) for item in stream])
    path.rename(path.with_suffix(".xml"))


def element(item: Item) -> str:
    if "$accent" in item:
        return f"<accent:r>{escape(item['$accent'])}</accent:r>"
    if "$punctuation" in item:
        bound = item["$punctuation"].removeprefix("[ts < ").removesuffix("]")
        return f"<punct:r><ts>(,{bound})</ts></punct:r>"
    return f"<r>{''.join(f'<{n}>{v}</{n}>' for n, v in item.items())}</r>"


def write_rows(run: Query, number: int, stream: Sequence[Item]) -> None:
    """Items as a file of Parquet."""
    fields = "`$accent` string, `$punctuation` string, ts long, s int, t double"
    names = [field.split()[0].strip("`") for field in fields.split(", ")]
    rows = [tuple(item.get(name) for name in names) for item in stream]
    frame = run.spark.createDataFrame(rows, fields)
    save_parquet(frame, run.root / "in" / "readings" / f"{number + 1}.parquet")


WRITERS = {"xml": write_elements, "parquet": write_rows}


@pytest.mark.either_engine
@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("announced", tiered([False, True]))
def test_other_formats_are_watched_too(
    spark: SparkSession, tmp_path: Path, form: str, announced: bool
) -> None:
    run = Query(spark, tmp_path, QUERY.replace("from json", f"from {form}"))
    executor = run.executor()
    for number in range(4):
        stream = minutes_of_sensors(range(3 * number, 3 * number + 3), since=7)
        if announced and number == 2:
            stream.insert(stream.index(next(i for i in stream if i.get("ts") == 420)), {"$accent": ANNOUNCED})
        WRITERS[form](run, number, stream)
        run.go_on(executor, number)
        executor = run.executor()
    assert [report.quarantined for report in run.reports] == [{}] * 4
    assert [report.tuples for report in run.reports] == [180] * 4
    if announced:
        assert warnings_of(run) == {}
        return
    ((number, (warning,)),) = warnings_of(run).items()
    assert warning.message.startswith(f"{JUMPS}, since epoch 2, ")
    assert warning.message.endswith(f".{form}: {STATED}")


@pytest.mark.either_engine
def test_an_announced_change_is_not_told(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, QUERY)
    executor = run.executor()
    for number in range(4):
        stream = minutes_of_sensors(range(3 * number, 3 * number + 3), since=7)
        at_line = [n for n, item in enumerate(stream) if item.get("ts") == 420 and item["s"] == 2]
        run.write(
            "readings",
            [*stream[: at_line[0]], {"$accent": ANNOUNCED}, *stream[at_line[0] :]] if at_line else stream,
        )
        run.go_on(executor, number)
    assert (len(run.reports), warnings_of(run)) == (4, {})


@pytest.mark.either_engine
def test_rejected_tuples_are_not_looked_at_and_a_growing_group_is_cut(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups by a string of which there are too many; half of the tuples are late, in another unit."""
    monkeypatch.setattr(monitor_module, "MAX_GROUPS", 50)
    run = Query(spark, tmp_path, QUERY.replace("s: int in {1, 2, 3}", "s: string"))
    executor = run.executor()
    rng = random.Random(1)
    for number in range(4):
        stream: list[Item] = [
            {"ts": 60 * number + 30, "s": f"d{n % 120}", "t": temperature(n, rng)} for n in range(1200)
        ]
        late: list[Item] = [{"ts": 0, "s": f"d{n % 120}", "t": 1e6} for n in range(1200)]
        run.write("readings", [*stream, {"$punctuation": f"[ts < {60 * number + 60}]"}, *late])
        run.go_on(executor, number)
    ((number, (warning,)),) = warnings_of(run).items()
    assert (number, warning.code) == (0, "RQ419")
    kept = executor.last.suspects["readings"]
    assert kept["share"] == 4
    assert 0 < len({tuple(group) for group, *_ in kept["series"]}) <= 50


@pytest.mark.either_engine
def test_what_the_driver_takes_is_bounded_and_counts_stay_right(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look may leave rows unread; those who count the tuples must not think that these were all."""
    monkeypatch.setattr(watching, "_MAX_ROWS", 7)
    run = Query(spark, tmp_path, QUERY)
    executor = run.executor()
    for number in range(3):
        tuples: list[Item | str] = [item for item in minutes_of_sensors([number]) if "ts" in item]
        bad = ['{"ts": "bad"}', '{"ts": 1'] if number == 1 else []
        run.write("readings", [{"$punctuation": f"[ts < {60 * number}]"}, *tuples, *bad])
        run.go_on(executor, number)
    assert [report.tuples for report in run.reports] == [60, 60, 60]
    assert [report.quarantined for report in run.reports] == [{}, {"RQ301": 2}, {}]
    kept = executor.last.suspects["readings"]["series"]
    assert sum(length for *_, runs, _ in kept for _, length in runs) == 2 * 21


@pytest.mark.rest
@pytest.mark.either_engine
def test_an_epoch_of_many_tuples_gives_the_driver_few_rows(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Medians of some dozen tuples each, which tell of the change in the middle."""
    monkeypatch.setattr(watching, "MAX_TUPLES", 1200)
    monkeypatch.setattr(watching, "TARGET_POINTS", 1200)
    monkeypatch.setattr("cedilla.runtime.control.change_detection.points.TARGET_POINTS", 1200)
    run = Query(spark, tmp_path, QUERY)
    executor = run.executor()
    run.write("readings", minutes_of_sensors(range(200), 120, FUNCTIONS["x 100"]))
    run.go_on(executor, 0)
    (warning,) = [warning_ for warning_ in warnings_of(run)[0] if "`t`" in warning_.message]
    assert warning.message.startswith("`t` of s = 2 jumps like x 100, and no accent says so")
    ((_, _, width, *_), *_) = executor.last.suspects["readings"]["series"]
    assert 12_000 / 1200 <= width <= 12_000 / 600
