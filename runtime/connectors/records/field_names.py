"""Gives each field of a table one name in a stream, whatever the table calls it later.

A table of Delta or Iceberg renames a field without touching its files: these have the field's id, or a name that never
changes. A stream keeps the names that the fields have at its start, so a rename, a swap of two names or a new field
under an old name change no attribute.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import evolve, field, frozen

from cedilla.runtime.connectors.records.foreign import Unreadable

_ID = b"PARQUET:field_id"
"""The key under which Arrow has the id of a field in a Parquet file."""


@frozen
class Field:
    """A field of a table at some time. `key`: what its files know it by, an id as text or a name; `id`: its number."""

    key: str
    id: str
    name: str


@frozen
class FieldNames:
    """The names of fields in a stream. `by_id`: files know a field by its id, else by a name. `names`: key -> name, in
    the order that the stream has seen them; `None`: each column has its own name. `by_column`: name of a column -> key,
    for files without ids. `hidden`: the names that no column has, because attributes of these names are read from
    elsewhere.

    >>> names = FieldNames.of([Field("1", "1", "a"), Field("2", "2", "b")], by_id=True)
    >>> dict(names.seeing([Field("1", "1", "b"), Field("3", "3", "a")]).names)  # a renamed, b dropped, another a
    {'1': 'a', '2': 'b', '3': 'a_3'}
    """

    by_id: bool = False
    names: tuple[tuple[str, str], ...] | None = None
    by_column: tuple[tuple[str, str], ...] = ()
    hidden: frozenset[str] = field(default=frozenset(), converter=frozenset)

    @classmethod
    def of(cls, fields: Iterable[Field], *, by_id: bool) -> FieldNames:
        """Returns the names of the fields of a table at the start of a stream."""
        return cls(by_id, ()).seeing(fields)

    def seeing(self, fields: Iterable[Field]) -> FieldNames:
        """Returns the names with those of new fields. One whose name an earlier field has gets its id after it."""
        names = dict(self.names or ())
        for new in fields:
            if new.key in names:
                continue
            name, used = new.name, {*names.values()}
            while name in used:
                name = f"{name}_{new.id}"
            names[new.key] = name
        return evolve(self, names=tuple(names.items()))

    def hiding(self, hidden: Iterable[str]) -> FieldNames:
        """Returns the names without those that attributes read from elsewhere."""
        return evolve(self, hidden=frozenset(hidden))

    def others(self, fields: Iterable[Field]) -> Iterator[tuple[str, str]]:
        """Yields the fields that a table calls otherwise than the stream: the table's name, and the stream's."""
        names = dict(self.names or ())
        return ((of.name, names[of.key]) for of in fields if names.get(of.key, of.name) != of.name)

    def columns(self, schema: Any) -> dict[str, str]:
        """Maps the columns of a file, by its `pyarrow.Schema`, to their names in the stream, without others. Raises
        `Unreadable` if nothing says which field is which."""
        names = None if self.names is None else dict(self.names)
        columns: dict[str, str] = {}
        ids = {of.name: of.metadata[_ID].decode() for of in schema if _ID in (of.metadata or {})}
        if self.by_id and not ids:
            ids = dict(self.by_column)
            if not ids:
                raise Unreadable("its columns have no field ids")
        for column in schema:
            key = ids.get(column.name) if self.by_id else column.name
            name = column.name if names is None else names.get(key or "")
            if name is not None and name not in self.hidden:
                columns[column.name] = name
        return columns

    def dumped(self) -> Mapping[str, Any]:
        """Returns the names as JSON has them, for a checkpoint."""
        names = None if self.names is None else dict(self.names)
        return {"by_id": self.by_id, "names": names, "by_column": dict(self.by_column)}

    @classmethod
    def loaded(cls, stored: Mapping[str, Any]) -> FieldNames:
        """Returns the names of a checkpoint."""
        names = stored["names"]
        by_column = tuple(stored["by_column"].items())
        return cls(stored["by_id"], None if names is None else tuple(names.items()), by_column)


OWN_NAMES = FieldNames()
"""Those of files whose columns have the names of the stream."""
