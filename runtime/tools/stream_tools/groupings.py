"""Chooses the attributes for the groups of `cedilla suspect`: each one by itself, then some together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations, groupby
from statistics import fmean

from attrs import define, field

from cedilla.compiler.changes import Add
from cedilla.compiler.facts.markers import Accent
from cedilla.compiler.plan import Source
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.grammar.diagnostics.printable import counted
from cedilla.runtime.connectors.records.lines import Line
from cedilla.runtime.control.change_detection.groups import described_by, time_axis
from cedilla.runtime.control.change_detection.series import LEAST
from cedilla.runtime.tools.stream_tools.schema import Schema
from cedilla.runtime.tools.stream_tools.stream_checker import Row, StreamChecker
from cedilla.runtime.tools.stream_tools.suspect import Suspect, Suspects

_MAX_CANDIDATES = 3
"""They make seven groupings."""


def groupings_of(source: Source) -> list[tuple[str, ...]]:
    """Returns the groupings to try, in order: by each attribute that accents may describe, and by some of them
    together. For example by `shop`, by `status`, and by both."""
    likely = described_by(source)
    kinds = ("string", "boolean")
    others = [a.name for a in source.attributes if a.type.name in kinds and a.name not in likely]
    candidates = [*likely, *others][:_MAX_CANDIDATES]
    products = (combinations(candidates, size) for size in range(1, len(candidates) + 1))
    return [*chain.from_iterable(products)] or [()]


@define
class Search:
    """Looks for suspects of one stream in several groupings at once.

    `passed_over`: invalid lines, for which `validate` gives the reasons; `too_fine`: groupings with too many groups.
    """

    schema: Schema
    groupings: Sequence[tuple[str, ...]]
    tuples: int = 0
    passed_over: int = 0
    too_fine: list[tuple[str, ...]] = field(factory=list[tuple[str, ...]])
    _all: list[Suspects] = field(factory=list[Suspects])

    def of(self, lines: Iterable[Line]) -> Iterator[Suspect]:
        """Yields the suspects of a stream: of one grouping each as soon as it becomes certain, of several at the end,
        each in the grouping that explains it best.

        Raises `DiagnosticError`: RQ228 if there are too many groups in every grouping.
        """
        axis = time_axis(self.schema.source)
        self._all = [Suspects(self.schema, by, axis) for by in self.groupings]
        if len(self._all) == 1:
            for suspect, _ in self._suspects(lines):
                yield suspect
            return
        yield from chosen(list(self._suspects(lines)))

    def text(self, name: str, count: int) -> str:
        """Summarises the examined stream in one line."""
        counts = [
            counted(own.count, "sequence") if own is self._all[0] else f"{own.count:,}" for own in self._all
        ]
        groups = [
            f"{n}{f' by {_and(own.by)}' if own.by else ''}" for n, own in zip(counts, self._all, strict=True)
        ]
        by = ", ".join(groups)
        fine = (
            f"; not by {', nor by '.join(map(_and, self.too_fine))}: too many groups" if self.too_fine else ""
        )
        short = self._short()
        wrong = f"; {self.passed_over:,} lines passed over (`cedilla validate`)" if self.passed_over else ""
        return (
            f"{name}: {counted(count, 'suspect')} ({counted(self.tuples, 'tuple')}; {by}{short}{fine}{wrong})"
        )

    def _short(self) -> str:
        """Says how many sequences of the first grouping have too few values for any jump to be seen."""
        own = self._all[0]
        if not own.too_short:
            return ""
        long_enough = own.count - own.too_short
        return f"; {long_enough:,} of them with the {LEAST} values that it takes to see a jump"

    def _suspects(self, lines: Iterable[Line]) -> Iterator[tuple[Suspect, Suspects]]:
        follower = StreamChecker(self.schema)
        for line in (single for many in lines for single in many.singles):
            before = follower.state
            item, _ = follower.take(line)
            if isinstance(item, Accent) and isinstance(item.primitive, Add):
                for own in self._all:
                    for suspect in own.begin_anew(follower, item.primitive.attribute, before):
                        yield suspect, own
            if isinstance(item, Row):
                self.tuples += 1
                for own in tuple(self._all):
                    try:
                        for suspect in own.row(follower, item, line):
                            yield suspect, own
                    except DiagnosticError:  # RQ228: the coarser ones may do
                        if len(self._all) == 1:
                            raise
                        self._leave_out(set(own.by))
            elif item is None:
                self.passed_over += 1
        for own in self._all:
            for suspect in own.end(follower):
                yield suspect, own

    def _leave_out(self, fine: set[str]) -> None:
        """Ends the groupings by attributes that make too many groups, alone or with further ones."""
        left_out = [own for own in self._all if fine <= set(own.by)]
        self.too_fine += [tuple(own.by) for own in left_out]
        self._all = [own for own in self._all if not fine <= set(own.by)]


def _and(names: Sequence[str]) -> str:
    return " and ".join(names)


def chosen(found_by: Sequence[tuple[Suspect, Suspects]]) -> list[Suspect]:
    """Returns the suspects of the grouping that explains each kind of change best: the surest, of these the fewest.

    A change of one shop is one jump by shop, one for each status by both, and a blurred one, if any, by status.
    """
    result: list[tuple[int, Suspect]] = []
    numbered = sorted(enumerate(found_by), key=lambda entry: _change(entry[1][0]))
    for _, group in groupby(numbered, key=lambda entry: _change(entry[1][0])):
        of_groupings: dict[int, list[tuple[int, Suspect]]] = {}
        for number, (suspect, own) in group:
            of_groupings.setdefault(id(own), []).append((number, suspect))
        result += min(of_groupings.values(), key=_doubt)
    return [suspect for _, suspect in sorted(result, key=lambda entry: entry[0])]


def _change(suspect: Suspect) -> tuple[str, str]:
    return suspect.attribute, suspect.jump.name


def _doubt(suspects: Sequence[tuple[int, Suspect]]) -> tuple[float, int]:
    return -round(fmean(suspect.jump.confidence for _, suspect in suspects), 1), len(suspects)
