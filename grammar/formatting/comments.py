"""Moves the comments of a text to the same positions of its new layout.

A comment has its place between two *tokens*: words, numbers, strings and signs, but not brackets, commas and
semicolons, which a layout adds and leaves out. The first comment after a token stays on its line, after the brackets
and commas there, if its line has other text. All others have their own lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher

from attrs import frozen

_PARTS = re.compile(
    r"""(?P<comment>\#[^\n]*)
      | (?P<token> "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' | [^\W\d]\w* | \d[\w.]* | := | -> | [<>!]= | \|\|
          | [^\s\w()\[\]{},;])
      | (?P<newline>\n)""",
    re.VERBOSE,
)
_STEP = 2

Comments = Mapping[int, Sequence[str]]
"""Number of tokens before -> the comments there; one that stays on the line of its token begins with a blank."""


@frozen
class _Token:
    text: str
    start: int
    end: int


def woven(text: str, layout: Callable[[bool], str]) -> str:
    """Returns the layout of a statement with the comments of its text.

    `layout(broken)`: the layout without comments, on few lines or with a line for each part. The second one is needed
    if a comment would not end a line otherwise.
    """
    old, comments = _read(text)
    if not comments:
        return layout(False)
    flat = layout(False)
    new, _ = _read(flat)
    placed = _moved(comments, [t.text for t in old], [t.text for t in new])
    if all(number == len(new) or "\n" in _gap(flat, new, number) for number in placed):
        return _put(flat, new, placed)
    broken = layout(True)
    return _put(broken, _read(broken)[0], placed)


def _read(text: str) -> tuple[list[_Token], dict[int, list[str]]]:
    """The tokens of a text, and its comments by the number of tokens before them."""
    tokens: list[_Token] = []
    comments: dict[int, list[str]] = {}
    line = 0
    for match in _PARTS.finditer(text):
        if match["newline"]:
            line = match.end()
        elif match["token"]:
            tokens.append(_Token(match["token"], match.start(), match.end()))
        else:
            of_token = comments.setdefault(len(tokens), [])
            alone = bool(of_token) or not text[line : match.start()].strip()
            of_token.append(("" if alone else " ") + match["comment"].rstrip())
    return tokens, comments


def _moved(comments: Comments, old: list[str], new: list[str]) -> dict[int, list[str]]:
    """The comments by the tokens of a layout, which writes some tokens otherwise."""
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    same = {
        block.a + offset: block.b + offset
        for block in matcher.get_matching_blocks()
        for offset in range(block.size)
    }
    placed: dict[int, list[str]] = {}
    last = 0
    for number, texts in comments.items():
        before = next((same[n] + 1 for n in range(number - 1, -1, -1) if n in same), 0)
        position = before if number - 1 in same or number not in same else same[number]
        last = max(last, position)
        for comment in texts:
            taken = placed.setdefault(last, [])
            taken.append(comment.lstrip() if taken else comment)
    return placed


def _gap(text: str, tokens: Sequence[_Token], number: int) -> str:
    """Returns the text between two tokens."""
    start = tokens[number - 1].end if number else 0
    return text[start : tokens[number].start if number < len(tokens) else len(text)]


def _put(text: str, tokens: Sequence[_Token], comments: Comments) -> str:
    """A text with comments between its tokens."""
    pieces: list[str] = []
    for number in range(len(tokens) + 1):
        gap = _gap(text, tokens, number)
        if number in comments:
            end = tokens[number - 1].end if number else 0
            gap = "".join(_opened(gap, comments[number], _indent(text, end), number == len(tokens)))
        pieces.append(gap)
        if number < len(tokens):
            pieces.append(text[tokens[number].start : tokens[number].end])
    return "".join(pieces)


def _opened(gap: str, comments: Sequence[str], indent: int, is_end: bool) -> Iterator[str]:
    """Yields the text between two tokens, with comments. `indent`: that of the line in the layout without them."""
    on_line, newline, after = gap.partition("\n")
    above, between, after = ("", "", after) if is_end else after.rpartition("\n")
    if newline:
        indent = _indent(after, len(after))
    else:  # after the statement, lines have no indentation
        indent = 0 if is_end else indent + _STEP
    yield on_line.rstrip()
    if comments[0].startswith(" "):
        yield f" {comments[0]}"
    if between:
        yield f"\n{above}"
    for comment in comments:
        if not comment.startswith(" "):
            yield f"\n{' ' * indent}{comment}"
    if newline:
        yield f"\n{after}"
    elif not is_end:
        yield f"\n{' ' * indent}"


def _indent(text: str, position: int) -> int:
    line = text[text.rfind("\n", 0, position) + 1 :]
    return len(line) - len(line.lstrip(" "))


def ends_in_comment(line: str) -> bool:
    """Returns True if a line has a comment."""
    return any(match["comment"] for match in _PARTS.finditer(line))
