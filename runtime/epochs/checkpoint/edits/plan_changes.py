"""The effects of an edited query on a checkpoint, as `cedilla plan` shows them and `run` asks to confirm them."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import wrap
from typing import Any

from attrs import asdict

from cedilla.compiler.plan import Emit, Plan
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.epochs.checkpoint.commits import Commit
from cedilla.runtime.epochs.checkpoint.edits.change import EFFECTS, Change, Changes, Effect
from cedilla.runtime.epochs.checkpoint.edits.plan_comparison import compare
from cedilla.runtime.epochs.checkpoint.stored_plan import StoredPlan

Consent = Callable[[Changes], bool]
"""Returns True if an edited query may continue."""

_INDENT = " " * 17
_WIDTH = 110


def at_once(changes: Changes) -> bool:
    """Returns True if the user has nothing to confirm."""
    return changes.goes_on_at_once


def resume(
    path: str,
    stored: StoredPlan,
    commit: Commit,
    plan: Plan,
    is_fresh: Callable[[Emit], bool] = lambda emit: True,
    consent: Consent = at_once,
) -> Changes:
    """Returns the changes of an edited query that continues. `consent`: returns True if it may.

    Raises `DiagnosticError` RQ402 if it cannot continue, or without consent.
    """
    changes = compare(stored, commit, plan, is_fresh)
    if changes.effect == "new checkpoint":
        message = f"the checkpoint {path} is of another query, which the edited one cannot continue"
        hint = "a new checkpoint and new output folders: --checkpoint DIR, --sink NAME=PATH"
    elif consent(changes):
        return changes
    else:
        message = f"the checkpoint {path} is of the query before it was edited"
        hint = "`--yes` continues with the edited query; `cedilla plan` shows all changes"
    raise failure("RQ402", message, hint=hint, notes=change_lines(changes))


def change_lines(changes: Changes, least: Effect = "continues") -> tuple[str, ...]:
    """Returns the changes from an effect on as lines, the strongest first; by default those that need a confirmation,
    or that are impossible."""
    return tuple(
        f"{item.effect}: {item.where}: {item.what}" + (f": {item.why}" if item.why else "")
        for item in _by_effect(changes, least)
    )


def changes_text(changes: Changes) -> str:
    """All changes, the strongest first, and what `run` does with them."""
    lines: list[str] = []
    for item in _by_effect(changes):
        lines.append(f"{item.effect:<17}{item.where}: {item.what}")
        lines += wrap(item.why, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
    return "\n".join([*lines, *([""] if lines else []), _verdict(changes)])


def changes_json(changes: Changes) -> dict[str, Any]:
    """The same as plain JSON values; `epoch`: the first that the edited query computes."""
    return {
        "version": 1,
        "epoch": changes.epoch,
        "effect": changes.effect,
        "changes": [asdict(item) for item in _by_effect(changes)],
    }


def _verdict(changes: Changes) -> str:
    if not changes.items:
        return "the query is unchanged: `cedilla run` continues"
    match changes.effect:
        case "at once":
            return "`cedilla run` continues with the edited query"
        case "new checkpoint":
            return "the edited query needs a new checkpoint and new output folders"
        case _:
            return f"`cedilla run --yes` continues with the edited query from epoch {changes.epoch} on"


def _by_effect(changes: Changes, least: Effect = "at once") -> list[Change]:
    """The changes from an effect on, the strongest first."""
    shown = [item for item in changes.items if EFFECTS.index(item.effect) >= EFFECTS.index(least)]
    return sorted(shown, key=lambda item: -EFFECTS.index(item.effect))
