"""Unknown attributes: the relation where one of the name is known."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager

from attrs import evolve

from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError

_UNKNOWN = re.compile(r"unknown attribute `(\w+)`")


@contextmanager
def with_places(query: syntax.Query, types_of: Callable[[str], Iterable[str] | None]) -> Generator[None]:
    """Adds to hints about unknown attributes a relation of the query that has the attribute.

    `types_of`: the attributes of a relation, once it is planned.
    """
    try:
        yield
    except DiagnosticError as error:
        raise DiagnosticError(
            [_with_place(diagnostic, query, types_of) for diagnostic in error.diagnostics]
        ) from None


def _with_place(
    error: Diagnostic, query: syntax.Query, types_of: Callable[[str], Iterable[str] | None]
) -> Diagnostic:
    match = _UNKNOWN.match(error.message)
    if match is None or "input of the join" in error.message or (error.help or "").startswith("did you mean"):
        return error
    names = (str(getattr(statement, "name", "")) for statement in query.statements)
    other = next((name for name in names if match[1] in (types_of(name) or ())), None)
    if other is None:
        return error
    where = f"`{match[1]}` is an attribute of `{other}`: `A join {other} on k` brings it"
    return evolve(error, help="; ".join(filter(None, (where, error.help))))
