"""What each operator of a plan does with accents on each attribute, by its rules and the query's settings."""

from __future__ import annotations

from collections.abc import Iterable

from cedilla.compiler.expressions.expressions import attributes
from cedilla.compiler.facts.facts import PRESENT, Facts
from cedilla.compiler.operators import Operator, Project, Reaction
from cedilla.compiler.operators.base import Kind
from cedilla.compiler.plan import Plan

OTHER = "*"
"""Any attribute that is not named, those of later Adds too."""

_ANOTHER = "**"  # one more attribute that no query can name
_NOTHING: frozenset[str] = frozenset()
SIGNS: dict[Kind, str] = {"add": "+", "drop": "−", "alter": "≀"}


def reaction(
    plan: Plan,
    operator: Operator,
    kind: Kind,
    attribute: str,
    side: int = 0,
    mentions: frozenset[str] = _NOTHING,
) -> Reaction | None:
    """What an operator does with an accent from one input, settings applied.

    `mentions`: the attributes that the accent's description names. `None` where no such accent can come.
    """
    inputs = inputs_of(plan, operator)
    type_ = inputs[side].types.get(attribute)
    if kind == "alter" and type_ is not None and not type_.has_units:
        return None
    if kind == "add" and inputs[side].present.get(attribute) is PRESENT:
        stays = operator.reaction("drop", attribute, _NOTHING, inputs, side).kind == "aborts"
        if stays:  # what is always there is never added
            return None
    outcome = operator.reaction(kind, attribute, mentions, inputs, side)
    if outcome.kind == "accumulates" and plan.settings["accents"] == "strict":
        return Reaction("aborts", outcome.rule)
    return outcome


def inputs_of(plan: Plan, operator: Operator) -> tuple[Facts, ...]:
    """The facts of an operator's inputs when the query starts."""
    return tuple(plan.start[name] for name in operator.inputs)


def attributes_of(plan: Plan, operator: Operator, side: int) -> list[str]:
    """The attributes of an input, with those that a projection names before they exist (theory P4)."""
    names = list(inputs_of(plan, operator)[side].types)
    if isinstance(operator, Project):
        read = dict.fromkeys(name for e in operator.items.values() for name in sorted(attributes(e)))
        names += [name for name in read if name not in names]
    return names


def summary(plan: Plan, operator: Operator, kind: Kind) -> str:
    """`+ ts, s ignored (A1), else propagates (A2)`; `q.s` where the inputs differ in what becomes of `s`."""
    said = [
        {
            name: _said(reaction(plan, operator, kind, name, side))
            for name in attributes_of(plan, operator, side)
        }
        for side in range(len(operator.inputs))
    ]
    reactions = [
        (name if all(other.get(name, given) == given for other in said) else f"{source}.{name}", given)
        for source, side in zip(operator.inputs, said, strict=True)
        for name, given in side.items()
    ]
    return f"{SIGNS[kind]} {_grouped(reactions, _said(reaction(plan, operator, kind, OTHER)))}"


def described(plan: Plan, operator: Operator) -> str:
    """What becomes of an Alter that mentions an attribute in its description, where that matters (W5, A4)."""
    reactions = [
        (mentioned, _said(alter_described_by(plan, operator, side, mentioned)))
        for side in range(len(operator.inputs))
        for mentioned in attributes_of(plan, operator, side)
    ]
    plain = _said(alter_described_by(plan, operator, 0, None))
    usual = _said(alter_described_by(plan, operator, 0, OTHER))
    if all(given in (plain, None) for given in (usual, *(given for _, given in reactions))):
        return ""
    return f"described by {_grouped(reactions, usual)}"


def alter_described_by(plan: Plan, operator: Operator, side: int, mentioned: str | None) -> Reaction | None:
    """The reaction to an Alter of some other attribute that goes through, for some values of `mentioned` only."""
    mentions = _NOTHING if mentioned is None else frozenset({mentioned})
    for attribute in (_ANOTHER, *inputs_of(plan, operator)[side].types):
        plain = reaction(plan, operator, "alter", attribute, side)
        if attribute != mentioned and plain is not None and plain.kind in ("propagates", "coordinates"):
            return reaction(plan, operator, "alter", attribute, side, mentions)
    return None


def _said(outcome: Reaction | None) -> str | None:
    return outcome and f"{outcome.kind} ({outcome.rule})"


def _grouped(reactions: Iterable[tuple[str, str | None]], usual: str | None) -> str:
    """Names with equal reactions together, those with the usual one as `else`."""
    groups: dict[str, dict[str, None]] = {}
    for name, said in reactions:
        if said not in (usual, None):
            groups.setdefault(said, {})[name] = None
    parts = [f"{', '.join(names)} {said}" for said, names in groups.items()]
    return ", ".join([*parts, f"else {usual}" if parts else str(usual)])
