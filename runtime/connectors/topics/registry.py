"""Asks a registry for schemas, and makes lines of the records that begin with the id of theirs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from attrs import define, field, frozen

from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.grammar.diagnostics.printable import without_secrets
from cedilla.runtime.connectors.records.avro import AvroReader
from cedilla.runtime.connectors.records.protobuf_records import ProtobufReader
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
    each after those that it needs. `names`: their names; in Protobuf these are paths that files import."""

    kind: str
    text: str
    references: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def imported(self) -> dict[str, str]:
        """The texts of the schemas that it names, by their names."""
        return dict(zip(self.names, self.references, strict=True))


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

    def subjects_of(self, id_: int) -> list[str]:
        """Returns the names of the subjects with a schema."""
        return self._asked(lambda: self._client.get_subjects_by_schema_id(id_)) or []

    def subjects(self) -> list[str]:
        """Returns the names of all subjects."""
        return self._asked(self._client.get_subjects) or []

    def _whole(self, schema: Any) -> RegisteredSchema:
        texts: dict[tuple[str, str, int], str] = {}
        self._refer(schema, texts)
        names = tuple(name for name, *_ in texts)
        return RegisteredSchema(schema.schema_type or "AVRO", schema.schema_str, tuple(texts.values()), names)

    def _refer(self, schema: Any, texts: dict[tuple[str, str, int], str]) -> None:
        """Adds the schemas that a schema names, each after those that it needs."""
        for reference in schema.references or ():
            key = (reference.name, reference.subject, reference.version)
            if key not in texts:
                _, subject, number = key
                named = self._asked(lambda of=(subject, number): self._client.get_version(*of))
                if named is None:
                    raise self._refused(f"it has no version {number} of `{subject}`, which a schema names")
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
            if kept["registry"] == self.registry.address and "names" in kept:
                return RegisteredSchema(
                    kept["kind"], kept["text"], tuple(kept["references"]), tuple(kept["names"])
                )
        schema = self.registry.schema(id_)
        if schema is not None:
            own = {"registry": self.registry.address, "kind": schema.kind}
            content = {**own, "text": schema.text, "references": schema.references, "names": schema.names}
            self.files.write(path, json.dumps(content))
        return schema


_Read = Callable[[bytes], bytes]


@define(eq=False)
class FramedRecords:
    """Makes lines of records with the id of a schema. Any other record stays with its bytes and the reason."""

    schemas: KeptSchemas
    _readers: dict[int | UUID, _Read] = field(init=False, factory=dict[int | UUID, _Read])
    _unknown: dict[int | UUID, float] = field(init=False, factory=dict[int | UUID, float])
    """The time at which the registry may be asked again for an id."""

    @classmethod
    def of(cls, address: str, files: Files | None = None, folder: str = "") -> FramedRecords:
        """Returns those of a registry, whose schemas a folder keeps. Raises RQ442, RQ443."""
        return cls(KeptSchemas(SchemaRegistry(address), files, folder))

    def lines(self, messages: Sequence[Any]) -> list[bytes | None]:
        """Returns the line of each message, and `None` for those without a value. Raises RQ442, RQ505."""
        heads = (header_of(message, ID_HEADER) for message in messages)
        values = map(library().Message.value, messages)
        return [None if v is None else self.line(v, head) for v, head in zip(values, heads, strict=True)]

    def line(self, value: bytes, head: bytes | None = None) -> bytes:
        """Returns the line of a record. Markers have no frame. `head`: the frame in a header. Raises RQ442, RQ505."""
        frame = frame_of(value) if head is None else head
        if not frame:
            if not value or (value.lstrip().startswith(b"{") and _MARKER in value):
                return one_line(value)
            return packed(value, fault="the record does not begin with the id of its schema")
        length = LENGTHS.get(frame[0], 0)
        if not 0 < length <= len(frame):
            return packed(value, fault="the record is cut off in the id of its schema")
        try:
            # The indexes of a message of Protobuf follow the id, in a header, too.
            record = value[length:] if head is None else frame[length:] + value
            return self._reader(_id_in(frame[:length]))(record)
        except ValueError as problem:
            return packed(value, fault=str(problem))

    def _reader(self, id_: int | UUID) -> _Read:
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


def id_of(message: Any) -> int | UUID | None:
    """Returns the id of the schema of a record with a value; `None` if it has none."""
    head = header_of(message, ID_HEADER)
    frame = frame_of(message.value()) if head is None else head
    length = LENGTHS.get(frame[0], 0) if frame else 0
    return _id_in(frame[:length]) if 0 < length <= len(frame) else None


def _id_in(frame: bytes) -> int | UUID:
    return int.from_bytes(frame[1:]) if len(frame) == LENGTHS[0] else UUID(bytes=frame[1:])


def _reader_of(schema: RegisteredSchema, id_: int | UUID) -> _Read:
    try:
        match schema.kind:
            case "AVRO":
                return AvroReader(schema.text, schema.references).line
            case "PROTOBUF":
                return ProtobufReader(schema.text, schema.imported).line
            case "JSON":
                return one_line
            case kind:
                why = f"its schema {id_} is of {kind}, and Avro, JSON and Protobuf are read"
    except ValueError as problem:
        why = f"{problem} (schema {id_})"

    def refuse(record: bytes) -> bytes:
        raise ValueError(why)

    return refuse
