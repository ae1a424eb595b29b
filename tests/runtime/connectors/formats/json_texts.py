"""Random lines of JSON, more or less odd."""

from __future__ import annotations

from random import Random

from cedilla.compiler.expressions.types import Type
from cedilla.runtime.connectors.formats.lines.blocks import Block

TYPES = {
    "ts": Type("long"),
    "i": Type("int"),
    "s": Type("string"),
    "x": Type("double"),
    "b": Type("boolean"),
    "d": Type("decimal", (10, 2)),
    "at": Type("timestamp"),
    "day": Type("date"),
}
NUMBERS = [
    "1",
    "-5",
    "0",
    "-0",
    "1.50",
    "5.0",
    "-7.000",
    "50e-1",
    "5e0",
    "2147483648.0",
    "9007199254740993.0",
    "0.0000000000000000001",
    "1e5",
    "-1E-7",
    "9223372036854775807",
    "9223372036854775808",
    "1e400",
]
WORDS = ["NaN", "Infinity", "-Infinity", "Inf", "-Inf", "-NaN", "nan", "+INF", "null", "true", "false"]
STRINGS = [r'"a"', r'""', '"\u00e4\\n"', r'"\ud83d\ude00"', r'"\ud83d"', r'"NaN"', r'"7"', '"\x01"', r'"\""']
NESTED = ["{}", "[]", '{"x": [1, {"y": NaN}]}', "[" * 30 + "]" * 30]
MOMENTS = [
    '"2020-01-02T03:04:05Z"',
    '"2020-01-02 03:04:05.123456"',
    '"2020-02-30T00:00:00Z"',
    '"0000-01-01T00:00:00Z"',
    '"2020-01-02T03:04:05+02:00"',
    '"2020-01-02"',
    '"T05"',
    '"2020-01-02T03:04Z"',
    '"2020-01-02T24:00:00Z"',
    '"2020-01-02T03:04:60Z"',
    '"0001-01-01T00:00:00Z"',
    '"9999-12-31T23:59:59.999999Z"',
    '"2020-01-02T03:04:05.1234567Z"',
    '"1582-10-10"',
    '"2020-01-02T03:04:05ZZ"',
]
DECIMALS = [
    "1.25",
    '"1.25"',
    "1.255",
    '"1,000.5"',
    "99999999.99",
    "100000000",
    "1e2",
    "-0.005",
    "1e-400",
    "1E+9",
]
ANY = [*NUMBERS, *WORDS, *STRINGS, *NESTED, *MOMENTS, *DECIMALS]
GOOD = {
    "ts": ["1", "-5", "null", "9223372036854775807", "-0", "5.0", "5e0", "9007199254740993.000"],
    "i": ["1", "2147483647"],
    "s": ['"a"', '"\u00e4\\n"', r'"\ud83d\ude00"', "7", "true", "null"],
    "x": ["1.5", "-0", "1e5", "NaN", "Infinity", "-Infinity", "0.1", "1" + "0" * 30],
    "b": ["true", "false"],
    "d": ["1.25", "1.250", "-99999999.99", "1e2", "null"],
    "at": [MOMENTS[n] for n in (0, 1, 4, 5, 10, 11)],
    "day": ['"2020-01-02"', '"1582-10-10"'],
}
ODD = [
    "null",
    "[]",
    "x",
    "{",
    "}",
    '{"ts":\n1}{"ts":2}',
    '{"ts":\n[1]}\n{"b":2}',
    '{"ts": 1}null{"ts": 2}',
    "\xff",
]


def line_of(chance: Random, odd: float) -> str:
    names = chance.sample(list(TYPES), chance.randrange(4))
    values = {n: chance.choice(ANY if chance.random() < odd else GOOD[n]) for n in (*names, "i", "ts")}
    text = ", ".join(f'"{name}": {value}' for name, value in values.items())
    line = f"{{{text}}}"
    if chance.random() > odd / 4:
        return chance.choice([line, line, line, f" {line}\t"])
    return chance.choice(
        [*ODD, line + line, f"{line} null {line}", line[:-1], f"{line}5", f'{{"i": 1, {text}}}']
    )


def block_of(chance: Random, odd: float) -> Block:
    lines = [line_of(chance, odd) for _ in range(chance.choice([1, 2, 3, 17, 40]))]
    text = "\n".join(lines).encode("latin-1", "backslashreplace")
    return Block(text.replace(b"\n", b"\r\n") if chance.random() < 0.1 else text, 7)
