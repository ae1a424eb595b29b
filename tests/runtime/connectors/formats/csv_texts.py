"""Odd and random records of CSV."""

from __future__ import annotations

from random import Random

from cedilla.runtime.connectors.records import csv_records
from tests.runtime.connectors.formats.text_rows import TYPES

ODD = {
    "i": [
        "1",
        "-7",
        "+5",
        "007",
        "0x1F",
        "2147483648",
        "5.0",
        "-5.000",
        "5.",
        "5.5",
        "0x1F.0",
        '"5.0"',
        "1e3",
        " 5",
        "5 ",
        '"5"',
        '""',
        "-0",
        "NaN",
        "٣",
    ],
    "l": ["9223372036854775807", "9223372036854775808", "-1", "0XFF", "1_000", '"1,000"', "\t3", "1" * 30],
    "d": [
        "1.5",
        ".5",
        "5.",
        "NaN",
        "nan",
        "inf",
        "Infinity",
        "-Infinity",
        "+Infinity",
        "-INF",
        "INF",
        " NaN",
        "1e999",
        "1e-400",
        "0x1p3",
        "-nan",
        "-0",
        "infinity",
        "1e",
        "--1",
        "12345678901234567890",
        "0.1",
        '"2"',
        "1f",
        "0x10",
    ],
    "m": [
        "1.25",
        "1.250",
        "1.255",
        '"1.25"',
        "12345.67",
        "9999.99",
        "9999.999",
        "1e2",
        '"1,000"',
        ".5",
        "5.",
        "+1",
        " 1",
        "NaN",
        "0x1",
    ],
    "s": [
        "a",
        '"a,b"',
        '"a ""b"""',
        '"x\ny"',
        '""',
        " a ",
        "007",
        "true",
        "5",
        '5" pipe',
        'a"b',
        "é",
        "$x",
        "1.50",
    ],
    "b": ["true", "false", "True", "FALSE", "1", "0", "tRUE", " true", '"true"', "yes", "TRUE "],
    "at": [
        "2020-01-02T03:04:05Z",
        "2020-01-02",
        "2020-01-02T03:04",
        "2020",
        "today",
        "0000-01-01T00:00:00Z",
        "2020-01-02T03:04:05+01:00",
        " 2020-01-02",
        "2020-02-30",
        "2020-01-02T03:04:05.1234567Z",
        '"2020-01-02"',
    ],
    "day": ["2020-01-02", "2020-1-2", "20200102", "0001-01-01", "2020-01-02T00:00:00Z", "2020-01-02 ", "5"],
}


SPOILT = ['"open', '"a"b', '"a" ', "a,b", "a;b", "a\tb", '"', '"""', "\udc80", '"x\r\ny"', "a\rb"]
NONE = ["NA", '"NA"', "-", '"a,""NA"",b"', '"x;""-"";"']
"""Words for an undefined value, and texts that contain one."""


def record(chance: Random, odd: float, separator: str) -> str:
    fields = []
    for texts in ODD.values():
        roll = chance.random()
        if roll < odd / 8:
            fields.append(chance.choice(SPOILT))
        elif roll < odd:
            fields.append(chance.choice([*texts, *NONE]))
        else:
            fields.append(chance.choice(["", texts[0]]))
    if chance.random() < odd / 8:
        fields = fields[: chance.randrange(1, 9)]
    return separator.join(fields)


def text_of(chance: Random) -> bytes:
    odd, separator = chance.choice([0, 0.02, 0.3]), chance.choice(csv_records.SEPARATORS)
    end = chance.choice(["\n", "\n", "\r\n", "\r"])
    lines = [
        record(chance, odd, separator) if chance.random() > 0.05 else chance.choice(["", " \t"])
        for _ in range(40)
    ]
    text = end.join([separator.join(TYPES), *lines[: chance.randrange(41)]]) + chance.choice(["", end])
    return chance.choice([b"", csv_records.MARK]) + text.encode("utf-8", "surrogateescape")
