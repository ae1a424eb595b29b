"""The markers of a file of JSON Lines as an editor has it, and the query that reads the file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from attrs import evolve, frozen

from cedilla.compiler.plan import Plan, Source, folders
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, Span
from cedilla.grammar.parser import parse_accent, parse_punctuation
from cedilla.runtime.connectors.records.lines import local_path, stream_files
from cedilla.runtime.connectors.records.marker import MarkerLine
from cedilla.runtime.control.markers.advance import advance
from cedilla.runtime.control.markers.stated_accents import starting_states
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.hosts.language_server.document import Document
from cedilla.runtime.hosts.language_server.fixes import Edit
from cedilla.runtime.hosts.language_server.symbols import Names
from cedilla.runtime.tools.inspect.trace import trace
from cedilla.runtime.tools.inspect.trace_texts import trace_text

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

    def offset(self, offset_in_file: int) -> int:
        """Returns the place in the marker of a place in the file."""
        return next(
            (n for n, position in enumerate(self.places) if position >= offset_in_file), len(self.text)
        )


def markers_in(text: str) -> Iterator[MarkerText]:
    """Yields the markers of a file's text."""
    for match in _MARKER.finditer(text):
        pieces = [*_ESCAPE.finditer(text, match.start(2), match.end(2))]
        try:
            decoded = json.loads(f'"{match[2]}"')
        except ValueError:  # a raw control sign, or an escape that JSON does not have
            continue
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
            if any(path.parent == _resolved(base / folder) for base in (root, Path(document.source).parent)):
                return Owner(document.plan, name.partition(".")[0], document.source)
    return None


def _resolved(path: Path) -> Path | None:
    """Returns the path without links; `None` for a text of a query that no file can be called."""
    try:
        return path.resolve()
    except ValueError:
        return None


def _others(root: Path, skipped: set[Path]) -> Iterator[Document]:
    for number, path in enumerate(sorted(root.rglob("*.rq"))):
        if number == _MAX_QUERIES:
            return
        if path.resolve() not in skipped:
            try:
                yield Document(path.read_text("utf-8"), str(path))
            except (OSError, UnicodeDecodeError):
                continue


@frozen(slots=False)
class CheckedMarker:
    """A marker with its findings. `states`: those of the sources before it, if the query that reads it is known."""

    marker: MarkerText
    owner: Owner | None
    states: dict[str, SourceState] | None

    @property
    def text(self) -> str:
        return self.marker.text

    @property
    def names(self) -> Names:
        """Returns no names of statements."""
        return Names(())

    @property
    def source(self) -> str:
        """Returns the name of its text in diagnostics."""
        return f"<{self.marker.kind}>"

    def with_text(self, text: str) -> CheckedMarker:
        return evolve(self, marker=evolve(self.marker, text=text))

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The findings about its text, and about what it does after the markers before it."""
        return self._result[0]

    @property
    def after(self) -> dict[str, SourceState] | None:
        """The states after it; the same ones if it is wrong."""
        return self._result[1]

    @cached_property
    def _result(self) -> tuple[tuple[Diagnostic, ...], dict[str, SourceState] | None]:
        try:
            parse = parse_accent if self.marker.kind == "accent" else parse_punctuation
            parse(self.text)
        except DiagnosticError as error:
            return tuple(error.diagnostics), self.states
        if self.owner is None or self.states is None:
            return (), self.states
        diagnostics, states = _advanced(self.owner, self.states, self.marker)
        return tuple(diagnostics), states


def check_markers(path: Path, text: str, owner: Owner | None) -> Iterator[CheckedMarker]:
    """Yields the markers of a file with their findings; without an owner those of their texts alone.

    The markers of earlier files of the stream come first. A wrong marker is passed over.
    """
    try:
        states = None if owner is None else _before(owner, path)
    except DiagnosticError:  # the query's own fault
        states = None
    for marker in markers_in(text):
        checked = CheckedMarker(marker, owner, states)
        yield checked
        states = checked.after


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


def edit_of(checked: CheckedMarker, edit: Edit) -> Edit:
    """Returns an edit of a marker's text as an edit of its file, where the text is a string of JSON."""
    places = checked.marker.places
    return Edit(places[edit.start], places[edit.end], json.dumps(edit.new, ensure_ascii=False)[1:-1])


def span_of(marker: MarkerText, diagnostic: Diagnostic) -> tuple[int, int]:
    """Returns the place in the file of a finding about a marker."""
    span: Span | None = diagnostic.span
    last = len(marker.text)
    start, end = (0, last) if span is None else (min(span.start, last), min(span.end, last))
    return marker.places[start], marker.places[max(end, start)]


def named_in(plan: Plan, source: Source, root: Path, name: str, opened: Mapping[Path, str]) -> str | None:
    """Returns the first file of a source with a marker that contains a name; `None` without one.

    `opened`: the texts that an editor has, which are newer than their files.
    """
    word = re.compile(rf"\b{re.escape(name)}\b")
    for stream, folder, _ in folders(plan):
        if stream.partition(".")[0] != source.name or local_path(folder) is None:
            continue
        home = _resolved(root / folder)
        if home is None:
            continue
        for path in sorted({*home.glob("*.jsonl"), *(path for path in opened if path.parent == home)}):
            text = opened.get(path)
            if text is None and path.stat().st_size <= _MAX_BYTES:
                text = path.read_text("utf-8", errors="replace")
            if any(word.search(marker.text) for marker in markers_in(text or "")):
                return f"{folder}/{path.name}"
    return None


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
