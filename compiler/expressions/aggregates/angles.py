"""The circular mean as SQL templates: of 350 and 10 degrees it is 0, where `avg` gives 180.

Sines and cosines are added as whole numbers of 10^-12, so that the sum does not depend on the order of the values. The
result is rounded to a 360,000,000,000th of the circle, a billionth of a degree. `{k}`: the full circle.
"""

from __future__ import annotations

from cedilla.compiler.expressions.aggregates.aggregate_parts import let

UNIT = 10**12
"""Sines and cosines are added in units of 1 / UNIT."""
STEPS = 360 * 10**9
"""The number of directions of a result."""
MIN_LENGTH = 10**-6
"""A mean vector shorter than this share of the radius has no direction."""
TURN = 6.283185307179586

_CIRCLE = "CAST({k} AS DOUBLE)"
_FINITE = "IF(abs({real}) < double('Infinity'), {real}, NULL)"
_ANGLE = f"({_FINITE} % {_CIRCLE}) / {_CIRCLE} * {TURN}D"


def _sum(function: str) -> str:
    return f"sum(CAST(CAST(rint({function}({_ANGLE}) * {UNIT}D) AS BIGINT) AS DECIMAL(38, 0)))"


PARTIALS = {
    "sin": _sum("sin"),
    "cos": _sum("cos"),
    "n": "count({x})",
    "odd": "count_if(NOT abs({real}) < double('Infinity'))",
}
OF_DECIMALS = {
    n: text.replace("{real}", "CAST(CAST({x} AS STRING) AS DOUBLE)") for n, text in PARTIALS.items()
}
"""For the nearest doubles of decimals: engines cast large ones to neighbours, which are other angles."""
MERGE = {part: f"sum(`{{p}}${part}`)" for part in PARTIALS}
_SIN, _COS = (f"CAST(`{{p}}${part}` AS DOUBLE)" for part in ("sin", "cos"))
_DIRECTION = let(
    f"CAST(floor(atan2({_SIN}, {_COS}) / {TURN}D * {STEPS}D + 0.5D) AS BIGINT)",
    "d",
    f"CAST(IF(d < 0, d + {STEPS}L, d) AS DOUBLE) * {_CIRCLE} / {STEPS}D",
)
_SHORTEST = f"CAST(`{{p}}$n` AS DOUBLE) * {MIN_LENGTH * UNIT}D"
FINISH = (
    "CASE WHEN coalesce(`{p}$n`, 0) = 0 THEN NULL WHEN `{p}$odd` > 0 THEN double('NaN') "
    f"WHEN sqrt({_SIN} * {_SIN} + {_COS} * {_COS}) < {_SHORTEST} THEN NULL ELSE {_DIRECTION} END"
)
