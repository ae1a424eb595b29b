"""Tuples of Debezium, CloudEvents and Kafka Connect, and the flat ones in them."""

from __future__ import annotations

from collections.abc import Sequence

from tests.kit.stream import Item

FLAT = 'stream r(n: long, power?: double) from json "r"; emit r to json "out";'
ROWS: Sequence[Item] = [
    {"n": 1, "power": 1.5},
    {"n": 2, "powr": 2.5},
    {"n": 3, "power": 3.5, "powr": None},
    {"n": 4, "power": 4.5, "more": {"a": 1}},
    {"n": 5, "powr": 2**62, "a.b": 1},
]
ENVELOPES = {
    "connect": ('"payload.{}"', lambda row: {"schema": {"type": "struct"}, "payload": row, "ts_ms": 17}),
    "debezium": (
        '"payload.after.{}"',
        lambda row: {"payload": {"before": None, "after": row, "op": "c", "ts_ms": 17}, "schema": None},
    ),
    "cloudevents": ('"data.{}"', lambda row: {"specversion": "1.0", "id": "a-1", "data": row, "powr": "x"}),
}


def in_envelope(kind: str) -> tuple[str, list[Item]]:
    """Returns the query and the tuples in envelopes of a kind."""
    path, wrapped = ENVELOPES[kind]
    declared = f"n: long from {path.format('n')}, power?: double from {path.format('power')}"
    return FLAT.replace("n: long, power?: double", declared), [wrapped(row) for row in ROWS]
