"""Units that tuples name (theory N5): outputs that announce them, and outputs that stay in the canonical
unit.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from cedilla.compiler.explain.analysis.safety import Safety, safety
from cedilla.compiler.explain.impact import walk
from cedilla.compiler.plan import Plan


@frozen
class TupleUnits:
    """An attribute of a source, the attribute `named` that names its unit, and its canonical unit.

    `announced`: the outputs that begin with an Alter for each of the other units. `absorbed`: the outputs
    that stay in the canonical one, each with the operator that causes it, if there is one.
    """

    source: str
    attribute: str
    named: str
    unit: str
    announced: tuple[str, ...]
    absorbed: tuple[tuple[str, str], ...]


def tuple_units(plan: Plan) -> Iterator[TupleUnits]:
    """Yields every attribute whose unit another one names, in the order of the declarations."""
    state_safety = safety(plan)
    for source in plan.sources:
        for attribute in source.attributes:
            if attribute.unit_from is not None:
                named, (unit, *_) = attribute.unit_from
                yield _of(plan, source.name, attribute.name, named, unit, state_safety)


def _of(plan: Plan, source: str, attribute: str, named: str, unit: str, state_safety: Safety) -> TupleUnits:
    steps, _ = walk(plan, source, "alter", attribute, frozenset({named}), state_safety)
    _, arrived = walk(plan, source, "alter", attribute, frozenset(), state_safety)
    announced, absorbed = list[str](), list[tuple[str, str]]()
    for emit in plan.emits:
        if not (arrivals := arrived.get(emit.relation)):
            continue  # the attribute is absent, or announced under no description
        above = {node.name for node in plan.ancestors(emit.relation)}
        passed = (step for step in steps if step.operator.name in above)
        ends = next((s for s in passed if s.waits is not None or s.reaction.kind == "aborts"), None)
        stays = all(emit.keeps_units(arrival.attribute) for arrival in arrivals)
        if ends is None and not stays:
            announced.append(emit.name)
        else:
            absorbed.append((emit.name, "" if stays or ends is None else ends.place))
    return TupleUnits(source, attribute, named, unit, tuple(announced), tuple(absorbed))
