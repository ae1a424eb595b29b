"""The effects of another declared type, unit or list of units on the values of an attribute in a checkpoint."""

from __future__ import annotations

from attrs import evolve, frozen

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.expressions.units.units import is_same
from cedilla.compiler.plan import Attribute
from cedilla.compiler.regions.affine import IDENTITY
from cedilla.grammar.formatting.expression_formatter import unit_text
from cedilla.runtime.control.accents.unit_accents import alters_by_name
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.epochs.checkpoint.edits.change import Effect


@frozen
class ValueChange:
    """An edited declaration. `state`: of the source after the edit. `effect`, `what`, `why`: as in `Change`."""

    state: SourceState
    effect: Effect
    what: str
    why: str


def another_type(
    state: SourceState, name: str, old: Type, new: Type, epoch: int, *, is_read: bool
) -> ValueChange:
    """Compares two types. A wider one holds all values of state; doubles that an Alter has made stay doubles.
    `is_read`: the attribute is of a table that has been read."""
    what = f"{name}: {old} → {new}"
    if not _is_wider(old, new):
        why = "state and outputs have values of the old type"
    elif is_read:
        why = "the table has been read, without the rows that have larger values (RQ301)"
    elif name in state.numbers.raw_types:
        why = "an accent in force has given its values in tuples another type"
    else:
        if state.types[name] == old:
            state = evolve(state, types={**state.types, name: new})
        why = f"from epoch {epoch} on larger values are no more rejected"
        return ValueChange(state, "continues", what, why)
    return ValueChange(state, "new checkpoint", what, why)


def _is_wider(old: Type, new: Type) -> bool:
    """Returns True if a type has larger values than another, and writes those of both alike."""
    if (old.name, new.name) == ("int", "long"):
        return True
    if not old.name == new.name == "decimal":
        return False
    (digits, places), (new_digits, new_places) = old.parameters, new.parameters
    return places == new_places and digits < new_digits


def another_unit(state: SourceState, name: str, old: str | None, new: str | None) -> ValueChange:
    """Compares two units. Earlier tuples are in the old one."""
    what = f"{name}: {f'unit {old}' if old else 'no unit'} → {f'unit {new}' if new else 'no unit'}"
    if old is None or new is None or is_same(old, new):
        return ValueChange(state, "at once", what, "it says what values are in, and changes none")
    why = f"state and outputs have values in {old}; `[[unit({name}, {unit_text(new)})]]` in the stream changes it"
    return ValueChange(state, "new checkpoint", what, why)


def other_units(state: SourceState, old: Attribute, new: Attribute, epoch: int) -> ValueChange:
    """Compares two lists of units that tuples name. A new unit is an Alter where the run continues (theory N5)."""
    what = f"{old} → {new}"
    (of, before), (by, after) = old.unit_from or ("", ()), new.unit_from or ("", ())
    if of != by or old.unit != new.unit:
        why = "state and outputs have values in the earlier units"
        return ValueChange(state, "new checkpoint", what, why)
    changed = state
    for described, alter in alters_by_name(new, (unit for unit in after if unit not in before)):
        undone = regions.restricted(state.original.get(new.name, IDENTITY), described)
        functions = {function for function in regions.leaves(undone) if function is not False}
        if functions == {IDENTITY}:
            changed = changed.with_alter(alter, described)
        elif functions != {alter.function.inverse()}:
            why = f"an accent has changed `{new.name}` of tuples with a unit that is new in the list"
            return ValueChange(state, "new checkpoint", what, why)
    why = f"from epoch {epoch} on tuples may name these units; others are rejected (RQ311)"
    return ValueChange(changed.next_epoch(), "continues", what, why)
