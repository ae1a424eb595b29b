"""Summarises a plan: signature, invariants and state of each operator; in words also its reactions to accents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from cedilla.compiler.explain.analysis.reactions import OTHER, alter_described_by, attributes_of, reaction
from cedilla.compiler.explain.analysis.safety import Safety, StateBound, safety
from cedilla.compiler.explain.explanation import signature_text, source_facts, stated_accents
from cedilla.compiler.explain.impact import domain_text
from cedilla.compiler.explain.tree import (
    Node,
    Paint,
    emit_head,
    new_units,
    painter,
    tree,
    unit_lines,
    updates,
)
from cedilla.compiler.explain.wrapping import WIDTH, fitted, wrapped
from cedilla.compiler.facts.schemes import is_finite
from cedilla.compiler.operators import Operator
from cedilla.compiler.operators.shared.base import KINDS, Kind
from cedilla.compiler.plan import Emit, Plan, Source
from cedilla.grammar.diagnostics import Diagnostic, render

_MORE = "more: cedilla explain --words, --full, --evolution, --spark"
_LEGEND = (
    "F foundation: cannot be dropped; M merge: an accent waits until both inputs have it; "
    "A accumulate: not in the output, an accent for some of its values waits for all"
)
_PLAIN_PARAMETERS = {"predicate", "items", "names", "keys", "calls", "function", "shape"}
"""Parameters that are shown without their name."""

_ACCENTS: dict[Kind, str] = {"add": "an Add", "drop": "a Drop", "alter": "an Alter"}
_MAX_NAMES = 4
_MAX_DOMAIN = 60


def summary_text(
    plan: Plan,
    color: bool = False,
    warnings: Iterable[Diagnostic] = (),
    texts: Mapping[str, str] | None = None,
    width: int = WIDTH,
    *,
    words: bool = False,
) -> str:
    """Shows the plan as a tree, root first; then the warnings, and the commands that show more.

    `words`: in words alone, with the reactions to accents. `texts` and `width`: as for `explain_text`.
    """
    paint, state_safety = painter(color), safety(plan)
    lines = node_lines if words else _signed_lines
    nodes = (line for node in tree(plan) for line in _node(plan, node, state_safety, lines, width, paint))
    parts = ["\n".join(nodes)]
    if rendered := render(warnings, texts or {}):
        parts.append(fitted(rendered, width))
    if plan.operators and not words:
        parts.append("\n".join(wrapped(_LEGEND, width, "  ")))
    return "\n\n".join([*parts, _MORE])


_Lines = Callable[[Plan, Source | Operator, Safety], tuple[str, list[str]]]


def _node(
    plan: Plan, node: Node, state_safety: Safety, lines: _Lines, width: int, paint: Paint
) -> Iterator[str]:
    item = node.item
    if isinstance(item, Emit):
        return node.lines(emit_head(item), updates(item), width, paint)
    if node.again:
        return node.lines(f"{item.name} (above)", [], width, paint)
    return node.lines(*lines(plan, item, state_safety), width, paint)


def node_lines(plan: Plan, item: Source | Operator, state_safety: Safety) -> tuple[str, list[str]]:
    """Returns what a source or operator is, and lines on its promises, or on its state and its reactions."""
    if isinstance(item, Source):
        return _source_head(item), [_promises(item), *unit_lines(item.units), *stated_accents(item)]
    lines = [keeps(_needed(plan, state_safety.of(item.name))), _accents(plan, item, state_safety)]
    return _head(item), [*filter(None, lines), *new_units(plan, item)]


def _signed_lines(plan: Plan, item: Source | Operator, state_safety: Safety) -> tuple[str, list[str]]:
    """Returns what `node_lines` does, with an operator's signature and invariants in place of its reactions."""
    if isinstance(item, Source):
        return node_lines(plan, item, state_safety)
    inputs = plan.inputs_of(item)
    invariants, bounds = item.invariants(inputs), _needed(plan, state_safety.of(item.name))
    forgets = [f"forgets {invariants.purges}"] if item.stateful else []
    lines = (
        (signature_text(item, inputs), f"writes {invariants.passes}", f"closes {invariants.propagates}"),
        (*forgets, keeps(bounds)),
    )
    texts = (_LIST.sub(lambda names: _names(names[0].split(", ")), " · ".join(parts)) for parts in lines)
    return _head(item), [*texts, *new_units(plan, item)]


_LIST = re.compile(r"\w+(?:, \w+){5,}")
"""A list of names that is too long for a line."""


def _source_head(source: Source) -> str:
    kind = "table" if source.table else "stream"
    return f"{kind} {source.name}{_line(source.line)}: {_names(a.name for a in source.attributes)}"


def _promises(source: Source) -> str:
    facts = [fact for fact in source_facts(source) if not fact.startswith("table")]
    closed = "closed from the start" if source.table else "promises no punctuation"
    return f"{source.format} {source.path}; {', '.join(facts) or closed}"


def _head(operator: Operator) -> str:
    text = "; ".join(_parameter(name, value) for name, value in operator.parameters().items() if value != [])
    return f"{operator.title} {operator.name}{_line(operator.line)}{f': {text}' if text else ''}"


def _line(number: int) -> str:
    return f", line {number}" if number else ""


def _parameter(name: str, value: object) -> str:
    if value is True:
        return name
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)  # type: ignore[reportUnknownArgumentType]
    return text if name in _PLAIN_PARAMETERS else f"{name} {text}"


# --- what it keeps ---------------------------------------------------------------------------------------


def keeps(bounds: Iterable[StateBound]) -> str:
    """Says what an operator keeps, and until when."""
    groups: dict[str, list[str]] = {}
    for bound in bounds:
        groups.setdefault(_until(bound), []).append(bound.memory.what)
    return (
        "; ".join(f"keeps {' and '.join(kept)}{until}" for until, kept in groups.items()) or "keeps nothing"
    )


def _needed(plan: Plan, bounds: Iterable[StateBound]) -> list[StateBound]:
    """Returns the state that waits for a stream; tables have ended before its first tuple."""

    def is_stream(relation: str) -> bool:
        return any(not node.table for node in plan.ancestors(relation) if isinstance(node, Source))

    return [b for b in bounds if b.memory.accents or is_stream(b.operator.inputs[b.memory.side])]


def _until(bound: StateBound) -> str:
    if bound.verdict == "bounded":
        return f" {bound.because}" if bound.because.startswith("until ") else f", {bound.because}"
    how_long = "for ever" if bound.verdict == "unbounded" else "as long as such accents come"
    return f" {how_long}: {bound.because}"


# --- what it does with accents ---------------------------------------------------------------------------


def _accents(plan: Plan, operator: Operator, state_safety: Safety) -> str:
    reactions = _reactions(plan, operator)
    clauses = [
        *_coordinated(plan, operator, reactions),
        *_partial(plan, operator, state_safety),
        *_by_verdict(reactions, "absorbed", "is absorbed"),
        *_by_verdict(reactions, "aborts", "ends the query"),
        *_ignored(operator, reactions),
    ]
    if any(
        reactions.get((name, OTHER, "alter")) in ("propagates", "coordinates") for name in operator.inputs
    ):
        clauses.append(f"{'other' if clauses else 'all'} changes reach the output")
    return "; ".join(clauses)


_Reactions = Mapping[tuple[str, str, Kind], str]
"""Input, attribute and accent -> reaction."""


def _reactions(plan: Plan, operator: Operator) -> _Reactions:
    return {
        (name, attribute, kind): outcome.kind
        for side, name in enumerate(operator.inputs)
        for attribute in (*attributes_of(plan, operator, side), OTHER)
        for kind in KINDS
        if (outcome := reaction(plan, operator, kind, attribute, side)) is not None
    }


def _coordinated(plan: Plan, operator: Operator, reactions: _Reactions) -> Iterator[str]:
    """Says what waits for the other input, if that has the attribute too; an Add never waits (D1)."""
    if len(operator.inputs) == 1:
        yield from _by_verdict(
            reactions, "coordinates", "waits until all that it can be computed from is gone"
        )
        return
    common = set[str].intersection(*(set(facts.types) for facts in plan.inputs_of(operator)))
    waiting = {key: outcome for key, outcome in reactions.items() if key[1] in common and key[2] != "add"}
    yield from _by_verdict(waiting, "coordinates", "waits until both inputs have it")


def _by_verdict(reactions: _Reactions, verdict: str, text: str) -> Iterator[str]:
    """Yields the accents with one reaction, grouped by attributes."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for kind in reversed(KINDS):
        names = [
            _qualified(reactions, key, verdict)
            for key, outcome in reactions.items()
            if key[2] == kind and outcome == verdict
        ]
        if names:
            groups.setdefault(tuple(dict.fromkeys(names)), []).append(_ACCENTS[kind])
    for names, kinds in groups.items():
        yield f"{' or '.join(kinds)} of {_names(names, ' or ')} {text}"


def _qualified(reactions: _Reactions, key: tuple[str, str, Kind], verdict: str) -> str:
    """Writes `s`, or `q.s` if the inputs react differently to it."""
    source, attribute, kind = key
    alike = all(
        outcome == verdict for (_, name, k), outcome in reactions.items() if (name, k) == (attribute, kind)
    )
    name = "any new attribute" if attribute == OTHER else attribute
    return name if alike else f"{source}.{name}"


def _partial(plan: Plan, operator: Operator, state_safety: Safety) -> Iterator[str]:
    """Describes an Alter for some values of an attribute that is folded away (A4, P3)."""
    finite: dict[str, str] = {}
    others: list[str] = []
    ended: list[str] = []
    for side, facts in enumerate(plan.inputs_of(operator)):
        for name in attributes_of(plan, operator, side):
            outcome = alter_described_by(plan, operator, side, name)
            if outcome is None:
                continue
            if outcome.kind == "aborts":
                ended.append(name)
            elif outcome.kind == "accumulates" and is_finite(name, facts):
                finite[name] = domain_text(name, facts)
            elif outcome.kind == "accumulates":
                others.append(name)
    if ended:
        yield f"an Alter for only some {_names(ended, ' or ')} ends the query"
    if finite:
        domains = " or ".join(f"all of `{text}`" for text in finite.values())
        whole = domains if len(domains) <= _MAX_DOMAIN else f"all values of {_names(finite, ' or ')}"
        yield f"an Alter for some {_names(finite, ' or ')} is announced when {whole} have it"
    elif others:
        closed = all(b.verdict == "bounded" for b in state_safety.of(operator.name) if b.memory.accents)
        until = (
            "when punctuations have closed the other values"
            if closed
            else "never, without promised punctuations"
        )
        yield f"an Alter for some {_names(others, ' or ')} is announced {until}"


def _ignored(operator: Operator, reactions: _Reactions) -> Iterator[str]:
    """Yields the attributes that the output lacks; if a new one is among them, those that it has."""
    for source in operator.inputs:
        by_name = {
            name: {reactions.get((source, name, k)) for k in KINDS} for s, name, _ in reactions if s == source
        }
        gone = [name for name, kinds in by_name.items() if kinds <= {"ignored", None}]
        of_it = f" of `{source}`" if len(operator.inputs) > 1 else ""
        if OTHER in gone:
            stay = [name for name in by_name if name not in gone]
            which = f"only changes{of_it} of {_names(stay)}" if stay else f"no changes{of_it}"
            yield f"{which} reach the output"
        elif gone:
            yield f"changes{of_it} of {_names(gone)} do not reach the output"


def _names(names: Iterable[str], last: str = ", ") -> str:
    """Joins the first few names and the number of others."""
    all_names = list(names)
    rest = len(all_names) - _MAX_NAMES
    shown = all_names if rest <= 1 else [*all_names[:_MAX_NAMES], f"{rest} others"]
    return last.join(shown)
