"""Finds files of an epoch whose tuples have no attribute of the stream (`records.unrelated_files`)."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from cedilla.compiler.plan import Source
from cedilla.compiler.plan.field_paths import FieldPath
from cedilla.compiler.plan.formats import FORMATS
from cedilla.compiler.plan.record_fields import origin_text
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.grammar.parser import parse_accent
from cedilla.grammar.syntax import AddAttribute, RenameAttribute
from cedilla.runtime.connectors.formats.source import Format, InputFile, Types
from cedilla.runtime.connectors.records.foreign import Unreadable, damage_told
from cedilla.runtime.connectors.records.lines import unpacked
from cedilla.runtime.connectors.records.marker import MarkerLine
from cedilla.runtime.connectors.records.near_names import NearNames, first_keys, lacks_names
from cedilla.runtime.connectors.records.path_keys import UnreadKeys, may_have_keys
from cedilla.runtime.connectors.records.unrelated_files import is_asked, keys_of, paths_read, unrelated_file
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.storage.parquet import read_metadata
from cedilla.runtime.epochs.ingest.slices import Slice

_BLOCK, _BEGINNING = 1 << 18, 1 << 14
_LOOKED_AT = 4
"""The most files of a slice whose first tuples are read for their keys."""


def unrelated_files(files: Files, source: Source, types: Types, part: Slice) -> Iterator[Diagnostic]:
    """Yields RQ320 for such files of a slice, except for a file that a later epoch ends. `types`: the types of
    attributes before the slice, by all of their names.

    Only the first line of most files is read, and all lines of the others.
    """
    if not is_asked(source):
        return
    for number, file in part.read_to_the_end.items():
        if file.is_markers or number in part.scan.empty:
            continue
        attributes = _attributes(part, number, types)
        paths = paths_read(source, attributes)
        if any((key,) in paths for key in part.keys.get(number, ())):
            continue
        if part.format.columnar:
            columns = _columns(files, file, part.format)
            keys = None if columns is None or any((name,) in paths for name in columns) else columns
        else:
            keys = _keys(files, file, source.format, paths)
        if keys is not None:
            yield unrelated_file(source, file.shown, keys, attributes)


def near_names(
    files: Files, source: Source, types: Types, part: Slice, near: NearNames
) -> Iterator[Diagnostic]:
    """Yields RQ361 for keys of the first tuples of a slice's newest files that are near misses of attributes. `types`:
    as for `unrelated_files`."""
    if not lacks_names(source):
        return
    for number, file in [*part.read_to_the_end.items()][-_LOOKED_AT:]:
        if file.is_markers or number in part.scan.empty:
            continue
        attributes = _attributes(part, number, types)
        keys = _first_keys(files, file, part, source.format, paths_read(source, attributes))
        keys = [*keys, *((key,) for key in part.keys.get(number, ()) if origin_text((key,)) is None)]
        yield from near.of(source, keys, attributes, file.shown)


def unread_keys(source: Source, types: Types, part: Slice, unread: UnreadKeys) -> Iterator[Diagnostic]:
    """Yields RQ347 for the first file of a slice with a key in its path that no attribute reads. `types`: as for
    `unrelated_files`."""
    if not may_have_keys(source):
        return
    for number, keys in part.keys.items():
        yield from unread.of(source, keys, _attributes(part, number, types), part.files[number].shown)


def _first_keys(
    files: Files, file: InputFile, part: Slice, form: str, paths: Collection[FieldPath]
) -> list[FieldPath]:
    """Returns the keys of a file's first tuple next to some paths, or its columns; nothing if they cannot be read."""
    if part.format.columnar:
        return [(name,) for name in _columns(files, file, part.format) or ()]
    if FORMATS[form].has_requests:
        return []
    with files.open(file.path) as stream, unpacked(stream, file.path) as text:
        return first_keys(text.read(_BEGINNING), form, paths)


def _attributes(part: Slice, number: int, types: Types) -> set[str]:
    """Returns the attributes before a file of a slice, by all of their names."""
    markers = (marker for marker in part.scan.markers if marker.file <= number)
    return {*types, *(name for marker in markers for name in _brought(marker, types))}


def _brought(marker: MarkerLine, types: Types) -> Iterator[str]:
    """Yields the names that an accent introduces; a bad one, which is set aside, introduces none."""
    if marker.kind != "accent":
        return
    try:
        primitives = parse_accent(marker.wire(types)).primitives
    except DiagnosticError:
        return
    for primitive in primitives:
        if isinstance(primitive, AddAttribute):
            yield primitive.name
        elif isinstance(primitive, RenameAttribute):
            yield primitive.field


def _keys(files: Files, file: InputFile, form: str, paths: Collection[FieldPath]) -> list[str] | None:
    """Returns the keys of the first tuple of a text, `None` if some tuple has an attribute at one of the paths."""
    with files.open(file.path) as stream, unpacked(stream, file.path) as text:
        return keys_of(iter(lambda: text.read(_BLOCK), b""), paths, form)


def _columns(files: Files, file: InputFile, format_: Format) -> list[str] | None:
    """Returns the columns of a Parquet file except those of markers; `None` without others."""
    try:
        with damage_told():
            schema = read_metadata(files, file.path).schema.to_arrow_schema()
            names = format_.field_names.columns(schema).values()
    except Unreadable:
        return None
    return [name for name in names if not name.startswith("$")] or None
