"""Random values of JSON, oddly written."""

from __future__ import annotations

from random import Random

BLANKS = ["", "", "", " ", "  ", "\t"]
STRINGS = ['"a"', '""', '"\\u00e4\\n \u00e4"', '"\\ud83d\\ude00"', '"\\ud83d"', '"x\\ude00\\ud83d"', '"-INF"']
WORDS = ["NaN", "Infinity", "-Infinity", "+Infinity", "INF", "-INF", "+INF", "nan", "-NaN", "+1", "-INFx"]
NUMBERS = ["0", "-0", "1.50", "1e5", "-1E-7", "1.79e400", "-1e400", "1" + "0" * 400, "12345678901234567890.5"]


def json_value(chance: Random, depth: int = 3) -> str:
    """The text of a JSON value, oddly written; now and then of none."""
    match chance.randrange(7 if depth else 4):
        case 0:
            return chance.choice([*NUMBERS, "true", "false", "null"])
        case 1:
            return chance.choice(WORDS)
        case 2:
            return chance.choice(STRINGS)
        case 3:
            return f'"{chance.choice([*NUMBERS, *WORDS])}"'
        case 4:
            fields = [
                f"{chance.choice(STRINGS)}{chance.choice(BLANKS)}:{json_value(chance, depth - 1)}"
                for _ in range(chance.randrange(3))
            ]
            return f"{{{chance.choice(BLANKS)}{', '.join(fields)}}}"
        case 5:
            values = [json_value(chance, depth - 1) for _ in range(chance.randrange(4))]
            return f"[{chance.choice(BLANKS).join(['', ','.join(values), ''])}]"
        case _:
            return f"{chance.choice(BLANKS)}{json_value(chance, depth - 1)}{chance.choice(BLANKS)}"
