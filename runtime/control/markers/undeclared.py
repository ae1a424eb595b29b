"""Skips markers about attributes that a query neither declares nor knows from an Add. No tuple of the query has such an
attribute. The first marker about each one gives a note (RQ233).

A marker is skipped if all of these conditions hold:

- It is an accent about such an attribute, but not an Add; its description may name anything. Or it is a punctuation
  with a pattern on such an attribute. That punctuation closes only some of the tuples that the query cannot distinguish
  (P-add, theory 3.1), so it closes nothing here.
- The name is not similar to a known one, which would be a mistake (RQ207).
- The query reads nothing by the name: neither the inside of such a field nor an attribute under another name.
- `set drift = infer` does not add such attributes from tuples (accents only).
"""

from __future__ import annotations

import re
from collections.abc import Collection

from attrs import evolve, frozen

from cedilla.compiler.changes import OF_NODE, Drop, Grow
from cedilla.compiler.plan import Source
from cedilla.compiler.plan.field_paths import alternatives, outer_keys, path_text
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, Span
from cedilla.grammar.diagnostics.suggestions import resembles
from cedilla.grammar.parser import parse_accent, parse_punctuation
from cedilla.grammar.syntax import AddAttribute, SetUnit, Wildcard
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.control.sources.text_forms import paths_of

_SHORTEST_STEM = 3
"""Minimum length of a name that counts as similar to a longer name starting with it."""


@frozen
class PassedOver:
    """A marker that a query skips.

    `kind`: accent or punctuation. `names`: the attributes that the query does not know. `change`: the text of an accent
    that changes how their values are written, else empty.
    """

    kind: str
    names: tuple[str, ...]
    message: str
    span: Span | None
    change: str = ""

    def note(self) -> Diagnostic:
        """Returns the note RQ233."""
        (first, *_) = self.names
        hint = f"if the query should follow it, declare `{first}?: TYPE`"
        return Diagnostic("RQ233", "note", self.message, self.span, (), hint)


def passed_over(
    source: Source, state: SourceState, error: DiagnosticError, kind: str, text: str, *, infers: bool = False
) -> PassedOver | None:
    """Returns a marker of a source that the query skips, else `None`.

    `error`: the parser's error about an unknown attribute. `kind`: accent or punctuation. `text`: in the wire format.
    `infers`: attributes are added from tuples.
    """
    if error.diagnostics[0].code != "RQ207":
        return None
    readable = _names_read(source, state)
    if kind == "punctuation":
        conditions = parse_punctuation(text, "<punctuation>").conditions
        unknown = [
            c for c in conditions if c.attribute not in readable and not isinstance(c.pattern, Wildcard)
        ]
        names = tuple(dict.fromkeys(c.attribute for c in unknown))
        if not names or any(_is_near(name, readable) for name in names):
            return None
        listed = " and ".join(f"`{name}`" for name in names)
        message = f"the punctuation names {listed}, which the query does not declare: it closes nothing"
        return PassedOver(kind, names, message, unknown[0].span)
    change = parse_accent(text, "<accent>").primitive
    if (
        isinstance(change, AddAttribute)
        or infers
        or change.name in readable
        or _is_near(change.name, readable)
    ):
        return None
    # The arguments may be in the wrong order.
    other = change.unit if isinstance(change, SetUnit) else getattr(change, "field", None)
    if other in readable:
        return None
    specification = OF_NODE[type(change)]
    message = (
        f"the accent {specification.verb} `{change.name}`, which the query does not declare: it has no effect"
    )
    changes = specification not in (Drop, Grow)
    return PassedOver(kind, (change.name,), message, change.span, text if changes else "")


def with_passed_over(state: SourceState, marker: PassedOver) -> tuple[SourceState, tuple[Diagnostic, ...]]:
    """Returns the state after skipping a marker, and a note if one of its attributes is new."""
    before = state.notes.undeclared
    news = {name: before.get(name) or marker.change for name in marker.names}
    notes = () if all(name in before for name in news) else (marker.note(),)
    after = {**before, **news}
    return (state if after == before else evolve(state, notes=evolve(state.notes, undeclared=after))), notes


def _names_read(source: Source, state: SourceState) -> set[str]:
    """Returns all names that the query reads: attributes, fields and paths."""
    paths = paths_of(source, state).values()
    every = (column for keys in paths for column in alternatives(keys))
    return {*state.field_types, *outer_keys(paths), *map(path_text, every)}


def _is_near(name: str, names: Collection[str]) -> bool:
    """Returns True if a name may be a misspelling of a known one; names that differ only in digits do not count."""
    others = [other for other in names if _without_digits(other) != _without_digits(name)]
    if resembles(name, others):
        return True
    lower = name.lower()
    return any(
        min(len(other), len(name)) >= _SHORTEST_STEM
        and (other.lower().startswith(lower) or lower.startswith(other.lower()))
        for other in others
    )


def _without_digits(name: str) -> str:
    return re.sub(r"\d+", "", name)
