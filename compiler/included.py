"""Files that a query names: `use "streams.rq";` and `accent pumps from file "changes.rqm";`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from attrs import evolve, field, frozen

from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import Diagnostic, Span, failure
from cedilla.grammar.parser import parse_accent, parse_query


@frozen
class Included:
    """Puts the statements of named files in the places of their names. `folder`: that of the query.

    `texts`: the files read so far by their names in messages.
    """

    folder: Path
    texts: dict[str, str] = field(factory=dict[str, str])

    def expand(self, query: syntax.Query) -> syntax.Query:
        """Returns a query that names no files.

        Raises `DiagnosticError`: RQ237 for a file that cannot be used, and the errors of its statements.
        """
        return evolve(query, statements=tuple(self._statements(query.statements, ())))

    def with_excerpts(self, diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
        """Returns the diagnostics; those in a named file show their line."""
        return tuple(map(self._with_excerpt, diagnostics))

    def _with_excerpt(self, diagnostic: Diagnostic) -> Diagnostic:
        span = diagnostic.span
        if span is None or span.source not in self.texts:
            return diagnostic
        return evolve(diagnostic, excerpt=self.texts[span.source].split("\n")[span.line - 1].rstrip("\r"))

    def _statements(
        self, statements: Iterable[syntax.Statement], within: tuple[Path, ...]
    ) -> Iterator[syntax.Statement]:
        for statement in statements:
            match statement:
                case syntax.Use(path):
                    yield from self._used(path, statement.span, within)
                case syntax.StatedFile(source, path):
                    yield from self._stated(source, path, statement.span)
                case _:
                    yield statement

    def _used(self, name: str, span: Span, within: tuple[Path, ...]) -> Iterator[syntax.Statement]:
        path, text = self._read(name, span)
        if path in within:
            hint = "each file is used once: leave one of the `use` statements out"
            raise failure("RQ237", f"{name} uses itself", span, hint=hint)
        used = parse_query(text, name)
        for statement in used.statements:
            if isinstance(statement, syntax.Emit):
                hint = "the query that uses the file emits; the file declares what several queries read"
                raise failure("RQ237", f"{name} has an `emit`", statement.span, hint=hint)
        yield from self._statements(used.statements, (*within, path))

    def _stated(self, source: str, name: str, span: Span) -> Iterator[syntax.StatedAccent]:
        _, text = self._read(name, span)
        for number, line in enumerate(text.split("\n")):
            if line.strip() and not line.lstrip().startswith("#"):
                accent = parse_accent("\n" * number + line, name)  # so that places are those of the file
                yield syntax.StatedAccent(source, accent, span=accent.span)

    def _read(self, name: str, span: Span) -> tuple[Path, str]:
        check_signs(name, span)
        path = (self.folder / name).resolve()
        if not any(path.is_relative_to(root.resolve()) for root in (self.folder, Path())):
            hint = "a file below the folder of the query, or below the working directory"
            raise failure("RQ237", f"{name} is outside of the query's folder", span, hint=hint)
        try:
            self.texts[name] = utf8_text(path.read_bytes)
        except ValueError as reason:
            is_bytes = isinstance(reason, UnicodeError)
            hint = "a text in UTF-8" if is_bytes else f"its path from {self.folder}"
            raise failure("RQ237", f"{name} cannot be read: {reason}", span, hint=hint) from None
        return path, self.texts[name]


def check_signs(path: str, span: Span | None = None) -> None:
    """Raises RQ011 for a path with the character U+0000, which no system takes."""
    if "\0" in path:
        hint = "the path without it; a backslash is written twice, `\\\\u0000`"
        raise failure("RQ011", "a path with `\\u0000`, which no file can have", span, hint=hint)


def utf8_text(read: Callable[[], bytes]) -> str:
    """Returns the text of a file. Raises `ValueError` with the reason if it cannot be read, `UnicodeError` if it is not
    UTF-8."""
    try:
        return read().decode("utf-8-sig")
    except OSError as error:
        raise ValueError((error.strerror or str(error)).lower()) from None
    except UnicodeDecodeError as error:
        raise UnicodeError(f"byte {error.start} is not UTF-8") from None
