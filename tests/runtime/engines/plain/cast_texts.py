"""Texts that are cast, and their mutations."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from typing import Any

from cedilla.grammar.parser import parse_expression
from cedilla.runtime.engines.plain.evaluate import evaluate

NUMBERS = [
    *(
        "12",
        "+12",
        "-12",
        " 12 ",
        "\t12\r\n",
        "007",
        "0" * 50 + "7",
        "1.5",
        "5.0",
        "5.",
        ".5",
        "1e3",
        "+.5e-3",
    ),
    *("1e400", "-1e400", "1e-400", "inf", "-INF", "Infinity", "+infinity", "-0", "2147483648", "-2147483648"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "1" * 400),
]

NO_NUMBERS = [
    *("", " ", "+", "-", ".", "1e", "e5", "1 2", "1_000", "1,000", "0x10", "0x1p3", "1d", "1f", "1L", "1.5D"),
    *(
        "nan",
        "NaN",
        "infinit",
        "٣",
        "२.५",
        "１２",
        "²",
        "\u00a012",
        "12\u3000",
        "\v12",
        "\f12",
        "\x0012",
        "12\x1f",
    ),
    *("12\x7f", "12\x85", "12\u2028", "1e٣", "\u202812", "++1", "1e+-3", "1.2.3", "null"),
]

WORDS = [
    *(
        "t",
        "TRUE",
        "Yes",
        "y",
        "1",
        "f",
        "False",
        "no",
        "N",
        "0",
        " true\n",
        "\vtrue",
        "ｔｒｕｅ",
        "true\u00a0",
    ),
    *("on", "2", "ye", "ﬀalse", "NO\x85"),
]

ODD_MOMENTS = [
    *("2020-01-01T00:00:00 Europe/Berlin", "2020-01-01T00:00:00+19:00", "2020-01-01T00:00:00.1234567890123Z"),
    *("12020-01-01T00:00:00Z", " 2020-01-02T03:04Z\n", "\u00a02020-01-02", "２０２０-01-01", "2020-01-02\v"),
    *("2021-02-29", "2021-02-29T00:00:00Z", "9999-12-31T23:59+00:00", "9999-12-31T23:59:59.9-00:01"),
    *("0001-01-01T00:00:00.000000999Z", "1960-01-01T00:00:00.999999999Z", "9999-12-31T23:59:59.999999999Z"),
    *("0001-01-01T17:59:59+18:00", "0001-01-01T18:00:00+18:00", "9999-12-31T05:59:59-18:00"),
    *("9999-12-31T06:00:00-18:00", "2020-01-02T03:04:05\x85", "2020-01-02\u2028", "1900-02-29", "2000-02-29"),
]

TEXTS = [*NUMBERS, *NO_NUMBERS, *WORDS, *ODD_MOMENTS]


def mutations(count: int) -> list[str]:
    """Texts of the table with a sign or two that are others."""
    chance, mutated = Random(3), list[str]()
    for _ in range(count):
        text = list(chance.choice(TEXTS))
        for _ in range(chance.choice([1, 1, 2])):
            start = chance.randrange(len(text) + 1)
            text[start : start + chance.choice([0, 1])] = chance.choice(
                ["", *"0159TZ:-+. eE\t", "٣", "\u00a0"]
            )
        mutated.append("".join(text))
    return mutated


def cast(name: str, text: str) -> Any:
    return evaluate(parse_expression(f"{name}(s)"), {"s": text})


def engine_value(value: Any) -> Any:
    start = datetime(1970, 1, 1, tzinfo=UTC)
    if not isinstance(value, datetime):
        return value
    since = value - start
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
