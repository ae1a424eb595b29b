"""Regular expressions that engines with backtracking evaluate in exponential time (Weideman et al., 2016).

A repetition is ambiguous if one text takes it from a character of the expression back to this character in two ways,
as in `(a+)+`. Then the ways double with each round, and a text that does not match in the end tries all of them.
The characters of the expression are the states of its Glushkov automaton.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterator
from functools import cache, reduce
from itertools import chain
from typing import TYPE_CHECKING, assert_never

from attrs import define, evolve, field, frozen

if TYPE_CHECKING:
    from networkx import DiGraph

_TOKEN = re.compile(
    r"\(\?:|(?:[*+?]|\{[0-9,]+\})\??|\[\^?(?:\\.|[^\]\\])+\]|\\.|.",
    re.DOTALL,
)
_ANCHORS = ("^", "$", r"\b", r"\B")
_MOST_COPIES = 100
"""Most characters that repetitions `{n,m}` are written out to in all; further ones count as unbounded."""
_MANY_TURNS = 10
"""Turns of a group that count as unbounded: two ways in each turn are a thousand in all."""
_MOST_STEPS = 100_000
"""Most pairs of steps that are compared; of an expression with more, such as a repetition of a hundred words, nothing
is known."""


@frozen
class _Character:
    token: str


@frozen
class _Anchor:
    pass


@frozen
class _Sequence:
    parts: tuple[_Term, ...]


@frozen
class _Choice:
    parts: tuple[_Term, ...]


@frozen
class _Repetition:
    body: _Term
    low: int
    high: int | None


_Term = _Character | _Anchor | _Sequence | _Choice | _Repetition


def is_ambiguous(pattern: str) -> bool:
    """Returns True if a text can match a repetition of the expression in exponentially many ways, and then fail.

    `pattern`: an expression that `is_regex` accepts.
    """
    automaton = _Automaton(_mask_of(pattern))
    whole = automaton.add(_choice(deque(_TOKEN.findall(pattern))))
    return automaton.is_ambiguous(set(whole.ends))


def _choice(tokens: deque[str]) -> _Term:
    parts = [_sequence(tokens)]
    while tokens and tokens[0] == "|":
        tokens.popleft()
        parts.append(_sequence(tokens))
    return _Choice(tuple(parts))


def _sequence(tokens: deque[str]) -> _Term:
    parts: list[_Term] = []
    while tokens and tokens[0] not in ("|", ")"):
        token = tokens.popleft()
        if token[0] == "(":
            parts.append(_choice(tokens))
            tokens.popleft()
        elif token in _ANCHORS:
            parts.append(_Anchor())
        elif token[0] in "*+?{":
            parts.append(_Repetition(parts.pop(), *_times(token)))
        else:
            parts.append(_Character(token))
    return _Sequence(tuple(parts))


def _times(token: str) -> tuple[int, int | None]:
    """Returns the least and the greatest number of turns of a repetition."""
    match token[0]:
        case "*":
            return 0, None
        case "+":
            return 1, None
        case "?":
            return 0, 1
        case _:
            low, comma, high = token.rstrip("?")[1:-1].partition(",")
            return int(low), int(high) if high else None if comma else int(low)


def _mask_of(pattern: str) -> Callable[[str], int]:
    """Returns a function from a token to the characters it takes, as bits: of ASCII and all edges of ranges."""
    codes = {*range(128), *(ord(c) + step for c in pattern for step in (-1, 0, 1))}
    characters = [chr(code) for code in sorted(codes) if 0 <= code <= 0x10FFFF]

    @cache
    def mask(token: str) -> int:
        takes = re.compile(token, re.ASCII).fullmatch
        return sum(1 << bit for bit, character in enumerate(characters) if takes(character))

    return mask


@frozen
class _Part:
    """The states of a part: `first`, `last`: where its texts begin and end; `ends`: after which it may end without
    an anchor; `is_optional`: it may take no character; `is_free`: it may do so without an anchor."""

    first: tuple[int, ...] = ()
    last: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    is_optional: bool = True
    is_free: bool = True


@define
class _Automaton:
    """`takes`: the characters of each state, as bits; `steps`: from state to state, once for each way; `copies`: the
    states that repetitions were written out to."""

    mask: Callable[[str], int]
    takes: list[int] = field(factory=list[int])
    steps: Counter[tuple[int, int]] = field(factory=Counter[tuple[int, int]])
    copies: int = 0

    def add(self, term: _Term) -> _Part:
        """Adds the states and steps of a term."""
        match term:
            case _Character(token):
                state = (len(self.takes),)
                self.takes.append(self.mask(token))
                return _Part(state, state, state, is_optional=False, is_free=False)
            case _Anchor():
                return _Part(is_free=False)
            case _Sequence(parts):
                return reduce(self._then, map(self.add, parts), _Part())
            case _Choice(parts):
                return reduce(_either, map(self.add, parts))
            case _Repetition(body, low, high):
                return self._repeated(body, low, high)
            case _:
                assert_never(term)

    def _then(self, left: _Part, right: _Part) -> _Part:
        self.steps.update((p, q) for p in left.last for q in right.first)
        return _Part(
            left.first + right.first * left.is_optional,
            right.last + left.last * right.is_optional,
            right.ends + left.ends * right.is_free,
            left.is_optional and right.is_optional,
            left.is_free and right.is_free,
        )

    def _repeated(self, body: _Term, low: int, high: int | None) -> _Part:
        turns = max(low, 1) if high is None else high
        if turns == 0:
            return _Part()
        before = len(self.takes)
        part = self.add(body)
        copies = self.copies + (len(self.takes) - before) * (turns - 1)
        is_short = isinstance(body, _Character) or turns < _MANY_TURNS
        if not is_short or copies > _MOST_COPIES:
            self._again(part)
            if part.is_optional:  # engines take empty turns up to the count
                self._again(part)
            return _optional(part) if low == 0 else part
        self.copies = copies
        parts = [part, *(self.add(body) for _ in range(turns - 1))]
        if high is None:
            self._again(parts[-1])
        whole = _Part()
        for turn in reversed(range(turns)):  # x{1,3} is x(x(x)?)?
            whole = self._then(parts[turn], whole)
            whole = _optional(whole) if turn >= low else whole
        return whole

    def _again(self, part: _Part) -> None:
        self.steps.update((p, q) for p in part.last for q in part.first)

    def is_ambiguous(self, ends: set[int]) -> bool:
        """Returns True if two ways lead from a state back to it by one text. `ends`: where the match may end at once,
        so that no engine comes to the second way."""
        import networkx

        pairs, doubled = self._pairs()
        for component in networkx.strongly_connected_components(pairs):
            has_two = any(p != q for p, q in component) or any(
                u in component and v in component for u, v in doubled
            )
            if (
                has_two
                and any(p == q for p, q in component)
                and not ends.issuperset(chain.from_iterable(component))
            ):
                return True
        return False

    def _pairs(self) -> tuple[DiGraph[tuple[int, int]], list[tuple[tuple[int, int], tuple[int, int]]]]:
        """Returns the steps that two ways take by one character, from one state on; and those that one state takes in
        two ways."""
        import networkx

        pairs: DiGraph[tuple[int, int]] = networkx.DiGraph()
        doubled: list[tuple[tuple[int, int], tuple[int, int]]] = []
        after: dict[int, list[int]] = {}
        for p, q in self._circular():
            after.setdefault(p, []).append(q)
        waiting, visited = [(p, p) for p in after], {(p, p) for p in after}
        steps = 0
        while waiting:
            pair = waiting.pop()
            steps += len(after[pair[0]]) * len(after[pair[1]])
            if steps > _MOST_STEPS:
                break
            for following in self._both(after, *pair):
                pairs.add_edge(pair, following)
                p, q = following
                if pair[0] == pair[1] and p == q and self.steps[pair[0], p] > 1:
                    doubled.append((pair, following))
                if following not in visited:
                    visited.add(following)
                    waiting.append(following)
        return pairs, doubled

    def _circular(self) -> Iterator[tuple[int, int]]:
        """Yields the steps to which later steps can return."""
        import networkx

        graph: DiGraph[int] = networkx.DiGraph(self.steps.keys())
        for component in networkx.strongly_connected_components(graph):
            yield from ((p, q) for p in component for q in graph.successors(p) if q in component)

    def _both(self, after: dict[int, list[int]], left: int, right: int) -> Iterator[tuple[int, int]]:
        for p in after[left]:
            for q in after[right]:
                if self.takes[p] & self.takes[q]:
                    yield min(p, q), max(p, q)


def _either(left: _Part, right: _Part) -> _Part:
    return _Part(
        left.first + right.first,
        left.last + right.last,
        left.ends + right.ends,
        left.is_optional or right.is_optional,
        left.is_free or right.is_free,
    )


def _optional(part: _Part) -> _Part:
    return evolve(part, is_optional=True, is_free=True)
