"""Streams of tests of accents."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.kit.stream import Item

KEYS = 700  # more than a tree has in the commit record itself


def epochs_of_accents(rng: random.Random) -> list[list[Item]]:
    """Four files: many accents with tuples among them, one accent, none, and closed keys; then no bad tuple."""
    count = iter(range(10_000))

    def rows(keys: range, **more: float) -> list[Item]:
        return [{"id": next(count), "s": s, "t": float(rng.randrange(-50, 50)), **more} for s in keys]

    first: list[Item] = rows(range(0, KEYS, 50))
    for s in range(KEYS):
        first.append(
            {"$accent": f"[[s = {s}, alter(t, y -> y * {rng.randint(1, 7)} + {rng.randint(1, 9)})]]"}
        )
        if s % 7 == 0:
            first.append({"$accent": f"[[s = {s}, +(p: double)]]"})
            first += rows(range(s, s + 1), p=2.5)
        if s % 100 == 0:
            first += rows(range(max(0, s - 2), s + 3))
    second: list[Item] = rows(range(0, KEYS + 20, 10))
    second += [{"$accent": "[[s = 20, alter(t, y -> y / 4)]]"}, *rows(range(18, 23))]
    third = rows(range(-3, KEYS + 20, 9))
    fourth: list[Item] = [{"$punctuation": f"[s = {s}]"} for s in range(0, KEYS, 2)]
    fourth += rows(range(1, KEYS, 30))
    return [first, second, third, fourth]


def query_over_many(count: int) -> str:
    attributes = ", ".join(f"a{n}: long" for n in range(count))
    return f'stream r(t: double, {attributes}) from json "r"; emit r to json "o";'


def accents_by_attributes(count: int, factor: Callable[[int], int]) -> list[Item]:
    """One for each attribute."""
    return [{"$accent": f"[[a{n} = 1, alter(t, y -> y * {factor(n)})]]"} for n in range(count)]
