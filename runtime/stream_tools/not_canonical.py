"""Accents that leave a stream without a canonical form."""

from __future__ import annotations

from cedilla.compiler.facts.markers import Accent, Grow
from cedilla.grammar.diagnostics import Diagnostic


def grows(growth: Grow) -> Diagnostic:
    """Returns RQ213 for a growth: what was closed before it holds for new values, too (theory N1)."""
    why = f"what was closed before the domain of `{growth.attribute}` grew holds for its new values, too (theory N1)"
    return Diagnostic(
        "RQ213",
        "error",
        "a stream whose domain grows has no canonical form",
        growth.span,
        (why,),
        "`cedilla canonize` takes the part before it, and the part after it with the wider domain",
    )


def turns(accent: Accent) -> Diagnostic:
    """Returns RQ213 for a function that falls or bends (theory N11)."""
    why = f"the function of `{accent.primitive.attribute}` falls or bends: only a source can undo it (theory N11)"
    hint = "`cedilla canonize` takes the part before it"
    return Diagnostic(
        "RQ213", "error", "a stream whose values turn has no canonical form", accent.span, (why,), hint
    )
