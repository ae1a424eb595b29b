"""The readers of mutated texts: of queries, streams and files. They may give nothing but coded diagnostics."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from cedilla.compiler import compile_query
from cedilla.compiler.explain.analysis.findings import findings
from cedilla.compiler.explain.explanation import explain_text
from cedilla.grammar.diagnostics import DiagnosticError, render
from cedilla.grammar.formatting.formatter import format_query
from cedilla.grammar.parser import parse_query
from cedilla.runtime.connectors.records.lines import Line
from cedilla.runtime.tools.stream_tools.schema import declared_schema, inferred_schema
from cedilla.runtime.tools.stream_tools.stream_checker import StreamChecker
from tests.kit.fuzz import in_time


def take_query(text: str) -> None:
    try:
        laid_out = format_query(parse_query(text), text)
        assert format_query(parse_query(laid_out), laid_out) == laid_out
        compiled = compile_query(text)
        findings(compiled.plan)
        explain_text(compiled.plan)
        compile(compiled.program, "<fuzz>", "exec")
    except DiagnosticError as error:
        check_codes(error, text)


def check_codes(error: DiagnosticError, text: str) -> None:
    assert error.diagnostics
    assert all(
        len(diagnostic.code) == 5 and diagnostic.code.startswith("RQ") for diagnostic in error.diagnostics
    )
    assert render(error.diagnostics, {"<text>": text})


TYPES = "ts: long, s: int in {1, 2, 3}, t: double, k?: string, b?: boolean, m?: decimal(9, 2), at?: timestamp, d?: date"

TUPLES = [
    '{"ts": 17, "s": 1, "t": 20.5, "k": "north", "b": true, "m": 1.5, "at": "2020-01-02T03:04:05Z", "d": "2020-01-02"}',
    '{"ts": 18, "s": 2, "t": -3, "k": null, "note": ["a", {"x": [1, 2.5e3]}]}',
    '{"ts":19,"s":3,"t":"NaN","k":"\\u00e9\\ud83d\\ude00"}',
]


def marker_line(text: str) -> str:
    kind = "accent" if text.startswith("[[") else "punctuation"
    return json.dumps({f"${kind}": text})


def follow(rng: Random, lines: Iterator[str]) -> None:
    """Lines one after the other, through a stream that has taken no more than some of them."""
    schemas = [declared_schema(TYPES), inferred_schema([Line(text, "f:1") for text in TUPLES])]
    checker = StreamChecker(schemas[0])
    for number, text in enumerate(lines):
        if number % 50 == 0:
            checker = StreamChecker(rng.choice(schemas))
        with in_time(text):
            for single in Line(text, "f:1").singles:
                _, diagnostics = checker.take(single)
                assert all(diagnostic.code.startswith("RQ") for diagnostic in diagnostics)


def write_file(path: Path, name: str, lines: Sequence[str]) -> Path:
    header = ["ts,s,t,k,b,m,at,d"] if name == "csv" else []
    path.write_bytes("\n".join([*header, *lines]).encode("utf-8", "surrogatepass"))
    return path
