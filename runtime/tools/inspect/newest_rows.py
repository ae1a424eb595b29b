"""The newest rows of an output, as written or in other units. Reads the ends of its last files only."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import Any

from attrs import frozen
from pyarrow import parquet

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import LARGEST, Type, decimal_notation
from cedilla.compiler.expressions.types.decimals import is_exact
from cedilla.compiler.expressions.units.altered_decimals import keeps_digits
from cedilla.compiler.expressions.units.conversions import known_unit
from cedilla.compiler.expressions.units.own import short
from cedilla.compiler.expressions.units.units import Mismatch, conversion
from cedilla.compiler.plan import Emit
from cedilla.compiler.plan.places import markers_table
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.grammar.diagnostics import failure
from cedilla.grammar.parser import parse_accent
from cedilla.grammar.syntax.marker_nodes import AddAttribute, DropAttribute
from cedilla.runtime.connectors.formats.parquet.delta_log import DeltaLog
from cedilla.runtime.connectors.records.marker_files import (
    ADDS,
    ALTERS,
    DROPS,
    PARTS,
    PUNCTUATIONS,
    in_stream_order,
    is_tuple_file,
)
from cedilla.runtime.connectors.records.parquet_lines import last_rows
from cedilla.runtime.connectors.storage.files import Files, epoch_name, name_of
from cedilla.runtime.connectors.storage.sealed import SealedFiles
from cedilla.runtime.control.sinks.announce import SinkState
from cedilla.runtime.control.sources.unit_names import output_names
from cedilla.runtime.epochs.checkpoint.checkpoint_folder import CheckpointFolder
from cedilla.runtime.epochs.checkpoint.commit_json import load_commit
from cedilla.runtime.epochs.checkpoint.commit_log import record_names
from cedilla.runtime.epochs.checkpoint.commits import Commit
from cedilla.runtime.epochs.checkpoint.tree_files import StoredTrees

_SHOWN = ("json", "parquet", "delta")
"""The formats of outputs whose rows are shown."""
MAX_ROWS = 20
_TAIL = 1 << 16
"""Bytes at the end of a file that are read."""
_MAX_EPOCHS = 50
"""The most epochs that are looked at."""

Units = str | Mapping[str, str]
"""`as written`, `canonical`, `latest`, or the unit of each attribute."""


def newest_rows(folder: CheckpointFolder, output: str, units: Units) -> dict[str, Any]:
    """Returns the newest rows of an output, newest last, and the unit of each attribute.

    Rows of an epoch are in the units before its Alters. Unless they are shown as written, epochs before a change of
    units are left out. Provisional rows are, too. Raises `DiagnosticError`: RQ412 for an output that is not a folder of
    JSON or Parquet or a table of Delta that only grows, RQ143 for an unknown unit.
    """
    emit = next((candidate for candidate in folder.stored.plan.emits if candidate.name == output), None)
    if emit is None or emit.path == "-" or emit.format not in _SHOWN:
        hint = "`cedilla read` shows other outputs"
        message = (
            f"the page shows rows of folders of JSON and Parquet and of tables of Delta only, not {output}"
        )
        raise failure("RQ412", message, hint=hint)
    if emit.latest and emit.format_kind.is_table:
        message = f"versions of the table of {output} rewrite rows, and the page shows rows that are added"
        raise failure("RQ412", message, hint="a query of the table, with `provisional` true for open groups")
    if folder.commit is None:
        return {"rows": [], "units": {}, "names": []}
    root = folder.path_of_run(emit.path)
    if folder.commit.written.get(output) and not Files().exists(root):
        raise failure(
            "RQ412", f"{root} is not here", hint="`cedilla ui` in the folder of the run finds its outputs"
        )
    output_state = _State.of(folder, emit)
    is_fixed = units == "as written"
    epochs = _table_epochs if emit.format == "delta" else _folder_epochs
    newest = _rows(
        epochs(root, folder.commit.epoch),
        folder.commit.epoch,
        is_fixed=is_fixed,
        is_reset=bool(output_state.scaled),
    )
    rows = list(islice(newest, MAX_ROWS))
    shown = [output_state.converted(row, units) for row in reversed(rows)]
    names = list(dict.fromkeys(name for row in shown for name in row))
    units_by_name = {name: short(unit) for name, unit in output_state.names_of(units).items()}
    return {"rows": shown, "units": units_by_name, "names": names}


class _State:
    """The functions between canonical values and those of an output, before and after the last epoch."""

    def __init__(
        self, types: Mapping[str, Type], before: SinkState, after: SinkState, units: Mapping[str, str]
    ) -> None:
        self._before, self._after, self._units = before, after, units
        self._exact = {name for name, type_ in types.items() if is_exact(type_.innermost)}

    @classmethod
    def of(cls, folder: CheckpointFolder, emit: Emit) -> _State:
        commit = folder.commit
        assert commit is not None
        after = commit.sinks[emit.name]
        earlier = _record_before(folder, commit.epoch)
        before = after if earlier is None else earlier.sinks.get(emit.name, after)
        plan = folder.stored.plan
        units = output_names(plan, commit.sources)[emit.name].units
        return cls(plan.start[emit.relation].types, before, after, units)

    @property
    def scaled(self) -> set[str]:
        """The attributes that had other units than canonical ones before the last epoch."""
        return {name for name, tree in self._before.scale.items() if tree != IDENTITY}

    def converted(self, row: Mapping[str, Any], units: Units) -> dict[str, Any]:
        """Returns a row in other units. Whole numbers and decimals that a double does not hold are texts."""
        return {
            name: _converted(value, self._to(row, name, units), is_exact=name in self._exact)
            for name, value in row.items()
        }

    def _to(self, row: Mapping[str, Any], name: str, units: Units) -> Affine:
        """Returns the function from a written value of an attribute to the one that is shown."""
        if units == "as written":
            return IDENTITY
        function = _function(self._before, row, name).inverse()
        if isinstance(units, Mapping):
            return self._to_unit(name, units).after(function)
        return _function(self._after, row, name).after(function) if units == "latest" else function

    def _to_unit(self, name: str, units: Mapping[str, str]) -> Affine:
        if name not in units or name not in self._units:
            return IDENTITY
        try:
            return conversion(self._units[name], known_unit(units[name], None))
        except Mismatch as problem:
            hint = f"a unit like {self._units[name]}"
            raise failure("RQ143", f"`{name}` has no values in {units[name]}: {problem}", hint=hint) from None

    def names_of(self, units: Units) -> dict[str, str]:
        """Returns the unit of each attribute, where it is the same in all rows."""
        if isinstance(units, Mapping):
            return {**self._units, **{n: u for n, u in units.items() if n in self._units}}
        if units == "canonical":
            return dict(self._units)
        state = self._before if units == "as written" else self._after
        plain = {n for n in self._units if state.scale.get(n, IDENTITY) == IDENTITY}
        return {name: unit for name, unit in self._units.items() if name in plain}


def _converted(value: Any, function: Affine, *, is_exact: bool) -> Any:
    if isinstance(value, list):
        elements: list[Any] = value
        return [_converted(element, function, is_exact=is_exact) for element in elements]
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return value
    if is_exact and function.is_identity and isinstance(value, Decimal):
        return f"{value:f}"
    if not function.is_identity and not (is_exact and keeps_digits(function)):
        return function.of_double(float(value))
    exact = function(Fraction(value))
    if not is_exact:
        return float(value) if isinstance(value, Decimal) else value
    return (
        exact if isinstance(exact, int) and abs(exact) < LARGEST else decimal_notation(exact) or float(exact)
    )


def _function(state: SinkState, row: Mapping[str, Any], name: str) -> Affine:
    leaf = regions.contains(state.scale.get(name, IDENTITY), row)
    return leaf if isinstance(leaf, Affine) else IDENTITY


def _record_before(folder: CheckpointFolder, epoch: int) -> Commit | None:
    documents = SealedFiles(Files(), folder.root)
    names = [n for n in record_names(documents) if int(name_of(n).removesuffix(".json")) < epoch]
    if not names:
        return None
    return load_commit(documents.read(names[-1]), StoredTrees(documents), folder.root)


@frozen
class _Epoch:
    """An epoch of an output: the files of its tuples, and which kinds of markers it has, for those who ask."""

    number: int
    tuples: Sequence[str]
    markers: Callable[[], Set[str]]


def _rows(epochs: Iterable[_Epoch], last: int, *, is_fixed: bool, is_reset: bool) -> Iterator[dict[str, Any]]:
    """Yields the rows of an output's epochs, newest first.

    Unless `is_fixed`, ends before rows with other units than those before the last epoch: at an Alter of an earlier
    one, and after an Add, which begins units again. `is_reset`: an Add may have done so with a unit.
    """
    files = Files()
    for epoch in islice(epochs, _MAX_EPOCHS):
        markers = frozenset[str]() if is_fixed else epoch.markers()
        if (ALTERS in markers and epoch.number < last) or (ADDS in markers and is_reset):
            return
        for path in reversed(epoch.tuples):
            yield from reversed(_last_rows(files, path))
        if ADDS in markers:
            return


def _folder_epochs(root: str, last: int) -> Iterator[_Epoch]:
    """Yields the committed epochs of a folder, newest first."""
    files = Files()
    for name in reversed(files.folders(root, "epoch=")):
        if name <= epoch_name(last):
            paths = [file.path for file in files.list(f"{root}/{name}")]
            kinds = {part for path in paths for part in PARTS if part in name_of(in_stream_order(path))}
            yield _Epoch(
                int(name.partition("=")[2]), [*filter(is_tuple_file, paths)], lambda kinds=kinds: kinds
            )


def _table_epochs(root: str, last: int) -> Iterator[_Epoch]:
    """Yields the committed epochs of a table of Delta, newest first: markers lie in a table of their own."""
    tuples, markers = _log_epochs(root), _log_epochs(markers_table(root))
    by_epoch: dict[int, list[str]] = {}

    def kinds(number: int) -> Set[str]:
        for epoch, paths in markers:
            by_epoch[epoch] = paths
            if epoch <= number:
                break
        return {kind for path in by_epoch.get(number, ()) for kind in _kinds(path)}

    for number, paths in tuples:
        if number <= last:
            yield _Epoch(number, paths, partial(kinds, number))


def _log_epochs(table: str) -> Iterator[tuple[int, list[str]]]:
    if Files().exists(f"{table}/_delta_log"):
        for number, added in DeltaLog(Files(), "", table).epochs():
            yield number, [file.path for file in added]


def _kinds(path: str) -> Iterator[str]:
    """Yields the kinds of the markers in a file, each once for a marker of it."""
    with Files().open(path) as file:
        rows = parquet.read_table(file, columns=["kind", "text"]).to_pylist()
    for row in rows:
        if row["kind"] == "punctuation":
            yield PUNCTUATIONS
            continue
        for primitive in parse_accent(row["text"]).primitives:
            match primitive:
                case AddAttribute():
                    yield ADDS
                case DropAttribute():
                    yield DROPS
                case _:
                    yield ALTERS


def _last_rows(files: Files, path: str) -> list[dict[str, Any]]:
    """Returns the last rows of a file, in their order."""
    if not path.endswith(".parquet"):
        return [json.loads(line, parse_float=Decimal) for line in _tail(files, path)]
    with files.open(path) as file:
        rows = last_rows(file, MAX_ROWS)
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def _tail(files: Files, path: str) -> list[bytes]:
    """Returns the last whole lines of a file."""
    with files.open(path) as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _TAIL))
        lines = file.read().splitlines()
    return lines[1:] if size > _TAIL else lines
