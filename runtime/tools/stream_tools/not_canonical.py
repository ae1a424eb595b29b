"""Accents that leave a stream without a canonical form."""

from __future__ import annotations

from cedilla.compiler.changes import AtSource, EpochChange, Grow, Recode, Rename
from cedilla.compiler.facts.markers import Accent
from cedilla.compiler.regions.value_mapping import ValueMapping
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError


def changes_midway(change: EpochChange) -> Diagnostic:
    """Returns RQ213 for texts of another form, and for a growth: what was closed before it holds for new values, too
    (theory N1)."""
    if not isinstance(change, Grow):
        why = f"tuples before it have `{change.attribute}` in another {change.what} (theory N13)"
        what, hint = (
            f"a stream whose {change.what} changes has no canonical form",
            "`cedilla canonize` takes each part alone",
        )
        return Diagnostic("RQ213", "error", what, change.span, (why,), hint)
    why = f"punctuations before the domain of `{change.attribute}` grew hold for its new values, too (theory N1)"
    return Diagnostic(
        "RQ213",
        "error",
        "a stream whose domain grows has no canonical form",
        change.span,
        (why,),
        "`cedilla canonize` takes the part before it, and the part after it with the wider domain",
    )


def only_undone(accent: Accent) -> Diagnostic | None:
    """Returns RQ213 for what only a source undoes, except for names and codes, which end in the first ones (N11)."""
    if not isinstance(accent.primitive, AtSource) or isinstance(accent.primitive, Rename | Recode):
        return None
    why = f"only a source can undo {accent.primitive} (theory N11)"
    hint = "`cedilla canonize` takes the part before it"
    what = "a stream with an accent that only sources can undo has no canonical form"
    return Diagnostic("RQ213", "error", what, accent.span, (why,), hint)


def check_text(change: Recode | Rename) -> None:
    """Raises `DiagnosticError` RQ213 for recodes with `else same` that no single one equals, because some value has
    lost its code to another."""
    if isinstance(change, Rename) or change.code.left_out is None:
        return
    if ValueMapping.else_same(change.code.pairs) == change.code:
        return
    message = f"no single accent equals the recodes of `{change.attribute}` with `else same`"
    why = "a value whose code another one had is set aside until the end (RQ314)"
    raise DiagnosticError([Diagnostic("RQ213", "error", message, notes=(why,))])
