"""`cedilla suspect`: attributes that change places and clocks that are set are found, and what only looks so is not."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from math import sin
from pathlib import Path
from typing import Any

import pytest

from tests.kit.command import cedilla
from tests.kit.lines import write_lines
from tests.kit.stream import Item

START = datetime(2026, 3, 1, tzinfo=UTC)


def power(length: int = 400, seed: int = 1, minutes: int = 15) -> list[Item]:
    """Two meters: what is bought has the course of a day, what is sold is less."""
    rng = random.Random(seed)
    return [
        {
            "at": f"{START + n * timedelta(minutes=minutes):%Y-%m-%dT%H:%M:%SZ}",
            "s": s,
            "bought": round(2 + sin(n / 15) + rng.gauss(0, 0.2), 3),
            "sold": round(0.4 + 0.1 * sin(n / 15) + rng.gauss(0, 0.05), 3),
        }
        for n in range(length)
        for s in (1, 2)
    ]


SCHEMA = "at: timestamp, s: int in {1, 2}, bought: double unit kW, sold: double unit kW"


def suspects(folder: Path, items: Iterable[Item], schema: str = SCHEMA) -> list[dict[str, Any]]:
    write_lines(folder / "1.jsonl", items)
    return json.loads(cedilla("suspect", str(folder), "--schema", schema, "--format", "json").output)[
        "suspects"
    ]


def of_meter(items: Iterable[Item], since: int, change: Callable[[Item], Item]) -> list[Item]:
    """Changes the tuples of the second meter from one on."""
    return [change(item) if item["s"] == 2 and n >= 2 * since else item for n, item in enumerate(items)]


def exchanged(item: Item) -> Item:
    return {**item, "bought": item["sold"], "sold": item["bought"]}


def set_by(hours: float) -> Callable[[Item], Item]:
    def change(item: Item) -> Item:
        moved = datetime.fromisoformat(item["at"]) + timedelta(hours=hours)
        return {**item, "at": f"{moved:%Y-%m-%dT%H:%M:%SZ}"}

    return change


def test_attributes_that_change_places_are_proposed_as_a_swap(tmp_path: Path) -> None:
    stream = of_meter(power(), 233, exchanged)
    (swap,) = suspects(tmp_path, stream)
    assert swap["place"].endswith(":468")
    assert (swap["attribute"], swap["conversion"]) == ("bought", "a swap with `sold`")
    assert (swap["group"], swap["accent"]) == ({"s": 2}, "[[s = 2, swap(bought, sold)]]")
    at = int(swap["place"].rpartition(":")[2]) - 1
    assert suspects(tmp_path, [*stream[:at], {"$accent": swap["accent"]}, *stream[at:]]) == []


def test_a_swap_is_planned_by_the_time_and_ends_with_another_one(tmp_path: Path) -> None:
    stream = of_meter(of_meter(power(600), 200, exchanged), 400, exchanged)
    write_lines(tmp_path / "1.jsonl", stream)
    query = tmp_path / "q.rq"
    query.write_text(f'stream r({SCHEMA}) from json "r" punctuated on at; emit r to json "o";')
    arguments = ("suspect", str(tmp_path / "1.jsonl"), "--query", str(query), "--format", "json")
    swaps = json.loads(cedilla(*arguments).output)["suspects"]
    assert [suspect["planned"] for suspect in swaps] == [
        f'[[s = 2, at >= "{stream[2 * n]["at"]}", swap(bought, sold)]]' for n in (200, 400)
    ]
    query.write_text(f"{query.read_text()} {' '.join(suspect['statement'] for suspect in swaps)}")
    assert json.loads(cedilla(*arguments).output)["suspects"] == []


@pytest.mark.parametrize("other", ["a unit", "a type", "what happens to one"])
def test_what_cannot_be_swapped_or_happens_to_one_is_no_swap(tmp_path: Path, other: str) -> None:
    schema = SCHEMA
    if other == "a unit":
        schema = SCHEMA.replace("sold: double unit kW", "sold: double unit degC")
    if other == "a type":
        schema = SCHEMA.replace("sold: double unit kW", "sold: decimal(9,3) unit kW")
    change = exchanged if other != "what happens to one" else lambda item: {**item, "bought": item["sold"]}
    assert not [
        s for s in suspects(tmp_path, of_meter(power(), 233, change), schema) if "swap" in s["accent"]
    ]


@pytest.mark.parametrize(
    ("hours", "function"),
    [(-1, "y - 1 hour"), (1, "y + 1 hour"), (2, "y + 2 hours"), (-5.5, "y - 330 minutes")],
)
def test_a_clock_that_is_set_is_found_where_it_is_and_in_its_direction(
    tmp_path: Path, hours: float, function: str
) -> None:
    stream = of_meter(power(minutes=1), 233, set_by(hours))
    (clock,) = suspects(tmp_path, stream)
    assert clock["place"].endswith(":468")
    assert (clock["attribute"], clock["accent"]) == ("at", f"[[s = 2, alter(at, y -> {function})]]")
    at = int(clock["place"].rpartition(":")[2]) - 1
    assert suspects(tmp_path, [*stream[:at], {"$accent": clock["accent"]}, *stream[at:]]) == []


def test_a_clock_of_whole_numbers_is_set_in_their_own_ticks_and_back_again(tmp_path: Path) -> None:
    summer, again = 200, 400
    stream: list[Item] = [
        {"ts": 1_700_000_000_000 + 60_000 * n + (3_600_000 if summer <= n < again else 0), "x": n % 7}
        for n in range(600)
    ]
    write_lines(tmp_path / "1.jsonl", stream)
    result = cedilla("suspect", str(tmp_path), "--schema", "ts: long, x: int")
    assert "`ts` jumps like a clock that is set forward by 1 hour" in result.output
    assert "about 60 s from one to the next before it and after it, 3,660 s here" in result.output
    actual = suspects(tmp_path, stream, "ts: long, x: int")
    assert [suspect["accent"] for suspect in actual] == [
        "[[alter(ts, y -> y + 3600000)]]",
        "[[alter(ts, y -> y - 3600000)]]",
    ]


def test_values_with_the_course_of_a_day_show_whether_the_clock_is_set_or_tuples_are_missing(
    tmp_path: Path,
) -> None:
    """A gap of an hour between quarters of an hour is four tuples, which are missing as often as not."""
    rng = random.Random(4)
    whole = [
        {**item, "bought": round(2 + sin(int(item["at"][11:13]) / 4) ** 5 + rng.gauss(0, 0.02), 3)}
        for item in power(700)
    ]
    (clock,) = suspects(tmp_path, of_meter(whole, 400, set_by(1)))
    assert clock["accent"] == "[[s = 2, alter(at, y -> y + 1 hour)]]"
    missing = [item for n, item in enumerate(whole) if item["s"] == 1 or not 800 <= n < 808]
    assert suspects(tmp_path, missing) == []


@pytest.mark.parametrize("other_goes_on", [True, False])
def test_another_clock_of_the_tuples_decides(tmp_path: Path, other_goes_on: bool) -> None:
    def change(item: Item) -> Item:
        moved = set_by(1)(item)
        return moved if other_goes_on else {**moved, "received": moved["at"]}

    stream = of_meter(({**item, "received": item["at"]} for item in power(minutes=60)), 233, change)
    actual = suspects(tmp_path, stream, f"{SCHEMA}, received: timestamp")
    expected = ["[[s = 2, alter(at, y -> y + 1 hour)]]"] if other_goes_on else []
    assert [suspect["accent"] for suspect in actual] == expected


@pytest.mark.parametrize("what", ["twice", "late", "gaps", "irregular"])
def test_tuples_that_come_twice_or_late_or_not_set_no_clock(tmp_path: Path, what: str) -> None:
    stream, rng = power(minutes=1), random.Random(2)
    match what:
        case "twice":
            stream = [*stream[:500], *stream[380:]]
        case "late":
            stream = [*stream[:200], *stream[300:500], *stream[200:300], *stream[500:]]
        case "gaps":
            stream = [item for n, item in enumerate(stream) if n % 280 > 100]
        case _:
            stream = [set_by(rng.expovariate(2))(item) for item in stream]
    assert suspects(tmp_path, stream) == []


def test_values_that_seldom_change_do_not_show_that_no_tuple_is_missing(tmp_path: Path) -> None:
    """As rain and sight in the weather: an hour was missing, and was taken for a clock that is set."""
    rng, levels, stream = random.Random(3), {"bought": 2.0, "sold": 1.0}, list[Item]()
    for item in power(minutes=60):
        levels |= {name: round(rng.random(), 2) for name in levels if rng.random() < 0.035}
        stream.append({**item, **levels})
    assert suspects(tmp_path, (item for n, item in enumerate(stream) if n not in (500, 501))) == []
