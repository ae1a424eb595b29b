"""Refuses accents of streams that the policy of the query does not take (`set changes`)."""

from __future__ import annotations

from attrs import frozen

from cedilla.compiler.changes import Change, ToLevel, ToUnit
from cedilla.compiler.facts.markers import Accent
from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.runtime.control.markers.one_accent import alters_of
from cedilla.runtime.control.sources.source_state import SourceState

NOT_ALLOWED = "RQ570"
"""The code of an accent that the policy does not take."""


@frozen
class NotAllowed(Diagnostic):
    """The error of an accent that the policy does not take. `kind`: the kind of the change, with its attributes.
    `wider`: the value of `set changes` that takes it."""

    kind: str = ""
    wider: str = ""


def check_allowed(plan: Plan, change: Change) -> None:
    """Raises `DiagnosticError` RQ570 for a change that the policy of the query does not take."""
    policy = plan.policy
    if policy is None or policy.allows(change.kind, change.attributes):
        return
    kind = f"{change.kind}({', '.join(change.attributes)})"
    wider = str(policy.wider(change.kind, change.attributes))
    text = str(change).removeprefix("[[").removesuffix("]]")
    message = f"the query does not take the change {text}: it has `set changes = {policy};`"
    hint = f"`set changes = {wider};` takes it, and a run continues here; `cedilla run --approve` asks"
    raise DiagnosticError([NotAllowed(NOT_ALLOWED, "error", message, help=hint, kind=kind, wider=wider)])


def check_accent_allowed(plan: Plan, before: SourceState, accent: Accent) -> None:
    """Raises as `check_allowed`, but not for a unit that its tuples have already. `before`: the state before it."""
    change = accent.primitive
    if plan.policy is None or (
        isinstance(change, ToUnit | ToLevel) and not alters_of(before, accent, change)
    ):
        return
    check_allowed(plan, change)
