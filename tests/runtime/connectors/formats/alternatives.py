"""Random lines whose values have one of several names, and the rows that they mean."""

from __future__ import annotations

from random import Random

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.plan.field_paths import EitherPath

TYPES = {"ts": Type("long"), "n": Type("double"), "s": Type("string"), "at": Type("timestamp")}


def either(name: str, *every: tuple[str, ...]) -> EitherPath:
    return EitherPath.of(every, TYPES[name])


FORMS = [
    ("1", "null", "2", '"a"', '"2026-01-02T03:04:05Z"'),
    ('{"n": 1.0}', "1", '{"s": 2}', "2", "null"),
    ('{"n": null, "x": 1}', "1.0", '{"s": null}', '"b"', '"2026-01-02T03:04:05Z"'),
    ("NaN", "NaN", '{"s": "b"}', '"b"', '"2026-01-02T04:04:05+01:00"'),
    ("{}", "2", "5", '"b"', '"noon"'),
    ('"x"', "1", '{"s": 2.0}', "2", '"2026-01-02T03:04:06Z"'),
]


def random_line(chance: Random, odd: float, form: int) -> str:
    def one(at: int) -> str:
        return FORMS[chance.randrange(len(FORMS)) if chance.random() < odd else form][at]

    fields = [("ts", "1"), ("state", one(0)), ("m", one(1)), ("o", one(2)), ("t", one(3)), ("time", one(4))]
    fields.append(("at", one(4)))
    some = [f'"{name}": {value}' for name, value in fields if chance.random() < 0.6 or odd == 0]
    return f"{{{', '.join(some)}}}"


def record_of(chance: Random, odd: float, names: list[str]) -> str:
    moments = ["2026-01-02T03:04:05Z", "2026-01-02T04:04:05+01:00", "", "noon"]

    def field(name: str) -> str:
        usual = {"ts": "1", "time": moments[0], "at": moments[0]}.get(name, "5")
        if chance.random() >= odd:
            return usual
        return chance.choice(moments if name in ("time", "at") else ["", "5.0", "05", "x", "NaN"])

    return ",".join(map(field, names))
