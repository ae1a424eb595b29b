"""Asks a registry for schemas, and makes lines of the records that begin with the id of theirs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol
from uuid import UUID

from attrs import define, field, frozen

from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.grammar.diagnostics.printable import without_secrets
from cedilla.runtime.connectors.records.avro import AvroReader
from cedilla.runtime.connectors.records.record_files import one_line, packed
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.topics.kafka_client import PROPERTIES, library, registry_settings
from cedilla.runtime.connectors.topics.record_lines import ID_HEADER, LENGTHS, frame_of, header_of

_SECONDS = 10
_RETRIES = 2
_ASKED_AGAIN = 5.0
"""The time in seconds after which the registry is asked again for an id that it did not know."""
_MARKER = b'"$'


@frozen
class RegisteredSchema:
    """A schema of a registry. `kind`: AVRO, JSON or PROTOBUF. `references`: the texts of the schemas that it names,
    each after those that it needs."""

    kind: str
    text: str
    references: tuple[str, ...] = ()


@frozen
class SchemaVersion:
    """A version of a subject."""

    number: int
    id: int
    schema: RegisteredSchema


@define(eq=False)
class SchemaRegistry:
    """A registry of schemas with the interface of Confluent's.

    Raises `DiagnosticError`: RQ442 without its client, RQ443 for wrong settings, RQ505 if it does not answer or
    refuses.
    """

    address: str
    _client: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        of = library("confluent_kafka.schema_registry")
        own = {"timeout": _SECONDS, "max.retries": _RETRIES, **registry_settings(), "url": self.address}
        try:
            self._client = of.SchemaRegistryClient.new_client(own)
        except (ValueError, TypeError, OSError) as problem:
            message = f"the client of the registry cannot be set up: {without_secrets(str(problem))}"
            hint = "lines `schema.registry.NAME=VALUE`: `basic.auth.user.info`, `ssl.ca.location`"
            raise failure("RQ443", message, hint=hint) from None

    def schema(self, id_: int | UUID) -> RegisteredSchema | None:
        """Returns the schema of an id; `None` if the registry does not have it."""
        if isinstance(id_, UUID):
            answer = self._asked(lambda: self._client.get_schema_by_guid(str(id_)))
        else:
            answer = self._asked(lambda: self._client.get_schema(id_))
        return None if answer is None else self._whole(answer)

    def versions(self, subject: str) -> list[SchemaVersion]:
        """Returns the versions of a subject in their order; none if the registry does not have it."""
        numbers = self._asked(lambda: self._client.get_versions(subject)) or []
        answer = [(n, self._asked(lambda n=n: self._client.get_version(subject, n))) for n in numbers]
        return [SchemaVersion(n, v.schema_id, self._whole(v.schema)) for n, v in answer if v is not None]

    def subjects(self) -> list[str]:
        """Returns the names of all subjects."""
        return self._asked(self._client.get_subjects) or []

    def _whole(self, schema: Any) -> RegisteredSchema:
        texts: dict[tuple[str, int], str] = {}
        self._refer(schema, texts)
        return RegisteredSchema(schema.schema_type or "AVRO", schema.schema_str, tuple(texts.values()))

    def _refer(self, schema: Any, texts: dict[tuple[str, int], str]) -> None:
        """Adds the schemas that a schema names, each after those that it needs."""
        for reference in schema.references or ():
            key = (reference.subject, reference.version)
            if key not in texts:
                named = self._asked(lambda key=key: self._client.get_version(*key))
                if named is None:
                    raise self._refused(f"it has no version {key[1]} of `{key[0]}`, which a schema names")
                self._refer(named.schema, texts)
                texts[key] = named.schema.schema_str

    def _asked(self, ask: Callable[[], Any]) -> Any:
        """Returns the answer to a question; `None` if the registry does not have what it is asked for."""
        refusal = library("confluent_kafka.schema_registry.error").SchemaRegistryError
        try:
            return ask()
        except DiagnosticError:
            raise
        except refusal as problem:
            if problem.http_status_code == 404:
                return None
            raise self._refused(f"{problem.error_message} (HTTP {problem.http_status_code})") from None
        except Exception as problem:  # its library raises errors of several others
            raise self._refused(str(problem) or type(problem).__name__) from None

    def _refused(self, why: str) -> DiagnosticError:
        message = f"the registry {self.address}: {without_secrets(why)}"
        hint = (
            "the next run continues after the last commit; the account is in the file of "
            f"{PROPERTIES}, `schema.registry.basic.auth.user.info=USER:PASSWORD`"
        )
        return failure("RQ505", message, hint=hint)


@define(eq=False)
class KeptSchemas:
    """The schemas of a registry by id. Each is kept in a folder of the checkpoint, if there is one: records that are
    read again need no registry."""

    registry: SchemaRegistry
    files: Files | None = None
    folder: str = ""

    def schema(self, id_: int | UUID) -> RegisteredSchema | None:
        """Returns the schema of an id; `None` if the registry does not have it. Raises RQ505."""
        if self.files is None:
            return self.registry.schema(id_)
        path = f"{self.folder}/{id_}.json"
        if self.files.exists(path):
            kept = json.loads(self.files.read(path))
            # An id means another schema in another registry.
            if kept["registry"] == self.registry.address:
                return RegisteredSchema(kept["kind"], kept["text"], tuple(kept["references"]))
        schema = self.registry.schema(id_)
        if schema is not None:
            own = {"registry": self.registry.address, "kind": schema.kind}
            content = {**own, "text": schema.text, "references": schema.references}
            self.files.write(path, json.dumps(content))
        return schema


class RecordReader(Protocol):
    """Reads the records of one schema."""

    def line(self, record: bytes) -> bytes:
        """Returns a record as a line. Raises `ValueError` with the reason if it is not of the schema."""
        ...

    def lines(self, records: Sequence[bytes]) -> list[bytes | None]:
        """Returns each record as a line, and `None` for those that `line` refuses."""
        ...


class _JsonReader:
    """Reads records of JSON, whose schema is not asked."""

    def line(self, record: bytes) -> bytes:
        return one_line(record)

    def lines(self, records: Sequence[bytes]) -> list[bytes | None]:
        return [*map(one_line, records)]


@frozen
class _Unreadable:
    """Refuses the records of a schema."""

    why: str

    def line(self, record: bytes) -> bytes:
        raise ValueError(self.why)

    def lines(self, records: Sequence[bytes]) -> list[bytes | None]:
        return [None] * len(records)


@define(eq=False)
class FramedRecords:
    """Makes lines of records with the id of a schema. Any other record stays with its bytes and the reason."""

    schemas: KeptSchemas
    _readers: dict[int | UUID, RecordReader] = field(init=False, factory=dict[int | UUID, RecordReader])
    _unknown: dict[int | UUID, float] = field(init=False, factory=dict[int | UUID, float])
    """The time at which the registry may be asked again for an id."""

    @classmethod
    def of(cls, address: str, files: Files | None = None, folder: str = "") -> FramedRecords:
        """Returns those of a registry, whose schemas a folder keeps. Raises RQ442, RQ443."""
        return cls(KeptSchemas(SchemaRegistry(address), files, folder))

    def lines(self, messages: Sequence[Any]) -> list[bytes | None]:
        """Returns the line of each message, and `None` for those without a value. Raises RQ442, RQ505."""
        heads = [header_of(message, ID_HEADER) for message in messages]
        values: list[bytes | None] = list(map(library().Message.value, messages))
        lines, alike = list[bytes | None]([None] * len(values)), dict[bytes, list[int]]()
        for number, value in enumerate(values):
            if value is not None:
                alike.setdefault(_frame(value, heads[number]), []).append(number)
        for frame, numbers in alike.items():
            some = [(values[number] or b"", heads[number]) for number in numbers]
            for number, line in zip(numbers, self._lines(frame, some), strict=True):
                lines[number] = line
        return lines

    def _lines(self, frame: bytes, records: Sequence[tuple[bytes, bytes | None]]) -> list[bytes]:
        """Returns the lines of records with the same frame, each with the one in its header."""
        lines: list[bytes | None] = [None] * len(records)
        if frame and len(frame) == LENGTHS.get(frame[0]):
            with suppress(ValueError):  # the reason of each record comes below
                reader = self._reader(_id_in(frame))
                lines = reader.lines([v if head is not None else v[len(frame) :] for v, head in records])
        return [self.line(*of) if line is None else line for line, of in zip(lines, records, strict=True)]

    def line(self, value: bytes, head: bytes | None = None) -> bytes:
        """Returns the line of a record. Markers have no frame. `head`: the frame in a header. Raises RQ442, RQ505."""
        frame = _frame(value, head)
        if not frame:
            if not value or (value.lstrip().startswith(b"{") and _MARKER in value):
                return one_line(value)
            return packed(value, fault="the record does not begin with the id of its schema")
        if len(frame) != LENGTHS.get(frame[0]):
            return packed(value, fault="the record is cut off in the id of its schema")
        try:
            return self._reader(_id_in(frame)).line(value[len(frame) :] if head is None else value)
        except ValueError as problem:
            return packed(value, fault=str(problem))

    def _reader(self, id_: int | UUID) -> RecordReader:
        """Returns the reader of a schema. Raises `ValueError` with the reason if it cannot be read."""
        if (reader := self._readers.get(id_)) is not None:
            return reader
        schema, now = None, time.monotonic()
        if now >= self._unknown.get(id_, now):
            schema = self.schemas.schema(id_)
            self._unknown[id_] = now + _ASKED_AGAIN
        if schema is None:
            raise ValueError(f"the registry has no schema {id_}, which the record names")
        reader = self._readers[id_] = _reader_of(schema, id_)
        return reader


def _frame(value: bytes, head: bytes | None) -> bytes:
    """Returns the frame of a record: that in its header, else the one with which it begins."""
    return frame_of(value) if head is None else head


def _id_in(frame: bytes) -> int | UUID:
    return int.from_bytes(frame[1:]) if len(frame) == LENGTHS[0] else UUID(bytes=frame[1:])


def _reader_of(schema: RegisteredSchema, id_: int | UUID) -> RecordReader:
    match schema.kind:
        case "AVRO":
            try:
                return AvroReader(schema.text, schema.references)
            except ValueError as problem:
                return _Unreadable(f"{problem} (schema {id_})")
        case "JSON":
            return _JsonReader()
        case kind:
            return _Unreadable(f"its schema {id_} is of {kind.capitalize()}, and Avro and JSON are read")
