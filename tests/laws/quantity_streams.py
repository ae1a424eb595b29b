"""Random streams whose accents and punctuations compare quantities."""

from __future__ import annotations

from random import Random

from tests.kit.paper import paper_number
from tests.kit.stream import Item

CONSTANTS = {
    "t": ["0 degC", "20 degC", "300 kelvin", "50 degF", "1 degC", "33.8 degF", '500 "[degR]"', "-5.5 degC"],
    "p": ["100 kPa", "990 hPa", "100000 Pa", "30 inHg", "1013.25 hPa", "0.29 kPa"],
    "n": ["5 s", "0.2 minute", "20 seconds"],
}
CHANGES = {
    "t": ["alter(t, y -> (y - 32) * 5/9)", "alter(t, y -> y + 273.15)", "alter(t, y -> y * 2 + 1)"],
    "p": ["alter(p, y -> y * 100)", "alter(p, y -> y / 2)"],
}
PLAIN = ["s = 1", "q = 1", "s != 2", "t < 300", "p in [900, 1100)"]


def condition(rng: Random, name: str) -> str:
    first, second = rng.sample(CONSTANTS[name], 2)
    return rng.choice(
        [
            f"{name} {rng.choice(['<', '<=', '>', '>=', '=', '!='])} {first}",
            f"{name} in {{{first}, {second}}}",
            f"{name} in [{first},)",
            f"{name} in (,{first}]",
        ]
    )


def stream(rng: Random) -> list[Item]:
    items: list[Item] = []
    for number in range(30):
        kind = rng.random()
        if kind < 0.3:
            name = rng.choice(["t", "p"])
            others = [other for other in ("t", "p", "n") if other != name]
            conditions = [condition(rng, other) for other in rng.sample(others, rng.randint(0, 2))]
            conditions += [text for text in rng.sample(PLAIN, rng.randint(0, 1)) if not text.startswith(name)]
            items.append({"$accent": f"[[{', '.join([*conditions, rng.choice(CHANGES[name])])}]]"})
        elif kind < 0.36:
            conditions = [condition(rng, rng.choice(["t", "p", "n"])) for _ in range(2)]
            items.append({"$punctuation": f"[{', '.join([*conditions, rng.choice(PLAIN)])}]"})
        else:
            t, p = (
                rng.choice([-4.0, 0.0, 20.0, 32.0, 33.8, 68.0, 300.0, paper_number(rng)]),
                rng.choice([1000.0, 990.0, 29.5, 60000.0, 1013.25, 101325.0, 2.9]),
            )
            items.append({"n": number, "s": rng.randint(1, 3), "q": rng.randint(1, 2), "t": t, "p": p})
    return items
