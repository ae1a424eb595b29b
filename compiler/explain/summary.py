"""What a plan does, in words: what each operator keeps and until when, and what it does with accents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from cedilla.compiler.analysis.reactions import OTHER, alter_described_by, attributes_of, inputs_of, reaction
from cedilla.compiler.analysis.safety import Safety, StateBound, safety
from cedilla.compiler.explain.explanation import source_facts
from cedilla.compiler.explain.impact import domain_text
from cedilla.compiler.explain.tree import Node, Paint, emit_head, new_units, painter, tree, units_said
from cedilla.compiler.explain.wrapping import WIDTH, fitted
from cedilla.compiler.facts.schemes import is_finite
from cedilla.compiler.operators import Operator
from cedilla.compiler.operators.base import KINDS, Kind
from cedilla.compiler.plan import Emit, Plan, Source
from cedilla.grammar.diagnostics import Diagnostic, render

_MORE = "more: cedilla explain --full, --evolution"
_PLAIN_PARAMETERS = {"predicate", "items", "names", "keys", "calls", "function", "shape"}
"""Those that need no name in front."""

_ACCENTS: dict[Kind, str] = {"add": "an Add", "drop": "a Drop", "alter": "an Alter"}
_FEW = 4
_SHORT = 60


def summary_text(
    plan: Plan,
    color: bool = False,
    warnings: Iterable[Diagnostic] = (),
    texts: Mapping[str, str] | None = None,
    width: int = WIDTH,
) -> str:
    """The plan as a tree, root first, in words; then the warnings, and where there is more.

    `texts` and `width`: as for `explain_text`.
    """
    paint, state_safety = painter(color), safety(plan)
    parts = ["\n".join(line for node in tree(plan) for line in _node(plan, node, state_safety, width, paint))]
    if rendered := render(warnings, texts or {}):
        parts.append(fitted(rendered, width))
    return "\n\n".join([*parts, _MORE])


def _node(plan: Plan, node: Node, state_safety: Safety, width: int, paint: Paint) -> Iterator[str]:
    item = node.item
    if isinstance(item, Emit):
        return node.lines(emit_head(item), [], width, paint)
    if node.again:
        return node.lines(f"{item.name} (above)", [], width, paint)
    if isinstance(item, Source):
        return node.lines(_source_head(item), [_promises(item), *units_said(item.units)], width, paint)
    said = [_keeps(item, state_safety.of(item.name)), _accents(plan, item, state_safety)]
    said += new_units(plan, item)
    return node.lines(_head(item), said, width, paint)


def _source_head(source: Source) -> str:
    kind = "table" if source.table else "stream"
    return f"{kind} {source.name}{_line(source.line)}: {_names(a.name for a in source.attributes)}"


def _promises(source: Source) -> str:
    facts = [fact for fact in source_facts(source) if not fact.startswith("table")]
    closed = "closed from the start" if source.table else "promises no punctuation"
    return f"{source.format} {source.path}; {', '.join(facts) or closed}"


def _head(operator: Operator) -> str:
    written = "; ".join(
        _parameter(name, value) for name, value in operator.parameters().items() if value != []
    )
    return f"{operator.title} {operator.name}{_line(operator.line)}{f': {written}' if written else ''}"


def _line(number: int) -> str:
    return f", line {number}" if number else ""


def _parameter(name: str, value: object) -> str:
    if value is True:
        return name
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)  # type: ignore[reportUnknownArgumentType]
    return text if name in _PLAIN_PARAMETERS else f"{name} {text}"


# --- what it keeps ---------------------------------------------------------------------------------------


def _keeps(operator: Operator, bounds: Iterable[StateBound]) -> str:
    groups: dict[str, list[str]] = {}
    for bound in bounds:
        groups.setdefault(_until(bound), []).append(_kept(operator, bound))
    return (
        "; ".join(f"keeps {' and '.join(kept)}{until}" for until, kept in groups.items()) or "keeps nothing"
    )


def _until(bound: StateBound) -> str:
    if bound.verdict == "bounded":
        return f" {bound.because}" if bound.because.startswith("until ") else f", {bound.because}"
    how_long = "for ever" if bound.verdict == "unbounded" else "as long as such accents come"
    return f" {how_long}: {bound.because}"


def _kept(operator: Operator, bound: StateBound) -> str:
    """What is kept, by the names of the query."""
    what = bound.memory.what.replace("accents described by", "accents for some").replace(
        ", in the", " in the"
    )
    for side, name in zip(("left", "right"), operator.inputs, strict=False):
        what = what.replace(f"{side} tuples", f"tuples of `{name}`").replace(f"the {side} input", f"`{name}`")
    return what


# --- what it does with accents ---------------------------------------------------------------------------


def _accents(plan: Plan, operator: Operator, state_safety: Safety) -> str:
    fates = _fates(plan, operator)
    said = [
        *_coordinated(plan, operator, fates),
        *_partial(plan, operator, state_safety),
        *_each(fates, "absorbed", "is absorbed"),
        *_each(fates, "aborts", "ends the query"),
        *_ignored(operator, fates),
    ]
    if any(fates.get((name, OTHER, "alter")) in ("propagates", "coordinates") for name in operator.inputs):
        said.append("passes other accents on" if said else "passes accents on")
    return "; ".join(said)


_Fates = Mapping[tuple[str, str, Kind], str]
"""Input, attribute and accent -> what happens."""


def _fates(plan: Plan, operator: Operator) -> _Fates:
    return {
        (name, attribute, kind): given.kind
        for side, name in enumerate(operator.inputs)
        for attribute in (*attributes_of(plan, operator, side), OTHER)
        for kind in KINDS
        if (given := reaction(plan, operator, kind, attribute, side)) is not None
    }


def _coordinated(plan: Plan, operator: Operator, fates: _Fates) -> Iterator[str]:
    """What waits for the other input, where that has the attribute too; an Add never waits (D1)."""
    if len(operator.inputs) == 1:
        yield from _each(fates, "coordinates", "waits until all that it can be computed from is gone")
        return
    common = set[str].intersection(*(set(facts.types) for facts in inputs_of(plan, operator)))
    waiting = {key: what for key, what in fates.items() if key[1] in common and key[2] != "add"}
    yield from _each(waiting, "coordinates", "waits until both inputs have it")


def _each(fates: _Fates, what: str, said: str) -> Iterator[str]:
    """The accents that meet one fate, those on the same attributes together."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for kind in reversed(KINDS):
        names = [
            _qualified(fates, key, what) for key, given in fates.items() if key[2] == kind and given == what
        ]
        if names:
            groups.setdefault(tuple(dict.fromkeys(names)), []).append(_ACCENTS[kind])
    for names, kinds in groups.items():
        yield f"{' or '.join(kinds)} of {_names(names, ' or ')} {said}"


def _qualified(fates: _Fates, key: tuple[str, str, Kind], what: str) -> str:
    """`s`, or `q.s` where the inputs differ in what becomes of it."""
    source, attribute, kind = key
    alike = all(given == what for (_, name, k), given in fates.items() if (name, k) == (attribute, kind))
    name = "any new attribute" if attribute == OTHER else attribute
    return name if alike else f"{source}.{name}"


def _partial(plan: Plan, operator: Operator, state_safety: Safety) -> Iterator[str]:
    """An Alter for some values of an attribute that is folded away (A4, P3)."""
    finite: dict[str, str] = {}
    others: list[str] = []
    ended: list[str] = []
    for side, facts in enumerate(inputs_of(plan, operator)):
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
        whole = domains if len(domains) <= _SHORT else f"all values of {_names(finite, ' or ')}"
        yield f"an Alter for some {_names(finite, ' or ')} waits until {whole} have it"
    elif others:
        closed = all(b.verdict == "bounded" for b in state_safety.of(operator.name) if b.memory.accents)
        until = (
            "until punctuation has closed the other values"
            if closed
            else "for ever, without promised punctuation"
        )
        yield f"an Alter for some {_names(others, ' or ')} waits {until}"


def _ignored(operator: Operator, fates: _Fates) -> Iterator[str]:
    """The attributes that the output does not have, or, where a new one is among them, those that it has."""
    for source in operator.inputs:
        mine = {name: {fates.get((source, name, k)) for k in KINDS} for s, name, _ in fates if s == source}
        gone = [name for name, kinds in mine.items() if kinds <= {"ignored", None}]
        of_it = f" of `{source}`" if len(operator.inputs) > 1 else ""
        if OTHER in gone:
            stay = [name for name in mine if name not in gone]
            yield f"{f'all accents{of_it} but those on {_names(stay)}' if stay else f'accents{of_it}'} go no further"
        elif gone:
            yield f"accents{of_it} on {_names(gone)} go no further"


def _names(names: Iterable[str], last: str = ", ") -> str:
    """The first few names, and how many more there are."""
    all_names = list(names)
    rest = len(all_names) - _FEW
    shown = all_names if rest <= 1 else [*all_names[:_FEW], f"{rest} others"]
    return last.join(shown)
