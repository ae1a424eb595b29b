"""Lines that are no tuples for one cause: it is told once, with what to do, and the quarantine has their bytes."""

from __future__ import annotations

import bz2
import gzip
import json
from base64 import b64decode
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime import simulate
from cedilla.runtime.connectors.records.unreadable import BadLine, cause_of, unreadable
from cedilla.runtime.epochs.checkpoint.set_aside import set_aside_line
from cedilla.runtime.epochs.options.options import Options
from tests.kit.query import Query
from tests.kit.tiers import tiered

QUERY = 'stream r(k: int) from json "in";\nemit r to json "out";\n'
TEXT = "".join(f'{{"k": {n}}}\n' for n in range(50))
ROW = b'{"k": 1}'
OTLP = bytes.fromhex("0a480a2e0a2c0a0c736572766963652e6e616d65121c0a1a")
HEADS = {
    b"\0\0\0\0\1\x02\x06abc": "schema registry",
    b"\0\0\1\x86\xa0\x10\x08": "schema registry",
    OTLP: "OTLP",
    gzip.compress(TEXT.encode()): "gzip",
    bz2.compress(TEXT.encode()): "bzip2",
    b"\x28\xb5\x2f\xfd\x04\x58": "zstd",
    b"\x04\x22\x4d\x18\x64": "lz4",
    b"PK\x03\x04\x14\0": "zip",
    TEXT.encode("utf-16"): "UTF-16",
    TEXT.encode("utf-16-le"): "UTF-16",
    TEXT.encode("utf-16-be"): "UTF-16",
    b'[{"k": 1},{"k": 2}]': "JSON array",
    b'\xef\xbb\xbf [ {"k": 1} ]': "JSON array",
}


@pytest.mark.parametrize("head", HEADS)
def test_the_first_bytes_tell_the_cause(head: bytes) -> None:
    cause = cause_of(head[:64])
    assert cause is not None
    assert HEADS[head] in cause.what


@pytest.mark.parametrize(
    "head", [b"", ROW, b"{'k': 1}", b"[1, 2]", b"\xff\xff", b"\0", b"k,v\n1\n", b"\n{", b"Obj"]
)
def test_other_bytes_have_no_cause(head: bytes) -> None:
    assert cause_of(head) is None


def test_one_sentence_has_the_number_and_the_first_place() -> None:
    lines = [BadLine(f"f:{n}", b"\x1f\x8b\x08\0") for n in range(3)] + [BadLine("g:1", b"{")]
    warning = unreadable("r", lines)
    assert warning is not None
    assert warning.message == "3 lines of `r` are not tuples, because they are packed by gzip"
    assert warning.notes == ("f:0: begins with the bytes 1F 8B 08 00",)
    assert (unreadable("r", lines[3:]), unreadable("r", [])) == (None, None)


@pytest.mark.either_engine
@pytest.mark.parametrize(
    ("content", "what"),
    tiered([(gzip.compress(TEXT.encode(), mtime=0), "gzip"), (TEXT.encode("utf-16"), "UTF-16")]),
)
def test_a_cause_is_told_once_a_run_and_after_a_restart(
    spark: SparkSession, tmp_path: Path, content: bytes, what: str
) -> None:
    """Of two files, each an epoch: by a run, by another one, and by `simulate`; each line keeps its bytes."""
    run = Query(spark, tmp_path, QUERY)
    for number in range(2):
        run.write("r", ["{}"], f"{number}.jsonl").write_bytes(content)
    run.process(files_per_epoch=1)
    warned = [warning for report in run.reports for warning in report.warnings]
    assert [warning.code for warning in warned] == ["RQ346"]
    assert what in warned[0].message
    kept = b"\n".join(
        b64decode(line["bytes"]) if "bytes" in line else line["raw"].encode() for line in run.quarantine("r")
    )
    first = kept[: len(kept) // 2].split(b"\n")[0]
    assert first == content.split(b"\n")[0].split(b"\r")[0]
    run.write("r", ["{}"], "2.jsonl").write_bytes(content)
    run.reports.clear()
    run.run()
    assert [warning.code for report in run.reports for warning in report.warnings] == ["RQ346"]
    warnings: list[Diagnostic] = []
    simulate(QUERY, Options(sources=run.options().sources), on_warning=warnings.append)
    assert [warning.code for warning in warnings] == ["RQ346"]


def test_a_line_of_the_quarantine_has_its_bytes() -> None:
    line = {"code": "RQ301", "position": {"file": "f", "line": 1}, "raw": "\0\ufffd", "bytes": "AP8="}
    read = set_aside_line(json.dumps(line))
    assert read is not None
    assert read.content == b"\0\xff"
