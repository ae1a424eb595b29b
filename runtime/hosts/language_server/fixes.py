"""Edits that follow the hint of a diagnostic. Each is tried: the text after it no longer has the finding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from attrs import frozen

from cedilla.grammar.diagnostics import Diagnostic, Span
from cedilla.grammar.parsing import statements

if TYPE_CHECKING:
    from cedilla.runtime.hosts.language_server.document import Document
    from cedilla.runtime.hosts.language_server.marker_lines import CheckedMarker

_MEANT = re.compile(r"did you mean `([^`]+)`(?! or)")
_LEFT_OUT = re.compile(r"leave `([^`]+)` out")
_WRITTEN = re.compile(r"(?:is|are) written `([^`()]+)`")
_EXPECTED = re.compile(r"^(?:expected|missing) `([^`]+)`(?:;|$| at)", re.MULTILINE)
_PROMISED = re.compile(r"`(punctuated on [^`]+)` of `([^`]+)`")
_EMITTED = re.compile(r"^`(emit [^`]*;)`")
_REQUIRED = re.compile(r"`(\w+): [^`]*` without `\?`")
_KNOWN = re.compile(r"known \w+: ([\w, ]+)")
_QUOTED = re.compile(r"`([^`]+)`")
_SIGNS = re.compile(r"[=!<>&|]+")
_MAX_WORDS = 5


@frozen
class Edit:
    """Characters from `start` to `end` of a text, and what replaces them."""

    start: int
    end: int
    new: str

    def applied(self, text: str) -> str:
        return f"{text[: self.start]}{self.new}{text[self.end :]}"


@frozen
class Fix:
    """An edit that removes a finding."""

    title: str
    edit: Edit


def fixes(document: Document | CheckedMarker, diagnostic: Diagnostic) -> list[Fix]:
    """Returns the edits that a diagnostic's hint names and that remove it, without another error."""
    by_edit: dict[Edit, Fix] = {}
    for fix in _candidates(document, diagnostic, diagnostic.help or ""):
        if fix.edit not in by_edit and _removes(document, diagnostic, fix.edit):
            by_edit[fix.edit] = fix
    return list(by_edit.values())


def _removes(document: Document | CheckedMarker, diagnostic: Diagnostic, edit: Edit) -> bool:
    after = document.with_text(edit.applied(document.text)).diagnostics
    same = [
        finding
        for finding in after
        if (finding.code, finding.message) == (diagnostic.code, diagnostic.message)
    ]
    return not same and _errors(after) <= _errors(document.diagnostics) - (diagnostic.severity == "error")


def _errors(diagnostics: tuple[Diagnostic, ...]) -> int:
    return sum(diagnostic.severity == "error" for diagnostic in diagnostics)


def _candidates(document: Document | CheckedMarker, diagnostic: Diagnostic, help: str) -> Iterator[Fix]:
    text, span = document.text, diagnostic.span
    if (match := _EMITTED.search(help)) is not None:
        yield Fix(f"Add {match[1]}", Edit(len(text), len(text), f"\n{match[1]}\n"))
    if (match := _PROMISED.search(help)) is not None and (end := _end_of(document, match[2])) is not None:
        yield Fix(f"Add {match[1]} to {match[2]}", Edit(end, end, f" {match[1]}"))
    if (match := _REQUIRED.search(help)) is not None:
        for mark in re.finditer(rf"\b{re.escape(match[1])}\s*(\?)\s*:", text):
            yield Fix(f"Declare {match[1]} without `?`", Edit(mark.start(1), mark.end(1), ""))
    if span is None or span.source != document.source:
        return
    for word in _words(help):
        for edit in _replacements(text, span, diagnostic.message, word):
            yield Fix(f"Change to {word}", edit)
    if (match := _LEFT_OUT.search(help)) is not None and (position := text.find(match[1], span.start)) >= 0:
        yield Fix(f"Leave {match[1]} out", Edit(position, position + len(match[1]), ""))
    for word in [";"] if "ends with `;`" in help else _EXPECTED.findall(f"{help}\n{diagnostic.message}"):
        for position in (len(text[: span.start].rstrip()), span.end):
            yield Fix(f"Insert {word}", Edit(position, position, word if word == ";" else f" {word} "))


def _words(help: str) -> Iterator[str]:
    """Yields the words that a hint proposes, the likely one first."""
    yield from _MEANT.findall(help)
    yield from _WRITTEN.findall(help)
    if help.startswith("available: "):
        yield from _QUOTED.findall(help)
    for listed in _KNOWN.findall(help):
        yield from listed.split(", ")[:_MAX_WORDS]


def _replacements(text: str, span: Span, message: str, word: str) -> Iterator[Edit]:
    """Yields the places of the word that a message names; the whole piece if it names none there."""
    named = [
        (span.start + match.start(), span.start + match.end())
        for name in _QUOTED.findall(message)
        for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text[span.start : span.end])
    ]
    for start, end in named or [(span.start, span.end)]:
        is_call = text.startswith("(", end)
        yield Edit(start, end, word.partition("(")[0] if is_call else word)
    signs = next((sign for sign in _SIGNS.finditer(text) if sign.start() <= span.start < sign.end()), None)
    if signs is not None:
        yield Edit(signs.start(), signs.end(), word)


def _end_of(document: Document | CheckedMarker, relation: str) -> int | None:
    """Returns the place of the semicolon of the statement that declares a relation."""
    for occurrence in document.names.occurrences:
        if (
            occurrence.kind == "relation"
            and occurrence.defines
            and occurrence.name == relation
            and occurrence.source == document.source
        ):
            _, end = statements.bounds(document.text, occurrence.start)
            return document.text.rfind(";", 0, end)
    return None
