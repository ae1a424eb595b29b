"""Aggregation in plain Python; its functions are in `aggregate_results`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cedilla.compiler import regions
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.operators import Operator
from cedilla.compiler.regions import Tree
from cedilla.runtime.engines.plain.aggregate_results import result
from cedilla.runtime.engines.plain.node import Groups, Node, Row, Rows, inside, key_of, only_defined


class Aggregate(Groups):
    """Passes the results of groups that are closed or complete (theory 1.3).

    Without `by` there is always one group.
    """

    def __init__(self, operator: Any, purge: bool = True) -> None:
        super().__init__(operator, purge)
        self.provisional: Rows = []
        """The rows of open groups that the last step has changed."""
        if not operator.by:
            self.groups[()] = []

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        o = self.operator
        closed = self.closed_groups(new[0], o.by, inputs[0], o.complete)
        out = self._rows([self.groups.pop(key) for key in closed], inputs)
        if self.is_shown:
            came = dict.fromkeys(key_of(row, o.by) for row in new[0])
            self.provisional = self._rows([self.groups[key] for key in came if key in self.groups], inputs)
        return out

    def _rows(self, groups: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        """Returns the row of each group."""
        o, types, out = self.operator, self.operator.facts(inputs).types, list[Row]()
        for rows in groups:
            group = {name: rows[0].get(name) for name in o.by if rows}
            computed = {
                name: result(call, rows, inputs[0].types, types[name])
                for name, call in o.results(inputs[0]).items()
            }
            out.append(only_defined({**group, **computed}))
        return out

    def waiting(self) -> int:
        return sum(bool(rows) for rows in self.groups.values())

    def state_has(self, attribute: str, region: Tree, inputs: tuple[Facts, ...]) -> bool:
        if attribute in self.operator.by:
            return super().state_has(attribute, region, inputs)
        call = self.operator.results(inputs[0]).get(attribute)
        groups_there = regions.exists(region, regions.attributes(region) - frozenset(self.operator.by), {})
        return call is not None and any(
            result(call, rows, inputs[0].types) not in (None, []) and inside(groups_there, rows[0])
            for rows in self.groups.values()
            if rows
        )


def provisional_rows(
    way: Sequence[Operator], nodes: Mapping[str, Node], inputs: Mapping[str, tuple[Facts, ...]]
) -> Rows:
    """Returns the rows of open groups that the last step has changed, as an output shows them. `way`: the aggregate and
    the operators after it; none if an output is not updated."""
    rows: Rows = []
    for operator in way:
        node = nodes[operator.name]
        rows = node.provisional if isinstance(node, Aggregate) else node.step([rows], inputs[operator.name])
    return rows
