"""A user's operator: a function over canonical DataFrames whose signature says how it meets accents (paper,
section 6; theory 2.2, 2.8)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any, ClassVar

from attrs import evolve, field

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import DOUBLE, LONG, VERSION, Type
from cedilla.compiler.expressions.unit_inference import Units
from cedilla.compiler.facts.arrival import Arrival, Order
from cedilla.compiler.facts.facts import (
    ABSENT,
    NO_STATE,
    PRESENT,
    Facts,
    StateFacts,
    fold_closed,
    fold_presence,
    fold_units,
)
from cedilla.compiler.facts.schemes import Memory, Schemes, both, folded_onto
from cedilla.compiler.operators.shared.base import (
    Invariants,
    Kept,
    Kind,
    Operator,
    Rules,
    closing_groups,
    each,
    require,
)
from cedilla.compiler.operators.shared.equality import check_types
from cedilla.compiler.operators.union import merged
from cedilla.compiler.regions import Tree
from cedilla.grammar.diagnostics import Diagnostic, failure
from cedilla.grammar.syntax.classes import lean

_MERGED: Mapping[Kind, str] = {"add": "U2", "drop": "U3", "alter": "U4"}


@lean(kw_only=True)
class User(Operator):
    """`label(inputs)`, declared by `operator label(...) foundation {..} merge {..} accumulate {..} from "function"`.

    With nothing in `accumulate`, the function is given the tuples of each epoch, and works tuple by tuple. Else
    it waits: it is given the tuples of the groups that have closed, a group being the tuples that agree on
    `foundation`. State: the tuples of the groups that are not closed.

    `returns`: the output's attributes; `None`: those of the inputs, later ones too. `computed`: those of
    `returns` that no input has.
    """

    label: str
    function: str
    foundation: tuple[str, ...] = field(default=(), converter=tuple)
    merge: tuple[str, ...] = field(default=(), converter=tuple)
    accumulate: tuple[str, ...] = field(default=(), converter=tuple)
    returns: dict[str, Type] | None = None
    computed: tuple[str, ...] = field(default=(), converter=tuple)
    title: ClassVar[str] = "User operator"
    state: ClassVar[Kept] = Kept("tuples that it keeps are forgotten", stored="once")
    rules: ClassVar[Rules] = Rules("2.2", "2.2", "2.2", merged=_MERGED, ignored="2.2")

    @property
    def loads(self) -> tuple[str, str]:
        return self.label, self.function.partition(":")[0]

    @property
    def waits(self) -> bool:
        """Returns True if tuples are kept until their group is closed."""
        return bool(self.accumulate)

    @property
    def stateful(self) -> bool:
        return self.waits

    def carried_units(self, inputs: tuple[Units, ...]) -> dict[str, str]:
        return super().carried_units(inputs) if self.returns is None else {}

    def order(self, inputs: tuple[Arrival, ...]) -> Order:
        """The function keeps the places that it is given, tuple by tuple."""
        return inputs[0].order if len(inputs) == 1 and not self.waits else Order.NONE

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        if len(inputs) > 2:
            raise failure(
                "RQ118",
                f"`{self.label}` has {len(inputs)} inputs: one or two are possible",
                self.span,
                hint="a union of some of them is one input",
            )
        names = dict.fromkeys(name for facts in inputs for name in facts.types)
        for name in (*self.foundation, *self.merge, *self.accumulate):
            if name not in names:
                message = f"unknown attribute `{name}` in the signature of `{self.label}`"
                raise failure("RQ102", message, self.span, hint=f"known attributes: {', '.join(names)}")
        for name in self.accumulate:
            if name in (*self.foundation, *self.merge):
                message = (
                    f"`{name}` is in `accumulate` of `{self.label}` and in another part of its signature"
                )
                raise failure(
                    "RQ104", message, self.span, hint="name it once: in `accumulate` if the output lacks it"
                )
        if len(inputs) == 2:
            self._check_two((inputs[0], inputs[1]))
        self._check_returns(inputs)
        self._check_versions(inputs)
        return []

    def _check_versions(self, inputs: tuple[Facts, ...]) -> None:
        """Raises RQ353 for versions, whose values in the plan are not their texts."""
        types = chain(*(facts.types.items() for facts in inputs), (self.returns or {}).items())
        name = next((name for name, type_ in types if type_.innermost == VERSION), None)
        if name is not None:
            message = f"`{self.label}` reads or returns `{name}`, a version"
            hint = f"`string({name})` is its text: project[..., string({name}) as {name}](R)"
            raise failure("RQ353", message, self.span, hint=hint)

    def _check_two(self, inputs: tuple[Facts, Facts]) -> None:
        check_types(inputs, f"operator `{self.label}`", self.span)
        if self.waits:
            for facts, side in zip(inputs, ("left", "right"), strict=True):
                where = f"the {side} input of `{self.label}`: groups are of both"
                require(self.foundation, facts, self.span, where)
        for name in (name for name in inputs[0].types if name in inputs[1].types):
            if self._conflicting(name):
                raise failure(
                    "RQ119",
                    f"both inputs have `{name}`, and the signature of `{self.label}` does not say how to combine them",
                    self.span,
                    hint=f"`merge {{{', '.join((*self.merge, name))}}}` coordinates changes of it; "
                    "or rename it in one input, or leave it out by a `project`",
                )

    def _check_returns(self, inputs: tuple[Facts, ...]) -> None:
        for name, declared in (self.returns or {}).items():
            for facts in inputs:
                type_ = facts.types.get(name, declared)
                if not _holds(declared, type_):
                    message = (
                        f"`{self.label}` returns `{name}` as {declared}, but its input has it as {type_}"
                    )
                    raise failure("RQ103", message, self.span, hint="another meaning takes another name")

    def _folded(self, facts: Facts) -> frozenset[str]:
        """The attributes of an input that nothing can be described by in the output."""
        return frozenset(facts.types) - self._described(frozenset(facts.types))

    def _described(self, names: frozenset[str]) -> frozenset[str]:
        kept = names & frozenset(self.foundation) if self.waits else names
        return kept if self.returns is None else kept & frozenset(self.returns) - frozenset(self.computed)

    def facts(self, inputs: tuple[Facts, ...], state: StateFacts = NO_STATE) -> Facts:
        parts = tuple(self._part(facts) for facts in inputs)
        whole = merged(parts) if len(parts) == 2 else parts[0]
        if self.waits:
            whole = evolve(whole, present=state.with_retained(whole.present))
        if self.returns is None:
            return whole
        present = dict.fromkeys(self.computed, PRESENT)
        return evolve(
            whole,
            types={name: _widest(type_, whole.types.get(name)) for name, type_ in self.returns.items()},
            present={**whole.present, **present},
        )

    def _part(self, facts: Facts) -> Facts:
        """One input as its tuples are in the output: what is not described any more is folded away (D1)."""
        over = self._folded(facts)
        names = [n for n in facts.types if self.returns is None or n in self.returns]
        names = [n for n in names if n not in self.computed]
        # A waiting function may put anything into the attributes that are not of the group.
        passed = {n for n in names if not self.waits or n in self.foundation}
        return Facts(
            {n: facts.types[n] for n in names},
            {n: domain for n, domain in facts.universe.items() if n in passed},
            {n: fold_presence(facts, facts.present.get(n, ABSENT), over) for n in names},
            {n: fold_units(facts, n, over) for n in names if n in facts.units and n not in self.accumulate},
            fold_closed(facts, over),
            facts.lacking.intersection(names),
        )

    def fixed_attributes(self, inputs: tuple[Facts, ...]) -> bool:
        return False

    def is_in_each(self, name: str) -> bool:
        return False

    def passed(self, inputs: tuple[Facts, ...], output: Facts) -> Tree:
        return self.closed_groups(inputs)

    def waiting_state(self, side: int) -> str:
        return f"{self.name}.{('left', 'right')[side]}" if len(self.inputs) == 2 else self.name

    def closed_groups(self, inputs: tuple[Facts, ...]) -> Tree:
        """The groups that no later tuple of any input belongs to, over `foundation`."""
        groups = (fold_closed(f, frozenset(f.types) - frozenset(self.foundation)) for f in inputs)
        return regions.intersection(*groups)

    def conflict(self, inputs: tuple[Facts, ...]) -> str | None:
        """An attribute that the function computes or the other input has (J2, G11)."""
        if len(inputs) == 1 and not self.computed:
            return None
        for name in dict.fromkeys(name for facts in inputs for name in facts.types):
            having = [facts for facts in inputs if facts.may_have(name) is not False]
            if having and (name in self.computed or (len(having) == 2 and self._conflicting(name))):
                return name
        return None

    def _conflicting(self, name: str) -> bool:
        """Returns True if the output cannot hold an attribute that both inputs have."""
        return name not in self.merge and (self.returns is None or name in self.returns)

    def named(self, side: int) -> tuple[str, ...]:
        return self.foundation

    def reads(self, side: int) -> Mapping[str, str]:
        named = dict.fromkeys((*self.foundation, *self.merge), "2.2")
        return {**named, **dict.fromkeys(self.accumulate, "2.8")}

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        if not self.waits:
            closed = (
                "everything that its input closes"
                if len(inputs) == 1
                else "everything that both inputs have closed"
            )
            return Invariants("the result of the function for every tuple", closed, "stateless")
        group, by = each(self.foundation), "" if len(inputs) == 1 else " by both inputs"
        return Invariants(
            f"the results of the function for {group}, once closed{by}",
            closing_groups(self.foundation),
            f"{group} once closed{by}",
        )

    def memory(self, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
        group = frozenset(self.foundation)
        return tuple(
            Memory(what=f"tuples of open groups from `{name}`", side=side, within=group, output=True)
            for side, name in enumerate(self.inputs)
            if self.waits
        )

    def schemes(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> Schemes:
        """A function may put anything into the attributes that are not of the group, or that it computes."""
        kept = frozenset[str].intersection(*(frozenset(facts.types) for facts in inputs))
        kept = kept & frozenset(self.foundation) if self.waits else kept
        kept = kept if self.returns is None else kept & frozenset(self.returns) - frozenset(self.computed)
        first, *others = (folded_onto(kept, f, schemes) for f, schemes in zip(inputs, promised, strict=True))
        return both(first, others[0]) if others else first

    def arguments(self) -> dict[str, Any]:
        names = {"foundation": self.foundation, "merge": self.merge, "accumulate": self.accumulate}
        return {"function": self.function, **{key: [*value] for key, value in names.items() if value}}

    def parameters(self) -> dict[str, object]:
        parameters: dict[str, object] = {"operator": self.label, "function": self.function}
        if self.returns is not None:
            parameters["returns"] = [f"{name}: {type_}" for name, type_ in self.returns.items()]
        return parameters


def _holds(declared: Type, type_: Type) -> bool:
    """Returns True if values of an input's type are values of the declared one."""
    if declared == type_:
        return True
    return type_.is_numeric and (declared == DOUBLE or (declared == LONG and type_.is_integral))


def _widest(declared: Type, type_: Type | None) -> Type:
    """The declared type, but that an attribute which was altered is a double."""
    return DOUBLE if type_ == DOUBLE else declared
