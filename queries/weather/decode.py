"""Read an output directory of Cedilla together with the accents in it."""

import json
import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from cedilla.grammar.parser import parse_accent
from cedilla.grammar.syntax import (
    AlterAttribute,
    Attribute,
    Binary,
    Comparison,
    Condition,
    Expression,
    Literal,
    RangePattern,
    SetPattern,
    Unary,
)

ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
COMPARISONS = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Alter:
    """An Alter of the output: where `conditions` hold, later values are `slope * v + shift`."""

    attribute: str
    conditions: tuple[Condition, ...]
    slope: Fraction
    shift: Fraction

    def describes(self, row: Mapping[str, Any]) -> bool:
        return all(holds(condition, row.get(condition.attribute)) for condition in self.conditions)

    def __call__(self, value: Fraction) -> Fraction:
        return self.slope * value + self.shift

    def undo(self, value: Fraction) -> Fraction:
        return (value - self.shift) / self.slope


def rows_with_alters(folder: Path) -> Iterator[tuple[dict[str, Any], list[Alter]]]:
    """Every row of the output with the Alters that stand before it and describe it, in their order."""
    alters: list[Alter] = []
    for item in items(folder):
        if "$accent" in item:
            alter = read_alter(item["$accent"])
            alters += [alter] if alter else []
        elif "$punctuation" not in item:
            yield item, [alter for alter in alters if alter.describes(item)]


def items(folder: Path) -> Iterator[dict[str, Any]]:
    """The output stream: the order of the names is the order of the stream."""
    for epoch in sorted(folder.glob("epoch=*")):
        for file in sorted(epoch.glob("*.jsonl")):
            with file.open(encoding="utf-8") as lines:
                yield from map(json.loads, lines)


def holds(condition: Condition, value: Any) -> bool:
    """Whether an attribute's value satisfies a condition; an undefined value satisfies only the wildcard."""
    pattern = condition.pattern
    match pattern:
        case Comparison():
            return value is not None and COMPARISONS[pattern.operator](value, pattern.value.value)
        case SetPattern():
            return value in [constant.value for constant in pattern.values]
        case RangePattern():
            above = operator.ge if pattern.low_closed else operator.gt
            below = operator.le if pattern.high_closed else operator.lt
            return (
                value is not None
                and (pattern.low is None or above(value, pattern.low.value))
                and (pattern.high is None or below(value, pattern.high.value))
            )
        case _:
            return True


def evaluate(expression: Expression, argument: Fraction) -> Fraction:
    """The exact value of an Alter's function; its parameter is the only attribute it can name."""
    match expression:
        case Attribute():
            return argument
        case Literal(value=int() | Fraction() as number):
            return Fraction(number)
        case Unary(operator="-"):
            return -evaluate(expression.operand, argument)
        case Binary() if expression.operator in ARITHMETIC:
            left, right = evaluate(expression.left, argument), evaluate(expression.right, argument)
            return ARITHMETIC[expression.operator](left, right)
    raise ValueError(f"not an arithmetic expression: {expression}")


def read_alter(text: str) -> Alter | None:
    """The Alter in an accent; None for an Add or a Drop, which change no value."""
    accent = parse_accent(text)
    primitive = accent.primitive
    if not isinstance(primitive, AlterAttribute):
        return None
    shift = evaluate(primitive.body, Fraction(0))
    slope = evaluate(primitive.body, Fraction(1)) - shift
    return Alter(primitive.name, accent.description, slope, shift)
