"""Reads keys in the names of folders, `region=n/day=2020-01-01`, which Spark, pandas and Arrow take out of the files.

A key is a field of every tuple below its folder. Its value is a text, which the attribute's type reads as in CSV.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from attrs import field, frozen

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.plan import Source
from cedilla.compiler.plan.field_paths import CommaPath, EitherSignPath, FieldPath, alternatives
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.grammar.diagnostics.suggestions import suggest
from cedilla.runtime.connectors.records.csv_records import value_of
from cedilla.runtime.connectors.records.json_objects import JsonObject
from cedilla.runtime.connectors.records.lines import local_path
from cedilla.runtime.connectors.records.nested import Paths, with_comma, with_either_sign
from cedilla.runtime.connectors.records.rejections import NO_MOMENT, fault_in

Keys = Mapping[str, str | None]
"""The keys of a file with their texts; `None` for no value."""
KEYS = "$keys"
"""The name under which an item of the reference has the keys of its file."""

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""The text of a key without a value."""

_KEY = re.compile(r"([^/=]+)=([^/]*)")
_EPOCH = re.compile(r"epoch=[0-9]{12,}")
_MAX_KEYS = 5


def may_have_keys(source: Source) -> bool:
    """Returns True for a source whose folders have names of their own: not those of records or of a table's log."""
    return source.format_kind.place == "folder"


def keys_in(folder: str, path: str) -> Keys:
    """Returns the keys of a file below a folder. Of a repeated key the innermost counts. The epochs of an output do
    not count as keys."""
    inner = path.removeprefix(f"{folder.rstrip('/')}/")
    if inner == path or "=" not in inner:
        return {}
    *names, _ = inner.split("/")
    if names and _EPOCH.fullmatch(names[-1]):
        return {}
    pairs = (match.groups() for match in map(_KEY.fullmatch, names) if match is not None)
    return {_decoded(key): None if text == NO_VALUE else _decoded(text) for key, text in pairs}


def keys_below(folder: str, file: Path) -> Keys:
    """Returns the keys of a local file below a folder, which may be named as in a query."""
    root = folder if Path(folder).exists() else local_path(folder)
    return {} if root is None else keys_in(str(Path(root)), str(file))


def _decoded(text: str) -> str:
    return unquote(text, errors="surrogateescape")


def key_values(keys: Keys, types: Mapping[str, Type], paths: Paths) -> Iterator[tuple[str, Any, str]]:
    """Yields the fields that are keys, as JSON values, each with its fault if it is not of the field's type."""
    for name, type_ in types.items():
        for path in alternatives(paths.get(name, (name,))):
            if len(path) == 1 and (text := keys.get(path[0])) is not None:
                yield name, _json_value(text, type_, path), _fault(text, name, type_)
                break


def _json_value(text: str, type_: Type, path: FieldPath) -> Any:
    if type_.name in ("string", "version", "date", "timestamp"):
        return text
    if isinstance(path, CommaPath):
        return with_either_sign(text) if isinstance(path, EitherSignPath) else with_comma(text)
    return value_of(text)


def _fault(text: str, name: str, type_: Type) -> str:
    item = JsonObject({name: text})
    fault = fault_in(item, name, type_)
    return fault if fault.startswith(NO_MOMENT) else f"{fault}, in the path of the file"


@frozen
class UnreadKeys:
    """Warns of keys that no attribute reads, once for a source."""

    _reported: set[str] = field(factory=set[str])

    def of(self, source: Source, keys: Keys, attributes: Iterable[str], file: str) -> Iterator[Diagnostic]:
        """Yields RQ347 for the keys of a file. `attributes`: those of the source, by all of their names."""
        if not keys or source.name in self._reported:
            return
        columns = source.columns(attributes)
        unread = [key for key in keys if key not in columns]
        if not unread:
            return
        self._reported.add(source.name)
        names = ", ".join(f"`{key}`" for key in unread[:_MAX_KEYS])
        message = f"folders of `{source.name}` have keys in their names, {names}, that no attribute reads"
        guesses = ((key, suggest(key, columns)) for key in unread)
        near = next((f"did you mean `{guess}` by `{key}`? " for key, guess in guesses if guess), "")
        hint = f"{near}an attribute of such a name reads its values, for example `{unread[0]}?: string`"
        yield Diagnostic("RQ347", "warning", message, None, (f"the first file: {file}",), hint)
