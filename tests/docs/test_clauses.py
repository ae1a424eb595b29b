"""Statements, clauses and accents in the running text of pages are in the language that is, as their blocks are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cedilla.compiler.compile import compile_query
from cedilla.grammar.parser import parse_accent, parse_query
from tests.docs.examples import FENCE, PAGES, blocks, page_name

_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_TYPE = r"(?:int|long|double|decimal|string|boolean|timestamp|date|version|list of string)\b"
_PLACEHOLDER = re.compile(r"\.\.\.|\b[A-Z]{3,}\b(?!\")|\bdelay D\b")
"""What a reader fills in: not a text of the language."""
_STREAM = re.compile(r"^stream (?P<name>\w+)\((?P<attributes>.*?)\)\s+from ", re.MULTILINE | re.DOTALL)
_KINDS = {
    "accent": re.compile(r"\[\[.*\]\]$"),
    "statement": re.compile(
        r"(?:stream|table|let|unit|use|emit|set|accent|operator) .*;$|\w+ := .*;$|set \w+ = [^;]+$"
    ),
    "clause": re.compile(r"(?:heartbeat|punctuated on|markers|ordered by|partitioned by) \S"),
    "attribute": re.compile(rf"\w+\??: {_TYPE}"),
    "relation": re.compile(r"[a-z]+\[.*\]\(.*\)$"),
}


def clauses(text: str) -> Iterator[tuple[str, str]]:
    """Yields the kind and the text of each piece of code in a page's text that is in the language."""
    for match in _CODE.finditer(FENCE.sub("", text)):
        for kind, pattern in _KINDS.items():
            if pattern.match(match[1]) and not _PLACEHOLDER.search(match[1]):
                yield kind, match[1]


CLAUSES = [
    pytest.param(page, kind, text, id=f"{page_name(page)}:{text}")
    for page in PAGES
    if page.name != "errors.md"  # its texts are wrong, and tests/docs/test_reference.py says how
    for kind, text in clauses(page.read_text("utf-8"))
]


@pytest.mark.parametrize(("page", "kind", "text"), CLAUSES)
def test_a_clause_in_running_text_is_in_the_language(page: Path, kind: str, text: str) -> None:
    match kind:
        case "accent":
            parse_accent(text)
        case "statement":
            parse_query(f"{text.removesuffix(';')};")
        case "attribute":
            parse_query(f'stream r({text}) from json "r";')
        case "relation":
            parse_query(f"x := {text};")
        case "clause":
            parse_query(f'stream r(a: long) from json "r" {text};')
            for attributes in _declared(page, text):
                compile_query(f'stream r({attributes}) from json "r" {text}; emit r to json "out";')
        case _:
            raise AssertionError(kind)


def _declared(page: Path, clause: str) -> Iterator[str]:
    """Yields the attributes of the page's first stream that has the one of a heartbeat: it must fit there."""
    heartbeat = re.match(r"heartbeat (\w+)", clause)
    if heartbeat:
        for block in blocks(page, "rq"):
            for stream in _STREAM.finditer(block.text):
                if re.search(rf"\b{heartbeat[1]}: ", stream["attributes"]):
                    yield stream["attributes"]
                    return


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ('`heartbeat ts delay 10` and `accent r from file "x.rqm"`', ["clause"]),
        ('`accent r from json "x";`', ["statement"]),
        ('`[[s = 1, ...]]`, `emit NAME to json "x";`', []),
    ],
)
def test_the_kinds_are_told_by_their_words(text: str, kinds: list[str]) -> None:
    assert [kind for kind, _ in clauses(text)] == kinds
