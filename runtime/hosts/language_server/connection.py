# pyright: basic
# As in `server.py`: the types of pygls are partial.
"""Messages of an editor, framed and checked: each request has one answer.

The loop of pygls does not answer requests with wrong parameters, and takes what it cannot read for headers.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any, BinaryIO

from lsprotocol import types as lsp
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcMethodNotFound,
    JsonRpcParseError,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import JsonRPCNotification, JsonRPCRequestMessage, LanguageServerProtocol

from cedilla.grammar.diagnostics import DiagnosticError, failure

_LONGEST_HEADER = 8 << 10
_LONGEST_MESSAGE = 64 << 20
_LENGTH = re.compile(rb"content-length:[ \t]*([0-9]{1,10})[ \t]*\r?\n", re.IGNORECASE)


class Protocol(LanguageServerProtocol):
    """The protocol of pygls, which answers an invalid message with an error."""

    def take(self, body: bytes) -> None:
        """Handles one message."""
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            self._refuse(None, JsonRpcParseError())
            return
        try:
            self._handle(message)
        except JsonRpcException as refused:
            if isinstance(message, dict) and "method" in message and "id" not in message:
                self._server.report_server_error(refused, type(refused))  # a notification has no answer
            else:
                self._refuse(message.get("id") if isinstance(message, dict) else None, refused)

    def _refuse(self, number: Any, refused: JsonRpcException) -> None:
        """Answers an error. The types of pygls leave out a number that is null, which the protocol asks for."""
        answered = number if type(number) in (int, str) else None
        error = {"code": refused.code, "message": refused.message}
        self._send_data({"jsonrpc": self.VERSION, "id": answered, "error": error})

    def _handle(self, message: Any) -> None:
        """Hands a message to what handles its method. Raises `JsonRpcException` for a wrong one."""
        if not isinstance(message, dict) or message.get("jsonrpc") != self.VERSION:
            raise JsonRpcInvalidRequest
        if "method" not in message and {"result", "error"} & {*message}:
            return  # the server asks nothing
        method = message.get("method")
        if not isinstance(method, str) or type(message.get("id", 0)) not in (int, str):
            raise JsonRpcInvalidRequest
        if method not in {**self.fm.builtin_features, **self.fm.features}:
            if "id" in message:
                raise JsonRpcMethodNotFound
            return  # a notification that the protocol may have, and this server does not take
        if self._workspace is None and method not in (lsp.INITIALIZE, lsp.EXIT):
            raise JsonRpcServerNotInitialized("the first request is `initialize`")
        self.handle_message(self._typed(method, message))

    def _typed(self, method: str, message: dict[str, Any]) -> Any:
        fallback = JsonRPCRequestMessage if "id" in message else JsonRPCNotification
        try:
            return self._converter.structure(
                {"params": None, **message}, self.get_message_type(method) or fallback
            )
        except Exception as wrong:  # the conversion of any type may raise any error
            raise JsonRpcInvalidParams(f"wrong parameters of {method}") from wrong

    def _send_handler_result(self, future: Future[Any], *, msg_id: int | str) -> None:
        """Sends a result, or a refusal; pygls would log a refusal as a mistake, with a traceback."""
        refused = future.exception()
        if isinstance(refused, JsonRpcException):
            self._refuse(msg_id, refused)
        else:
            super()._send_handler_result(future, msg_id=msg_id)


class Writer:
    """Writes to an editor. The server ends when the editor is gone."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, data: bytes) -> None:
        try:
            self._stream.write(data)
            self._stream.flush()
        except OSError:
            sys.exit(1)

    def close(self) -> None:
        """Leaves the stream open, which the process closes."""


def messages(stream: BinaryIO) -> Iterator[bytes]:
    """Yields the messages of a stream. Raises `DiagnosticError` RQ502 for bytes that are not a message."""
    while (length := _length(stream)) is not None:
        body = stream.read(length)
        if len(body) < length:
            raise _no_message(f"it ends after {len(body):,} of {length:,} bytes of a message")
        yield body


def _length(stream: BinaryIO) -> int | None:
    """Reads the headers of a message; returns its length, `None` at the end of the stream."""
    length, line = None, stream.readline(_LONGEST_HEADER)
    if not line:
        return None
    while line.strip():
        if not line.endswith(b"\n"):
            raise _no_message("a header is cut, or is too long")
        if match := _LENGTH.fullmatch(line):
            length = int(match[1])
        line = stream.readline(_LONGEST_HEADER)
    if length is None or length > _LONGEST_MESSAGE:
        raise _no_message(f"a message begins with `Content-Length`, which is at most {_LONGEST_MESSAGE:,}")
    return length


def _no_message(why: str) -> DiagnosticError:
    hint = "an editor starts `cedilla lsp` and writes to it; to check a query in a terminal, `cedilla check`"
    return failure("RQ502", f"the input is not of the language server protocol: {why}", hint=hint)
