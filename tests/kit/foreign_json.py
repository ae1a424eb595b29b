"""JSON of strangers: documents of every shape, and right ones of which a value has become another."""

from __future__ import annotations

import json
from random import Random
from typing import Any

DEPTH = 12_000
"""Deeper than any parser in Python follows."""

DOCUMENTS: dict[str, bytes] = {
    "nothing": b"",
    "blanks": b" \n\t\r\n",
    "null": b"null",
    "true": b"true",
    "a number": b"7",
    "a string": b'"text"',
    "an empty list": b"[]",
    "a list": b'[1, "a", null]',
    "an empty object": b"{}",
    "another object": b'{"version": 1, "a": [{"b": null}]}',
    "cut": b'{"version": 1, "epo',
    "two values": b"{} {}",
    "deep lists": b"[" * DEPTH + b"]" * DEPTH,
    "deep lists that do not end": b"[" * DEPTH,
    "deep objects": b'{"a":' * DEPTH + b"1" + b"}" * DEPTH,
    "many digits": b"9" * 1_000_000,
    "many digits inside": b'{"version": ' + b"9" * 1_000_000 + b"}",
    "a great exponent": b'{"version": 1e999999999}',
    "not a number": b'{"version": NaN, "epoch": -Infinity}',
    "one name twice": b'{"version": 1, "version": [], "version": 1}',
    "half a pair": b'{"version": "\\ud800", "\\udfff": 1}',
    "a null sign": b'{"version": "\\u0000", "\\u0000": 1}\x00',
    "nulls": b"\x00" * 5_000,
    "a mark of byte order": b"\xef\xbb\xbf{}",
    "utf-16": '{"version": 1}'.encode("utf-16"),
    "not utf-8": b'{"version": "\xff\xfe\xc0\x80"}',
    "half a pair in utf-8": b'{"version": "\xed\xa0\x80"}',
    "a long line": b'{"version": "' + b"x" * 3_000_000 + b'"}',
    "many members": json.dumps({str(n): n for n in range(2_000)}).encode(),
    "colours": b'{"\x1b[31m": "\x1b]0;t\x07"}',
    "not json": b"<html></html>\nPK\x03\x04 %s ${x}",
}
"""Documents by kind."""

VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    10**30,
    2**63,
    1.5,
    float("nan"),
    float("inf"),
    "",
    "text",
    "\x1b[31m\u202e",
    "\ud800",
    "x" * 10_000,
    [],
    [[]],
    [1, "a", None],
    {},
    {"a": {}},
    {"$accent": "[[-(t)]]"},
)
"""Values that take the place of others."""


def changed(rng: Random, text: str) -> str:
    """Returns a JSON text in which a value, a name or the number of members is another one."""
    document = json.loads(text)
    parents = [node for node in _nodes(document) if node]
    if not parents:
        return json.dumps(rng.choice(VALUES))
    parent = rng.choice(parents)
    at = rng.choice([*parent]) if isinstance(parent, dict) else rng.randrange(len(parent))
    match rng.randrange(4):
        case 0:
            del parent[at]
        case 1 if isinstance(parent, dict):
            parent[str(rng.choice(VALUES))] = parent.pop(at)
        case 2 if isinstance(parent, list):
            parent.append(rng.choice(VALUES))
        case _:
            parent[at] = rng.choice(VALUES)
    return json.dumps(document)


def _nodes(document: Any) -> list[Any]:
    """Returns the lists and objects of a document, from outside in."""
    nodes, waiting = list[Any](), [document]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict | list):
            nodes.append(node)
            waiting += node.values() if isinstance(node, dict) else node
    return nodes
