"""Detects keys of tuples that are all but the name of an attribute that the tuples lack (RQ361).

An undeclared field is left out under `set drift = ignore`, so a column `Fee` instead of `fee` would be lost in silence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from attrs import field, frozen

from cedilla.compiler.plan import Source
from cedilla.compiler.plan.field_paths import FieldPath
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.grammar.diagnostics.suggestions import suggest
from cedilla.grammar.formatting.expression_formatter import quote
from cedilla.runtime.connectors.records.csv_records import MAX_RECORD, header_of, records_of
from cedilla.runtime.connectors.records.unrelated_files import (
    keys_beside,
    keys_of_element,
    outer_paths,
    shown_path,
    tuples_in,
)


def lacks_names(source: Source) -> bool:
    """Returns True for a source whose tuples may lack an attribute; a required one is reported by itself (RQ302), and a
    column of a table, too (RQ541)."""
    return not source.changes and any(attribute.optional for attribute in source.attributes)


def first_keys(text: bytes, form: str, paths: Collection[FieldPath]) -> list[FieldPath]:
    """Returns the keys of the first tuple in the beginning of a file next to some paths, or the columns of its header.
    `form`: json, kafka (records as lines), csv or xml."""
    if form == "xml":
        return [(key,) for key in keys_of_element(text)]
    if form == "csv":
        records = records_of(iter([text]), MAX_RECORD)
        return next(([(name,) for name in header_of(record, MAX_RECORD).names] for record, _ in records), [])
    return next((keys_beside(item, paths) for item in tuples_in(text.split(b"\n"))), [])


@frozen
class NearNames:
    """Warns of each key of a source once. `reported`: the keys, with their sources; `undeclared`: source -> key that no
    attribute reads -> number of files, of those that were looked at."""

    reported: set[tuple[str, FieldPath]] = field(factory=set[tuple[str, FieldPath]])
    undeclared: dict[str, Counter[str]] = field(factory=dict[str, Counter[str]])

    def of(
        self, source: Source, keys: Sequence[FieldPath], attributes: Iterable[str], file: str
    ) -> Iterator[Diagnostic]:
        """Yields RQ361 for keys of a tuple of a file. `attributes`: those of the source, by all of their names."""
        every = source.field_paths(attributes)
        absent = {path for paths in every if not {*keys}.intersection(paths) for path in paths}
        read = {path for paths in every for path in paths}
        read |= outer_paths(read)
        strange = [key for key in keys if key not in read and not key[0].startswith("$")]
        if strange:
            names = (shown_path(key, source.format) for key in strange)
            self.undeclared.setdefault(source.name, Counter()).update(names)
        present = {*keys, *outer_paths(keys)}
        for key in strange if absent else ():
            if (source.name, key) in self.reported:
                continue
            near = {path[: len(key)] for path in absent if path[: len(key) - 1] == key[:-1]} - present
            if (guess := suggest(key[-1], sorted(path[-1] for path in near))) is not None:
                self.reported.add((source.name, key))
                yield _near_name(source, key, (*key[:-1], guess), file)

    def counted(self) -> Mapping[str, Mapping[str, int]]:
        """Returns the counts of undeclared keys since the last call, by source."""
        counts = {source: dict(keys) for source, keys in self.undeclared.items()}
        self.undeclared.clear()
        return counts


def _near_name(source: Source, key: FieldPath, guess: FieldPath, file: str) -> Diagnostic:
    name, of = shown_path(key, source.format), shown_path(guess, source.format)
    message = f"`{name}` of {file} is not an attribute of `{source.name}`, and `{of}` is missing"
    return Diagnostic(
        "RQ361",
        "warning",
        message,
        None,
        (),
        f"did you mean `{of}` by `{name}`? {_way(source, key, guess)}".rstrip(),
    )


def _way(source: Source, key: FieldPath, guess: FieldPath) -> str:
    """Returns how a field is read; nothing if that depends on more than one clause."""
    attribute = next((a for a in source.attributes if guess in (a.keys or (a.name,), *a.others)), None)
    if attribute is None or attribute.in_text or attribute.form is not None:
        return ""
    if not source.format_kind.has_alternatives:
        return f"the accent `rename({shown_path(key, source.format)}, {attribute.name})` before it says so"
    texts = (quote(shown_path(path, source.format)) for path in (guess, key))
    return f"`from {' or '.join(texts)}` in its declaration reads both"
