"""The increase of a counter that may begin again at zero, and may report a low value for a moment.

A reading with a later start than all before it is of a counter that began again: all of it is increase. Otherwise a
fall says nothing yet: its tuple has increase 0, and the next other reading decides. If that reaches the reading
before the fall, the low value was a glitch and does not count. Else the counter began again at zero, and all of it is
increase. A reading equal to the one before says nothing new: a meter that is off may read 0 for hours.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from cedilla.compiler.expressions.expressions import written
from cedilla.grammar import syntax
from cedilla.grammar.syntax import Attribute, Expression

INCREASE, RATE = syntax.COUNTED
INCREASE_SINCE, RATE_SINCE = (f"{name} {syntax.SINCE}" for name in syntax.COUNTED)
INCREASES = (INCREASE, INCREASE_SINCE)
"""The functions of a counter's readings, without and with the time when it began to count."""

_INCREASE = """
case when value = before then 0
     when value < before and before < earlier then before
     when value < before then 0
     when before < earlier and value < earlier then value
     when before < earlier then value - earlier
     else value - before end
"""


@frozen
class Counter:
    """A counter. `temporality`: that of a tuple; only a `cumulative` tuple is a reading. `start`: the time when it
    began to count."""

    value: Expression
    temporality: Expression | None = None
    start: Expression | None = None

    @classmethod
    def of(cls, function: str, arguments: Sequence[Expression]) -> Counter:
        """Returns the counter of a call of `increase` or `increase since`."""
        if function == INCREASE:
            return cls(*arguments)
        *others, start = arguments
        return cls(*others, start=start)

    @property
    def reading(self) -> Expression:
        """Returns the value, undefined for tuples that are not readings."""
        if self.temporality is None:
            return self.value
        text = 'case when kind = "cumulative" then value end'
        return written(text, self.value.span, kind=self.temporality, value=self.value)

    @property
    def started(self) -> Expression | None:
        """The start of a reading."""
        if self.start is None:
            return None
        text = "case when value is not null then begin end"
        return written(text, self.value.span, value=self.reading, begin=self.start)

    def increase(self, before: Attribute, earlier: Attribute, since: Attribute | None = None) -> Expression:
        """Returns the increase up to a reading, undefined for the first one (theory N14).

        `before`: the reading before; `earlier`: the last other one before that, or a reading that began again; `since`:
        the latest start before. The value of a tuple of temporality `delta` is its increase.
        """
        value, kind, span = self.value, self.temporality, self.value.span
        increased = written(_INCREASE, span, value=value, before=before, earlier=earlier)
        if self.start is not None and since is not None:
            text = "case when begin > since then value else increased end"
            names = {"begin": self.start, "since": since, "value": value, "increased": increased}
            increased = written(text, span, **names)
        if kind is None:
            return increased
        of_each = 'case when kind = "delta" then value when kind = "cumulative" then increased end'
        return written(of_each, span, kind=kind, value=value, increased=increased)
