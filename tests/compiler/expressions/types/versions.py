"""Random versions, many of them alike."""

from __future__ import annotations

from random import Random


def random_version(chance: Random) -> str:
    numbers = [
        chance.choice(["0", "1", "2", "9", "10", "00", "01", "100"]) for _ in range(chance.randint(1, 4))
    ]
    text = chance.choice(["", "", "v", "V"]) + ".".join(numbers)
    if chance.random() < 0.4:
        parts = [
            chance.choice(["0", "1", "2", "11", "rc", "rc1", "a", "a-b", "-", "alpha", "B"]) for _ in range(3)
        ]
        text += f"-{'.'.join(parts[: chance.randint(1, 3)])}"
    return text + chance.choice(["", "", "", "+5", "+b-1.2"])
