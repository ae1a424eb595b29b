"""Units of scalar functions: the unit that each expects of its arguments, and that of its result."""

from __future__ import annotations

from fractions import Fraction

from cedilla.compiler.expressions.units.units import NUMBER, RADIAN
from cedilla.grammar.syntax import SECOND

DEGREE = "degree"

KEPT = {
    *("abs", "floor", "ceil", "ceiling", "round", "bround", "rint"),
    *("element_at", "list_avg", "list_min", "list_max"),
    *("int", "long", "bigint", "double", "decimal"),
}
"""Functions whose result has the unit of their first argument."""
ALIKE = {"greatest", "least", "coalesce", "ifnull", "nvl", "hypot", "mod", "pmod", "nullif"}
CHOSEN = {"nvl2", "if"}
"""Functions that return one of their arguments, all in one unit; those of `CHOSEN` after the first."""
_ANGLES = {"sin", "cos", "tan"}
_INVERSE = {"asin", "acos", "atan"}
_PURE = {"exp", "expm1", "ln", "log", "log10", "log2", "log1p", "sinh", "cosh", "tanh"}
READ_IN = {
    **dict.fromkeys(_ANGLES, RADIAN),
    **dict.fromkeys((*_INVERSE, *_PURE), NUMBER),
    "degrees": RADIAN,
    "radians": DEGREE,
    "timestamp_seconds": SECOND,
    "timestamp_millis": "millisecond",
    "timestamp_micros": "microsecond",
}
"""Functions that read their arguments in one unit, if these have any."""
GIVEN = {**dict.fromkeys((*_INVERSE, "atan2", "radians"), RADIAN), "degrees": DEGREE}
"""Functions whose result has a unit of its own."""
ROOTS = {"sqrt": Fraction(1, 2), "cbrt": Fraction(1, 3)}
POWERS = {"pow", "power"}
