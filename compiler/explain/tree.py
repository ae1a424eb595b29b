"""A plan as a tree of text, root first: emits, their operators below them, down to the sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from attrs import frozen

from cedilla.compiler.explain.wrapping import wrapped
from cedilla.compiler.expressions.units.own import short
from cedilla.compiler.operators import Operator
from cedilla.compiler.plan import Emit, Plan, Source
from cedilla.grammar.diagnostics.printable import for_people

BOLD, DIM = "1", "2"
Paint = Callable[[str, str], str]


def painter(color: bool) -> Paint:
    """Returns the function that gives a text a style; without color it changes nothing."""
    return _paint if color else _plain


def _paint(text: str, style: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m"


def _plain(text: str, style: str) -> str:
    return text


@frozen
class Node:
    """A node of the tree, the prefix of its first line, and the prefix of the lines below.

    `again`: it was shown above, with its subtree.
    """

    item: Emit | Operator | Source
    corner: str = ""
    below: str = ""
    again: bool = False

    def lines(self, head: str, remarks: list[str], width: int, paint: Paint) -> Iterator[str]:
        """Yields the text of a node: its head, then remarks under the tree's bars."""
        hanging = f"{self.below}    "
        for number, line in enumerate(wrapped(for_people(head), width, hanging, self.corner)):
            lead = len(self.below) if number else len(self.corner)
            yield f"{line[:lead]}{paint(line[lead:], BOLD)}"
        for text in remarks:
            for line in wrapped(for_people(text), width - len(self.below), "  "):
                yield f"{self.below}{paint(line, DIM)}"


def tree(plan: Plan) -> Iterator[Node]:
    """Yields the nodes of a plan in display order."""
    shown: set[str] = set()
    for emit in plan.emits:
        yield Node(emit)
        yield from _branch(plan, emit.relation, "", True, shown)


def _branch(plan: Plan, name: str, lead: str, last: bool, shown: set[str]) -> Iterator[Node]:
    corner, below = f"{lead}{'└─' if last else '├─'} ", lead + ("   " if last else "│  ")
    item = plan.source_of.get(name) or plan.operator_of[name]
    if name in shown:
        yield Node(item, corner, below, again=True)
        return
    shown.add(name)
    inputs = item.inputs if isinstance(item, Operator) else ()
    yield Node(item, corner, f"{below}│  " if inputs else below)
    for number, child in enumerate(inputs, 1):
        yield from _branch(plan, child, below, number == len(inputs), shown)


def unit_lines(units: Mapping[str, str]) -> list[str]:
    """Returns a line about the units of attributes; no line without units."""
    return [f"units {', '.join(f'{name} {short(unit)}' for name, unit in units.items())}"] if units else []


def new_units(plan: Plan, operator: Operator) -> list[str]:
    """Returns a line about the units of an operator's output, if its inputs have other units."""
    inputs = (plan.units_of(name) for name in reversed(operator.inputs))
    before = {name: unit for units in inputs for name, unit in units.items()}
    return unit_lines(operator.units) if dict(operator.units) != before else []


def emit_head(emit: Emit) -> str:
    """Writes `emit R as name -> json folder`."""
    alias = "" if emit.name == emit.relation else f" as {emit.name}"
    units = ", in original units" if emit.original_units else ""
    latest = f", {latest_text(emit)}" if emit.latest else ""
    return f"emit {emit.relation}{alias} -> {emit.format} {emit.path}{latest}{units}"


def latest_text(emit: Emit) -> str:
    """Writes the key of an output that is updated: `latest by minute, meter`."""
    return f"latest by {', '.join(emit.latest)}"


def updates(emit: Emit) -> list[str]:
    """Returns a line on what an output writes of open groups; no line if it writes nothing of them."""
    line = "writes at the end of each epoch a provisional row for each open group that has changed"
    return [line] if emit.latest else []
