"""Detects keys of tuples that are all but the name of an attribute that the tuples lack (RQ361).

An undeclared field is left out under `set drift = ignore`, so a column `Fee` instead of `fee` would be lost in silence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from attrs import field, frozen

from cedilla.compiler.plan import Source
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.grammar.diagnostics.suggestions import suggest
from cedilla.runtime.records.csv_records import MAX_RECORD, header_of, records_of
from cedilla.runtime.records.json_objects import parse_line
from cedilla.runtime.records.near_markers import marker_of
from cedilla.runtime.records.unrelated_files import keys_of_element, names_read


def lacks_names(source: Source) -> bool:
    """Returns True for a source whose tuples may lack an attribute; a required one is reported by itself (RQ302)."""
    return any(attribute.optional for attribute in source.attributes)


def first_keys(text: bytes, form: str) -> list[str]:
    """Returns the keys of the first tuple in the beginning of a file, or the columns of its header. `form`: json,
    kafka (records as lines), csv or xml."""
    if form == "xml":
        return keys_of_element(text)
    if form == "csv":
        records = records_of(iter([text]), MAX_RECORD)
        return next(([*header_of(record, MAX_RECORD).names] for record, _ in records), [])
    for line in text.split(b"\n"):
        try:
            item = parse_line(line.decode())
        except ValueError:
            continue
        if marker_of(line.decode(), item) is None:
            return [*item]
    return []


@frozen
class NearNames:
    """Warns of each key of a source once. `reported`: the keys, with their sources; `undeclared`: source -> key that no
    attribute reads -> number of files, of those that were looked at."""

    reported: set[tuple[str, str]] = field(factory=set[tuple[str, str]])
    undeclared: dict[str, Counter[str]] = field(factory=dict[str, Counter[str]])

    def of(
        self, source: Source, keys: Iterable[str], attributes: Iterable[str], file: str
    ) -> Iterator[Diagnostic]:
        """Yields RQ361 for keys of a tuple of a file. `attributes`: those of the source, by all of their names."""
        keys, names = [*keys], names_read(source, attributes)
        absent = sorted(names.difference(keys))
        strange = [key for key in keys if key not in names and not key.startswith("$")]
        if strange:
            self.undeclared.setdefault(source.name, Counter()).update(strange)
        for key in strange if absent else ():
            if (source.name, key) in self.reported:
                continue
            if (guess := suggest(key, absent)) is not None:
                self.reported.add((source.name, key))
                yield _near_name(source, key, guess, file)

    def counted(self) -> Mapping[str, Mapping[str, int]]:
        """Returns the counts of undeclared keys since the last call, by source."""
        counts = {source: dict(keys) for source, keys in self.undeclared.items()}
        self.undeclared.clear()
        return counts


def _near_name(source: Source, key: str, guess: str, file: str) -> Diagnostic:
    message = f"`{key}` of {file} is no attribute of `{source.name}`, and `{guess}` is not there"
    is_plain = any(a.name == guess and not a.path for a in source.attributes)
    way = f"the accent `rename({key}, {guess})` before it says so"
    if source.format in ("csv", "json"):
        way = f'`from "{guess}" or "{key}"` in its declaration reads both'
    hint = f"did you mean `{guess}` by `{key}`? {way if is_plain else ''}".rstrip()
    return Diagnostic("RQ361", "warning", message, None, (), hint)
