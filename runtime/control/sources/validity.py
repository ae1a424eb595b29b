"""Rules for rejecting tuples by their canonical values, stated once (theory 2.7 G34; RQ302 to RQ305, RQ368, RQ520).

The engine's SQL, the comparison with file statistics and the stream checker are built from them. The plain reference
states them independently, as the oracle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from cedilla.compiler import regions
from cedilla.compiler.expressions.units.own import short
from cedilla.compiler.facts.facts import ABSENT, PRESENT
from cedilla.compiler.plan import Source
from cedilla.compiler.plan.record_fields import is_schema
from cedilla.compiler.regions import Tree
from cedilla.compiler.regions.affine import exact
from cedilla.runtime.connectors.records.rejections import UNKNOWN_SCHEMA
from cedilla.runtime.control.sources.source_state import SourceState


@frozen
class Rejection:
    """A code and the tuples that it rejects: those where `tree` has the leaf `wrong`. With `attribute`, only tuples on
    which it is defined, or undefined if `is_defined` is False.

    The parts are stored separately because trees may be large; the region need not be built for every marker.
    """

    code: str
    tree: Tree
    wrong: Any
    attribute: str = ""
    is_defined: bool = True

    @property
    def region(self) -> Tree:
        """Returns the tuples that are rejected."""
        where = regions.map_leaves(self.tree, lambda leaf: leaf is self.wrong)
        if not self.attribute:
            return where
        defined = regions.defined(self.attribute)
        return regions.intersection(where, defined if self.is_defined else regions.complement(defined))

    def rejects(self, row: Mapping[str, Any]) -> bool:
        """Returns True if a tuple is rejected. `row`: its defined canonical values, as regions represent them."""
        is_one = not self.attribute or (self.attribute in row) is self.is_defined
        return is_one and regions.contains(self.tree, row) is self.wrong


def rejections(
    source: Source, state: SourceState, present: Mapping[str, Tree], closed: Tree, now: int | None = None
) -> Iterator[Rejection]:
    """Yields the rejections of a source; the first one that matches a tuple gives the code.

    `present`, `closed`: those of the state, at the position of the tuple (`SourceState.present`) or over all positions
    of a slice (`SourceState.presence`). `now`: the clock, for `ahead`.
    """
    for attribute in source.attributes:
        name = attribute.name
        if not attribute.optional:
            yield Rejection("RQ302", present.get(name, ABSENT), PRESENT, name, is_defined=False)
        if attribute.domain is not None:
            code = UNKNOWN_SCHEMA if is_schema(attribute) else "RQ303"
            yield Rejection(code, state.domain(attribute), False, name)
        if attribute.unit_from is not None:
            of, units = attribute.unit_from
            yield Rejection("RQ311", regions.values(of, [short(unit) for unit in units]), False, name)
    for name in state.types:
        yield Rejection("RQ304", present.get(name, ABSENT), ABSENT, name)
    yield Rejection("RQ305", closed, True)
    if now is not None:
        yield from ahead(source, now)


def ahead(source: Source, now: int) -> Iterator[Rejection]:
    """Yields the rejection of times that are further ahead of a clock than the heartbeat admits. `now`: in
    microseconds since 1970."""
    if (beat := source.heartbeat) is not None and beat.within is not None:
        after = regions.interval(beat.attribute, (exact(now + beat.within), 1), None)
        yield Rejection("RQ368", after, True, beat.attribute)
