"""Random files of tuples with markers anywhere."""

from __future__ import annotations

import random

from tests.kit.stream import Item


def mixed_files(seed: int) -> list[list[Item | str]]:
    """Files of tuples, late and bad ones among them, with markers anywhere."""
    chance = random.Random(seed)
    closed = 0
    files: list[list[Item | str]] = []

    def marker() -> Item | str:
        nonlocal closed
        if chance.random() < 0.5:
            closed += 1
            return {"$punctuation": f"[k < {closed}]"}
        accent = f"[[k = {chance.randrange(9)}, alter(t, y -> y * 2)]]"
        return {"$accent": accent} if chance.random() < 0.9 else f'{{"\\u0024accent": "{accent}"}}'

    for _ in range(3):
        items: list[Item | str] = [
            {"k": chance.randrange(9), "t": chance.randrange(40) / 4} for _ in range(30)
        ]
        if chance.random() < 0.5:
            items[chance.randrange(30)] = chance.choice(["no json", {"k": "x", "t": 1.0}, {"t": 1.0}, ""])
        for _ in range(chance.randrange(4)):
            items.insert(chance.randrange(30), marker())
        files.append([*items, *(marker() for _ in range(chance.randrange(3)))])
    return files
