"""Which operators and outputs of an edited plan are those of the plan before: by structure first, then by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

from attrs import fields, frozen

from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.operators import Operator
from cedilla.compiler.operators.join import released_too_much
from cedilla.compiler.plan import Emit, Plan
from cedilla.runtime.epochs.checkpoint.stored_plan import StoredPlan

_NOTHING: Mapping[str, str] = {}


@frozen
class Match:
    """`same`: relation of the edited plan -> the one before with the same operator over the same inputs; sources
    by name. `alike`: -> the operator before that has its name, and is another or has other inputs.
    """

    same: Mapping[str, str]
    alike: Mapping[str, str]

    def kept_operators(self, old: Plan, new: Plan) -> dict[str, str]:
        """Returns operator before -> operator now, for operators whose state stays unchanged. Only operators that an
        output reads have been computed and have a state."""
        was_read, is_read = read_by_emits(old), read_by_emits(new)
        return {
            before: o.name
            for o in new.operators
            if o.stateful and o.name in is_read and (before := self.same.get(o.name)) in was_read
        }

    def kept_sides(
        self, old: Plan, new: Plan, before: Mapping[str, Facts], after: Mapping[str, Facts]
    ) -> dict[str, str]:
        """Returns state key before -> state key now, for joins with one unchanged input. Their state of that input
        stays if they have forgotten no tuple that a tuple of the other input may meet now."""
        was_read = read_by_emits(old)
        continued: dict[str, str] = {}
        for name, alike in self.alike.items():
            now, was = new.operator_of[name], old.operator_of[alike]
            if alike not in was_read or type(was) is not type(now) or was.pairs != now.pairs:
                continue
            for side in now.state.apart if now.state is not None else ():
                is_same = self.same.get(now.inputs[side]) == was.inputs[side]
                if is_same and released_too_much(was, now, side, before, after) is False:
                    continued[f"{alike}.{SIDES[side]}"] = f"{name}.{SIDES[side]}"
        return continued


SIDES = ("left", "right")


def match(
    old: Plan,
    new: Plan,
    intact: Set[str],
    left: Mapping[str, str] = _NOTHING,
    joined: Mapping[str, str] = _NOTHING,
) -> Match:
    """Match two plans. `intact`: the sources whose tuples are of the same kind in both; `left`, `joined`: unions of the
    old and of the new plan -> the relation that each counts as."""
    numbers: dict[object, int] = {}
    before, now = (
        _structure(old, intact, numbers, "old", left),
        _structure(new, intact, numbers, "new", joined),
    )
    same = {s.name: s.name for s in new.sources if s.name in intact}
    free = {o.name for o in old.operators}
    for operator in new.operators:  # those that kept their names have the first choice
        if operator.name in free and before[operator.name] == now[operator.name]:
            same[operator.name] = operator.name
            free.discard(operator.name)
    for operator in new.operators:
        if operator.name not in same:
            equal = (o.name for o in old.operators if o.name in free and before[o.name] == now[operator.name])
            if (partner := next(equal, None)) is not None:
                same[operator.name] = partner
                free.discard(partner)
    alike = {o.name: o.name for o in new.operators if o.name not in same and o.name in free}
    return Match(same, alike)


def _structure(
    plan: Plan,
    intact: Set[str],
    numbers: dict[object, int],
    side: str,
    counted_as: Mapping[str, str],
) -> dict[str, int]:
    """A number for each relation; equal numbers: the same operators with the same parameters over the same sources."""
    classes: dict[str, int] = {}
    for source in plan.sources:
        key = source.name if source.name in intact else (source.name, side)
        classes[source.name] = numbers.setdefault(("source", key), len(numbers))
    for operator in plan.operators:
        key = (type(operator), _parameters(operator), tuple(classes[i] for i in operator.inputs))
        number = numbers.setdefault(key, len(numbers))
        classes[operator.name] = classes[counted_as[operator.name]] if operator.name in counted_as else number
    return classes


def _parameters(operator: Operator) -> tuple[str, ...]:
    """Returns the parameters of an operator as texts. The order of names in a mapping means nothing, as in equality."""
    names = [f.name for f in fields(type(operator)) if f.eq and f.name not in ("name", "inputs")]
    values = [getattr(operator, name) for name in names]
    return tuple(repr(sorted(value.items()) if isinstance(value, Mapping) else value) for value in values)


def match_emits(stored: StoredPlan, new: Plan, matched: Match) -> dict[str, Emit]:
    """Output's name -> the output before that it continues: the one in its folder, else of its name, else of the
    same relation."""
    free = list(stored.plan.emits)
    matches: dict[str, Emit] = {}

    def claim(emit: Emit, candidates: list[Emit]) -> None:
        if emit.name not in matches and candidates:
            matches[emit.name] = candidates[0]
            free.remove(candidates[0])

    for emit in new.emits:
        claim(emit, [e for e in free if e.path.rstrip("/") == emit.path.rstrip("/")])
    for emit in new.emits:
        claim(emit, [e for e in free if e.name == emit.name])
    for emit in new.emits:
        claim(emit, [e for e in free if matched.same.get(emit.relation) == e.relation])
    return matches


def read_by_emits(plan: Plan) -> set[str]:
    """Returns the relations that outputs are computed from."""
    return {node.name for emit in plan.emits for node in plan.ancestors(emit.relation)}


def differences(old: Operator, new: Operator) -> Iterator[str]:
    """Yields the parameters in which two operators differ, as `explain` shows them."""
    if type(old) is not type(new):
        yield f"{old.title} → {new.title}"
        return
    was, now = old.parameters(), new.parameters()
    for name in dict.fromkeys([*was, *now]):
        if was.get(name) != now.get(name):
            yield f"{name} {_value_text(was.get(name))} → {_value_text(now.get(name))}"
    if old.inputs != new.inputs:
        yield f"of {', '.join(old.inputs)} → of {', '.join(new.inputs)}"


def _value_text(value: Any) -> str:
    if value is None:
        return "nothing"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
