"""Regular expressions: the common language of Java, Rust and Python, and its text for engines."""

from __future__ import annotations

import re
from itertools import accumulate

_ALLOWED = re.compile(
    r"(?:[^\\\[\](){}*+?|^$.]|\\[dDwWsSbB\\.\[\](){}*+?|^$/-]"
    r"|\[\^?(?:(?!--|~~|\|\|)[^\\\[\]&^]|\\[dDwWsS\\\[\]^-])+\]"  # not the sets of sets of some engines
    r"|\((?:\?:|(?!\?))|\)|[|^$.]|(?:[*+?]|\{[0-9]{1,4}(?:,[0-9]{0,4})?\})\??(?![*+?{]))*"  # `a*+` has two meanings
)
_TOKEN = re.compile(r"\[\^?(?:\\.|[^\]\\])+\]|\\.|.", re.DOTALL)
_DEEPEST = 50
"""Levels of groups; engines read them by recursion."""
_CLASSES = {"d": "0-9", "w": "A-Za-z0-9_", "s": r" \t\n\x0B\f\r"}


def is_regex(text: str) -> bool:
    """Returns True if all engines accept the expression with one meaning."""
    try:
        return bool(_ALLOWED.fullmatch(text)) and _depth(text) <= _DEEPEST and bool(re.compile(text))
    except re.error:
        return False


def _depth(text: str) -> int:
    """Returns the levels of groups inside of groups."""
    steps = ((token == "(") - (token == ")") for token in _TOKEN.findall(text))
    return max(accumulate(steps), default=0)


def written(pattern: str) -> str:
    """Writes the expression for an engine: classes are of ASCII, `.` is all but `\\n`, `$` is the very end of
    the text.
    """
    return "".join(map(_engine_token, _TOKEN.findall(pattern)))


def _engine_token(token: str) -> str:
    match token:
        case ".":
            return r"[^\n]"
        case "$":
            return r"\z"
        case _ if token[0] == "[":
            return "[" + re.sub(r"\\(.)", _in_class, token[1:])
        case _ if token[0] == "\\" and token[1].lower() in _CLASSES:
            return f"[{'' if token[1].islower() else '^'}{_CLASSES[token[1].lower()]}]"
        case _:
            return token


def _in_class(escape: re.Match[str]) -> str:
    letter = escape[1]
    if letter.lower() not in _CLASSES:
        return escape[0]
    return _CLASSES[letter] if letter.islower() else f"[^{_CLASSES[letter.lower()]}]"


def has_boundary(pattern: str) -> bool:
    """Returns True if the expression tests the edge of a word, on which engines differ next to letters beyond
    ASCII.
    """
    return any(token in (r"\b", r"\B") for token in _TOKEN.findall(pattern))


def may_be_empty(pattern: str) -> bool:
    """Returns True if the expression may match an empty text."""
    anchors = ("^", "$", r"\b", r"\B")
    bare = ("(?:)" if token in anchors else token for token in _TOKEN.findall(pattern))
    return re.fullmatch("".join(bare), "") is not None
