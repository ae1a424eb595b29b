"""A registry of schemas on this machine, with the interface of Confluent's, and records with the ids of its schemas."""

from __future__ import annotations

import io
import json
import threading
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote
from uuid import UUID

import fastavro
from attrs import define, field

Field = Mapping[str, Any]


@define(eq=False)
class Registry:
    """Schemas by id, and the versions of subjects. `asked`: the paths of all requests. `account`: required of them."""

    port: int = 0
    account: str | None = None
    asked: list[str] = field(factory=list[str])
    status: int = 200
    """The status of all answers, if it is not 200."""
    schemas: dict[int, dict[str, Any]] = field(factory=dict[int, dict[str, Any]])
    subjects: dict[str, list[int]] = field(factory=dict[str, list[int]])
    _server: ThreadingHTTPServer | None = None

    @property
    def address(self) -> str:
        return f"http://localhost:{self.port}"

    def register(
        self, subject: str, id_: int, schema: Any, kind: str = "AVRO", references: Sequence[Any] = ()
    ) -> int:
        """Adds a version of a subject. `schema`: JSON, or the text of one of Protobuf. `references`: name, subject and
        version of each schema that it names."""
        named = [
            dict(zip(("name", "subject", "version"), reference, strict=True)) for reference in references
        ]
        text = schema if kind == "PROTOBUF" else json.dumps(schema)
        self.schemas[id_] = {"schema": text, "schemaType": kind, "references": named}
        self.subjects.setdefault(subject, []).append(id_)
        return id_

    def start(self) -> None:
        self._server = ThreadingHTTPServer(("localhost", self.port), _handler(self))
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def take(self, path: str, body: dict[str, Any]) -> Any:
        """Registers the schema of a request, or finds it, and returns the answer."""
        subject = unquote(path.split("?", maxsplit=1)[0].split("/")[2])
        schema = {"schemaType": "AVRO", "references": [], **body}
        id_ = next((id_ for id_, other in self.schemas.items() if other == schema), None)
        id_ = max([0, *self.schemas]) + 2 if id_ is None else id_
        self.schemas[id_] = schema
        ids = self.subjects.setdefault(subject, [])
        ids += [] if id_ in ids else [id_]
        version = ids.index(id_) + 1
        return {"subject": subject, "id": id_, "guid": str(UUID(int=id_)), "version": version, **schema}

    def answer(self, path: str) -> Any:
        """Returns the answer to a request; `None` if there is none."""
        match [unquote(part) for part in path.split("?", maxsplit=1)[0].strip("/").split("/")]:
            case ["schemas", "ids", id_]:
                return self.schemas.get(int(id_))
            case ["schemas", "guids", guid]:
                return self.schemas.get(UUID(guid).int)
            case ["schemas", "ids", id_, "subjects"]:
                return [subject for subject, ids in self.subjects.items() if int(id_) in ids] or None
            case ["subjects"]:
                return [*self.subjects]
            case ["subjects", subject, "versions"] if subject in self.subjects:
                return [*range(1, len(self.subjects[subject]) + 1)]
            case ["subjects", subject, "versions", number] if subject in self.subjects:
                id_ = self.subjects[subject][int(number) - 1]
                return {"subject": subject, "version": int(number), "id": id_, **self.schemas[id_]}
            case _:
                return None


def _handler(registry: Registry) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            registry.asked.append(self.path)
            answer, status = registry.answer(self.path), registry.status
            if registry.account is not None:
                wanted = f"Basic {b64encode(registry.account.encode()).decode()}"
                status = status if self.headers.get("Authorization") == wanted else 401
            if status == 200 and answer is None:
                status = 404
            self.reply(status, answer if status == 200 else {"error_code": status, "message": "no"})

        def do_POST(self) -> None:
            registry.asked.append(self.path)
            content = self.rfile.read(int(self.headers["Content-Length"]))
            self.reply(200, registry.take(self.path, json.loads(content)))

        def reply(self, status: int, answer: Any) -> None:
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None: ...

    return Handler


@contextmanager
def registry(**of: Any) -> Iterator[Registry]:
    """A registry that runs."""
    started = Registry(**of)
    started.start()
    try:
        yield started
    finally:
        started.stop()


def record_schema(*fields: Field, name: str = "Reading") -> dict[str, Any]:
    """A schema of a record."""
    return {"type": "record", "name": name, "fields": [*fields]}


def envelope_schema(*columns: Field) -> dict[str, Any]:
    """The schema of change events of a table with these columns, as Debezium registers it."""
    row = {"type": "record", "name": "Value", "fields": [*columns]}
    source = {"type": "record", "name": "Source", "fields": [{"name": "lsn", "type": ["null", "long"]}]}
    return record_schema(
        {"name": "before", "type": ["null", row]},
        {"name": "after", "type": ["null", "Value"]},
        {"name": "source", "type": source},
        {"name": "op", "type": "string"},
    )


def avro(schema: Any, item: Any, names: dict[str, Any] | None = None) -> bytes:
    """A tuple by a schema, as its writer encodes it."""
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema, {} if names is None else names), item)
    return stream.getvalue()


def framed(id_: int, value: bytes) -> bytes:
    """A record with the id of its schema in front."""
    return b"\0" + id_.to_bytes(4) + value
