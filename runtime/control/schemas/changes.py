"""Changes that an importer found: accents that a query states, and what a person has to decide. All importers share
this form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import assert_never

from attrs import evolve, frozen

from cedilla.compiler.plan import Plan, StatedAccent
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, Span
from cedilla.runtime.control.markers.stated_accents import with_accents
from cedilla.runtime.control.sources.source_state import SourceState

_WIDTH = 118


@frozen
class Stated:
    """An accent. `says`: what in the file says so, with its line."""

    text: str
    says: str
    span: Span | None = None


@frozen
class Undecided:
    """A question that the file leaves open, so that a person decides. `choices`: accents to choose from. `is_needed`:
    tuples may have a wrong meaning until then."""

    why: str
    hint: str
    span: Span | None = None
    choices: tuple[str, ...] = ()
    is_needed: bool = True


Entry = Stated | Undecided


@frozen
class Chapter:
    """The changes of one version."""

    title: str
    entries: tuple[Entry, ...]


@frozen
class Changes:
    """The result of an importer. `head`: remarks for the reader."""

    head: tuple[str, ...]
    chapters: tuple[Chapter, ...]

    @property
    def entries(self) -> Iterator[Entry]:
        """All changes, in their order."""
        return (entry for chapter in self.chapters for entry in chapter.entries)

    @property
    def stated(self) -> int:
        """The number of accents."""
        return sum(isinstance(entry, Stated) for entry in self.entries)

    def warnings(self) -> list[Diagnostic]:
        """Returns what a person has to decide, as warnings RQ508."""
        return [
            Diagnostic("RQ508", "warning", entry.why, entry.span, help=entry.hint)
            for entry in self.entries
            if isinstance(entry, Undecided)
        ]

    def text(self) -> str:
        """Returns the file: an accent a line, and remarks."""
        lines = [*_remarks(self.head)]
        for chapter in self.chapters:
            if chapter.entries:
                lines += ["", f"# {chapter.title}"]
                lines += [line for entry in chapter.entries for line in _lines(entry)]
        return "".join(f"{line}\n" for line in lines)

    def fitting(self, plan: Plan, source: str) -> Changes:
        """Returns the same with each accent that a source of a plan refuses as a question, with the reason."""
        states = {s.name: SourceState.start(s, plan.droppable[s.name]) for s in plan.sources}
        chapters: list[Chapter] = []
        for chapter in self.chapters:
            entries: list[Entry] = []
            for entry in chapter.entries:
                kept = entry
                if isinstance(entry, Stated):
                    line = 0 if entry.span is None else entry.span.line
                    stated = StatedAccent(entry.text, line, entry.span)
                    try:
                        states = with_accents(plan, states, {source: [stated]})[0]
                    except DiagnosticError as error:
                        kept = _refused(entry, error.diagnostics[0])
                entries.append(kept)
            chapters.append(Chapter(chapter.title, tuple(entries)))
        return evolve(self, chapters=tuple(chapters))


def _refused(entry: Stated, diagnostic: Diagnostic) -> Undecided:
    why = f"the query refuses a change, {diagnostic.code}: {diagnostic.message}"
    return Undecided(
        why, diagnostic.help or "the remark in the file has the accent", entry.span, (entry.text,)
    )


def _lines(entry: Entry) -> Iterator[str]:
    match entry:
        case Stated():
            yield f"{entry.text}  # {entry.says}"
        case Undecided():
            yield from _remarks([f"decide: {entry.why}; {entry.hint}"])
            yield from (f"#   {choice}" for choice in entry.choices)
        case _:
            assert_never(entry)


def _remarks(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from (
            f"# {line}" for line in wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
        )
