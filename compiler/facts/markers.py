"""Accents and punctuations for the control plane, and as wire text (design, section 6)."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from cedilla.compiler.changes import Change
from cedilla.compiler.facts.quantities import Quantities
from cedilla.compiler.regions import Tree
from cedilla.grammar.diagnostics import Span


@frozen
class Accent:
    """`[[description, primitive]]`; the description is a region over raw values at the accent's position.

    `span`: the position of the primitive in the text; `places`: attribute -> the position of its first
    condition. `named`: names of tuples that the accent uses for attributes; it excludes tuples with other
    names for them (N2). `quantities`: the conditions with units, over canonical values; the description omits
    them.
    """

    description: Tree
    mentions: frozenset[str]
    primitive: Change
    text: str
    span: Span | None = field(default=None, eq=False, repr=False)
    places: Mapping[str, Span] = field(factory=dict[str, Span], eq=False, repr=False)
    named: frozenset[str] = frozenset()
    quantities: Quantities = field(factory=dict[str, Tree], eq=False, repr=False)


@frozen
class Punctuation:
    """A promise that no more tuples match `pattern`, a region over raw values at its position.

    `named`, `quantities`: as in accents.
    """

    pattern: Tree
    text: str
    named: frozenset[str] = frozenset()
    quantities: Quantities = field(factory=dict[str, Tree], eq=False, repr=False)


def accent_text(conditions: tuple[str, ...], primitive: Change) -> str:
    """Returns an accent in the wire format."""
    return f"[[{', '.join([*conditions, str(primitive)])}]]"


def punctuation_text(conditions: tuple[str, ...]) -> str:
    """Returns a punctuation in the wire format."""
    return f"[{', '.join(conditions)}]"
