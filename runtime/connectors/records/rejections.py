"""Reasons for rejecting tuples, and the settings that decide about them (G34); the same for `run` and `simulate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.expressions.types.zones import SKIPPED, TWICE_SHOWN, NoMoment
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.connectors.records.json_objects import ARRAY, TwoValues, shown
from cedilla.runtime.connectors.records.nested import Paths, read_from

_NO_PATHS: Paths = {}

REASONS = {
    "RQ302": "`{}` is required, but missing",
    "RQ303": "`{}` has a value outside of its domain",
    "RQ520": "`{}` is the id of a schema that the query does not name",
    "RQ304": "tuples like this one have no `{}`: they come before its add, or after its drop",
    "RQ305": "the tuple is late, because a punctuation or a heartbeat promised that none like it follows",
    "RQ368": "`{}` is further ahead of the clock of the run than `within` admits",
    "RQ306": "`{}` was never declared or added",
    "RQ307": "`{}` is a name that no accent can write, so it cannot be added",
    "RQ362": "`{}` cannot be added, because another attribute has this name",
    "RQ363": "`{}` cannot be added, because `drift = infer` adds no more attributes to a stream",
    "RQ311": "`{}` is in a unit that its declaration does not name",
    "RQ312": "`{}` has two of its names at once, with two values",
    "RQ313": "tuples like this one do not use the name `{}`: they come before the rename to it, or after the next one",
    "RQ315": "`{}` has a value that the function of its last accent cannot convert",
    "RQ334": "`{}` has more digits than its type, in the unit of the start of the stream",
    "RQ314": "`{}` has a value that the last recode of such tuples does not list",
    "RQ349": "`{}` has another value in the path of its file",
    "RQ333": "its request has a newer metric of this instance and time, too",
    "RQ326": "the line is a marker, and the stream takes markers from its marker folder only",
    TWICE_SHOWN: "`{}` is a local time without an offset that its clock shows twice",
    SKIPPED: "`{}` is a local time that its clock skips",
    "RQ540": "{} is not a new tuple",
    "RQ541": "the row has no column {}",
    "RQ310": "`{}` is beyond 2^53, and an accent converts its values as doubles",
}
"""Reasons by code, with `{}` for the attribute. RQ301 has `NO_OBJECT`, `misfit`, or a text of the source's format."""

NO_OBJECT = "the line is not a JSON object"


def no_object(problem: ValueError) -> str:
    """Returns the reason for a line that `parse_line` refuses."""
    return ARRAY if str(problem) == ARRAY else NO_OBJECT


def reason(code: str, attribute: str, paths: Paths = _NO_PATHS) -> str:
    """Returns the reason for rejecting a tuple. `attribute`: the first invalid one in the order of the source."""
    return f"{REASONS[code].replace('{}', attribute)}{read_from(attribute, paths)}"


def of_fault(fault: str, paths: Paths = _NO_PATHS) -> tuple[str, str]:
    """Returns the code and the reason for a line with a fault: RQ301, RQ333 for a point that another replaces, or one
    of `OF_VALUES`."""
    code, _, attribute = fault.partition(" ")
    if code in OF_VALUES:
        return code, reason(code, attribute, paths)
    return (REPLACED, REASONS[REPLACED]) if fault == REPLACED else ("RQ301", fault)


def fault_in(item: Mapping[str, Any], attribute: str, type_: Type) -> str:
    """Returns the fault of a value that is not of its attribute's type: the reason of RQ301, or the attribute after a
    code of `OF_VALUES`."""
    value = item[attribute]
    if isinstance(value, TwoValues):
        return f"{TWICE} {attribute}"
    if type_.zone is not None and isinstance(value, str):
        try:
            type_.moment(value)
        except NoMoment as problem:
            return f"{problem.code} {attribute}"
        except ValueError:
            pass
    return misfit(attribute, type_, shown(item, attribute))


def misfit(attribute: str, type_: Type, shown: str) -> str:
    """Returns the reason of RQ301 for a value that is not of its attribute's type."""
    text = str(type_)
    return f"`{attribute}` must be {'an' if text[0] in 'aeiou' else 'a'} {text}, found {shown}"


_IN_JSON = "in JSON without quotes"
_FORMS = {
    **dict.fromkeys(("int", "long"), f"write a whole number, such as 5, {_IN_JSON}"),
    "double": f"write a number, such as 0.5, {_IN_JSON}",
    "boolean": f"write true or false, {_IN_JSON}",
    "timestamp": 'write a time in ISO form, "2025-01-31T12:00:00Z"',
    "date": 'write a date in ISO form, "2025-01-31"',
    "version": 'write numbers between dots, "2.0.1"',
}


def right_form(type_: Type) -> str:
    """Returns the hint of RQ301: what a value of a type looks like."""
    change = f"; or declare another type than {type_}"
    if type_.name == "decimal":
        precision, scale = type_.parameters
        before, after = f"{precision - scale} digits before the point", f"{scale} after it"
        return f"write a number of at most {before} and {after}, {_IN_JSON}{change}"
    return f"{_FORMS.get(type_.name, 'write a text of whole characters, or a list of them')}{change}"


HINTS = {
    "RQ302": "if it may be missing, declare it with `?`",
    "RQ303": "add the value to the domain by `grow` before the tuple, or in the declaration; domains are in the units "
    "that the query declares",
    "RQ520": "import the subject again, and add the id to the domain; `set unknown_schema = import` does so in a run",
    "RQ304": "send an add before such tuples, or leave the attribute out",
    "RQ305": "send the tuple before that punctuation, or punctuate later; a heartbeat can have a longer `delay`",
    "RQ311": "`unit from` lists the units that a tuple may name: add it there, or correct the tuple",
    "RQ314": "a recode lists every value that may come after it: send one with this value before the tuple",
    "RQ315": "correct the value; or send an `alter` whose function has this value before the tuple",
    "RQ540": "a query reads the inserts of a table; one that only grows, as an outbox, has no other changes",
    "RQ541": "if the column has another name now, an accent of the query says so: `accent customers [[columns = "
    '"id,full_name", rename(full_name, name)]];`',
    "RQ368": "correct the clock of the producer, or declare a longer `within`",
}
"""The remedy for a code, in words that fit any attribute."""


BEYOND_HINT = (
    "declare a `decimal` of enough digits, which stays exact if units are powers of ten apart; or a `double`, "
    "which is rounded"
)
"""Hint for RQ310."""

FINER_HINT = "declare a `decimal` with more digits"
"""Hint for RQ334."""

LATE = "RQ305"
UNKNOWN_SCHEMA = "RQ520"
"""The code of a tuple whose schema is not in the declared domain of ids."""
TWICE = "RQ312"
"""The code of a tuple with two values of an attribute."""
NO_MOMENT = (TWICE_SHOWN, SKIPPED)
"""The codes of tuples with a local time without one moment (theory N13)."""
OTHER_KEY = "RQ349"
"""The code of a tuple with another value of an attribute than the path of its file."""
NO_ROW = "RQ540"
"""The code of a change event that is not a new row, and the kind of the event."""
NO_COLUMN = "RQ541"
"""The code of a row without a column, with its name and others."""
OF_EVENTS = (NO_ROW, NO_COLUMN)
"""The codes of faults of change events."""
OF_VALUES = (TWICE, OTHER_KEY, *NO_MOMENT, *OF_EVENTS)
"""The codes of faults that name an attribute, or what they are about."""
REPLACED = "RQ333"
"""The code of a data point that another metric replaces; such points are counted, and neither bad nor set aside."""
FOREIGN = "RQ326"
"""The code of a marker among the tuples of a stream that takes none there."""
OF_DRIFT = ("RQ307", "RQ362", "RQ363", "RQ306")
"""The codes of fields that nothing has announced, the one that is reported first at the front."""
_SETTINGS = {
    LATE: "late",
    UNKNOWN_SCHEMA: "unknown_schema",
    **dict.fromkeys(OF_DRIFT, "drift"),
    "RQ301": "invalid",
}


def _setting(code: str) -> str:
    """Returns the setting that decides about a code; codes that are not of tuples are of markers."""
    return _SETTINGS.get(code) or ("invalid" if code in REASONS else "bad_markers")


def of_states(settings: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the settings for a source of last states: a line that was set aside would leave an older one in its
    place, so it ends the query."""
    kept = ("ignore", "infer")
    drift = settings["drift"] if settings["drift"] in kept else "abort"
    return {**settings, "invalid": "abort", "late": "abort", "unknown_schema": "abort", "drift": drift}


def is_ignored(code: str, settings: Mapping[str, str]) -> bool:
    """Returns True if tuples with a code are only counted."""
    return code == REPLACED or (code == LATE and settings["late"] == "ignore")


def is_fatal(code: str, settings: Mapping[str, str]) -> bool:
    """Returns True if a tuple or marker with a code ends the query."""
    return code != REPLACED and settings[_setting(code)] == "abort"


def refusal(
    code: str,
    count: int,
    reason: str,
    location: str,
    raw: str,
    notes: Sequence[str] = (),
    *,
    may_stay: bool = True,
) -> DiagnosticError:
    """Returns the error that ends the query after rejected tuples. `reason`, `location`, `raw`: of the first one;
    `notes`: further ones. `may_stay`: a setting keeps the others."""
    hints = [HINTS[code]] if code in HINTS and (may_stay or code != NO_ROW) else []
    if may_stay:
        hints.append(f"`set {_setting(code)} = quarantine;` sets such lines aside")
        hint = "; or ".join(hints)
    else:
        hints.append("without it the last state of a row would be an older one, so nothing is set aside")
        hint = "; ".join(hints)
    message = f"{count} rejected{', the first' if count > 1 else ''}: {reason}"
    return failure(code, message, hint=hint, notes=(f"{location}: {raw}", *notes))


def beyond(attribute: str) -> DiagnosticError:
    """Returns RQ310 for a value in state, of another input, or in the unit of an output; no line of a source causes
    it."""
    message = f"a value of `{attribute}` has more digits than a double keeps (2^53), or a decimal (38)"
    return failure("RQ310", message, hint=BEYOND_HINT)


def beyond_in_unit(attribute: str) -> DiagnosticError:
    """Returns RQ310 for a value of one input that is converted to the unit of another."""
    message = f"a value of `{attribute}` is too large in the unit of the other input"
    hint = "declare both inputs in one unit, or the attribute as `double` or `decimal`"
    return failure("RQ310", message, hint=hint)
