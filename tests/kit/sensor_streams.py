"""The paper's query over sensors and their places, and random valid streams of it."""

from __future__ import annotations

import random
from collections import defaultdict

from tests.kit.stream import Decoder, Item, decode

QUERY = """
stream sensors(ts: long, s: int in {1, 2, 3}, t: double) from json "in/sensors" punctuated on ts;
stream placement(s: int, l: string) from json "in/placement" punctuated on s;
located := sensors join placement on s;
windows := window[10 on ts as wid](located);
average := aggregate[avg by l, wid except ts, s](windows);
emit average to json "out/average";
"""


PLACES = [{"s": 1, "l": "north"}, {"s": 2, "l": "north"}, {"s": 3, "l": "south"}]


FUNCTIONS = ["y -> (y - 32) * 5/9", "y -> y * 9/5 + 32", "y -> y * 1000", "y -> y / 4 + 3"]


def random_stream(rng: random.Random, length: int) -> list[Item]:
    """Readings of three sensors; per sensor, at random places: Alters one after the other, Add and Drop of `p`,
    the end of the sensor; now and then all time before now is closed."""
    units = {1: 0, 2: 0, 3: 0}
    has_p = {1: False, 2: False, 3: False}
    alive = [1, 2, 3]
    stream: list[Item] = []
    now = 0
    for _ in range(length):
        now += rng.randrange(0, 4)
        roll = rng.random()
        sensor = rng.choice(alive)
        if roll < 0.12 and units[sensor] < 3:
            units[sensor] += 1
            stream.append({"$accent": f"[[s = {sensor}, alter(t, {rng.choice(FUNCTIONS)})]]"})
        elif roll < 0.17:
            primitive = "-(p)" if has_p[sensor] else "+(p: double)"
            has_p[sensor] = not has_p[sensor]
            stream.append({"$accent": f"[[s = {sensor}, {primitive}]]"})
        elif roll < 0.27:
            stream.append({"$punctuation": f"[ts < {now}]"})
        elif roll < 0.29 and len(alive) > 1:
            alive.remove(sensor)
            stream.append({"$punctuation": f"[s = {sensor}]"})
        else:
            row: Item = {"ts": now, "s": sensor, "t": rng.randrange(-100, 400) / 4}
            if has_p[sensor] and rng.random() < 0.7:
                row["p"] = float(rng.randrange(900, 1100))
            stream.append(row)
    return [*stream, {"$punctuation": "[]"}]


def wild_stream(rng: random.Random, length: int) -> list[Item]:
    """Readings with Alters of any described subset, of `t` and of `p`, described by any other attribute in the
    units of the moment, and punctuations on any attribute. Tuples that would break a punctuation are left out."""
    stream: list[Item] = [{"$accent": "[[+(p: double)]]"}]
    decoder = Decoder()
    decoder.feed(stream[0])
    now = alters = 0
    for _ in range(length):
        now += rng.randrange(0, 4)
        sensor, cut = rng.choice([1, 2, 3]), rng.randrange(0, 60)
        by_sensor = [
            f"s = {sensor}",
            f"s != {sensor}",
            "s in {1, 2}",
            f"ts >= {cut}",
            f"s = {sensor}, ts < {cut}",
        ]
        roll = rng.random()
        item: Item
        if roll < 0.15 and alters < 7:
            alters += 1
            attribute, other = rng.choice([("t", "p"), ("p", "t"), ("t", "p")])
            where = rng.choice([*by_sensor, f"{other} > {cut}", ""])
            function = f"alter({attribute}, {rng.choice(FUNCTIONS)})"
            item = {"$accent": f"[[{where}{', ' if where else ''}{function}]]"}
        elif roll < 0.3:
            item = {
                "$punctuation": rng.choice(
                    [f"[ts < {now - 5}]", f"[s = {sensor}, ts <= {now}]", f"[t > {900 + cut}]"]
                )
            }
        else:
            item = {"ts": now, "s": sensor, "t": rng.randrange(-100, 400) / 4}
            if rng.random() < 0.8:
                item["p"] = rng.randrange(0, 400) / 4
            if decoder.closed(decoder.canonical(item)):
                continue
        decoder.feed(item)
        stream.append(item)
    return [*stream, {"$punctuation": "[]"}]


def cut(rng: random.Random, stream: list[Item]) -> list[list[Item]]:
    """The stream in files, at random."""
    bounds = sorted(rng.sample(range(1, len(stream)), rng.randrange(0, 4)))
    return [stream[a:b] for a, b in zip([0, *bounds], [*bounds, len(stream)], strict=True)]


def averages(stream: list[Item], places: list[Item], size: int) -> dict[tuple[str, int], Item]:
    """The plain averages of the canonical tuples, by place and window."""
    where = {p["s"]: p["l"] for p in places}
    values: dict[tuple[str, int], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in decode(stream):
        for name in ("t", "p"):
            if row.get(name) is not None:
                values[where[row["s"]], row["ts"] // size][name].append(float(row[name]))
    return {key: {name: sum(v) / len(v) for name, v in group.items()} for key, group in values.items()}
