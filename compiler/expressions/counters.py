"""The increase of a counter that may begin again at zero, and may report a low value for a moment.

A fall says nothing yet: its tuple has increase 0, and the next other reading decides. If that reaches the reading
before the fall, the low value was a glitch and does not count. Else the counter began again at zero, and all of it is
increase. A reading equal to the one before says nothing new: a meter that is off may read 0 for hours.
"""

from __future__ import annotations

from cedilla.compiler.expressions.expressions import written
from cedilla.grammar.syntax import Attribute, Expression

_INCREASE = """
case when value = before then 0
     when value < before and before < earlier then before
     when value < before then 0
     when before < earlier and value < earlier then value
     when before < earlier then value - earlier
     else value - before end
"""


def increase(
    value: Expression, before: Attribute, earlier: Attribute, temporality: Expression | None = None
) -> Expression:
    """Returns the increase up to a reading, undefined for the first one (theory N14).

    `before`: the reading before; `earlier`: the last other one before that. `temporality`: that of the tuple; the value
    of `delta` is its increase, and only `cumulative` ones are readings.
    """
    increased = written(_INCREASE, value.span, value=value, before=before, earlier=earlier)
    if temporality is None:
        return increased
    of_each = 'case when kind = "delta" then value when kind = "cumulative" then increased end'
    return written(of_each, value.span, kind=temporality, value=value, increased=increased)


def when_cumulative(value: Expression, temporality: Expression) -> Expression:
    """Returns a value if it is a reading of a counter."""
    return written('case when kind = "cumulative" then value end', value.span, kind=temporality, value=value)
