"""Streams of a fleet of any size, whose devices change their unit one after another, and a query over them."""

from __future__ import annotations

from pathlib import Path

from tests.kit.lines import marker, write_lines
from tests.kit.stream import Item
from tests.runtime.hosts.ui.pumps import at, closed

QUERY = """
set suspect = off;
unit EUR;
stream meters(ts: timestamp, meter: string, power: double unit W, cost?: double unit EUR)
  from json "meters" punctuated on ts;
accent meters [[meter = "m0001", unit(power, kW)]];
minutes := window[1 minute on ts as [minute, minute_end]](meters);
mean := aggregate[avg by minute except ts, meter, minute_end](minutes);
each_one := aggregate[avg by minute, meter except ts, minute_end](minutes);
own := project[minute, meter, power as own](each_one);
both := mean join own on minute;
emit mean to json "mean";
emit each_one to parquet "each_one";
emit both to json "both";
"""


def name(number: int) -> str:
    return f"m{number:04}"


def files_of(count: int) -> list[list[Item | str]]:
    """Two files. All meters send watts; then five of eight go to kilowatts, of which each eighth sends its cost from
    then on; the last meter is silent in the second file; one line of the second file has no number."""
    meters = range(1, count + 1)
    moved = [n for n in meters if n % 8 < 5 and n > 1]
    first = [{"ts": at(s), "meter": name(n), "power": watts(n, s)} for s in (0, 30) for n in meters]
    accents = [marker(f'[[meter = "{name(n)}", unit(power, kW)]]') for n in moved]
    costs = [marker(f'[[meter = "{name(n)}", +(cost: double unit EUR)]]') for n in moved if n % 8 == 0]
    later = [
        {"ts": at(60), "meter": name(n), "power": watts(n, 60)} | ({"cost": n / 4} if n % 8 == 0 else {})
        for n in meters[:-1]
    ]
    odd = {"ts": at(61), "meter": name(2), "power": "26.4 kW"}
    return [[*first, closed(60)], [*accents, *costs, *later, odd, closed(120)]]


def watts(number: int, second: int) -> float:
    """Returns what a meter sends: kilowatts if it has changed by then."""
    has_moved = number == 1 or (second >= 60 and number % 8 < 5)
    return round((200.0 + number % 50) / (1000 if has_moved else 1), 4)


def write(root: Path, count: int) -> None:
    """Writes the query and the files of a fleet below a folder."""
    (root / "meters.rq").write_text(QUERY)
    for number, lines in enumerate(files_of(count), 1):
        write_lines(root / "meters" / f"{number}.jsonl", lines, number)
