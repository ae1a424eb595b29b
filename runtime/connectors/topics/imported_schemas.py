"""Puts the accents of schemas that a run imports before the first record of each, in every partition.

They are lines of the fetched files, as if the producer had sent them, so a commit has them like all other markers.
The checkpoint keeps the accents of each schema and their offsets: records that are read again get the same lines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from uuid import UUID

from attrs import define, field

from cedilla.runtime.connectors.records.record_files import is_packed
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.topics.registry import SchemaRegistry, id_of


class Importer(Protocol):
    """States the changes of the schemas that a query does not name."""

    @property
    def ids(self) -> frozenset[int]:
        """The schemas that the query names."""
        ...

    @property
    def query(self) -> str:
        """The texts of the query on which the accents depend."""
        ...

    def accents(self, id_: int, registry: SchemaRegistry) -> tuple[str, ...]:
        """Returns the accents of a schema. Raises `DiagnosticError`: RQ505, RQ522 if they are not known in full."""
        ...


@define(eq=False)
class ImportedSchemas:
    """The imported schemas of a topic. `folder`: where the checkpoint keeps them, if there is one."""

    importer: Importer
    registry: SchemaRegistry
    files: Files | None = None
    folder: str = ""
    _lines: dict[int, list[bytes]] = field(init=False, factory=dict[int, list[bytes]])
    _places: dict[int, dict[int, int]] = field(init=False, factory=dict[int, dict[int, int]])
    """The offset of the first record of each schema, by partition."""

    def begin(self, offsets: Mapping[int, int]) -> None:
        """Continues at the next offsets of partitions: accents at later records are not committed."""
        self._lines.clear()
        self._places.clear()
        path = self._path
        if self.files is None or not self.files.exists(path):
            return
        for id_, kept in json.loads(self.files.read(path)).items():
            is_same = (kept["registry"], kept["query"]) == (self.registry.address, self.importer.query)
            if is_same and kept["lines"] is not None:
                self._lines[int(id_)] = [line.encode() for line in kept["lines"]]
            places = {int(p): at for p, at in kept["places"].items()}
            if committed := {p: at for p, at in places.items() if at < offsets.get(p, 0)}:
                self._places[int(id_)] = committed

    def again(self, partition: int) -> None:
        """Begins a partition again, for a reader without a checkpoint."""
        for places in self._places.values():
            places.pop(partition, None)

    def lines(
        self, messages: Sequence[Any], values: Sequence[bytes | None], offsets: Sequence[int], partition: int
    ) -> tuple[Sequence[bytes | None], Sequence[int]]:
        """Returns the values of a partition's records with the accents before some of them, and their offsets.

        Raises `DiagnosticError` as `Importer.accents` does.
        """
        after: list[tuple[int, list[bytes]]] = []
        for number, message in enumerate(messages):
            value = values[number]
            # A record that is set aside, because the registry has no such schema or it is damaged, announces nothing.
            id_ = None if value is None or is_packed(value) else id_of(message)
            if id_ is None or isinstance(id_, UUID):
                continue
            # A schema that was imported in one partition stays so in all, although an edited query may list it.
            if id_ in self.importer.ids and id_ not in self._places:
                continue
            if partition not in (places := self._places.setdefault(id_, {})):
                after.append((number, self._of_schema(id_)))
                places[partition] = offsets[number]
        if not after:
            return values, offsets
        self._keep()
        lines, places_of, done = list[bytes | None](), list[int](), 0
        for number, accents in [*after, (len(values), [])]:
            lines += [*values[done:number], *accents]
            places_of += [*offsets[done:number], *(offsets[number] for _ in accents)]
            done = number
        return lines, places_of

    def _of_schema(self, id_: int) -> list[bytes]:
        if id_ not in self._lines:
            texts = self.importer.accents(id_, self.registry)
            self._lines[id_] = [json.dumps({"$accent": text}, ensure_ascii=False).encode() for text in texts]
        return self._lines[id_]

    @property
    def _path(self) -> str:
        return f"{self.folder}/imported.json"

    def _keep(self) -> None:
        if self.files is None:
            return
        own = {"registry": self.registry.address, "query": self.importer.query}
        content = {
            str(id_): {**own, "lines": self._texts(id_), "places": places}
            for id_, places in self._places.items()
        }
        self.files.write(self._path, json.dumps(content))

    def _texts(self, id_: int) -> list[str] | None:
        """Returns the lines of a schema; `None` if those that were read are of another query."""
        return [line.decode() for line in self._lines[id_]] if id_ in self._lines else None
