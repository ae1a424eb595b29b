"""Reactions of a plan's operators to accents on each attribute, by their rules and the query's settings."""

from __future__ import annotations

from collections.abc import Iterable

from cedilla.compiler.facts.facts import PRESENT
from cedilla.compiler.operators import Operator, Reaction
from cedilla.compiler.operators.shared.base import Kind
from cedilla.compiler.operators.shared.reactions import SCALED, SHIFTED
from cedilla.compiler.plan import Plan
from cedilla.compiler.regions.affine import Affine

OTHER = "*"
"""Any attribute that is not named, including those of later Adds."""

_ANOTHER = "**"  # another attribute with a name that queries cannot use
_NOTHING: frozenset[str] = frozenset()
SIGNS: dict[Kind, str] = {"add": "+", "drop": "−", "alter": "≀"}


def reaction(
    plan: Plan,
    operator: Operator,
    kind: Kind,
    attribute: str,
    side: int = 0,
    mentions: frozenset[str] = _NOTHING,
    function: Affine = SCALED,
) -> Reaction | None:
    """Returns the reaction of an operator to an accent from one input, with the settings applied.

    `mentions`: the attributes that the accent's description names; `function`: of an Alter. Returns `None` if no such
    accent can come.
    """
    inputs = plan.inputs_of(operator)
    type_ = inputs[side].types.get(attribute)
    if kind == "alter" and type_ is not None and not type_.has_units:
        return None
    if kind == "add" and inputs[side].present.get(attribute) is PRESENT:
        dropped = plan.reaction(operator.name, "drop", attribute, _NOTHING, side)
        if dropped.kind == "aborts":  # an attribute that is always present is never added
            return None
    outcome = plan.reaction(operator.name, kind, attribute, mentions, side, function)
    if outcome.kind == "accumulates" and plan.settings["accents"] == "strict":
        return Reaction("aborts", outcome.rule)
    return outcome


def attributes_of(plan: Plan, operator: Operator, side: int) -> list[str]:
    """Returns the attributes of an input, with those that a projection names before they exist (theory P4)."""
    names = list(plan.inputs_of(operator)[side].types)
    return [*names, *(name for name in operator.reads(side) if name not in names)]


def summary(plan: Plan, operator: Operator, kind: Kind) -> str:
    """Summarises the reactions to one primitive: `+ ts, s ignored (A1), else propagates (A2)`.

    Writes `q.s` if the inputs react differently to `s`.
    """
    by_side = [
        {name: _to_any(plan, operator, kind, name, side) for name in attributes_of(plan, operator, side)}
        for side in range(len(operator.inputs))
    ]
    reactions = [
        (name if all(other.get(name, reacts) == reacts for other in by_side) else f"{source}.{name}", reacts)
        for source, side in zip(operator.inputs, by_side, strict=True)
        for name, reacts in side.items()
    ]
    return f"{SIGNS[kind]} {_grouped(reactions, _to_any(plan, operator, kind, OTHER, 0))}"


def _to_any(plan: Plan, operator: Operator, kind: Kind, attribute: str, side: int) -> str | None:
    """Writes the reaction, and that to an Alter with an offset if it differs (2.8)."""
    plain = reaction(plan, operator, kind, attribute, side)
    shifted = reaction(plan, operator, kind, attribute, side, function=SHIFTED)
    if plain is None or shifted is None or plain.passes == shifted.passes:
        return _text(plain)
    rest = f"of {', '.join(shifted.passes)} only" if shifted.passes else _text(shifted)
    return f"{_text(plain)}, with an offset {rest}"


def described(plan: Plan, operator: Operator) -> str:
    """Summarises the reactions to an Alter whose description names an attribute; empty if it has no effect
    (W5, A4).
    """
    reactions = [
        (mentioned, _text(alter_described_by(plan, operator, side, mentioned)))
        for side in range(len(operator.inputs))
        for mentioned in attributes_of(plan, operator, side)
    ]
    plain = _text(alter_described_by(plan, operator, 0, None))
    usual = _text(alter_described_by(plan, operator, 0, OTHER))
    if all(reacts in (plain, None) for reacts in (usual, *(reacts for _, reacts in reactions))):
        return ""
    return f"described by {_grouped(reactions, usual)}"


def alter_described_by(plan: Plan, operator: Operator, side: int, mentioned: str | None) -> Reaction | None:
    """Returns the reaction to an Alter of another attribute that passes, for some values of `mentioned` only."""
    mentions = _NOTHING if mentioned is None else frozenset({mentioned})
    for attribute in (_ANOTHER, *plan.inputs_of(operator)[side].types):
        plain = reaction(plan, operator, "alter", attribute, side)
        if attribute != mentioned and plain is not None and plain.kind in ("propagates", "coordinates"):
            return reaction(plan, operator, "alter", attribute, side, mentions)
    return None


def _text(outcome: Reaction | None) -> str | None:
    return outcome and f"{outcome.kind} ({outcome.rule})"


def _grouped(reactions: Iterable[tuple[str, str | None]], usual: str | None) -> str:
    """Joins names with equal reactions; those with the usual one become `else`."""
    groups: dict[str, dict[str, None]] = {}
    for name, text in reactions:
        if text not in (usual, None):
            groups.setdefault(text, {})[name] = None
    parts = [f"{', '.join(names)} {text}" for text, names in groups.items()]
    return ", ".join([*parts, f"else {usual}" if parts else str(usual)])
