"""Schemas of Protobuf: the text of a `.proto` file, or its descriptor in base64, and those that it imports."""

from __future__ import annotations

import subprocess
import sys
from base64 import b64decode
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from attrs import frozen

from cedilla.grammar.diagnostics import failure

_MAIN, _BUILT_IN, _SET = "schema.proto", "built_in.bin", "set.bin"
_SECONDS = 30


@frozen(eq=False)
class ProtobufSchema:
    """The descriptor of a file, with those that it needs in a `pool` of its own."""

    file: Any
    pool: Any

    def message(self, indexes: tuple[int, ...]) -> Any:
        """Returns the descriptor of a message: its number in the file, and those of nested ones in theirs.

        Raises `ValueError` for a number that the file does not have.
        """
        within = [*self.file.message_types_by_name.values()]
        message = None
        for index in indexes:
            if not 0 <= index < len(within):
                raise ValueError(
                    f"its schema has no message {'.'.join(map(str, indexes))}, which the record names"
                )
            message = within[index]
            within = [*message.nested_types]
        if message is None:
            raise ValueError("its schema has no message")
        return message


def parsed_schema(text: str, imported: Mapping[str, str]) -> ProtobufSchema:
    """Returns a schema. `imported`: the texts of the files that it and others import, by their paths.

    Raises `DiagnosticError` RQ442 if the compiler of Protobuf is not installed, and `ValueError` with the reason for a
    schema that is not valid.
    """
    return _parsed(text, tuple(imported.items()))


@lru_cache(256)
def _parsed(text: str, imported: tuple[tuple[str, str], ...]) -> ProtobufSchema:
    pools, sets = _library()
    main = _MAIN
    while main in dict(imported):
        main = f"_{main}"
    built_in = sets.FileDescriptorSet.FromString(_built_in(sets))
    ready = sets.FileDescriptorSet(file=(one for one in built_in.file if one.name not in dict(imported)))
    with TemporaryDirectory(prefix="cedilla-") as folder:
        for path, content in (*imported, (main, text)):
            if (serialized := _serialized(content, sets)) is not None:
                serialized.name = path
                ready.file.append(serialized)
                continue
            if (
                PurePosixPath(path).is_absolute()
                or ".." in PurePosixPath(path).parts
                or not path.isprintable()
            ):
                raise ValueError("its schema imports a file by a path that is not one of a registry")
            file = Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
        Path(folder, _BUILT_IN).write_bytes(ready.SerializeToString())
        # A process of its own, as the compiler writes errors to standard error.
        command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{folder}"]
        command += [f"--descriptor_set_in={folder}/{_BUILT_IN}", "--include_imports"]
        command += [f"--descriptor_set_out={folder}/{_SET}", main]
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, check=False, timeout=_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise ValueError(f"its schema takes more than {_SECONDS} seconds to be read") from None
        if done.returncode:
            errors = (
                line for line in done.stderr.splitlines() if ".proto:" in line and "warning:" not in line
            )
            raise ValueError(
                f"its schema is not valid: {next(errors, 'no reason').replace(f'{folder}/', '')}"
            )
        content = Path(folder, _SET).read_bytes()
    pool = pools.DescriptorPool()
    for file in sets.FileDescriptorSet.FromString(content).file:
        pool.Add(file)
    return ProtobufSchema(pool.FindFileByName(main), pool)


def _library() -> tuple[Any, Any]:
    try:
        import grpc_tools  # noqa: F401
        from google.protobuf import descriptor_pb2, descriptor_pool
    except ImportError:
        message = "records of Protobuf require the package grpcio-tools, which is not installed"
        raise failure("RQ442", message, hint="pip install 'cedilla[protobuf]'") from None
    return descriptor_pool, descriptor_pb2


def _serialized(text: str, sets: Any) -> Any:
    """Returns the descriptor that some serializers register in base64; `None` for the text of a file."""
    from google.protobuf.message import DecodeError

    try:
        return sets.FileDescriptorProto.FromString(b64decode(text, validate=True)) if text else None
    except (ValueError, DecodeError):
        return None


@lru_cache(1)
def _built_in(sets: Any) -> bytes:
    """Returns the files of Google and Confluent that schemas import without a reference."""
    from google.protobuf import descriptor_pb2

    modules: list[Any] = [descriptor_pb2]
    with suppress(ImportError):  # older versions of the client have none
        from confluent_kafka.schema_registry.confluent import meta_pb2
        from confluent_kafka.schema_registry.confluent.type import decimal_pb2

        modules += [meta_pb2, decimal_pb2]
    files = sets.FileDescriptorSet()
    for module in modules:
        module.DESCRIPTOR.CopyToProto(files.file.add())
    return files.SerializeToString()
