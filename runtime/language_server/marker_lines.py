"""The markers of a file of JSON Lines as an editor has it, and the query that reads the file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from attrs import evolve, frozen

from cedilla.compiler.plan import Plan, folders
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, Span
from cedilla.grammar.parser import parse_accent, parse_punctuation
from cedilla.runtime.control.markers.advance import advance
from cedilla.runtime.control.markers.stated_accents import starting_states
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.inspect.trace import trace, trace_text
from cedilla.runtime.language_server.document import Document
from cedilla.runtime.records.lines import stream_files
from cedilla.runtime.records.marker import MarkerLine

_MARKER = re.compile(r'"\$(accent|punctuation)"\s*:\s*"((?:[^"\\\n]|\\.)*)"')
_ESCAPE = re.compile(r"\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL)
_MAX_BYTES = 4 << 20
"""The greatest size of earlier files whose markers are read."""
_MAX_QUERIES = 200


@frozen
class MarkerText:
    """A marker in a file's text. `places`: the place in the file of each of its characters, and of its end."""

    kind: str
    text: str
    places: tuple[int, ...]

    def contains(self, offset: int) -> bool:
        """Returns True if a place of the file is in the marker."""
        return self.places[0] <= offset <= self.places[-1]

    def offset(self, place: int) -> int:
        """Returns the place in the marker of a place in the file."""
        return next((n for n, position in enumerate(self.places) if position >= place), len(self.text))


def markers_in(text: str) -> Iterator[MarkerText]:
    """Yields the markers of a file's text."""
    for match in _MARKER.finditer(text):
        pieces = [*_ESCAPE.finditer(text, match.start(2), match.end(2))]
        decoded = json.loads(f'"{match[2]}"')
        places = (*(piece.start() for piece in pieces), match.end(2))
        if len(decoded) == len(pieces):  # else it has two escapes for one character
            yield MarkerText(match[1], decoded, places)


@frozen
class Owner:
    """The source of a query that reads a file."""

    plan: Plan
    source: str
    query: str


def owner_of(path: Path, root: Path, queries: Iterable[Document]) -> Owner | None:
    """Returns the first query that reads the folder of a file. `root`: the folder that queries are run in.

    `queries`: those to ask first, before the other ones below `root`.
    """
    asked = list(queries)
    sources = {Path(stream.source).resolve() for stream in asked}
    for document in (*asked, *_others(root, sources)):
        if document.plan is None:
            continue
        for name, folder, _ in folders(document.plan):
            if any(path.parent == (base / folder).resolve() for base in (root, Path(document.source).parent)):
                return Owner(document.plan, name.partition(".")[0], document.source)
    return None


def _others(root: Path, known: set[Path]) -> Iterator[Document]:
    for number, path in enumerate(sorted(root.rglob("*.rq"))):
        if number == _MAX_QUERIES:
            return
        if path.resolve() not in known:
            try:
                yield Document(path.read_text("utf-8"), str(path))
            except (OSError, UnicodeDecodeError):
                continue


def check_markers(path: Path, text: str, owner: Owner | None) -> Iterator[tuple[MarkerText, Diagnostic]]:
    """Yields the findings about the markers of a file; without an owner those of their texts alone.

    The markers of earlier files of the stream come first. A wrong marker is passed over.
    """
    try:
        states = None if owner is None else _before(owner, path)
    except DiagnosticError:  # the query's own fault
        states = None
    for marker in markers_in(text):
        try:
            parse = parse_accent if marker.kind == "accent" else parse_punctuation
            parse(marker.text)
        except DiagnosticError as error:
            yield from ((marker, diagnostic) for diagnostic in error.diagnostics)
            continue
        if owner is not None and states is not None:
            diagnostics, states = _advanced(owner, states, marker)
            yield from ((marker, diagnostic) for diagnostic in diagnostics)


def _before(owner: Owner, path: Path) -> dict[str, SourceState]:
    """Returns the states of the sources after the markers of the files before one."""
    states = starting_states(owner.plan)
    source, size = owner.plan.source_of[owner.source], 0
    for file, _ in stream_files(str(path.parent), None, by_name=source.by_name):
        size += Path(file).stat().st_size
        if Path(file).resolve() == path or size > _MAX_BYTES:
            break
        for marker in markers_in(Path(file).read_text("utf-8", errors="replace")):
            _, states = _advanced(owner, states, marker)
    return states


def _advanced(
    owner: Owner, states: dict[str, SourceState], marker: MarkerText
) -> tuple[list[Diagnostic], dict[str, SourceState]]:
    """Returns the findings about a marker, and the states after it; the same states if it is wrong."""
    begun = {name: state.next_epoch() for name, state in states.items()}
    line = MarkerLine(marker.kind, marker.text, 0)
    effects = advance(owner.plan, begun, {owner.source: [line]}, lambda *_: "", {owner.source})
    failures = [problem for stop in effects.failures for problem in stop.diagnostics]
    if failures:
        return failures, states
    aside = [problem.warning for problem in effects.set_aside if problem.warning is not None]
    return [*(problem.diagnostic for problem in effects.warnings), *aside], dict(effects.states)


def span_of(marker: MarkerText, diagnostic: Diagnostic) -> tuple[int, int]:
    """Returns the place in the file of a finding about a marker."""
    span: Span | None = diagnostic.span
    last = len(marker.text)
    start, end = (0, last) if span is None else (min(span.start, last), min(span.end, last))
    return marker.places[start], marker.places[max(end, start)]


def marker_at(text: str, offset: int) -> MarkerText | None:
    """Returns the marker around a place of a file."""
    return next((candidate for candidate in markers_in(text) if candidate.contains(offset)), None)


def marker_hover(owner: Owner, text: str, marker: MarkerText) -> str:
    """Returns what every operator does with a marker, after those before it in the file."""
    plan = owner.plan
    earlier = [marker_text for marker_text in markers_in(text) if marker_text.places[0] < marker.places[0]]
    states = starting_states(plan)
    good: list[tuple[str, str]] = []
    for marker_text in earlier:
        diagnostics, states = _advanced(owner, states, marker_text)
        if not any(one.severity == "error" for one in diagnostics):
            good.append((owner.source, marker_text.text))
    try:
        *_, last = trace(plan, [*good, (owner.source, marker.text)])
    except DiagnosticError as error:
        return "\n".join(f"{marker_text.code}: {marker_text.message}" for marker_text in error.diagnostics)
    return trace_text(evolve(last, warnings=()))
