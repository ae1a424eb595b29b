"""Parts of sources that an epoch reads (design, section 5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve, field, frozen
from pyspark.sql import SparkSession

from cedilla.compiler.plan.field_paths import kinds_of
from cedilla.runtime.connectors.formats.source import (
    EVERYWHERE,
    Counted,
    Format,
    InputFile,
    Numbered,
    Scan,
    Span,
)
from cedilla.runtime.connectors.records.change_events import Columns
from cedilla.runtime.connectors.records.marker import NEXT_FILE, MarkerLine, file_of
from cedilla.runtime.connectors.records.nested import Paths
from cedilla.runtime.connectors.records.path_keys import Keys
from cedilla.runtime.engines.spark import costs


@frozen
class Slice:
    """Part of a source: files in stream order, the positions between which lines count (`high` excluded), and the scan
    of these lines."""

    format: Format
    files: tuple[InputFile, ...]
    scan: Scan = field(factory=Scan)
    low: int | None = None
    high: int | None = None
    keys: Mapping[int, Keys] = field(factory=dict[int, Keys])
    """The keys in the paths of the files that have some, by the numbers of the files."""
    without: frozenset[int] = frozenset()
    """The positions of lines that are quarantined as bad markers; they would be bad tuples, too."""

    @property
    def numbered(self) -> Numbered:
        """Returns its files by their numbers."""
        return dict(enumerate(self.files))

    @property
    def path_keys(self) -> frozenset[str]:
        """Returns the keys in the paths of its files."""
        return frozenset(name for of_file in self.keys.values() for name in of_file)

    @property
    def length(self) -> int:
        """Returns the bytes of all its files, converted to the size of JSON."""
        return sum(file.length for file in self.files) * (costs.PACKED if self.format.columnar else 1)

    @property
    def is_cut(self) -> bool:
        """True if some lines of the files do not count."""
        return self.low is not None or self.high is not None or bool(self.without)

    def leading(self, markers: Sequence[MarkerLine]) -> int:
        """Returns the position up to which the slice has nothing but accents. `markers`: some of its markers, in
        order."""
        position = 0 if self.low is None else self.low
        for marker in markers:
            between = range(file_of(position), marker.file)
            is_next = marker.file in self.scan.empty or marker.position in (position, marker.file * NEXT_FILE)
            if marker.kind != "accent" or not is_next or not self.scan.empty.issuperset(between):
                return position
            position = marker.position + 1 if marker.next is None else marker.next
        return position

    @property
    def has_accents(self) -> bool:
        """True if some of its lines are accents."""
        return any(marker.kind == "accent" for marker in self.scan.markers)

    @property
    def with_tuples(self) -> Numbered:
        """Returns its files that may contain tuples, by their numbers."""
        return {number: file for number, file in self.numbered.items() if number not in self.scan.empty}

    @property
    def read_to_the_end(self) -> Numbered:
        """Returns the files whose last lines it has, by their numbers."""
        low, high = self.between
        ends = range(file_of(low), file_of(high) if self.high is not None else len(self.files))
        return {number: file for number, file in self.numbered.items() if number in ends}

    def condition(self, position: str) -> str:
        """Returns SQL that is true for the positions that count; an empty text if all do."""
        bounds = [f"{position} >= {self.low}L"] if self.low is not None else []
        bounds += [f"{position} < {self.high}L"] if self.high is not None else []
        without = ", ".join(f"{number}L" for number in sorted(self.without))
        return " AND ".join([*bounds, *([f"{position} NOT IN ({without})"] if without else [])])

    @property
    def between(self) -> Span:
        """Returns the positions between which lines count."""
        first, last = EVERYWHERE
        return (first if self.low is None else self.low, last if self.high is None else self.high)

    def counted(self, names: Iterable[str]) -> Counted:
        """Returns fields whose values are counted in the lines that count."""
        return Counted(tuple(names), *self.between)

    def with_markers_in(self, folder: str) -> Slice:
        """Returns the slice with `in_data` set for markers outside of a folder, which is given as a URI."""
        inside = [file.path.startswith(f"{folder.rstrip('/')}/") for file in self.files]
        markers = (
            marker if inside[marker.file] or not marker.is_meant else evolve(marker, in_data=True)
            for marker in self.scan.markers
        )
        return evolve(self, scan=evolve(self.scan, markers=tuple(markers)))

    def with_paths(self, paths: Paths) -> Slice:
        """Returns the slice with the paths of fields after accents."""
        is_same = kinds_of(paths) == kinds_of(self.format.paths)
        return self if is_same else evolve(self, format=self.format.with_paths(paths))

    def expecting(self, columns: Columns) -> Slice:
        """Returns the slice with the columns of rows after accents."""
        return self if columns == self.format.columns else evolve(self, format=self.format.expecting(columns))

    def starting(self, position: int) -> Slice:
        """Returns the slice from a position on. All files remain, because positions depend on the list of files."""
        markers = (marker for marker in self.scan.markers if marker.position >= position)
        return evolve(self, low=position, scan=Scan(tuple(markers), self.scan.empty))

    def leaving_out(self, places: frozenset[int]) -> Slice:
        """Returns the slice without the lines at some positions."""
        return evolve(self, without=places, scan=Scan(self.scan.markers)) if places else self

    def ending(self, position: int | None) -> Slice:
        """Returns the slice before a position, if there is one."""
        if position is None:
            return self
        markers = (marker for marker in self.scan.markers if marker.position < position)
        return evolve(self, high=position, scan=Scan(tuple(markers), self.scan.empty))


def rows_before(spark: SparkSession, part: Slice, position: int) -> int:
    """Returns the number of rows in a file before a position in it."""
    number = file_of(position)
    return part.format.rows_before(spark, part.files[number], position - number * NEXT_FILE)


def place_after(spark: SparkSession, part: Slice, rows: int) -> int:
    """Returns the position after a number of rows of the first file; that of the next file if the first is shorter."""
    position = part.format.place_of_row(spark, part.files[0], rows)
    return NEXT_FILE if position is None else position


def line_of(spark: SparkSession, part: Slice, marker: MarkerLine) -> int:
    """Returns the line number of a marker for messages."""
    position = marker.position - marker.file * NEXT_FILE
    return part.format.line_at(spark, part.files[marker.file], position)
