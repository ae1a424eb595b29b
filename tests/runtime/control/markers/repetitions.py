"""Which markers repeat others, by a list for each sensor."""

from __future__ import annotations

import re
from fractions import Fraction

from tests.kit.stream import Item


def naive_repetitions(stream: list[Item]) -> list[int]:
    """Line numbers of alters that repeat one in force for their sensor: per sensor, one after the other."""
    result: list[int] = []
    steps: dict[str, list[tuple[Fraction, Fraction]]] = {}
    closed: set[str] = set()
    for number, item in enumerate(stream, 1):
        if (end := re.match(r"\[s = (\d)\]", str(item.get("$punctuation")))) is not None:
            closed.add(end[1])
        marker = re.match(r"\[\[s = (\d), alter\(t, (.*)\)\]\]", str(item.get("$accent")))
        if marker is None or marker[1] in closed:
            continue
        y0, y1 = (eval(marker[2].replace("y -> ", ""), {"y": Fraction(y)}) for y in (0, 1))
        step, stack = (Fraction(y1 - y0), Fraction(y0)), steps.setdefault(marker[1], [])
        if step in stack:
            result.append(number)
        if stack and stack[-1] == (1 / step[0], -step[1] / step[0]):
            stack.pop()
        else:
            stack.append(step)
    return result
