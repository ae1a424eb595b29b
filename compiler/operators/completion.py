"""Groups that no tuple came to: of a window, and of the members of finite domains (theory D1, N1).

The row of such a group is due when the group closes. So the rows depend on what is closed in the end, and not on where
epochs are cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil, prod

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import STRING
from cedilla.compiler.facts.facts import Facts, closed_for_readers
from cedilla.compiler.operators.window import Window
from cedilla.compiler.regions import ANYTHING, Bound, Domain, Tree, Universe, Value
from cedilla.compiler.regions.affine import Affine
from cedilla.compiler.regions.spans import Span as Range
from cedilla.compiler.regions.spans import spans
from cedilla.grammar.diagnostics import DiagnosticError, Span, failure
from cedilla.grammar.syntax.classes import lean

MOST = 1_000_000
"""The rows that one epoch may complete: a punctuation that closes years of seconds by mistake is found."""
_LISTED = ("int", "long", "string")


@lean
class Run:
    """The windows of numbers from `first` up to `end`, each for every combination of some values of the keys."""

    first: int
    end: int
    values: Mapping[str, Sequence[Value]]

    @property
    def size(self) -> int:
        return (self.end - self.first) * prod(map(len, self.values.values()))


@lean
class Completion:
    """The windows that have a row for each member of the domains: those that begin from `begin` on, and before `end`.

    `texts`: both as the query states them. Values are of the window's axis: microseconds for timestamps.
    """

    window: Window
    begin: int
    end: int | None
    texts: tuple[str, ...]

    @property
    def text(self) -> str:
        return " to ".join(self.texts)

    def arguments(self) -> dict[str, str]:
        """Returns what programs and `explain` state of it."""
        return dict(zip(("from", "to"), self.texts, strict=False))

    def keys(self, by: Iterable[str]) -> list[str]:
        """Returns the attributes of a group that do not tell windows apart."""
        return [name for name in by if name not in self.window.names]

    def check(self, by: Sequence[str], source: Facts, span: Span | None) -> None:
        """Raises RQ590 without a name of the window, RQ591 for a key without a finite domain, RQ593 for too many
        members."""
        keys = self.keys(by)
        if len(keys) == len(by):
            raise not_by_window(self.window.names, by, span)
        domains = [source.universe.get(name, ANYTHING) for name in keys]
        for name, domain in zip(keys, domains, strict=True):
            type_ = source.types[name]
            if type_.name not in _LISTED or not (domain.listed or _is_finite(domain, name)):
                message = f"`complete` needs the members of `{name}`, and it has no finite domain"
                some = '{"a", "b"}' if type_ == STRING else "{1, 2}"
                hint = f"declare one: `{name}: {type_} in {some}`, or `in devices.{name}` of a table"
                if type_.name not in _LISTED:
                    message = f"`complete` lists whole numbers and strings, and `{name}` is {type_}"
                    hint = f"`extend` computes one: `extend[string({name}) as {name}_text](R)`"
                raise failure("RQ591", message, span, hint=hint)
        read = [_members(d, n) for n, d in zip(keys, domains, strict=True) if not d.listed]
        _check_size(prod(map(len, read)), span)

    def runs(self, by: Sequence[str], before: Facts, after: Facts, span: Span | None = None) -> list[Run]:
        """Returns the groups that an epoch closes; `before`, `after`: the facts of the aggregate.

        A member that a domain gains has no group of what was closed for all members then (theory N1). Raises RQ593 if
        they are too many, RQ594 if no `end` says which window is the last.
        """
        if after.closed is before.closed:
            return []
        closed = closed_for_readers(before.closed, before.universe)
        newly = regions.difference(after.closed, closed)
        runs = [
            run
            for box, is_closed in regions.boxes(newly)
            if is_closed
            for run in self._runs(box, by, after.universe, span)
        ]
        _check_size(sum(run.size for run in runs), span)
        return runs

    def _runs(
        self, box: Mapping[str, Tree], by: Sequence[str], universe: Universe, span: Span | None
    ) -> Iterator[Run]:
        values = {name: _members(universe[name], name, box.get(name, True)) for name in self.keys(by)}
        if not all(values.values()):
            return
        ranges: list[tuple[int, int | None]] = [self._numbers]
        for name in self.window.names:
            if name in box:
                shown = [self._numbers_of(name, one) for one in spans(box[name], integral=True)]
                ranges = [_both(one, other) for one in ranges for other in shown]
        for first, end in ranges:
            if end is None:
                message = (
                    f"all windows are closed, or all those of a member, and `{self.text}` names no last one"
                )
                hint = f"say which window is the last: `complete from {self.text} to ...`"
                raise failure("RQ594", message, span, hint=hint)
            if first < end:
                yield Run(first, end, values)

    @property
    def _numbers(self) -> tuple[int, int | None]:
        """The numbers of the windows with rows."""
        first = self._first_from(self.begin)
        end = None if self.end is None else self._first_from(self.end)
        if self.window.calendar is None:
            return first, end
        least, greatest = self.window.calendar.ends
        return max(first, least), None if end is None else min(end, greatest)

    def _first_from(self, value: int, offset: int | Fraction = 0) -> int:
        """Returns the number of the first window whose begin, plus an offset, is at a value or later."""
        if self.window.calendar is not None:
            return self.window.calendar.first_from(value)
        return ceil((value - offset) / self.window.step)

    def _numbers_of(self, name: str, of: Range) -> tuple[int | None, int | None]:
        """Returns the numbers of the windows with a value of one of their names between two cuts before whole
        numbers."""

        def number(cut: Bound | None) -> int | None:
            if cut is None:
                return None
            bound = self.window.bounds.get(name)
            if bound is None:
                return regions.ceiling(cut)
            if isinstance(bound, Affine):
                return self._first_from(regions.ceiling(cut), bound.shift)
            return self._first_from(regions.ceiling(cut)) - bound.offset

        return number(of[0]), number(of[1])


def not_by_window(names: Sequence[str], by: Sequence[str], span: Span | None) -> DiagnosticError:
    """Returns RQ590 for groups by no name of the window below, or without a window below, which has no `names`."""
    if names:
        message = f"`complete` needs the window in `by`: {', '.join(f'`{n}`' for n in names)}"
        return failure("RQ590", message, span, hint=f"`by {', '.join((names[0], *by))}`")
    hint = "`aggregate[... by w, k complete from 0](window[10 on ts as w](R))`; tuples are selected below"
    message = "`complete` needs a window as its input, because only windows say which groups there are"
    return failure("RQ590", message, span, hint=hint)


def check_axis(window: Window, span: Span | None) -> None:
    """Raises RQ590 unless the bounds of windows are whole numbers on their axis."""
    if window.on_type.is_integral and (
        window.calendar is not None or Affine(window.step, window.length).is_whole
    ):
        return
    message = f"`complete` needs windows of whole lengths on whole numbers or timestamps, `{window.on}` is "
    hint = f"`extend[long({window.on}) as {window.on}_whole](R)` below the window"
    raise failure("RQ590", f"{message}{window.on_type}", span, hint=hint)


def _both(one: tuple[int, int | None], other: tuple[int | None, int | None]) -> tuple[int, int | None]:
    first = one[0] if other[0] is None else max(one[0], other[0])
    ends = [end for end in (one[1], other[1]) if end is not None]
    return first, min(ends, default=None)


def _is_finite(domain: Domain, name: str) -> bool:
    if domain.is_list:
        return True
    ranges = spans(regions.intersection(domain.members, regions.defined(name)), integral=domain.integral)
    return domain.integral and all(low is not None and high is not None for low, high in ranges)


def _members(domain: Domain, name: str, within: Tree = True) -> Sequence[Value]:
    """Returns the members of a finite domain, within a set of values, in their order."""
    inside = regions.intersection(domain.members, within)
    if not isinstance(inside, regions.Level):
        return ()
    if domain.is_list:
        return sorted(value for value, hit in inside.points.items() if hit)  # type: ignore[type-var]
    ranges = [
        range(int(low[0]), int(high[0]))  # type: ignore[arg-type]
        for low, high in spans(inside, integral=True)
        if low is not None and high is not None
    ]
    if (size := sum(map(len, ranges))) > MOST:  # which are not listed, but counted
        return range(size)
    return [value for values in ranges for value in values]


def _check_size(size: int, span: Span | None) -> None:
    if size > MOST:
        message = f"`complete` would write {size:,} rows at once, and the most are {MOST:,}"
        hint = "longer windows, a later `from`, fewer members; or a punctuation went too far ahead"
        raise failure("RQ593", message, span, hint=hint)
