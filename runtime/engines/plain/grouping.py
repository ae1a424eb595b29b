"""Aggregation in plain Python; its functions are in `aggregate_results`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product, repeat
from typing import Any

from cedilla.compiler import regions
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.operators import Operator
from cedilla.compiler.regions import Tree
from cedilla.runtime.engines.plain.aggregate_results import result
from cedilla.runtime.engines.plain.node import Groups, Node, Row, Rows, inside, key_of, only_defined
from cedilla.runtime.engines.plain.windows import bounds_by_name


class Aggregate(Groups):
    """Passes the results of groups that are closed or complete (theory 1.3).

    Without `by` there is always one group.
    """

    def __init__(self, operator: Any, purge: bool = True) -> None:
        super().__init__(operator, purge)
        self.before: Facts | None = None
        """The facts of the output before the next step, if groups without tuples have rows."""
        self.provisional: Rows = []
        """The rows of open groups that the last step has changed."""
        if not operator.by:
            self.groups[()] = []

    def begin(self, start: Facts) -> None:
        self.before = start if self.operator.completion is not None else None

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        o = self.operator
        closed = self.closed_groups(new[0], o.by, inputs[0], o.complete)
        groups = {key: self.groups.pop(key) for key in closed}
        out = self._rows(groups.values(), inputs)
        if self.before is not None:
            after = o.facts(inputs)
            empty = [row for row in empty_groups(o, self.before, after) if key_of(row, o.by) not in groups]
            out += self._rows([[]] * len(empty), inputs, empty)
            self.before = after
        if self.is_shown:
            came = dict.fromkeys(key_of(row, o.by) for row in new[0])
            self.provisional = self._rows([self.groups[key] for key in came if key in self.groups], inputs)
        return out

    def _rows(
        self, groups: Iterable[Rows], inputs: tuple[Facts, ...], names: Iterable[Row] | None = None
    ) -> Rows:
        """Returns the row of each group. `names`: its attributes, if no tuple has them."""
        o, types, out = self.operator, self.operator.facts(inputs).types, list[Row]()
        for rows, of in zip(groups, repeat({}) if names is None else names, strict=False):
            group = {name: rows[0].get(name) for name in o.by} if rows else of
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


def empty_groups(operator: Any, before: Facts, after: Facts) -> Rows:
    """Returns the attributes of each group of the completion that a step closes."""
    completion = operator.completion
    out: Rows = []
    for run in completion.runs(operator.by, before, after, operator.span):
        for number in range(run.first, run.end):
            window = bounds_by_name(completion.window, number)
            for values in product(*run.values.values()):
                group = {**window, **dict(zip(run.values, values, strict=True))}
                out.append({name: group[name] for name in operator.by})
    return out


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
