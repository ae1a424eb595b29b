"""The diagnostics of every stage: one structure, rendered last (design, section 8)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from attrs import asdict, evolve, field, frozen
from attrs.converters import optional

from cedilla.grammar.diagnostics.printable import one_line, signs, without_secrets

_LINE = 160

Severity = Literal["error", "warning", "note"]


@frozen
class Span:
    """A piece of a source text: character offsets from 0, lines and columns from 1, ends exclusive."""

    source: str
    start: int
    end: int
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}"


def _all_without_secrets(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(without_secrets, texts))


@frozen
class Diagnostic:
    """One finding. Codes RQ0xx belong to the grammar, RQ1xx and above to the compiler.

    `excerpt`: the one line that `span` is in, where that is a marker of a stream. Secrets of addresses are left out of
    message, notes and help.
    """

    code: str
    severity: Severity
    message: str = field(converter=without_secrets)
    span: Span | None = None
    notes: tuple[str, ...] = field(default=(), converter=_all_without_secrets)
    help: str | None = field(default=None, converter=optional(without_secrets))
    excerpt: str | None = None


class DiagnosticError(Exception):
    """Work ended because of what `diagnostics` say; at least one of them is an error."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        super().__init__(self.diagnostics)

    def add_note(self, note: str, /) -> None:
        """Adds a note to the first diagnostic."""
        first, *others = self.diagnostics
        self.diagnostics = (evolve(first, notes=(*first.notes, note)), *others)

    def __str__(self) -> str:
        return render(self.diagnostics, {})


def failure(
    code: str, message: str, span: Span | None = None, *, hint: str | None = None, notes: tuple[str, ...] = ()
) -> DiagnosticError:
    """One error, to raise; `hint`: what helps."""
    return DiagnosticError([Diagnostic(code, "error", message, span, notes, hint)])


def in_stream(diagnostic: Diagnostic, text: str, source: str, line: int) -> Diagnostic:
    """Returns the diagnostic of a marker's text at its line of the stream.

    Columns are those of the text; without a position in it, the span is the whole text.
    """
    span = diagnostic.span
    start, end = (0, len(text)) if span is None else (span.start, span.end)
    placed = Span(source, start, end, line, start + 1, line, end + 1)
    return evolve(diagnostic, span=placed, excerpt=" ".join(text.splitlines()))


def to_json(diagnostic: Diagnostic) -> dict[str, object]:
    """The diagnostic as plain JSON values; keys are the field names."""
    return {**asdict(diagnostic), "notes": list(diagnostic.notes)}


def from_json(data: Mapping[str, Any]) -> Diagnostic:
    """The diagnostic that `to_json` wrote."""
    span = None if data["span"] is None else Span(**data["span"])
    notes = tuple(data["notes"])
    return Diagnostic(
        data["code"], data["severity"], data["message"], span, notes, data["help"], data.get("excerpt")
    )


def render(diagnostics: Iterable[Diagnostic], texts: Mapping[str, str]) -> str:
    """Diagnostics for people, in the layout of ruff, without a final newline.

    `texts` maps source names to their texts; a diagnostic whose text is missing shows its position only.
    """
    return "\n\n".join(_render_one(diagnostic, texts) for diagnostic in diagnostics)


def _render_one(diagnostic: Diagnostic, texts: Mapping[str, str]) -> str:
    span = diagnostic.span
    lines = [f"{diagnostic.severity}[{diagnostic.code}]: {one_line(diagnostic.message)}"]
    margin = ""
    if span is not None:
        margin = " " * len(str(span.line))
        lines.append(f"{margin}--> {one_line(str(span))}")
        if diagnostic.excerpt is not None:
            lines += _snippet(span, diagnostic.excerpt, margin)
        elif span.source in texts:
            lines += _snippet(span, _row(texts[span.source], span.line), margin)
    notes = [note for note in diagnostic.notes if not _is_shown(diagnostic, note)]
    if len(lines) > 2 and (notes or diagnostic.help is not None):
        lines.append(f"{margin} |")
    lines += [f"{margin} = note: {one_line(note)}" for note in notes]
    if diagnostic.help is not None:
        lines.append(f"{margin} = help: {one_line(diagnostic.help)}")
    return "\n".join(lines)


def _is_shown(diagnostic: Diagnostic, note: str) -> bool:
    """Returns True if a note only repeats the marker that the excerpt shows."""
    span = diagnostic.span
    return (
        diagnostic.excerpt is not None
        and span is not None
        and note.startswith(f"{span.source}:{span.line}: ")
    )


def _row(text: str, line: int) -> str:
    rows = text.split("\n")
    return rows[line - 1].rstrip("\r") if line <= len(rows) else ""


def _snippet(span: Span, row: str, margin: str) -> list[str]:
    start = span.column - 1
    end = span.end_column - 1 if span.end_line == span.line else len(row)
    # A marker may be one very long line: show the part around the caret.
    first = max(0, start - _LINE // 2) if len(row) > _LINE else 0
    # An address may begin before that part.
    near = max(0, first - _LINE)
    shown = signs(row[near : first + _LINE])[first - near :]
    start, end = start - first, min(end - first, _LINE)
    before, marked = _width("".join(shown[:start])), _width("".join(shown[start:end]))
    return [
        f"{margin} |",
        f"{span.line} | {''.join(shown)}".rstrip(),
        f"{margin} | {' ' * before}{'^' * max(1, marked)}",
    ]


def _width(text: str) -> int:
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
