"""Proves by file statistics that all tuples of some files are valid, so that no engine needs to check them. The
statistics come from the files, or from parsing them.

Each file is a box: for every attribute, whether values are defined, and their range. If no box meets the region of
rejected tuples, no tuple is rejected (theory 1.1, D0). Values under an Alter are in another unit, so only their
presence counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import partial

from attrs import frozen

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import LARGEST
from cedilla.compiler.plan import Source
from cedilla.compiler.regions import PARTITION, POSITION, Domain, Tree, Universe
from cedilla.compiler.regions.affine import IDENTITY
from cedilla.runtime.connectors.formats.source import FileStatistics, StatisticsByFile
from cedilla.runtime.connectors.records.marker import NEXT_FILE
from cedilla.runtime.connectors.storage.parquet import ColumnStatistics, merged
from cedilla.runtime.control.sources.partitions import region_of
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.control.sources.validity import Rejection, rejections
from cedilla.runtime.engines.spark import costs
from cedilla.runtime.epochs.ingest.raw_names import statistics_by_attributes

_NONE: Mapping[int, int] = {}


def proven_valid(
    source: Source,
    state: SourceState,
    statistics: StatisticsByFile,
    markers_only: Set[int],
    partitions: Mapping[int, int] = _NONE,
    now: int | None = None,
) -> StatisticsByFile | None:
    """Returns the statistics of files by attribute names if they prove all tuples valid, else `None`.

    `state`: the source's after all of its markers. `statistics`: statistics of each of its files. `markers_only`: the
    numbers of files without tuples. `partitions`: those of files of records. `now`: the clock of the run.
    """
    wrong: Mapping[int, Tree] = {}
    undone = (
        *state.codes,
        *state.bent,
        *state.numbers.raw_types,
        *state.sentinels.here,
        *state.swaps.partners,
    )
    names = [raw_name for name in undone for raw_name in state.names.all_of(name)]
    if any(
        values is None or values.nulls < file.rows
        for file in statistics.values()
        for values in map(file.ranges.get, names)
    ):
        return None  # a range does not show which codes and sentinels occur, or what a bent function takes
    if state.names.of:
        named = statistics_by_attributes(state.names, statistics)
        if named is None:
            return None
        statistics, wrong = named
    are_valid = _are_all_valid(source, state, statistics, markers_only, partitions, wrong, now)
    return statistics if are_valid else None


def region_of_tuples(state: SourceState, statistics: StatisticsByFile) -> Tree:
    """Returns a region around all valid tuples of some files, from the ranges of unaltered attributes that all files
    have statistics of; of very many attributes, from those that punctuations name. `statistics`: the result of
    `proven_valid`."""
    merged, altered = _merged([file for file in statistics.values() if file.rows]), _altered(state)
    unaltered = {
        name
        for name, values in merged.ranges.items()
        if name in state.types and name not in altered and values.least is not None
    }
    if len(unaltered) > _MAX_SIDES:
        unaltered &= regions.attributes(state.closed)
    return regions.box(_sides(merged, altered, unaltered))


def region_of_raw(state: SourceState, statistics: StatisticsByFile | None) -> Tree:
    """Returns a region around the raw tuples of some files, valid or not, by the attributes that decide how others are
    decoded. It is everything where values come from other fields, or mean undefined."""
    if statistics is None or state.names.of or state.swaps.here or state.sentinels.here:
        return True
    files = [file for file in statistics.values() if file.rows]
    trees = state.originals.placed.values()
    deciding = frozenset[str]().union(*map(regions.attributes, trees)) - state.forms.keys()
    return regions.box(_sides(_merged(files), frozenset(), deciding)) if files else True


_MAX_SIDES = 64
"""Maximum number of attributes of such a region: its tree has a level for each of them."""


def _merged(statistics: Sequence[FileStatistics]) -> FileStatistics:
    """Merges the statistics of some files."""
    named = set[str]().union(*(file.ranges for file in statistics))
    columns = {
        name: [(file.ranges[name], file.rows) for file in statistics]
        for name in named
        if all(name in file.ranges for file in statistics)
    }
    return FileStatistics(
        sum(c.rows for c in statistics), {name: merged(of_files) for name, of_files in columns.items()}
    )


def _are_all_valid(
    source: Source,
    state: SourceState,
    statistics: StatisticsByFile,
    markers_only: Set[int],
    partitions: Mapping[int, int],
    wrong: Mapping[int, Tree],
    now: int | None,
) -> bool:
    if not all(map(partial(_is_kept, state), statistics.values())):
        return False
    trees = [*state.presence.placed.values(), *state.names.placed.values(), state.placed_closed]
    if not all(regions.is_small(tree, costs.STATISTICS_SIZE) for tree in trees):
        return False
    altered = _altered(state)
    boxes = {
        number: _Box(file, _span(number, file), partitions.get(number))
        for number, file in statistics.items()
        if number not in markers_only
    }
    if not boxes:
        return True
    around = _around([*boxes.values()])
    every = rejections(source, state, state.presence.placed, state.placed_closed, now)
    possible = [rejection.region for rejection in every if not around.lacks_values_of(rejection)]
    whole = {n: _WHOLE for n, type_ in state.types.items() if type_.is_integral and n not in altered}
    return all(
        region is False
        or around.lies_outside(altered, region, whole)
        or all(box.lies_outside(altered, region, whole) for box in boxes.values())
        for region in possible
    ) and all(
        box.lies_outside(altered, wrong[number], whole) for number, box in boxes.items() if number in wrong
    )


_WHOLE = Domain(integral=True)
"""The values of an attribute of a whole type, which is all that is certain of values that are not checked yet."""


@frozen
class _Box:
    """The values of the tuples of a file, or of several: statistics, the positions between which the tuples are, the
    second excluded, and the partition; `None` if it is unknown."""

    file: FileStatistics
    span: tuple[int, int]
    partition: int | None = None

    def lacks_values_of(self, rejection: Rejection) -> bool:
        """Returns True if the attribute of a rejection is never defined, or never undefined, as it asks for."""
        values = self.file.ranges.get(rejection.attribute)
        return values is not None and values.nulls == (self.file.rows if rejection.is_defined else 0)

    def lies_outside(self, altered: Set[str], region: Tree, universe: Universe) -> bool:
        """Returns whether no tuple lies in a region. The box has only attributes of the region: a file may have
        hundreds. For example, whole numbers from 1 to 2 lie outside of all but 1 and 2."""
        names = regions.attributes(region)
        sides = _sides(self.file, altered, names)
        if self.partition is not None and PARTITION in names:
            sides[PARTITION] = region_of(self.partition)
        if POSITION in names:
            begin, end = self.span
            sides[POSITION] = regions.interval(POSITION, (begin, 0), (end, 0))
        return regions.is_empty(regions.intersection(regions.box(sides), region), universe)


def _span(number: int, file: FileStatistics) -> tuple[int, int]:
    return file.places or (number * NEXT_FILE, (number + 1) * NEXT_FILE)


def _around(boxes: Sequence[_Box]) -> _Box:
    """Returns a box around some. If it lies outside of a region, no box needs to be looked at: there may be many."""
    spans = [box.span for box in boxes]
    span = min(begin for begin, _ in spans), max(end for _, end in spans)
    return _Box(_merged([box.file for box in boxes]), span)


def _is_kept(state: SourceState, file: FileStatistics) -> bool:
    """Returns True if all values of a file are within the limit of altered attributes (RQ310)."""
    for name in state.inexact:
        values = file.ranges.get(name)
        if values is None or (values.nulls < file.rows and None in (values.least, values.greatest)):
            return False
        functions = [IDENTITY, *regions.leaves(state.originals.placed.get(name, IDENTITY))]
        ends = [end for end in (values.least, values.greatest) if end is not None]
        if any(abs(function(end)) >= LARGEST for function in functions for end in ends):
            return False
    return True


def _sides(file: FileStatistics, altered: Set[str], names: Set[str]) -> dict[str, Tree]:
    """Returns the values of some attributes, if a file has statistics of them."""
    return {
        name: _side(name, values, file.rows, bounded=name not in altered)
        for name, values in file.ranges.items()
        if name in names
    }


def _altered(state: SourceState) -> Set[str]:
    """Returns the attributes that have non-canonical values in the files."""
    return {name for name, tree in state.originals.placed.items() if tree != IDENTITY}


def _side(name: str, values: ColumnStatistics, rows: int, *, bounded: bool) -> Tree:
    undefined = regions.complement(regions.defined(name))
    if values.nulls == rows:
        return undefined
    is_known = bounded and values.least is not None and values.greatest is not None
    side = (
        regions.interval(name, (values.least, 0), (values.greatest, 1)) if is_known else regions.defined(name)
    )
    return regions.union(side, undefined) if values.nulls else side
