"""Streams of tests of operators, with accents in the middle."""

from __future__ import annotations

from typing import Any

from tests.kit.stream import Item

ROWS: list[Item] = [
    {
        "ts": ts,
        "s": 1 + ts % 2,
        "t": float(ts * ts % 17),
        **({"n": ts * 5 % 7} if ts % 5 != 3 else {}),
        "l": "abc"[ts * 7 % 3] if ts % 8 else "d",
    }
    for ts in range(24)
]


def aggregated_stream() -> list[Item]:
    """The rows; `t` of s = 1 is altered after 6 of them, of s = 2 after 10, and `n` is halved after 12."""
    items: list[Item] = []
    for ts, row in enumerate(ROWS):
        if ts == 6:
            items.append({"$accent": "[[s = 1, alter(t, y -> y * 2 + 1)]]"})
        if ts == 10:
            items.append({"$accent": "[[s = 2, alter(t, y -> y * 2 + 1)]]"})
        if ts == 12:
            items.append({"$accent": "[[alter(n, y -> y / 2)]]"})
        if ts == 16:
            items.append({"$punctuation": "[ts < 16]"})
        raw = dict(row)
        if ts >= (6 if row["s"] == 1 else 10):
            raw["t"] = row["t"] * 2 + 1
        if ts >= 12 and "n" in row:
            raw["n"] = row["n"] / 2
        items.append(raw)
    return [*items, {"$punctuation": "[]"}]


DIRECTIONS: dict[int, tuple[list[Any], float | None]] = {
    0: ([350.0, 10.0], 0.0),
    1: ([10.0, 350.0], 0.0),
    2: ([0.0, 90.0], 45.0),
    3: ([270.0, 0.0], 315.0),
    4: ([0.0, 180.0], None),
    5: ([0.0, 120.0, 240.0], None),
    6: ([90.0, 270.0, 90.0, 270.0], None),
    7: ([12.5, 13.5], 13.0),
    8: ([359.75, 0.25], 0.0),
    9: ([359.9, 0.2], 0.05),
    10: ([-90.0, 180.0], 225.0),
    11: ([725.0, 730.0], 7.5),
    12: ([360.0], 0.0),
    13: ([-0.0], 0.0),
    14: ([359.999], 359.999),
    15: ([None], None),
    16: ([10.125, None, 20.375], 15.25),
    17: ([123.456], 123.456),
    18: ([350.0, 350.0, 10.0, 10.0, 0.0], 0.0),
}


def directions() -> list[Item]:
    """The values of all groups in turn, so that each group comes in several files."""
    rows: list[Item] = [
        {"ts": n, "k": k} | ({} if value is None else {"h": value})
        for k, (values, _) in DIRECTIONS.items()
        for n, value in enumerate(values)
    ]
    return sorted(rows, key=lambda row: row["ts"])


ROWS_OF_USERS: list[Item] = [
    {"ts": ts, "s": 1 + ts % 2, "t": float(ts * ts % 17), "n": ts % 5} for ts in range(24)
]

ALTER = {"$accent": "[[s = 1, alter(t, y -> y * 2 + 1)]]"}

ALTER_REST = {"$accent": "[[s = 2, alter(t, y -> y * 2 + 1)]]"}


def evolving_stream() -> list[Item]:
    """The rows, with s = 1 altered after 8 of them and s = 2 after 16; n is gone from the 22nd on, p comes."""
    items: list[Item] = []
    for row in ROWS_OF_USERS:
        ts = row["ts"]
        items += [ALTER] if ts == 8 else []
        items += [{"$punctuation": "[ts < 16]"}, ALTER_REST] if ts == 16 else []
        items += [{"$accent": "[[-(n)]]"}, {"$accent": "[[s = 1, +(p: double)]]"}] if ts == 21 else []
        altered = {8: set[int](), 16: {1}, 24: {1, 2}}[next(end for end in (8, 16, 24) if ts < end)]
        item = {**row, "t": row["t"] * 2 + 1} if row["s"] in altered else row
        if ts >= 21:
            item = {k: v for k, v in item.items() if k != "n"} | ({"p": 0.5} if row["s"] == 1 else {})
        items.append(item)
    return [*items, {"$punctuation": "[]"}]


SENSOR_ROWS: list[Item] = [
    {"ts": ts, "s": 1 + ts % 2, "t": float(ts * ts % 17), "n": ts % 5} for ts in range(24)
]

ALTER_FIRST = {"$accent": "[[s = 1, alter(t, y -> y * 2 + 1)]]"}

ALTER_SECOND = {"$accent": "[[s = 2, alter(t, y -> y * 2 + 1)]]"}


def sensor_stream() -> list[Item]:
    """The rows, with s = 1 altered after 8 of them and s = 2 after 16."""
    since = {1: 8, 2: 16}
    parts = [
        {**row, "t": row["t"] * 2 + 1} if ts >= since.get(row["s"], 99) else row
        for ts, row in enumerate(SENSOR_ROWS)
    ]
    return [
        *parts[:8],
        ALTER_FIRST,
        *parts[8:16],
        {"$punctuation": "[ts < 16]"},
        ALTER_SECOND,
        *parts[16:],
        {"$punctuation": "[]"},
    ]
