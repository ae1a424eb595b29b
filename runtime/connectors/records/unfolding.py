"""Unfolds lines of JSON: a line for each element of a list or entry of an object, and texts as what they contain.

All other bytes of a line stay unchanged, so that numbers keep their digits. A line that cannot be unfolded stays
unchanged, too, and is refused like any other.

>>> steps = [Unfolding("element", ("items",))]
>>> unfolded('{"id": 7, "items": [{"p": 1.50}, {"p": 2}], "n": null}', steps)
['{"id": 7, "items": {"p": 1.50}, "n": null}', '{"id": 7, "items": {"p": 2}, "n": null}']
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, assert_never

from cedilla.compiler.plan.field_paths import FieldPath
from cedilla.compiler.plan.unfolding import ENTRY, Unfolding
from cedilla.runtime.connectors.records.json_objects import is_too_deep, parse_line

_WORD = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[+-]INF\b|\+Infinity\b')
"""Words for infinities that Python's parser does not know. The pattern also matches strings, so that words inside them
are not found."""

_Span = tuple[int, int]


def unfolded(line: str, steps: Sequence[Unfolding]) -> list[str]:
    """Returns the lines that a line becomes; none if a list or an object to take apart is empty or missing."""
    lines = [line]
    try:
        for step in steps:
            lines = [part for text in lines for part in _after_step(text, step)]
        if not lines:
            parse_line(line)  # an invalid line is refused, and not left out
    except ValueError:
        return [line]
    return lines


def folded(line: str, steps: Sequence[Unfolding]) -> str:
    """Returns the line that becomes one of `unfolded`, and no other one, so that it can be sent again.

    >>> folded('{"id": 7, "d": {"key": "a", "value": 1.50}}', [Unfolding("entry", ("d",))])
    '{"id": 7, "d": {"a": 1.50}}'
    """
    if is_too_deep(line):
        return line
    for step in reversed(steps):
        try:
            span = _value_at(plain := _without_words(line), step.keys)
        except ValueError:  # the line was not taken apart
            return line
        if not isinstance(span, tuple):
            continue
        begin, end = span
        part = line[begin:end]
        match step.kind:
            case "element" if plain[begin] == "[":
                part = f"[{part}]"
            case "entry" if plain[begin] == "{":
                entries = {json.loads(name): line[a:b] for name, (a, b) in _entries(plain, begin)}
                if entries.keys() == {*ENTRY}:  # else the line was not taken apart
                    part = f"{{{entries[ENTRY[0]]}: {entries[ENTRY[1]]}}}"
            case "element" | "entry" | "text":
                pass
            case _:
                assert_never(step.kind)
        line = f"{line[:begin]}{part}{line[end:]}"
    return line


def _after_step(line: str, step: Unfolding) -> list[str]:
    """Returns the lines that a line becomes by one step. Raises `ValueError` for an invalid line."""
    if is_too_deep(line):
        raise ValueError("the line is nested too deeply")
    plain = _without_words(line)
    span = _value_at(plain, step.keys)
    if span == _BLOCKED:
        return [line]
    if not isinstance(span, tuple) or plain[slice(*span)] == "null":
        return [line] if step.kind == "text" else []
    begin, end = span
    return [f"{line[:begin]}{part}{line[end:]}" for part in _parts(line, plain, span, step)]


def _without_words(line: str) -> str:
    """Replaces words that Python's parser does not know by numbers of the same length."""
    if "INF" not in line and "+Infinity" not in line:
        return line
    return _WORD.sub(lambda match: match[0] if match[0][0] == '"' else "-1".ljust(len(match[0]), "0"), line)


def _parts(line: str, plain: str, span: _Span, step: Unfolding) -> Iterator[str]:
    """Yields the texts that take the place of a value: the value itself if it is of another kind."""
    begin, end = span
    sign = plain[begin]
    match step.kind:
        case "element" if sign == "[":
            yield from (line[a:b] for a, b in _elements(plain, begin))
        case "entry" if sign == "{":
            for name, (a, b) in _entries(plain, begin):
                yield f'{{"{ENTRY[0]}": {name}, "{ENTRY[1]}": {line[a:b]}}}'
        case "text" if sign == '"':
            yield _content(json.loads(plain[begin:end])) or line[begin:end]
        case "element" | "entry" | "text":
            yield line[begin:end]
        case _:
            assert_never(step.kind)


def _content(text: str) -> str | None:
    """Returns the JSON in a text, on one line; `None` if it contains none."""
    try:
        json.loads(_without_words(text))
    except (ValueError, RecursionError):
        return None
    return re.sub(r"[\n\r]", " ", text.strip())


_Blocked = Literal["blocked"]
_BLOCKED: _Blocked = "blocked"


def _value_at(plain: str, keys: FieldPath) -> _Span | _Blocked | None:
    """Returns where the value at a path is; `None` if a key is missing or null, and `_BLOCKED` if a value on the path
    is no object. Raises `ValueError` for an invalid line."""
    begin, end = _after_blanks(plain, 0), len(plain)
    for depth, key in enumerate(keys):
        if plain[begin : begin + 1] != "{":
            return None if plain[begin:end] == "null" else _BLOCKED
        span, last = None, begin
        for name, inner in _entries(plain, begin):
            last = inner[1]
            if name[1:-1] == key or ("\\" in name and json.loads(name) == key):
                span = inner  # of two values of one key, the last one counts
        if span is None:
            return None
        if depth == 0 and _after_blanks(plain, _after(plain, last, "}") + 1) != len(plain):
            raise ValueError("the line goes on after its object")
        begin, end = span
    return begin, end


_BLANKS = re.compile(r"[ \t\n\r]*")
_NAME = re.compile(r'("[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+")[ \t\n\r]*:[ \t\n\r]*')
_NEXT = re.compile(r"[ \t\n\r]*,[ \t\n\r]*(?![\]} \t\n\r])")


def _entries(plain: str, at: int) -> Iterator[tuple[str, _Span]]:
    """Yields the names of an object that begins at a place, in their written form, and the places of their values."""
    at = _after_blanks(plain, at + 1)
    while plain[at : at + 1] != "}":
        if (name := _NAME.match(plain, at)) is None:
            raise ValueError("a name is missing")
        begin = name.end()
        _, end = _decode(plain, begin)
        yield name[1], (begin, end)
        at = _after(plain, end, "}")


def _elements(plain: str, at: int) -> Iterator[_Span]:
    """Yields where the elements of a list that begins at a place are."""
    at = _after_blanks(plain, at + 1)
    while plain[at : at + 1] != "]":
        _, end = _decode(plain, at)
        yield at, end
        at = _after(plain, end, "]")


_decode: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().raw_decode


def _after(plain: str, end: int, close: str) -> int:
    """Returns where the next member of a list or an object begins, or where its end is."""
    if (match := _NEXT.match(plain, end)) is not None:
        return match.end()
    end = _after_blanks(plain, end)
    if plain[end : end + 1] != close:
        raise ValueError("a comma is missing, or one too many")
    return end


def _after_blanks(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    assert match is not None
    return match.end()
