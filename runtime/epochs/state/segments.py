"""Segments: Parquet files of canonical rows, which an epoch adds to a state (design, section 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from cedilla.compiler import regions
from cedilla.compiler.regions import Level, Tree
from cedilla.runtime.connectors.storage.files import Files, FoundFile
from cedilla.runtime.connectors.storage.parquet import Metadata, leaf_of, values_of
from cedilla.runtime.connectors.storage.written import damaged, missing
from cedilla.runtime.engines.spark import costs

Bounds = Mapping[str, tuple[int, int]]
"""Maps attributes to their least and greatest value in some rows, for attributes that all of these rows have."""


@frozen
class Segment:
    """Rows that one epoch added. `types`: of its columns, as JSON values of `dump_columns`. `length`: in bytes.

    `bounds`: attribute -> the least and the greatest of its values, if known. `rows`, `files`: the numbers of rows and
    files, if known. `checksum`: of its files, if known.
    """

    path: str
    types: Mapping[str, Any]
    length: int = 0
    bounds: Bounds = field(factory=dict[str, tuple[int, int]])
    rows: int | None = None
    files: int | None = None
    checksum: str | None = None

    @property
    def epoch(self) -> int:
        """The number of the epoch that wrote it."""
        return int(self.path.rpartition("/epoch=")[2].partition("-")[0])

    def is_of(self, epoch: int) -> bool:
        return f"/epoch={epoch:012d}-" in self.path

    def lies_in(self, region: Tree) -> bool:
        """Returns True if its bounds prove that all its rows are inside a region."""
        is_small = isinstance(region, Level) and len(region.points) <= costs.COMPARED_POINTS
        return is_small and _lies_in(self.bounds, region)


Segments = Mapping[str, tuple[Segment, ...]]


def rows_of(segments: Iterable[Segment]) -> int | None:
    """Returns the number of rows of some segments; `None` if an old record does not give it."""
    rows = [segment.rows for segment in segments]
    return None if None in rows else sum(filter(None, rows))


def first_small(lengths: Sequence[int]) -> int:
    """Returns from which segment on a state is rewritten: the oldest that is no larger than all newer ones together, if
    an epoch may rewrite as much; otherwise the last but one. So few segments of each size stay."""
    first = len(lengths) - 2
    newer = sum(lengths[first:])
    for number in range(first - 1, -1, -1):
        if newer + lengths[number] > costs.REWRITTEN:
            break
        if lengths[number] <= max(newer, costs.LARGE_STATE):
            first = number
        newer += lengths[number]
    return max(first, 0)


def paths(segments: Segments) -> frozenset[str]:
    """Returns the folders of segments."""
    return frozenset(segment.path for listed in segments.values() for segment in listed)


Checksum = Callable[[Sequence[FoundFile]], str | None]
"""Returns the checksum of files, as `Files.checksum` does."""


def check_files(files: Files, segment: Segment, checksum: Checksum | None = None) -> None:
    """Raises `DiagnosticError` if the files of a segment differ from those written: RQ451 if some are missing, RQ478 if
    their number or length differs, or the `checksum` of their contents."""
    files_found = files.list(segment.path)
    length = sum(file.length for file in files_found)
    if not files_found or (segment.files is not None and len(files_found) < segment.files):
        raise missing(segment.path)
    if segment.files is not None and len(files_found) > segment.files:
        raise damaged(segment.path, f"it has {len(files_found)} files, and had {segment.files}")
    if length != segment.length:
        raise damaged(segment.path, f"its files have {length} bytes, and had {segment.length}")
    right = None, segment.checksum
    if checksum is not None and segment.checksum is not None and checksum(files_found) not in right:
        raise damaged(segment.path, "the content of its files is not what was written")


def bounds_of(footers: Sequence[Metadata], names: Iterable[str]) -> Bounds:
    """Returns the bounds of attributes that all rows have, from statistics of the files."""
    footers = [footer for footer in footers if footer.num_rows]
    bounds: dict[str, tuple[int, int]] = {}
    for name in names:
        least: list[int] = []
        greatest: list[int] = []
        for footer in footers:
            leaf = leaf_of(footer, name)
            values = None if leaf is None else values_of(footer, leaf)
            if values is None or values.nulls or values.least is None or values.greatest is None:
                break
            least.append(values.least)
            greatest.append(values.greatest)
        if footers and len(least) == len(footers):
            bounds[name] = min(least), max(greatest)
    return bounds


def _lies_in(bounds: Bounds, region: Tree) -> bool:
    """Returns True if all rows within some bounds are inside a region. Attributes without bounds may have any value."""
    bounded = {n: bounds[n] for n in regions.attributes(region) & bounds.keys()}
    if not bounded:
        return False
    box = regions.box({n: regions.interval(n, (low, 0), (high, 1)) for n, (low, high) in bounded.items()})
    return regions.difference(box, region) is False
