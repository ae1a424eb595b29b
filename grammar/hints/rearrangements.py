"""Repairs that put words in another order: as in `repairs`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from lark import Token

from cedilla.grammar.diagnostics import Diagnostic
from cedilla.grammar.hints import forms, word_synonyms
from cedilla.grammar.hints.edits import (
    Editor,
    closing,
    end_of,
    innermost,
    pieces,
    start_of,
    with_depth,
)

_EXCHANGED = {*word_synonyms.WORDS - {"from", "to"}, "(", ")", "[", "]", "{", "}", ";", "?"}


_PARAMETERS = {"every", "on", "as", "by", "per", "except"}
_CLAUSES = {
    *("from", "to", "with", "in", "punctuated"),
    *("heartbeat", "markers", "metrics", "partitioned", "registry", "format", "ordered"),
}
"""First words of parts that have an order: of an operator's parameters, and of a statement."""


def call(e: Editor) -> Diagnostic | None:
    """`avg amount`, `isnull x`: arguments without parentheses."""
    last, token = e.slip.last, e.slip.found
    if last.type != "NAME" or token.type not in ("NAME", "NUMBER", "STRING"):
        return None
    is_known = e.check is not None or last.lower() in word_synonyms.CALLED
    if (
        is_known
        and last not in word_synonyms.WORDS
        and e.accepts((end_of(last), end_of(token), f"({token})"))
    ):
        return e.slip.unexpected(f"did you mean `{last}({token})`?")
    return None


def method(e: Editor) -> Diagnostic | None:
    """`state.upper()`, `state.startswith("p")`: a function after its first argument."""
    tokens = e.slip.before[-3:]
    if (
        e.slip.found != "("
        or len(tokens) < 3
        or tokens[1] != "."
        or (close := closing(e, e.slip.found)) is None
    ):
        return None
    name, rest = str(tokens[2]).lower(), e.text[end_of(e.slip.found) : close[0]].strip()
    call_text = f"{name}({', '.join(filter(None, (str(tokens[0]), rest)))})"
    if e.accepts((start_of(tokens[0]), close[1], call_text)):
        return e.slip.unexpected(f"a function has its arguments in parentheses: `{call_text}`")
    return None


def exchanged(e: Editor) -> Diagnostic | None:
    """`from "readings" json`, `json from "readings"`, `latency ms in`: two words in the wrong order."""
    tokens = (*e.slip.before[-2:], e.slip.found, *itertools.islice(_tokens(e, end_of(e.slip.found)), 1))
    for first, second in itertools.pairwise(tokens):
        words = {str(first), str(second)}
        is_place = ("STRING" in (first.type, second.type) or words & {"from", "to"}) and words & forms.FORMATS
        if "$END" in (first.type, second.type) or not (is_place or words & _EXCHANGED):
            continue
        begin, end = start_of(first), end_of(second)
        if e.accepts((begin, end, f"{second} {first}")):
            return e.slip.unexpected(f"did you mean `{second} {first}`?")
    return None


def _tokens(e: Editor, offset: int) -> Iterator[Token]:
    for piece in pieces(e, offset):
        if not piece[0].isspace() and not piece[0].startswith("#"):
            yield Token("PIECE", piece[0], piece.start(), end_pos=piece.end())


def moved_clause(e: Editor) -> Diagnostic | None:
    """`window[on at 5 minutes as w]`, `top[2 per a by b desc]`, `s(a: int) punctuated on a from json "s"`: clauses in
    another order."""
    opening = innermost(e.slip.before)
    close = None if opening is None else closing(e, opening)
    if opening is not None and opening == "[" and close is not None:
        begin, end, words = end_of(opening), close[0], _PARAMETERS
    elif opening is None and e.start == "query":
        (begin, end), words = e.bounds, _CLAUSES
        end -= e.text[begin:end].rstrip().endswith(";")
    else:
        return None
    clause_words = [piece for piece, depth in with_depth(e, begin) if depth == 0 and piece[0] in words]
    places = [begin, *(p.start() for p in clause_words if begin < p.start() < end), end]
    parts = [e.text[a:b].strip(" ,\n") for a, b in itertools.pairwise(places)]
    if not 2 <= len(list(filter(None, parts))) <= 6:
        return None
    orders = {" ".join(order) for order in _reordered(list(filter(None, parts)))}
    good = [order for order in sorted(orders) if e.accepts((begin, end, order))]
    if len(good) != 1:
        return None
    shown = f"[{good[0]}]" if opening is not None else good[0]
    return e.slip.unexpected(f"did you mean `{shown}`?")


def _reordered(parts: list[str]) -> Iterator[list[str]]:
    """Yields the orders that differ in the place of one part."""
    for index, part in enumerate(parts):
        rest = parts[:index] + parts[index + 1 :]
        for new in range(len(parts)):
            if new != index:
                yield [*rest[:new], part, *rest[new:]]


def moved_unit(e: Editor) -> Diagnostic | None:
    """`t degC > 30`."""
    token = e.slip.found
    rest = [piece for piece, _ in zip(pieces(e, end_of(token)), range(3), strict=False)]
    number = next((piece for piece in rest if piece[0].isdecimal()), None)
    if token.type != "NAME" or e.slip.last.type not in ("NAME", "RPAR") or e.slip.last in word_synonyms.WORDS:
        return None
    if number is None or not re.match("[=!<>≠≤≥]", rest[0][0]):
        return None
    if e.accepts((start_of(token), end_of(token), ""), (number.end(), number.end(), f" {token}")):
        sign = e.text[end_of(token) : number.start()].strip()
        return e.slip.unexpected(f"a unit comes after a constant: `{e.slip.last} {sign} {number[0]} {token}`")
    return None


def unquoted(e: Editor) -> Diagnostic | None:
    """`as "total"`: a name in quotes."""
    token, name = e.slip.found, str(e.slip.found)[1:-1]
    if token.type != "STRING" or not re.match(r"\w", name):
        return None
    for replacement in (name, f"as {name}"):
        if e.accepts((start_of(token), end_of(token), f" {replacement}")):
            return e.slip.unexpected(e.form(f"`{replacement}` is written without quotes"))
    return None


def moved_call(e: Editor) -> Diagnostic | None:
    """`aggregate[total as sum(a) by k](R)`: the name before its call."""
    tokens, token = e.slip.before[-3:], e.slip.found
    if token != "(" or len(tokens) < 3 or tokens[1] != "as" or (close := closing(e, token)) is None:
        return None
    name, _, function = tokens
    call = e.text[start_of(function) : close[1]]
    if not e.accepts((start_of(name), close[1], f"{call} as {name}")):
        return None
    return e.slip.unexpected(f"a name comes after its expression: `{call} as {name}`", token)


def moved_name(e: Editor) -> Diagnostic | None:
    """`project[total: a * 2](R)`, `extend[total := a * 2](R)`: the name before its expression."""
    last, token = e.slip.last, e.slip.found
    if last.type != "NAME" or token not in (":", ":=", "="):
        return None
    ends = (
        p.start() for p, depth in with_depth(e, end_of(token)) if depth < 0 or (depth == 0 and p[0] == ",")
    )
    end = next(ends, None)
    if end is None or not e.accepts((start_of(last), end_of(token), ""), (end, end, f" as {last}")):
        return None
    return e.slip.unexpected(
        f"a name comes after its expression: `{e.text[end_of(token) : end].strip()} as {last}`"
    )
