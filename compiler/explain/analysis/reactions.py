"""Reactions of a plan's operators to accents on each attribute, by their rules and the query's settings."""

from __future__ import annotations

from cedilla.compiler.facts.facts import PRESENT
from cedilla.compiler.operators import Operator, Reaction
from cedilla.compiler.operators.shared.base import Kind
from cedilla.compiler.operators.shared.reactions import SCALED
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


def alter_described_by(plan: Plan, operator: Operator, side: int, mentioned: str | None) -> Reaction | None:
    """Returns the reaction to an Alter of another attribute that passes, for some values of `mentioned` only."""
    mentions = _NOTHING if mentioned is None else frozenset({mentioned})
    for attribute in (_ANOTHER, *plan.inputs_of(operator)[side].types):
        plain = reaction(plan, operator, "alter", attribute, side)
        if attribute != mentioned and plain is not None and plain.kind in ("propagates", "coordinates"):
            return reaction(plan, operator, "alter", attribute, side, mentions)
    return None
