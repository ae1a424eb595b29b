"""Collects the diagnostics of all passes, so that one error does not hide those of other statements."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager

from attrs import evolve, field, mutable

from cedilla.compiler.expressions.units.own import NO_OWN_UNITS, OwnUnits
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, Span, failure


@mutable
class Report:
    """The errors and warnings about a query, and what its plan is called and made of."""

    query: syntax.Query
    name: str
    text: str
    params: Mapping[str, str]
    errors: list[Diagnostic] = field(factory=list[Diagnostic])
    warnings: list[Diagnostic] = field(factory=list[Diagnostic])
    own_units: OwnUnits = NO_OWN_UNITS

    @contextmanager
    def collecting(self) -> Generator[None]:
        """Collects the errors of one statement; the next ones are read too."""
        try:
            yield
        except DiagnosticError as error:
            self.errors += map(self._with_short_names, error.diagnostics)

    def _with_short_names(self, diagnostic: Diagnostic) -> Diagnostic:
        """Returns a diagnostic that names units as the query does."""
        if not self.own_units:
            return diagnostic
        help, shown = diagnostic.help, self.own_units.shown
        return evolve(
            diagnostic, message=shown(diagnostic.message), help=None if help is None else shown(help)
        )

    def finish(self) -> tuple[Diagnostic, ...]:
        """Returns the warnings. Raises `DiagnosticError` with all errors, in the order of the text, and the
        warnings."""
        if self.errors:
            self.errors.sort(key=lambda error: 0 if error.span is None else error.span.start)
            raise DiagnosticError([*self.errors, *map(self._with_short_names, self.warnings)])
        return tuple(map(self._with_short_names, self.warnings))


def own_name(relation: str, part: str) -> str:
    """Returns the name of an attribute that the compiler adds to a relation: users' names have no such sign."""
    return f"{relation}{_OWN}{part}"


def is_own_name(name: str) -> bool:
    """Returns True for the name of an attribute that the compiler adds."""
    return _OWN in name


_OWN = "\N{MIDDLE DOT}"


def fresh(kind: str, taken: set[str]) -> str:
    """Returns a name that no relation has, and takes it: `kind`, or `kind_2` and so on."""
    names = (kind if number == 1 else f"{kind}_{number}" for number in range(1, len(taken) + 2))
    name = next(name for name in names if name not in taken)
    taken.add(name)
    return name


def relation_names(query: syntax.Query) -> set[str]:
    """Returns the names that a query's statements give to relations."""
    named = (syntax.StreamDeclaration, syntax.Definition)
    return {statement.name for statement in query.statements if isinstance(statement, named)}


def check_once(names: Collection[str], where: str, span: Span) -> None:
    """Raises RQ104 if a list contains a name twice."""
    listed = list(names)
    if (twice := next((name for name in listed if listed.count(name) > 1), None)) is not None:
        raise failure("RQ104", f"`{twice}` is named twice in `{where}`", span, hint=f"name `{twice}` once")
