"""What each operator keeps, which schemes release it, and which its output has (theory 3.4).

Of operators with two inputs: what one keeps, the other has to close.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import evolve, frozen

from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.facts.schemes import (
    ENDS,
    Memory,
    Schemes,
    both,
    folded,
    is_finite,
    known,
    renamed,
    within,
)
from cedilla.compiler.operators import (
    Aggregate,
    AntiJoin,
    CountWindow,
    Distinct,
    Intersect,
    Join,
    LeftJoin,
    Limit,
    Minus,
    Operator,
    Rename,
    SemiJoin,
    Session,
    Sort,
    Top,
    User,
)
from cedilla.compiler.plan import Plan


@frozen
class _Rule:
    """`Operator.memory` and `Operator.schemes` of a class."""

    memory: Callable[[Any, tuple[Facts, ...]], tuple[Memory, ...]]
    schemes: Callable[[Any, tuple[Facts, ...], tuple[Schemes, ...]], Schemes]


def memory_of(plan: Plan, operator: Operator, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
    """What an operator keeps over inputs with these facts."""
    rule = _RULES.get(type(operator))
    kept = operator.memory(inputs) if rule is None else rule.memory(operator, inputs)
    windows = plan.operator_of.get(operator.inputs[0])
    if not isinstance(operator, Aggregate) or not isinstance(windows, CountWindow):
        return kept
    if {*windows.per, windows.alias} <= set(operator.by):  # a group is full sooner or later
        return tuple(evolve(each, one_per=frozenset(windows.per), output=False) for each in kept)
    return kept


def schemes_of(operator: Operator, inputs: tuple[Facts, ...], given: tuple[Schemes, ...]) -> Schemes:
    """The schemes that an operator promises where its inputs promise `given`."""
    rule = _RULES.get(type(operator))
    return operator.schemes(inputs, given) if rule is None else rule.schemes(operator, inputs, given)


_COLLECTING = {"median", "quantile", "collect"}
"""Functions that keep the values of a group until it is closed, and not a summary of them."""

_DISTINCT = {"min", "max"}
"""Functions for which `distinct` changes nothing."""


def _nothing(o: Any, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
    return ()


def _folded(kept: frozenset[str], facts: Facts, schemes: Schemes) -> Schemes:
    return folded(schemes, facts, frozenset(facts.types) - kept)


def _same(o: Any, inputs: tuple[Facts, ...], given: tuple[Schemes, ...]) -> Schemes:
    return given[0]


def _aggregate(o: Aggregate, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
    by = frozenset(o.by)
    calls = o.results(inputs[0]).values()
    grows = any(c.function in _COLLECTING or (c.distinct and c.function not in _DISTINCT) for c in calls)
    groups = Memory(what="open groups", within=by, one_per=None if grows else by, output=True)
    return groups, Memory(what="accents that cover a group in part", within=by, accents=True)


def _distinct(o: Distinct, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
    key = frozenset(o.on or inputs[0].types)
    return (Memory(what="tuples that passed", within=key, one_per=key),)


def _sort(o: Sort, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
    # Punctuation is taken to close an attribute from below upwards (`ts < c`).
    name, descending = o.keys[0]
    before = frozenset[str]() if descending else frozenset({name})
    return (Memory(what="tuples that may follow others", within=before, output=True),)


def _sorted(o: Sort, inputs: tuple[Facts, ...], given: tuple[Schemes, ...]) -> Schemes:
    """What the input closes, up to where all that comes before has passed."""
    name, descending = o.keys[0]
    return both(given[0], _folded(frozenset[str]() if descending else frozenset({name}), inputs[0], given[0]))


def _top(o: Top, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
    per = frozenset(o.per)
    return (Memory(what="the best of open groups", within=per, one_per=per, output=True),)


def _session(o: Session, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
    return (Memory(what="tuples of open sessions", within=frozenset({o.on, *o.per}), output=True),)


def _by_session(o: Session, inputs: tuple[Facts, ...], given: tuple[Schemes, ...]) -> Schemes:
    return given[0] | {scheme - {o.on} | {o.alias} for scheme in given[0] if o.on in scheme}


def _count_window(o: CountWindow, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
    per = frozenset(o.per)
    return (Memory(what="counters", within=per, one_per=per),)


def _renamed(o: Rename, inputs: tuple[Facts, ...], given: tuple[Schemes, ...]) -> Schemes:
    return renamed(given[0], {name: o.names.get(name, name) for name in inputs[0].types})


def _user(o: User, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
    group = frozenset(o.foundation)
    return tuple(
        Memory(what=f"tuples of open groups from `{name}`", side=side, within=group, output=True)
        for side, name in enumerate(o.inputs)
        if o.waits
    )


def _of_user(o: User, inputs: tuple[Facts, ...], given: tuple[Schemes, ...]) -> Schemes:
    """A function may put anything into the attributes that are not of the group, or that it computes."""
    kept = frozenset[str].intersection(*(frozenset(facts.types) for facts in inputs))
    kept = kept & frozenset(o.foundation) if o.waits else kept
    kept = kept if o.returns is None else kept & frozenset(o.returns) - frozenset(o.computed)
    first, *others = (_folded(kept, f, schemes) for f, schemes in zip(inputs, given, strict=True))
    return both(first, others[0]) if others else first


def _met(side: int, o: Join | LeftJoin | SemiJoin | AntiJoin, inputs: tuple[Facts, ...]) -> Memory:
    """Tuples of one input, until the other has closed their keys.

    Those with a key that no tuple of the other can have are not kept, so a finite domain there holds here too.
    """
    other = inputs[1 - side]
    return Memory(
        what=f"{('left', 'right')[side]} tuples",
        side=1 - side,
        within=frozenset(pair[1 - side] for pair in o.on),
        ends=side,
        finite=frozenset(pair[side] for pair in o.on if is_finite(pair[1 - side], other)),
        undefined=False,
    )


def _join(o: Join | SemiJoin, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
    return _met(0, o, inputs), _met(1, o, inputs)


def _outer(o: LeftJoin | AntiJoin, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
    return evolve(_met(0, o, inputs), output=True), _met(1, o, inputs)


def _by_either_name(o: Join, inputs: tuple[Facts, ...], given: tuple[Schemes, ...]) -> Schemes:
    met = both(*given)
    every = {name: name for facts in inputs for name in facts.types}
    turned = [{**every, **dict(o.on)}, {**every, **{b: a for a, b in o.on}}]
    return met.union(*(renamed(met, other) for other in turned))


def _of_the_left(o: Any, inputs: tuple[Facts, ...], given: tuple[Schemes, ...]) -> Schemes:
    """A left tuple has passed once the left has closed it, and the right its key."""
    right = _folded(frozenset(b for _, b in o.on), inputs[1], given[1])
    return both(given[0], renamed(known(right, inputs[1]), {b: a for a, b in o.on}))


def _counted(side: int, inputs: tuple[Facts, ...]) -> Memory:
    """Tuples of one input, until the other has closed them."""
    common = inputs[0].types.keys() & inputs[1].types.keys()
    return Memory(
        what=f"{('left', 'right')[side]} tuples", side=1 - side, within=frozenset(common), ends=side
    )


def _intersect(o: Intersect, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
    return _counted(0, inputs), _counted(1, inputs)


def _minus(o: Minus, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
    passed = Memory(what="tuples that passed", within=frozenset(inputs[0].types), ends=0)
    return evolve(_counted(0, inputs), output=True), _counted(1, inputs), passed


def _in_both(o: Any, inputs: tuple[Facts, ...], given: tuple[Schemes, ...]) -> Schemes:
    common = inputs[0].types.keys() & inputs[1].types.keys()
    return both(*(within(schemes, common) for schemes in given))


_RULES: dict[type[Operator], _Rule] = {
    Aggregate: _Rule(_aggregate, lambda o, inputs, given: _folded(frozenset(o.by), inputs[0], given[0])),
    AntiJoin: _Rule(_outer, _of_the_left),
    CountWindow: _Rule(_count_window, _same),
    Distinct: _Rule(_distinct, _same),
    Intersect: _Rule(_intersect, _in_both),
    Join: _Rule(_join, _by_either_name),
    LeftJoin: _Rule(_outer, _of_the_left),
    Limit: _Rule(_nothing, lambda o, inputs, given: ENDS),
    Minus: _Rule(_minus, lambda o, inputs, given: both(given[0], within(given[1], inputs[0].types.keys()))),
    Rename: _Rule(_nothing, _renamed),
    SemiJoin: _Rule(_join, _of_the_left),
    Session: _Rule(_session, _by_session),
    Sort: _Rule(_sort, _sorted),
    Top: _Rule(_top, lambda o, inputs, given: _folded(frozenset(o.per), inputs[0], given[0])),
    User: _Rule(_user, _of_user),
}
