"""Aggregation in plain Python; its functions are in `naive_aggregates`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from cedilla.compiler import regions
from cedilla.compiler.facts.facts import Facts, fold_closed
from cedilla.compiler.regions import Tree
from cedilla.runtime.reference.aggregate_results import result
from cedilla.runtime.reference.node import Node, Row, Rows, inside, key_of, only_defined


class Aggregate(Node):
    def __init__(self, operator: Any, purge: bool = True) -> None:
        super().__init__(operator, purge)
        self.groups: dict[tuple[Any, ...], Rows] = {}

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        o = self.operator
        for row in new[0]:
            self.groups.setdefault(key_of(row, o.by), []).append(row)
        closed = fold_closed(inputs[0], frozenset(inputs[0].types) - frozenset(o.by))
        results = o.results(inputs[0])
        types = o.facts(inputs).types
        done = [
            key
            for key, rows in self.groups.items()
            if inside(closed, rows[0]) or (o.complete is not None and len(rows) >= o.complete)
        ]
        out: Rows = []
        for key in done:
            rows = self.groups.pop(key)
            group = {name: rows[0].get(name) for name in o.by}
            computed = {name: result(call, rows, types[name]) for name, call in results.items()}
            out.append(only_defined({**group, **computed}))
        return out

    def stored(self) -> Iterable[Row]:
        return (row for rows in self.groups.values() for row in rows)

    def state_has(self, attribute: str, region: Tree, inputs: tuple[Facts, ...]) -> bool:
        if attribute in self.operator.by:
            return super().state_has(attribute, region, inputs)
        call = self.operator.results(inputs[0]).get(attribute)
        told = regions.exists(region, regions.attributes(region) - frozenset(self.operator.by), {})
        return call is not None and any(
            result(call, [row]) not in (None, []) and inside(told, row) for row in self.stored()
        )
