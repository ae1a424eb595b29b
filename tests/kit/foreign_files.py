"""Files as foreign programs write them, whole and damaged, in every format that sources have."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from io import BytesIO
from random import Random

import pyarrow as pa
from pyarrow import parquet

ROWS = 30
_NOT_UTF8 = [b"\xff\xfe", b"ok", b"a\xc3"]


def text_array(texts: list[bytes]) -> pa.Array:
    """A column of texts, which need not be UTF-8."""
    return pa.array(texts, pa.binary()).view(pa.string())


BAD_TEXTS = text_array(_NOT_UTF8)
_OFFSETS = pa.array([0, 1, 2, 3], pa.int32())
TEXTS: Mapping[str, pa.Array] = {
    "plain": BAD_TEXTS,
    "dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int32()), BAD_TEXTS),
    "list": pa.ListArray.from_arrays(_OFFSETS, BAD_TEXTS),
    "structure": pa.StructArray.from_arrays([BAD_TEXTS], ["x"]),
    "map": pa.MapArray.from_arrays(_OFFSETS, pa.array(["a", "b", "c"]), BAD_TEXTS),
    "large": pa.array(_NOT_UTF8, pa.large_binary()).view(pa.large_string()),
}
"""Columns of three rows with bytes that are not UTF-8 in all but the second."""
COLUMNS: Mapping[str, pa.Array] = {
    **TEXTS,
    "half": pa.array([1.5, 2, 3], pa.float16()),
    "decimal256": pa.array([Decimal(1), Decimal(2), None], pa.decimal256(76, 3)),
    "time32": pa.array([1, 2, 3], pa.time32("ms")),
    "time64": pa.array([1, 2, 3], pa.time64("us")),
    "duration": pa.array([1, 2, 3], pa.duration("us")),
    "unsigned": pa.array([1, 2, 2**64 - 1], pa.uint64()),
    "bytes": pa.array([b"\xff", b"b", None]),
    "fixed bytes": pa.array([b"ab", b"\xffb", None], pa.binary(2)),
    "far moments": pa.array([1, -(2**45), 2**45], pa.timestamp("s")),
    "nanoseconds": pa.array([1, 2, 2**62], pa.timestamp("ns", "UTC")),
    "nulls": pa.nulls(3),
    "list of structures": pa.array([[{"h": 1}], [None], None]),
    "half in a structure": pa.array([{"h": 1.5}, None, None], pa.struct([("h", pa.float16())])),
    "zeros": pa.array(["a\0b", "\0", ""]),
    "dictionary of numbers": pa.array([1, 2, 1]).dictionary_encode(),
    "identity": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"a" * 16] * 3, pa.binary(16))),
}
"""Columns of three rows, of types that outputs have and of others."""


def _parquet(rng: Random) -> bytes:
    columns: dict[str, pa.Array] = {
        "n": pa.array(range(ROWS)),
        "v": pa.array([f"a{n}" for n in range(ROWS)]),
        "x": pa.array([n / 2 for n in range(ROWS)]),
    }
    for name in rng.sample(sorted(COLUMNS), 2):
        attribute = rng.choice(["v", "x", "y"])
        columns[attribute] = pa.concat_arrays([COLUMNS[name]] * (ROWS // 3))
    if rng.random() < 0.3:
        columns["$accent"] = pa.array([*[None] * (ROWS - 1), "[[x = 1, alter(n, y -> y * 2)]]"])
    names = [*columns]
    if rng.random() < 0.1:
        names[-1] = names[0]
    buffer = BytesIO()
    parquet.write_table(
        pa.Table.from_arrays([*columns.values()], names=names),
        buffer,
        row_group_size=rng.choice([7, 100]),
        compression=rng.choice(["snappy", "none", "zstd", "gzip", "brotli", "lz4"]),
        use_dictionary=rng.random() < 0.5,
        data_page_version=rng.choice(["1.0", "2.0"]),
    )
    return buffer.getvalue()


def _json(rng: Random) -> bytes:
    return b"".join(json.dumps({"n": n, "v": f"a{n}", "x": n / 2}).encode() + b"\n" for n in range(ROWS))


def _csv(rng: Random) -> bytes:
    return b"n,v,x\n" + b"".join(b"%d,a%d,%f\n" % (n, n, n / 2) for n in range(ROWS))


def _xml(rng: Random) -> bytes:
    return b"".join(b"<r><n>%d</n><v>a%d</v><x>%f</x></r>\n" % (n, n, n / 2) for n in range(ROWS))


def _otlp(rng: Random) -> bytes:
    return b"".join(json.dumps(_request(n)).encode() + b"\n" for n in range(ROWS))


def _request(n: int) -> object:
    attributes = [{"key": "v", "value": {"stringValue": f"a{n}"}}]
    point = {"timeUnixNano": str(10**18 + n), "asDouble": n / 2, "attributes": attributes}
    metrics = [{"name": "temp", "gauge": {"dataPoints": [point]}}]
    return {"resourceMetrics": [{"resource": {}, "scopeMetrics": [{"scope": {}, "metrics": metrics}]}]}


WRITERS: Mapping[str, Callable[[Random], bytes]] = {
    "parquet": _parquet,
    "json": _json,
    "csv": _csv,
    "xml": _xml,
    "otlp": _otlp,
}
SUFFIXES = {"parquet": "parquet", "json": "jsonl", "csv": "csv", "xml": "xml", "otlp": "jsonl"}
SCHEMA = "n: long, v?: string, x?: double"


def query_over(format_: str) -> str:
    """A query over the files of a format."""
    attributes = (
        'metric: string, value: double, v?: string from attribute "v"' if format_ == "otlp" else SCHEMA
    )
    return f'stream r({attributes}) from {format_} "r"; emit r to json "o";'


_JUNK = (
    *(b"\xff", b"\xc3", b"\0", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xf4\x90\x80\x80", b"\n", b"\r"),
    *(b'"', b"<", b"{", b"[", b"\\ud800", b"&#0;", b"1e999999", b"9" * 400),
)


def damaged(rng: Random, data: bytes) -> bytes:
    """A file with one to four damages: flipped, lost, foreign and doubled bytes, and a lost end."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        near_end = rng.random() < 0.3  # where Parquet has its footer
        at = max(0, len(changed) - rng.randrange(1, 600)) if near_end else rng.randrange(len(changed) + 1)
        match rng.randrange(7):
            case 0:
                changed[at : at + 1] = bytes(byte ^ 1 << rng.randrange(8) for byte in changed[at : at + 1])
            case 1:
                changed[at:at] = rng.choice(_JUNK)
            case 2:
                del changed[at:]
            case 3:
                junk = rng.choice(_JUNK)
                changed[at : at + len(junk)] = junk
            case 4:
                del changed[at : at + rng.randrange(1, 50)]
            case 5:
                changed[at:at] = changed[at : at + rng.randrange(1, 200)]
            case _:
                if rng.random() < 0.1:
                    changed.clear()
    return bytes(changed)
