"""Why tuples are rejected, and which of them end the query by setting (G34); the same for `run` and `simulate`."""

from __future__ import annotations

from collections.abc import Mapping

from cedilla.grammar.diagnostics import DiagnosticError, failure

REASONS = {
    "RQ302": "a required attribute is missing",
    "RQ303": "a value is outside its attribute's declared domain",
    "RQ304": "an attribute is defined where it does not exist: before its add or after its drop",
    "RQ305": "a punctuation has closed the tuple's region",
    "RQ306": "the line has an attribute that was never declared or added",
    "RQ307": "the line has a field whose name no accent can write, so it cannot be added",
    "RQ310": "a value beyond 2^53 of an attribute of whole numbers or decimals that an Alter has made doubles",
}
"""By code; for RQ301 the format of the source says it."""

BEYOND_HINT = "a coarser unit has smaller numbers; declared as `double`, the attribute is rounded"
"""What helps with RQ310."""

MALFORMED = "the line is no JSON object, or a value is not of its attribute's type"
"""The reason of RQ301 in JSON Lines."""

LATE = "RQ305"
_SETTING = {LATE: "late", "RQ306": "drift", "RQ307": "drift"}
"""The setting that decides about a code, where it is not `invalid`."""


def is_ignored(code: str, settings: Mapping[str, str]) -> bool:
    """Whether tuples with a code are only counted."""
    return code == LATE and settings["late"] == "ignore"


def is_fatal(code: str, settings: Mapping[str, str]) -> bool:
    """Whether a tuple with a code ends the query."""
    return settings[_SETTING.get(code, "invalid")] == "abort"


def refusal(code: str, count: int, reason: str, place: str, raw: str) -> DiagnosticError:
    """What ends the query where tuples are rejected; `place`, `raw`: of the first."""
    setting = _SETTING.get(code, "invalid")
    hint = f"`set {setting} = quarantine;` sets them aside"
    return failure(code, f"{count} rejected: {reason}", hint=hint, notes=(f"{place}: {raw}",))


def beyond(attribute: str) -> DiagnosticError:
    """RQ310 of a value that is kept in state, or of another input: no line of a source is to blame."""
    message = f"a value of `{attribute}` beyond 2^53 was there before an Alter made doubles of the attribute"
    return failure("RQ310", message, hint=BEYOND_HINT)
