"""Takes records from the library of the client (librdkafka) without an object of Python for each (`batches.c`).

Its functions are those of rdkafka.h, which any program may call, and are found by the client's own module. If a client
hides them, or there was no C compiler where Cedilla was installed, `MessageClient` reads the same.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterator, Mapping
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_void_p
from typing import Any

import numpy as np
from attrs import frozen

from cedilla.compiler.plan.topics import Topic
from cedilla.runtime.connectors.records.compiled import are_wanted, extension
from cedilla.runtime.connectors.records.marker_files import MARKED_LINE
from cedilla.runtime.connectors.topics.kafka_client import library, refused, settings
from cedilla.runtime.connectors.topics.record_runs import Problem, Run

_batches = extension("topics._batches")
IS_THERE = _batches is not None and are_wanted()
"""True if records can be taken here."""

_CONSUMER = 1
_WITHOUT_CLOSING = 8
"""A flag for the end of a client: there is no group to be left."""
_REASON = 512
_FUNCTIONS: Mapping[str, tuple[Any, list[Any]]] = {
    "conf_new": (c_void_p, []),
    "conf_set": (c_int, [c_void_p, c_char_p, c_char_p, c_char_p, c_size_t]),
    "conf_destroy": (None, [c_void_p]),
    "new": (c_void_p, [c_int, c_void_p, c_char_p, c_size_t]),
    "destroy_flags": (None, [c_void_p, c_int]),
    "poll_set_consumer": (c_int, [c_void_p]),
    "queue_get_consumer": (c_void_p, [c_void_p]),
    "queue_destroy": (None, [c_void_p]),
    "topic_partition_list_new": (c_void_p, [c_int]),
    "topic_partition_list_add": (c_void_p, [c_void_p, c_char_p, c_int32]),
    "topic_partition_list_set_offset": (c_int, [c_void_p, c_char_p, c_int32, c_int64]),
    "topic_partition_list_destroy": (None, [c_void_p]),
    "incremental_assign": (c_void_p, [c_void_p, c_void_p]),
    "incremental_unassign": (c_void_p, [c_void_p, c_void_p]),
    "error_code": (c_int, [c_void_p]),
    "error_destroy": (None, [c_void_p]),
    "get_watermark_offsets": (c_int, [c_void_p, c_char_p, c_int32, POINTER(c_int64), POINTER(c_int64)]),
    "consume_batch_queue": (c_int64, [c_void_p, c_int, c_void_p, c_size_t]),
    "message_destroy": (None, [c_void_p]),
    "last_error": (c_int, []),
}
"""The functions of librdkafka without their prefix `rd_kafka_`: results and arguments."""


@frozen(eq=False)
class BatchClient:
    """Reads partitions of a topic by a client of its own."""

    topic: Topic
    _library: Mapping[str, Any]
    _handle: int
    _queue: int

    @classmethod
    def of(cls, topic: Topic, own: Mapping[str, Any]) -> BatchClient | None:
        """Returns a client with the user's settings and its own, `None` if there can be none."""
        functions = _functions() if IS_THERE else None
        handle = None if functions is None else _made(functions, settings(topic.servers, own))
        if functions is None or handle is None:
            return None
        functions["poll_set_consumer"](handle)
        client = cls(topic, functions, handle, functions["queue_get_consumer"](handle))
        weakref.finalize(client, _close, functions, handle, client._queue)
        return client

    def assign(self, offsets: Mapping[int, int]) -> None:
        self._ask("incremental_assign", offsets)

    def unassign(self, partition: int) -> None:
        self._ask("incremental_unassign", {partition: 0})

    def last_end(self, partition: int) -> int:
        low, high = c_int64(-1), c_int64(-1)
        name = self.topic.name.encode()
        self._library["get_watermark_offsets"](self._handle, name, partition, byref(low), byref(high))
        return high.value

    def take(self, most: int, seconds: float) -> Iterator[Run | Problem]:
        functions = (self._library[name] for name in ("consume_batch_queue", "message_destroy"))
        consume, destroy = (ctypes.cast(function, c_void_p).value for function in functions)
        runs, could_ask = _batches.take(consume, destroy, self._queue, int(1000 * seconds), most, MARKED_LINE)
        if not could_ask:
            raise self._refusal(self._library["last_error"]())
        for partition, first, last, offsets, content in runs:
            if not isinstance(content, int):
                kept = (
                    range(first, last + 1) if offsets is None else np.frombuffer(offsets, np.int64).tolist()
                )
                yield Run(partition, kept, content, last + 1)
        for partition, offset, _, reason, content in runs:
            if isinstance(content, int):
                yield Problem(partition, offset, _error(content, reason))

    def _ask(self, function: str, offsets: Mapping[int, int]) -> None:
        """Calls a function with places. Raises `DiagnosticError` RQ444."""
        of, name = self._library, self.topic.name.encode()
        places = of["topic_partition_list_new"](len(offsets))
        for partition, offset in offsets.items():
            of["topic_partition_list_add"](places, name, partition)
            of["topic_partition_list_set_offset"](places, name, partition, offset)
        error = of[function](self._handle, places)
        of["topic_partition_list_destroy"](places)
        if error:
            code = of["error_code"](error)
            of["error_destroy"](error)
            raise self._refusal(code)

    def _refusal(self, code: int) -> Exception:
        return refused(self.topic.servers, library().KafkaException(_error(code, None)))


def _error(code: int, reason: bytes | None) -> Any:
    return library().KafkaError(code, *(() if reason is None else (reason.decode("utf-8", "replace"),)))


def _functions() -> Mapping[str, Any] | None:
    """Returns the functions of the library that the client has loaded, `None` if they are not to be seen."""
    try:
        loaded = ctypes.CDLL(library("confluent_kafka.cimpl").__file__)
        functions = {name: loaded[f"rd_kafka_{name}"] for name in _FUNCTIONS}
    except (OSError, AttributeError):
        return None
    for name, (result, arguments) in _FUNCTIONS.items():
        functions[name].restype, functions[name].argtypes = result, arguments
    return functions


def _made(functions: Mapping[str, Any], properties: Mapping[str, Any]) -> int | None:
    """Returns a client of the library, `None` if it refuses a property that the client for Python takes."""
    conf, reason = functions["conf_new"](), ctypes.create_string_buffer(_REASON)
    for name, value in properties.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if functions["conf_set"](conf, name.encode(), text.encode(), reason, _REASON):
            functions["conf_destroy"](conf)
            return None
    handle = functions["new"](_CONSUMER, conf, reason, _REASON)
    if not handle:
        functions["conf_destroy"](conf)
    return handle or None


def _close(functions: Mapping[str, Any], handle: int, queue: int) -> None:
    functions["queue_destroy"](queue)
    functions["destroy_flags"](handle, _WITHOUT_CLOSING)
