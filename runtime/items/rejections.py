"""Why tuples are rejected, and which of them end the query by setting (G34); the same for `run` and `simulate`."""

from __future__ import annotations

from collections.abc import Mapping

from cedilla.compiler.expressions.types import Type
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.items.nested import Paths, read_from

_NO_PATHS: Paths = {}

REASONS = {
    "RQ302": "`{}` is required, but missing",
    "RQ303": "`{}` is outside its declared domain",
    "RQ304": "`{}` is defined where it does not exist: before its add or after its drop",
    "RQ305": "a punctuation has closed the tuple's region",
    "RQ306": "`{}` was never declared or added",
    "RQ307": "`{}` is a name that no accent can write, so it cannot be added",
    "RQ311": "`{}` is in a unit that its declaration does not name",
    "RQ312": "`{}` comes by two of its names at once",
    "RQ313": "`{}` is not the name of its attribute here: it is before the rename, or after the next",
    "RQ314": "`{}` has a value that the last recode among tuples like this does not list",
    "RQ310": "`{}` is beyond 2^53, and an Alter has made doubles of its values",
}
"""By code, with a place for the attribute; for RQ301: `NO_OBJECT` and `misfit`, or what the source's format says."""

NO_OBJECT = "the line is no JSON object"


def reason(code: str, attribute: str, paths: Paths = _NO_PATHS) -> str:
    """Why a tuple is rejected: the first attribute that is wrong in it, in the order of the source's attributes."""
    return f"{REASONS[code].replace('{}', attribute)}{read_from(attribute, paths)}"


def misfit(attribute: str, type_: Type, shown: str) -> str:
    """The reason of RQ301 where a value is not of its attribute's type."""
    return f"`{attribute}` is no {type_}: {shown}"


BEYOND_HINT = "a coarser unit has smaller numbers; declared as `double`, the attribute is rounded"
"""What helps with RQ310."""

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
    """What ends the query where tuples are rejected; `reason`, `place`, `raw`: of the first."""
    setting = _SETTING.get(code, "invalid")
    hint = f"`set {setting} = quarantine;` sets them aside"
    message = f"{count} rejected{', the first' if count > 1 else ''}: {reason}"
    return failure(code, message, hint=hint, notes=(f"{place}: {raw}",))


def beyond(attribute: str) -> DiagnosticError:
    """RQ310 of a value that is kept in state, of another input, or in the unit of an output: no line of a source is to
    blame."""
    message = f"a value of `{attribute}` is to become a double, which does not keep its digits beyond 2^53"
    return failure("RQ310", message, hint=BEYOND_HINT)


def beyond_in_unit(attribute: str) -> DiagnosticError:
    """RQ310 of a value of one input that is brought to the unit of another."""
    message = f"a value of `{attribute}` is too large for the unit of what it meets"
    hint = "both inputs in one unit, or the attribute declared as `double` or `decimal`"
    return failure("RQ310", message, hint=hint)
