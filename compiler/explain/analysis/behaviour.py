"""Says in sentences what an operator does with tuples, punctuations and accents.

`cedilla explain --full` prints the sentences, and the page of each operator has them as a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import assert_never

from attrs import frozen

from cedilla.compiler.explain.analysis.reactions import OTHER, alter_described_by, attributes_of, reaction
from cedilla.compiler.operators import Operator, Reaction
from cedilla.compiler.operators.shared.base import KINDS, Kind
from cedilla.compiler.operators.shared.reactions import SHIFTED
from cedilla.compiler.plan import Plan


@frozen
class Sentence:
    """`subject`: what comes, as "a Drop of `s`". `predicate`: what happens, as "ends the query (RQ209, J3)"."""

    subject: str
    predicate: str

    def __str__(self) -> str:
        return f"{self.subject} {self.predicate}"


@frozen
class _Scope:
    """The attributes that one sentence is about: some, or all but some."""

    names: tuple[str, ...]
    is_rest: bool = False

    def of(self, kinds: list[Kind]) -> str:
        """Names the accents of some kinds on its attributes."""
        noun = "accent" if kinds == [*KINDS] else " or ".join(kind.title() for kind in kinds)
        if self.is_rest and not self.names:
            return f"any {noun}"
        article = "a" if noun.startswith("Drop") else "an"
        attributes = "another attribute" if self.is_rest else either(self.names)
        return f"{article} {noun} {'on' if noun == 'accent' else 'of'} {attributes}"


def accents(plan: Plan, operator: Operator) -> Iterator[Sentence]:
    """Yields what an operator does with accents on each attribute, then with those for some values only."""
    kinds: dict[tuple[_Scope, str], list[Kind]] = {}
    for kind in KINDS:
        for scope, text in _by_reaction(
            _reactions(plan, operator, kind), _of(plan, operator, kind, OTHER, 0)
        ):
            kinds.setdefault((scope, text), []).append(kind)
    for (scope, text), alike in kinds.items():
        yield Sentence(scope.of(alike), text)
    yield from _described(plan, operator)


def _reactions(plan: Plan, operator: Operator, kind: Kind) -> Iterator[tuple[str, str | None]]:
    """Yields the attributes of all inputs, each with what happens; `q.s` if the inputs differ in `s`.

    An input whose attributes are all treated alike, but not as those of the first one, is one entry.
    """
    by_side = [
        {name: _of(plan, operator, kind, name, side) for name in attributes_of(plan, operator, side)}
        for side in range(len(operator.inputs))
    ]
    for side, (source, texts) in enumerate(zip(operator.inputs, by_side, strict=True)):
        rest = _of(plan, operator, kind, OTHER, side)
        if side > 0 and rest != _of(plan, operator, kind, OTHER, 0) and set(texts.values()) <= {rest, None}:
            yield f"anything of `{source}`", rest
            continue
        for name, text in texts.items():
            alike = all(other.get(name, text) == text for other in by_side)
            yield f"`{name}`" if alike else f"`{source}.{name}`", text


def _by_reaction(
    reactions: Iterable[tuple[str, str | None]], usual: str | None
) -> Iterator[tuple[_Scope, str]]:
    """Yields the names with each reaction that is not the usual one, then all others with that."""
    groups: dict[str, dict[str, None]] = {}
    for name, text in reactions:
        if text not in (usual, None):
            groups.setdefault(text, {})[name] = None
    for text, names in groups.items():
        yield _Scope(tuple(names)), text
    if usual is not None:
        yield _Scope(tuple(name for names in groups.values() for name in names), is_rest=True), usual


def _of(plan: Plan, operator: Operator, kind: Kind, attribute: str, side: int) -> str | None:
    """Says what happens to an accent on an attribute; `None` if no such accent can come."""
    outcome = reaction(plan, operator, kind, attribute, side)
    if outcome is None:
        return None
    text = _text(outcome, kind, attribute, len(operator.inputs) == 1)
    shifted = reaction(plan, operator, kind, attribute, side, function=SHIFTED)
    if kind != "alter" or shifted is None or shifted.passes == outcome.passes:
        return text
    for_what = f"only for {both(shifted.passes)}" if shifted.passes else "not at all"
    return f"{text}; with an offset, as from degF to degC, {for_what}"


_CODES: Mapping[Kind, str] = {"drop": "RQ209", "add": "RQ210", "alter": "RQ211"}
"""The codes of accents that end the query."""
_TOGETHER: Mapping[Kind, str] = {
    "add": "unless the other input has given it the attribute already",
    "drop": "once neither input has the attribute",
    "alter": "once both inputs have it",
}
"""When an accent is announced that waits for the other input."""


def _text(outcome: Reaction, kind: Kind, attribute: str, has_one_input: bool) -> str:
    rule = f"({outcome.rule})"
    names = () if outcome.passes in ((attribute,), (OTHER,)) else outcome.passes
    announced = f"is announced for {both(names)}" if names else "is announced"
    match outcome.kind:
        case "propagates":
            return f"{announced} {rule}"
        case "coordinates" if has_one_input:
            first = {"add": "the first", "drop": "the last", "alter": "each"}[kind]
            return f"{announced} with {first} of the attributes that can give the value {rule}"
        case "coordinates":
            return f"{announced} {_TOGETHER[kind]} {rule}"
        case "accumulates":
            return f"{announced} once it holds for all values {rule}"
        case "absorbed" if kind == "alter":
            return f"is undone and not announced: the output keeps its units {rule}"
        case "absorbed":
            return f"is not announced, although the operator reads the attribute {rule}"
        case "ignored":
            return f"is not announced, because no value of the output comes from it {rule}"
        case "aborts":
            return f"ends the query ({_CODES[kind]}, {outcome.rule})"
    assert_never(outcome.kind)


def _described(plan: Plan, operator: Operator) -> Iterator[Sentence]:
    """Yields what happens to an Alter for some values only, if that differs from one for all (W5, A4)."""
    reactions = [
        (
            f"`{name}`",
            _partial(alter_described_by(plan, operator, side, name), _carried(plan, operator, side, name)),
        )
        for side in range(len(operator.inputs))
        for name in attributes_of(plan, operator, side)
    ]
    usual = _partial(alter_described_by(plan, operator, 0, OTHER), {OTHER})
    plain = _partial(alter_described_by(plan, operator, 0, None), set())
    if {usual, *(text for _, text in reactions)} <= {plain, None}:
        return
    for scope, text in _by_reaction(reactions, usual):
        values = "another attribute" if scope.is_rest else either(scope.names)
        yield Sentence(f"an Alter for some values of {values}", text)


def _carried(plan: Plan, operator: Operator, side: int, name: str) -> set[str]:
    """Returns an attribute, and those of the output that have its values under another name or in another unit."""
    return {name, *plan.reaction(operator.name, "alter", name, frozenset(), side).passes}


def _partial(outcome: Reaction | None, carried: set[str]) -> str | None:
    """Says what happens to an Alter for some values of an attribute, which are those of `carried` in the output."""
    if outcome is None:
        return None
    match outcome.kind:
        case "propagates" | "coordinates" if outcome.mentions <= carried:
            return f"is announced for these values ({outcome.rule})"
        case "propagates" | "coordinates":
            return f"is announced for values of {both(sorted(outcome.mentions))} ({outcome.rule})"
        case "accumulates":
            return f"waits until all values have it or are closed ({outcome.rule})"
        case "aborts":
            return f"ends the query ({_CODES['alter']}, {outcome.rule})"
        case "absorbed" | "ignored":
            return f"is not announced ({outcome.rule})"
    assert_never(outcome.kind)


def either(names: Iterable[str]) -> str:
    """Joins texts by `or`."""
    return _joined([*names], "or")


def both(names: Iterable[str]) -> str:
    """Joins names of attributes by `and`, each as code."""
    return _joined([f"`{name}`" for name in names], "and")


def _joined(texts: list[str], last: str) -> str:
    return f" {last} ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))
